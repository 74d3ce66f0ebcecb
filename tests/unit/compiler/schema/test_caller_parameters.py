"""Parameters with ``from``: what they may be, and that nothing which a model or a client sees has them."""

import json
from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text, tool_of
from reviews.reviewing import change_lines, difference

from toolc import Registry
from toolc.client.typed.generate import client_text
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import digests

ECHO = 'backend: {shell: {argv: [echo, "{{ tenant }}", "{{ word }}"]}}\n'
WORD = "word: {type: string, description: A word}"
SHORT = f"parameters: {{tenant: {{type: string, from: caller.sub, description: Who}}, {WORD}}}\n"
FULL = (
    "parameters: {type: object, required: [tenant, word], properties: "
    f"{{tenant: {{type: string, from: caller.sub, description: Who}}, {WORD}}}}}\n"
)


@pytest.mark.parametrize("parameters", [SHORT, FULL])
def test_a_parameter_from_the_caller_is_in_the_effect_and_not_in_the_surface(tmp_path: Path, parameters: str) -> None:
    tool = tool_of(tmp_path, HEAD + ECHO + parameters)
    assert [*tool.parameters.properties] == [*tool.parameters.required] == ["word"]
    assert [(each.name, each.claim) for each in tool.caller] == [("tenant", "sub")]
    assert tool.all_parameters.required == {"tenant", "word"}

    other = tool_of(tmp_path, HEAD + ECHO + parameters.replace("caller.sub", "caller.name"))
    assert digests(tool).surface == digests(other).surface
    assert digests(tool).effect != digests(other).effect


def test_no_definition_document_or_client_has_it(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(HEAD + ECHO + SHORT + "examples: [{word: a}]\n")
    registry = Registry.load(tmp_path / "t.yaml")
    seen = [json.dumps(registry.definitions(each)) for each in PROVIDER_NAMES]
    seen += [client_text([registry.registered("hello")], language) for language in ("python", "typescript")]
    assert all("word" in each and "tenant" not in each for each in seen)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("{tenant: {type: integer, from: caller.sub}}", "the parameter 'tenant' has 'from', so it must be a string"),
        ("{tenant: {from: caller.sub}}", "the parameter 'tenant' has 'from', so it must be a string"),
        (
            "{tenant: {type: string, from: caller.sub, default: a}}",
            "the parameter 'tenant' has 'from', so it cannot have 'default'",
        ),
        (
            "{tenant: {type: string, from: caller.sub, optional: true}}",
            "the parameter 'tenant' has 'from', so it cannot have 'optional'",
        ),
        (
            "{tenant: {type: string, from: sub}}",
            "'from' of the parameter 'tenant' does not name what is known about the caller",
        ),
        (
            "{tenant: {type: string, from: [caller.sub]}}",
            "'from' of the parameter 'tenant' does not name what is known about the caller",
        ),
        (
            "{type: object, properties: {tenant: {type: string, from: caller.sub}}, additionalProperties: true}",
            "parameters with 'from' cannot be next to 'additionalProperties', which could set or show them",
        ),
        (
            "{type: object, properties: {tenant: {type: string, from: caller.sub}}, anyOf: [{required: [tenant]}]}",
            "parameters with 'from' cannot be next to 'anyOf', which could set or show them",
        ),
        (
            "{tenant: {type: object, properties: {id: {type: string, from: caller.sub}}}}",
            "JSON Schema 2020-12 has no keyword 'from'",
        ),
    ],
)
def test_anything_but_a_plain_string_is_refused(tmp_path: Path, parameters: str, message: str) -> None:
    text = HEAD + 'backend: {shell: {argv: [echo, "{{ tenant }}"]}}\n' + f"parameters: {parameters}\n"
    assert message in [each.message for each in compile_text(tmp_path, text).diagnostics.sorted()]


def test_examples_and_tests_cannot_have_it(tmp_path: Path) -> None:
    text = HEAD + ECHO + SHORT + "examples: [{word: a, tenant: b}]\ntests: [{args: {word: a, tenant: b}}]\n"
    messages = [each.message for each in compile_text(tmp_path, text).diagnostics.sorted() if each.is_error]
    assert messages == [
        f"'{key}'[0]{args}: 'tenant' is not allowed; the keys are 'word'"
        for key, args in (("examples", ""), ("tests", ".args"))
    ]


def test_a_step_cannot_set_it_and_a_sub_agent_cannot_have_it(tmp_path: Path) -> None:
    step = "{id: a, tool: called, args: {word: a, tenant: b}}"
    agent = "{provider: openai, model: m, instructions: i, tools: [called]}"
    both = f"""\
toolc: 1
tools:
  - {{name: called, description: d, {SHORT.strip()}, {ECHO.strip()}}}
  - {{name: outer, description: d, backend: {{composite: {{strategy: sequential, steps: [{step}]}}}}}}
  - {{name: sub, description: d, {SHORT.strip()}, backend: {{agent: {agent}}}}}
"""
    messages = [each.message for each in compile_text(tmp_path, both).diagnostics.sorted() if each.is_error]
    assert messages == [
        "'called' takes 'tenant' from the caller, so a step cannot pass it",
        "a sub-agent sends its arguments to a model, so none of them can have 'from'",
    ]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (("from: caller.sub, ", ""), "RSK22 high: callers can choose 'tenant', which the host took from the caller"),
        (
            ("caller.sub", "caller.email"),
            "RSK22 high: the host takes 'tenant' from something else that it knows about the caller",
        ),
        (
            ("type: string, from", "type: string, maxLength: 9, from"),
            "RSK22 medium: other values of 'tenant' from the caller may be valid",
        ),
    ],
)
def test_reviews_report_a_parameter_that_no_longer_comes_from_the_same_caller(
    tmp_path: Path, edit: tuple[str, str], expected: str
) -> None:
    before = HEAD + ECHO + SHORT
    found = difference(tmp_path, {"t.yaml": before}, {"t.yaml": before.replace(*edit)})
    risks = [line for line in change_lines(found.tools[0].changes) if line.startswith("RSK22")]
    assert risks == [expected]


def test_reviews_report_a_parameter_that_now_comes_from_the_caller_and_one_that_is_gone(tmp_path: Path) -> None:
    with_it, plain = HEAD + ECHO + SHORT, HEAD + ECHO + SHORT.replace("from: caller.sub, ", "")
    added = difference(tmp_path / "a", {"t.yaml": plain}, {"t.yaml": with_it}).tools[0].changes
    assert "RSK22 low: the host takes 'tenant' from the caller and refuses calls of others" in change_lines(added)
    gone = {"t.yaml": HEAD + f"parameters: {{{WORD}}}\n" + 'backend: {shell: {argv: [echo, "{{ word }}"]}}\n'}
    removed = difference(tmp_path / "b", {"t.yaml": with_it}, gone).tools[0].changes
    assert "RSK22 high: the tool no longer gets 'tenant' from the caller" in change_lines(removed)


def test_a_test_of_another_caller_does_not_replace_one_that_was_removed(tmp_path: Path) -> None:
    tests = "tests: [{args: {word: a}, caller: {sub: CALLER}, expect: {text: a}}]\n"
    both = ({"t.yaml": HEAD + ECHO + SHORT + tests.replace("CALLER", each)} for each in ("one", "two"))
    assert change_lines(difference(tmp_path, *both).tools[0].changes) == [
        'RSK18 low: a test was removed: the call with {"word": "a"}'
    ]

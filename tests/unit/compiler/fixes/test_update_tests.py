"""Writing expectations into specs: only the values are changed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from toolc.compiler.fixes.update_tests import ExpectationUpdate, Route, update_tests
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonValue

YAML = """\
toolc: 1
name: t
description: A tool that exists only for the tests of this module.
backend: {shell: {argv: [echo, hi]}}
sandbox: {workspace: rw}
"""
TOML = """\
toolc = 1
name = "t"
description = "A tool that exists only for the tests of this module."
backend = {shell = {argv = ["echo", "hi"]}}
sandbox = {workspace = "rw"}

"""


def updated(
    folder: Path,
    tests: str,
    values: Mapping[Route, JsonValue],
    removed: frozenset[Route] = frozenset(),
    *,
    suffix: str = ".yaml",
    index: int = 0,
) -> tuple[str, str]:
    """Return the tests of a spec after an update, and why it was rejected."""
    path, head = folder / f"t{suffix}", YAML if suffix == ".yaml" else TOML
    path.write_bytes((head + tests).encode())
    (tool,) = compile_specs([path]).located
    done = update_tests([ExpectationUpdate(tool=tool, index=index, values=values, removed=removed)])
    text = path.read_bytes().decode()
    assert text.startswith(head)
    return text.removeprefix(head), "".join(reason for _, reason in done.rejected)


@pytest.mark.parametrize(
    ("tests", "after"),
    [
        ("tests: [{expect: {text: a}}]\n", 'tests: [{expect: {text: "b\\n"}}]\n'),
        ("tests:\n  - expect: {text: a}  # why\n", 'tests:\n  - expect: {text: "b\\n"}  # why\n'),
        ("tests:\n  - expect:\n      text: 'a'\n", 'tests:\n  - expect:\n      text: "b\\n"\n'),
        ("tests:\n- expect:\n    text: |-\n      a\n", "tests:\n- expect:\n    text: |\n      b\n"),
        (
            "tests:\n- expect:\n    text: >\n      a\n      a\n    # then\n    error: timeout\n",
            "tests:\n- expect:\n    text: |\n      b\n    # then\n    error: timeout\n",
        ),
        ("tests: [{expect: {error: timeout}}]\n", 'tests: [{expect: {text: "b\\n", error: timeout}}]\n'),
        ("tests:\n- expect:\n    error: timeout\n", 'tests:\n- expect:\n    text: "b\\n"\n    error: timeout\n'),
        ("tests: [{args: {}}]\n", 'tests: [{expect: {text: "b\\n"}, args: {}}]\n'),
        ("tests:\n  - args: {}\n", 'tests:\n  - expect: {text: "b\\n"}\n    args: {}\n'),
        ("tests: [{}]\n", 'tests: [{expect: {text: "b\\n"}}]\n'),
        ("tests:\r\n- expect:\r\n    text: |\r\n      a\r\n", "tests:\r\n- expect:\r\n    text: |\r\n      b\r\n"),
    ],
)
def test_text_is_updated_in_yaml(tmp_path: Path, tests: str, after: str) -> None:
    assert updated(tmp_path, tests, {("text",): "b\n"}) == (after, "")


@pytest.mark.parametrize(
    ("tests", "after"),
    [
        ('[[tests]]\nexpect = {text = "a"}  # why\n', '[[tests]]\nexpect = {text = "b\\n"}  # why\n'),
        ("[[tests]]\n[tests.expect]\ntext = 'a'\n", '[[tests]]\n[tests.expect]\ntext = "b\\n"\n'),
        ('[[tests]]\nexpect.text = """\na\n"""\n', '[[tests]]\nexpect.text = """\nb\n"""\n'),
        ("[[tests]]\nargs = {}\n", '[[tests]]\nexpect = {text = "b\\n"}\nargs = {}\n'),
        (
            '[[tests]]\n[tests.expect]\nerror = "timeout"\n',
            '[[tests]]\n[tests.expect]\ntext = "b\\n"\nerror = "timeout"\n',
        ),
    ],
)
def test_text_is_updated_in_toml(tmp_path: Path, tests: str, after: str) -> None:
    assert updated(tmp_path, tests, {("text",): "b\n"}, suffix=".toml") == (after, "")


VALUES: list[JsonValue] = [
    1, -0.5, True, [], {}, [1, [2, {"a": "b"}]], {"yes": "no", "a b": [{"null": False}], "": 0},
    "", " ", "a: b # c", "{{ x }}",
    "\u2028\x7f\x00\ufeff", "\U0001f600", "\\n\"'", "- a\n- b\n", " lead\n", "a\n\n",
    "tab\there\n", "trail \nx\n", "---\n...\n", "a\r\nb", "true", "null", "1.0",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize(
    ("tests", "suffix"),
    [
        ("tests: [{expect: {json: 1, text: a}}]\n", ".yaml"),
        ("tests:\n- expect:\n    text: |\n      a\n    json:\n      - 1\n", ".yaml"),
        ('[[tests]]\n[tests.expect]\njson = 1\ntext = """a\n"""\n', ".toml"),
    ],
)
def test_any_value_round_trips(tmp_path: Path, value: JsonValue, tests: str, suffix: str) -> None:
    values: dict[Route, JsonValue] = {("json",): value}
    values |= {("text",): value} if isinstance(value, str) else {}
    _, reason = updated(tmp_path, tests, values, suffix=suffix)
    assert reason == ""
    expect = compile_specs([tmp_path / f"t{suffix}"]).tools[0].tests[0].expect
    assert expect.json == (value,)
    assert expect.text == (value if isinstance(value, str) else "a" if "[{" in tests else "a\n")


def test_several_keys_of_several_tests(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    tests = "tests:\n- expect: {text: a, files: {x: a, y: null}}\n- expect: {error: timeout, changes: {added: [x]}}\n"
    path.write_text(YAML + tests, encoding="utf-8")
    (tool,) = compile_specs([path]).located
    first: dict[Route, JsonValue] = {("text",): "b", ("files", "x"): None, ("files", "y"): "z"}
    second: dict[Route, JsonValue] = {("changes",): {"added": ["x", "y"]}, ("network", "allowed"): []}
    updates = [
        ExpectationUpdate(tool=tool, index=1, values=second, removed=frozenset({("error",)})),
        ExpectationUpdate(tool=tool, index=0, values=first),
    ]
    done = update_tests(updates)
    assert [each.index for each in done.applied] == [0]
    assert [reason for _, reason in done.rejected] == ["expect.network has no 'allowed'; add it by hand"]
    assert path.read_text(encoding="utf-8") == YAML + (
        'tests:\n- expect: {text: "b", files: {x: null, y: "z"}}\n- expect: {error: timeout, changes: {added: [x]}}\n'
    )


def test_longer_test_does_not_move_others(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    tests = "tests:\n- expect:\n    text: |\n      a\n- args: {}\n- expect:\n    text: |\n      a\n"
    path.write_text(YAML + tests, encoding="utf-8")
    (tool,) = compile_specs([path]).located
    values: dict[Route, JsonValue] = {("text",): "b\nc\nd\n"}
    done = update_tests([ExpectationUpdate(tool=tool, index=index, values=values) for index in (2, 0)])
    assert [each.index for each in done.applied] == [0, 2]
    assert path.read_text(encoding="utf-8") == YAML + tests.replace("      a\n", "      b\n      c\n      d\n")


def test_removed_key_with_its_comma_or_line(tmp_path: Path) -> None:
    removed = frozenset[Route]({("error",)})
    assert updated(tmp_path, "tests: [{expect: {error: timeout, text: a}}]\n", {}, removed) == (
        "tests: [{expect: {text: a}}]\n",
        "",
    )
    assert updated(tmp_path, "tests:\n- expect:\n    error: timeout # x\n    text: a\n", {}, removed) == (
        "tests:\n- expect:\n    text: a\n",
        "",
    )


@pytest.mark.parametrize(
    ("tests", "suffix", "value", "reason"),
    [
        ("tests:\n- &one\n  expect: {text: a}\n- *one\n", ".yaml", "b", "its text cannot be edited"),
        ("tests: [{expect: {text: &x a, matches: *x}}]\n", ".yaml", "b", "its text cannot be edited"),
        ("[[tests]]\nexpect = {json = 1}\n", ".toml", None, "TOML has no null"),
        ("[[tests]]\n", ".toml", "b", "'expect' cannot be added to the test; add it by hand"),
        ("tests: [{expect: {text: a}}]\n", ".yaml", "\ud800", "it contains a lone surrogate"),
    ],
)
def test_uneditable_text_is_not_changed(tmp_path: Path, tests: str, suffix: str, value: JsonValue, reason: str) -> None:
    key = "json" if value is None else "text"
    text, rejected = updated(tmp_path, tests, {(key,): value}, suffix=suffix)
    assert text == tests
    assert rejected.startswith(reason)


def test_project_variable_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "toolc.yaml").write_text("vars: {word: a}\n", encoding="utf-8")
    tests = 'tests: [{expect: {text: "{{ vars.word }}"}}]\n'
    text, rejected = updated(tmp_path, tests, {("text",): "b"})
    assert text == tests
    assert rejected == "it is in a place that cannot be edited; change it by hand"


@pytest.mark.parametrize("word", ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "No"])
def test_a_key_that_could_be_another_value_is_quoted_in_yaml(tmp_path: Path, word: str) -> None:
    assert updated(tmp_path, "tests: [{expect: {json: 1}}]\n", {("json",): {word: 1, "plain": 2}}) == (
        f'tests: [{{expect: {{json: {{"{word}": 1, plain: 2}}}}}}]\n',
        "",
    )

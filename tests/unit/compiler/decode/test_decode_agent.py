"""Decode ``backend.agent``, and the positions of its findings."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text, found_in, tool_of

from toolc.model.registry_io import digests
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.http_backend import Url
from toolc.model.template import Placeholder, Template

QUESTION = "parameters: {question: {type: string, maxLength: 99, description: What to answer}}\n"


def agent(keys: str, rest: str = "") -> str:
    """Return the text of a spec with these keys of its backend."""
    return f"{HEAD}{QUESTION}backend:\n  agent: {{{keys}}}\n{rest}"


LEAST = "provider: openai, model: gpt-x, instructions: Answer."


def test_omitted_agent_keys_have_their_defaults(tmp_path: Path) -> None:
    assert tool_of(tmp_path, agent(LEAST)).backend == AgentBackend(
        provider="openai",
        model="gpt-x",
        instructions=Template(("Answer.",)),
        base_url=Url(scheme="https", host="api.openai.com", port=443, path=Template(("/v1",))),
        api_key=None,
        tools=(),
        parallel=True,
        max_turns=10,
        max_tokens=4096,
        token_budget=200_000,
    )


def test_all_agent_keys_are_decoded(tmp_path: Path) -> None:
    keys = (
        "provider: anthropic, model: claude-x, instructions: 'Answer: {{ question }}', "
        "base_url: 'https://llm.example.com:8443/api', api_key: '{{ secrets.KEY }}', "
        "parallel: false, max_turns: 3, max_tokens: 100, token_budget: 1000"
    )
    assert tool_of(
        tmp_path, agent(keys, "sandbox: {secrets: {KEY: {hosts: [llm.example.com]}}}\n")
    ).backend == AgentBackend(
        provider="anthropic",
        model="claude-x",
        instructions=Template(("Answer: ", Placeholder("question"))),
        base_url=Url(scheme="https", host="llm.example.com", port=8443, path=Template(("/api",))),
        api_key=Template((Placeholder("secrets", ("KEY",)),)),
        parallel=False,
        max_turns=3,
        max_tokens=100,
        token_budget=1000,
    )


@pytest.mark.parametrize(
    "key", ["parallel: false", "max_turns: 3", "max_tokens: 99", "token_budget: 99", "model: other"]
)
def test_each_key_changes_the_effect_digest(key: str, tmp_path: Path) -> None:
    other = LEAST.replace("model: gpt-x", key) if key.startswith("model") else f"{LEAST}, {key}"
    one, two = (digests(tool_of(tmp_path / str(n), agent(keys))) for n, keys in enumerate((LEAST, other)))
    assert one.surface == two.surface
    assert one.effect != two.effect


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (
            "provider: mistral, model: m, instructions: x",
            (
                "6:21 TC108 'provider' must be one of 'anthropic', 'openai', 'openai_responses', "
                "but is the text 'mistral'"
            ),
        ),
        (f"{LEAST}, max_tokens: 0",
         "6:78 TC108 'max_tokens' must be a whole number from 1 to 1000000, but is the number 0"),
        (f"{LEAST}, api_key: sk-1", "6:75 TC605 'api_key' must be the name of a secret"),
        (f"{LEAST}, api_key: 'Bearer {{{{ secrets.KEY }}}}'", "6:75 TC108 'api_key' must be the name of a secret"),
        (f"{LEAST}, api_key: '{{{{ question }}}}'", "6:76 TC406 there is no parameter 'question'"),
        (f"{LEAST}, api_key: '{{{{ secrets.KEY }}}}'",
         "6:76 TC603 the secret 'KEY' is not declared under sandbox.secrets"),
        (f"{LEAST}, base_url: 'https://x.example.com/?a=1'", "6:76 TC108 'base_url' must not have a query"),
        (f"{LEAST}, base_url: 'https://{{{{ question }}}}/'",
         "6:85 TC114 'base_url' is a constant and cannot contain a placeholder"),
        (f"{LEAST}, tools: [greet]", "6:74 TC105 there is no tool 'greet'"),
        (f"{LEAST}, tools: [hello]", "6:74 TC106 'hello' calls itself through 'hello'"),
    ],
)  # fmt: skip
def test_errors_are_reported_at_their_position(keys: str, found: str, tmp_path: Path) -> None:
    assert found_in(tmp_path, agent(keys)) == [found]


def test_unknown_providers_do_not_hide_unknown_tools(tmp_path: Path) -> None:
    found = found_in(tmp_path, agent("provider: mistral, model: m, instructions: x, tools: [hello, greet]"))
    assert [each.partition(" must be")[0] for each in found] == [
        "6:21 TC108 'provider'",
        "6:65 TC106 'hello' calls itself through 'hello'",
        "6:72 TC105 there is no tool 'greet'",
    ]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("system_prompt: x", "write 'instructions'"),
        ("max_iterations: 3", "write 'max_turns'"),
        ("max_output_tokens: 9", "write 'max_tokens'"),
        ("endpoint: 'https://x.example.com'", "write 'base_url'"),
        ("auth: x", "write 'api_key'"),
    ],
)
def test_names_of_other_frameworks_get_a_hint(key: str, hint: str, tmp_path: Path) -> None:
    (found,) = compile_text(tmp_path, agent(f"{LEAST}, {key}")).diagnostics.sorted()
    assert (found.code.number, found.hint) == ("TC101", hint)


def test_agent_key_at_the_top_level(tmp_path: Path) -> None:
    (found,) = compile_text(tmp_path, agent(LEAST, "model: gpt-x\n")).diagnostics.sorted()
    assert (found.code.number, found.hint) == ("TC101", "in a tool, 'model' belongs under backend.agent")


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("sandbox: {workspace: ro}\n", "a sub-agent has no sandbox, so 'workspace' would have no effect"),
        ("sandbox: {image: a/b:1}\n", "a sub-agent has no sandbox, so 'image' would have no effect"),
        ("result: {format: image}\n", "a sub-agent returns text or JSON"),
    ],
)
def test_keys_without_effect_are_rejected(rest: str, message: str, tmp_path: Path) -> None:
    (found,) = compile_text(tmp_path, agent(LEAST, rest)).diagnostics.sorted()
    assert (found.code.number, found.message) == ("TC108", message)


def test_network_and_limits_are_accepted(tmp_path: Path) -> None:
    rest = "sandbox: {network: {allow: ['10.0.0.5:8000']}, limits: {timeout: 2m, output: 1MiB}}\n"
    found = compile_text(tmp_path, agent(LEAST, rest)).diagnostics
    assert not found.has_errors


def test_a_key_is_sent_only_to_hosts_of_its_secret(tmp_path: Path) -> None:
    text = agent(f"{LEAST}, api_key: '{{{{ secrets.KEY }}}}'", "sandbox: {secrets: {KEY: {hosts: [example.com]}}}\n")
    (found,) = compile_text(tmp_path, text).diagnostics.sorted()
    assert (found.message, found.hint) == (
        "this tool sends 'KEY' to api.openai.com, which is not one of its hosts",
        "add api.openai.com to its 'hosts', or do not send it there",
    )

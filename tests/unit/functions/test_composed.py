"""Composites and sub-agents defined in Python: the same specs, rules and findings as in spec files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from models.agent_tools import KEY, echoing
from models.scripted_model import SPEECHES, ScriptedModel, Speech

from toolc import (
    ComposedTool,
    Deny,
    Event,
    Executor,
    Registry,
    RegistryError,
    SpecError,
    ToolDenied,
    ToolEnd,
    UsageError,
    define,
    step,
    tool,
)
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.functions.define import Definition
from toolc.model.call_graph import MAX_DEPTH
from toolc.model.lock_file import Lock, LockError
from toolc.serve.mcp import make_server
from toolc.testing.fake_engine import FakeEngine

SPEC = """\
toolc: 1
tools:
  - name: say
    description: Say these words aloud. Use it for words and nothing else at all.
    parameters: {words: {type: string, maxLength: 99, description: The words}}
    backend: {shell: {argv: [printf, --, "%s", "{{ words }}"]}}
  - name: report
    label: Report
    description: Find a word in one file, count the lines that have it, and say how many there are.
    aliases: [tell]
    tags: [words]
    parameters:
      type: object
      properties:
        word: {type: string, description: The word}
        loud: {type: boolean, description: Whether to shout, default: false}
      required: [word]
      additionalProperties: false
    annotations: {read_only: true}
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: find, tool: say, args: {words: "{{ word }}"}, timeout: 10s, continue_on_error: true}
          - {id: count, tool: say, args: {words: "{{ steps.find.outputs }}!"}, if: "args.loud && steps.find.text"}
    sandbox: {limits: {timeout: 5s}}
  - name: helper
    description: Answer a question. Use it for all that takes some thought.
    parameters:
      type: object
      properties: {question: {type: string, description: The question}}
      required: [question]
      additionalProperties: false
    result: {schema: {type: object}}
    backend:
      agent:
        provider: openai
        model: gpt-x
        instructions: You help with {{ question }}.
        tools: [say]
        api_key: "{{ secrets.KEY }}"
        max_turns: 3
    sandbox: {secrets: {KEY: {hosts: [api.openai.com]}}}
"""


NOT_JSON: Any = {1: 2}
NO_NUMBER: Any = "x"
NO_OPTION: Any = {"colour": 1}


@tool
def find(path: str, word: str) -> str:
    """Find a word in a file."""
    return f"1: {word} in {path}"


@tool
def count(text: str) -> dict[str, object]:
    """Count the lines of a text."""
    return {"lines": len(text.splitlines())}


def counting() -> ComposedTool:
    return (
        define("report", "Find a word and count the lines that have it.")
        .param("word", "string", "The word")
        .composite(
            "sequential",
            step("find", "find", {"path": "a.txt", "word": "{{ word }}"}),
            step("count", "count", {"text": "{{ steps.find.outputs }}"}),
        )
    )


def registry_of(*tools: ComposedTool) -> Registry:
    registry = Registry()
    registry.add(find, count, *tools)
    return registry


@pytest.fixture
def compiled(tmp_path: Path) -> Registry:
    (tmp_path / "tools.yaml").write_text(SPEC, encoding="utf-8")
    return Registry.load(tmp_path / "tools.yaml")


def test_composite_equals_the_same_spec(compiled: Registry) -> None:
    made = (
        define(
            "report",
            "Find a word in one file, count the lines that have it, and say how many there are.",
            label="Report",
            aliases=["tell"],
            tags=["words"],
            read_only=True,
            timeout=5,
        )
        .param("word", "string", "The word")
        .param_opt("loud", bool, "Whether to shout", default=False)
        .composite(
            "sequential",
            step("find", "say", {"words": "{{ word }}"}, timeout=10, continue_on_error=True),
            step("count", "say", {"words": "{{ steps.find.outputs }}!"}, condition="args.loud && steps.find.text"),
        )
    )
    assert made.spec == compiled.get("report")
    assert made.registered().surface_digest == compiled.registered("report").surface_digest
    assert made.registered().effect_digest == ""


def test_sub_agent_equals_the_same_spec(compiled: Registry) -> None:
    made = (
        define("helper", "Answer a question. Use it for all that takes some thought.", result_schema={"type": "object"})
        .param("question", str, "The question")
        .agent(
            provider="openai",
            model="gpt-x",
            instructions="You help with {{ question }}.",
            tools=["say"],
            secrets={"KEY": {"hosts": ["api.openai.com"]}},
            api_key="{{ secrets.KEY }}",
            max_turns=3,
        )
    )
    assert made.spec == compiled.get("helper")


def test_steps_call_functions() -> None:
    registry, events = registry_of(counting()), list[Event]()
    with Executor(registry) as executor:
        result = executor.run("report", {"word": "moon"}, call_id="c", on_event=events.append)
    assert result.data == {"find": "1: moon in a.txt", "count": {"lines": 1}}
    assert result.details["digests"] == {"surface": counting().registered().surface_digest, "effect": None}
    ends = [(each.call_id, each.parent_call_id) for each in events if isinstance(each, ToolEnd)]
    assert ends == [("c.find", "c"), ("c.count", "c"), ("c", None)]


def test_steps_call_compiled_and_composed_tools(compiled: Registry) -> None:
    others, registry = Registry(), Registry.builtin("none")
    others.add(count)
    inner = define("inner", "Count what is said.").composite("sequential", step("n", "count", {"text": "a\nb"}))
    outer = (
        define("outer", "Say it, and count it, one after the other.")
        .param("words", "string")
        .composite("parallel", step("say", "say", {"words": "{{ words }}"}), step("all", "inner"))
    )
    registry.add(compiled, others, inner, outer)
    with Executor(registry, engine=FakeEngine(echoing)) as executor:
        result = executor.run("outer", {"words": "one"})
    assert result.data == {"say": "one", "all": {"n": {"lines": 2}}}


def test_called_tools_are_looked_up_for_each_call() -> None:
    registry = registry_of(counting())
    registry.remove("count")
    gone = registry.execute("report", {"word": "x"})
    assert gone.error is not None
    assert gone.error.kind == "not_found"
    registry.add(define("count", "Count otherwise.").param("text", "string").handler(lambda text: text.upper()))
    assert registry.execute("report", {"word": "x"}).data == {"find": "1: x in a.txt", "count": "1: X IN A.TXT"}


def test_registry_of_one_composite_includes_called_tools() -> None:
    registry = registry_of(counting()).only("report")
    assert registry.names == ("report",)
    assert registry.execute("report", {"word": "x"}).data == {"find": "1: x in a.txt", "count": {"lines": 1}}


@pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: str(speech.provider))
def test_sub_agent_calls_functions_and_compiled_tools(speech: Speech, compiled: Registry) -> None:
    script = [speech.calls(("say", {"words": "one"}), ("count", {"text": "a\nb"})), speech.text("two lines")]
    with ScriptedModel(speech=speech, script=[*script]) as model:
        asker = (
            define("asker", "Answer a question by what the tools say.", timeout=60)
            .param("question", "string")
            .agent(
                provider=speech.provider,
                model="scripted",
                instructions="You help.",
                tools=["say", "count"],
                base_url=model.base_url,
                secrets={"KEY": {"hosts": ["127.0.0.1"]}},
                api_key="{{ secrets.KEY }}",
            )
        )
        compiled.add(count, asker)
        secrets = SecretStore({"KEY": LiteralSource(KEY)}, {})
        with Executor(compiled, engine=FakeEngine(echoing), secrets=secrets) as executor:
            result = executor.run("asker", {"question": "how many?"})
    assert result.text == "two lines"
    assert speech.results(model.requests[1]) == [("id_1", "one"), ("id_2", '{"lines":2}')]


def test_compiled_composite_does_not_call_functions(compiled: Registry) -> None:
    compiled.remove("say")
    compiled.add(define("say", "Say it.").param("words", "string").handler(lambda words: words))
    outer = define("outer", "Call a tool that was compiled.").composite(
        "sequential", step("all", "report", {"word": "x"})
    )
    compiled.add(outer)
    with Executor(compiled, engine=FakeEngine(echoing)) as executor, pytest.raises(RegistryError, match="reviewed"):
        executor.run("outer", {})


def test_deny_list_and_confirmation_apply_to_steps() -> None:
    registry, events = registry_of(counting()), list[Event]()
    registry.remove("count")
    asking = define("count", "Count.", confirm=True).param("text", "string").handler(lambda text: text)
    registry.add(asking)
    with Executor(registry, confirm=lambda _: Deny("not now")) as executor:
        refused = executor.run("report", {"word": "x"})
        executor.deny("find")
        denied = executor.run("report", {"word": "x"}, on_event=events.append)
    assert refused.error is not None
    assert refused.error.message == "step 'count' (count): this call of 'count' was denied: not now"
    assert denied.error is not None
    assert denied.error.kind == "denied"
    assert [each.name for each in events if isinstance(each, ToolDenied)] == ["find"]


def test_lock_does_not_approve_a_composite() -> None:
    with (
        Executor(registry_of(counting()), lock=Lock("toolc.lock", {})) as executor,
        pytest.raises(LockError, match="does not approve the tool report"),
    ):
        executor.run("report", {"word": "x"})


def test_server_offers_a_composite() -> None:
    registry = registry_of(counting())
    with Executor(registry) as executor:
        assert [each.name for each in executor.tools] == ["count", "find", "report"]
        assert make_server(executor, version="1") is not None


def errors_of(make: Callable[[], object]) -> list[str]:
    """Return each error with its line relative to ``make``, column, number and message."""
    with pytest.raises(SpecError) as caught:
        make()
    first = make.__code__.co_firstlineno
    for each in caught.value.diagnostics:
        assert each.span.path == __file__
    return [
        f"{each.span.start.line - first}:{each.span.start.column} {each.code.number} {each.message}"
        for each in caught.value.diagnostics
        if each.is_error
    ]


def one() -> Definition:
    return define("one", "Do one thing after another.").param("word", "string", "The word").param_opt("n", "integer")


def test_errors_have_lines() -> None:
    def make() -> None:
        one().composite(
            1,  # type: ignore[arg-type]
            step("find", "find", {"path": "{{ wrd }}"}),
            step("find", "count", condition="steps.fnd.text"),
            step("1st", "count", {"text": "{{ steps.find.outputs }}"}, continue_on_error="no"),  # type: ignore[arg-type]
        )

    assert errors_of(make) == [
        (
            "1:9 TC108 'strategy' must be one of 'sequential', 'parallel', 'conditional', 'pipeline', "
            "but is the number 1"
        ),
        "3:44 TC406 there is no parameter 'wrd'",
        "4:13 TC108 an earlier step has the id 'find'",
        "5:13 TC108 'continue_on_error' must be true or false, but is the text 'no'",
        "5:13 TC201 'id' cannot be '1st'",
    ]


def test_checks_of_one_tool_run() -> None:
    def make() -> None:
        one().composite("sequential", step("a", "find"), step("b", "find", condition="steps.c.text"))

    assert errors_of(make) == ["1:87 TC413 there is no step 'c'"]


def test_called_tools_are_checked_when_it_is_added() -> None:
    registry = registry_of()

    def make() -> None:
        made = one().composite(
            "sequential",
            step("a", "fnd", {"word": "{{ word }}"}),
            step("b", "find", {"path": "{{ n }}", "word": 3}),
            step("c", "count", {"txt": "{{ steps.b.outputs.lines }}"}),
        )
        registry.add(made)

    assert errors_of(make) == [
        "3:13 TC105 there is no tool 'fnd' in this registry",
        "4:41 TC412 find.path is a string, but '{{ n }}' is a whole number",
        "4:41 TC412 'find' requires 'path', but the parameter 'n' may be absent",
        "4:13 TC412 find.word: 3 is not a string",
        "5:13 TC412 'count' has no parameter 'txt'",
        "5:13 TC412 'count' requires 'text', which this step does not pass",
    ]
    assert registry.names == ("count", "find")


def test_error_has_a_hint() -> None:
    made = one().agent(provider="openai", model="m", instructions="Help.", tools=["nobody"])
    with pytest.raises(SpecError) as caught:
        Registry().add(made)
    first, second = str(caught.value).splitlines()
    assert first == "1 error in the tool 'one':"
    hint = "add that tool to the registry first, or in the same call of add"
    assert second.endswith(f"TC105 there is no tool 'nobody' in this registry; {hint}")


def test_call_cycles_and_deep_calls_are_rejected() -> None:
    def calling(name: str, other: str) -> ComposedTool:
        return define(name, f"Call the tool {other}.").composite("sequential", step("s", other))

    registry = Registry()
    with pytest.raises(SpecError, match="this tool would call itself: a -> b -> a; break the cycle"):
        registry.add(calling("a", "b"), calling("b", "a"))
    registry.add(define("d0", "Do it.").handler(lambda: "done"))
    for depth in range(1, MAX_DEPTH):
        registry.add(calling(f"d{depth}", f"d{depth - 1}"))
    assert not registry.execute(f"d{MAX_DEPTH - 1}", {}).is_error
    with pytest.raises(SpecError, match=f"calls are nested {MAX_DEPTH + 1} levels deep; the maximum is {MAX_DEPTH}"):
        registry.add(calling("deepest", f"d{MAX_DEPTH - 1}"))
    registry.remove("d0")
    with pytest.raises(SpecError, match="this tool would call itself: d0 -> d1 -> d0"):
        registry.add(calling("d0", "d1"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: one().composite("sequential", step("a", "b", {"x": object()})), r"steps\[0\].args.x is not a JSON"),
        (lambda: one().composite("sequential", step("a", "b", NOT_JSON)), "a key of .*args must be a string; got 1"),
        (lambda: step("a", "b", timeout=NO_NUMBER), "step: a timeout must be a number of seconds .*; got 'x'"),
        (lambda: define("x", "d", timeout=-1).composite("sequential"), "must be a number of seconds .*; got -1"),
        (lambda: define("x", "d", **NO_OPTION).composite("sequential"), "there is no option 'colour'"),
    ],
)  # fmt: skip
def test_invalid_value_is_a_usage_error(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_composed_tools_have_a_repr() -> None:
    assert repr(counting()) == "<ComposedTool: report, a composite of this program>"
    assert repr(registry_of(counting())) == (
        "<Registry: count (in this process), find (in this process), report (of this program)>"
    )


def test_errors_are_located_without_a_source_file() -> None:
    source = compile(
        "define('x', 'Do it.').composite('sequential', step('a', 'b', {'c': '{{ d }}'}))", "<gone>", "exec"
    )
    with pytest.raises(SpecError, match="<gone>:1:1: TC406 there is no parameter 'd'"):
        exec(source, {"define": define, "step": step})

import threading
from pathlib import Path

import pytest

from toolc import Cancellation, Executor, FunctionTool, Registry, RegistryError, UsageError, build, define, tool
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.runtime.caller import CallContext, ignore_event
from toolc.runtime.execution.call_pipeline import CallPipeline
from toolc.runtime.sandboxed.options import CallOptions
from toolc.sandbox.selection import EngineSelection

SPECS = """\
toolc: 1
tools:
  - name: greet
    description: Greet one person by name, for tests of toolc itself and for nothing else.
    aliases: [hello]
    parameters:
      name: {type: string, description: Whom to greet}
    backend: {shell: {argv: [echo, "Hello, {{ name }}!"]}}
  - name: sneak
    description: Call a tool by its name, for tests of toolc itself and for nothing else at all.
    backend: {composite: {strategy: sequential, steps: [{id: one, tool: greet, args: {name: x}}]}}
"""


def never(_: Profile) -> EngineSelection:
    raise AssertionError("nothing is to be started")


@tool
def ping(host: str) -> str:
    """Check whether a host is reachable."""
    return f"{host} is reachable"


def named(name: str) -> FunctionTool:
    return define(name, f"The tool {name}.").handler(lambda: name)


@pytest.fixture
def compiled(tmp_path: Path) -> Registry:
    (tmp_path / "toolc.yaml").write_text("toolsets:\n  polite: [hello]\n", encoding="utf-8")
    (tmp_path / "greet.yaml").write_text(SPECS, encoding="utf-8")
    return Registry.load(tmp_path)


def test_functions_tools_and_registries_can_be_added(compiled: Registry) -> None:
    def plain(text: str) -> str:
        """Say it again."""
        return text

    registry = Registry()
    assert len(registry) == 0
    registry.add(ping, plain)
    registry.add(compiled, named("last"))
    assert registry.names == ("greet", "last", "ping", "plain", "sneak")
    assert len(registry) == 5
    assert "ping" in registry
    assert "hello" in registry
    assert "pong" not in registry
    assert registry.get("pong") is None
    assert repr(registry) == (
        "<Registry: greet, last (in this process), ping (in this process), plain (in this process), sneak>"
    )


def test_the_order_of_adding_changes_nothing() -> None:
    one, two = Registry(), Registry()
    one.add(named("a"), named("b"), named("c"))
    for name in "cab":
        two.add(named(name))
    assert one.names == two.names
    assert one.definitions("anthropic") == two.definitions("anthropic")


def test_a_taken_name_or_alias_is_refused_and_nothing_is_added(compiled: Registry) -> None:
    with pytest.raises(UsageError, match="cannot add the tool 'greet', because the tool 'greet' already uses its name"):
        compiled.add(named("first"), named("greet"))
    with pytest.raises(UsageError, match="cannot add the tool 'hello', because the tool 'greet' already uses its name"):
        compiled.add(named("hello"))
    aliased = define("wave", "Wave.", aliases=["greet"]).handler(lambda: "")
    with pytest.raises(UsageError, match="cannot add the tool 'wave', because the tool 'greet' already uses its alias"):
        compiled.add(aliased)
    assert compiled.names == ("greet", "sneak")
    with pytest.raises(UsageError, match="a int is not a tool; add a function, a tool, or a registry"):
        compiled.add(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"'wave' is incomplete; end it with \.handler\(\.\.\.\), \.composite\("):
        compiled.add(define("wave", "Wave."))  # type: ignore[arg-type]


def test_a_tool_is_removed_with_its_aliases(compiled: Registry) -> None:
    compiled.remove("hello")
    assert "greet" not in compiled
    assert "hello" not in compiled
    compiled.add(named("hello"))
    with pytest.raises(UsageError, match="there is no tool 'helo'; did you mean 'hello'"):
        compiled.remove("helo")


def test_schema_returns_a_copy() -> None:
    registry = Registry()
    registry.add(ping)
    schema = registry.schema("ping")
    assert schema["required"] == ["host"]
    schema["required"] = []
    assert registry.schema("ping")["required"] == ["host"]
    with pytest.raises(UsageError, match="there is no tool 'pong'; did you mean 'ping'"):
        registry.schema("pong")


def test_a_tool_is_called_by_name() -> None:
    registry = Registry()
    registry.add(ping)
    assert registry.execute("ping", {"host": "8.8.8.8"}).text == "8.8.8.8 is reachable"
    registry.remove("ping")
    with pytest.raises(UsageError, match="ping"):
        registry.execute("ping", {"host": "8.8.8.8"})


def test_definitions_are_the_same_whatever_runs_a_tool() -> None:
    registry = Registry()
    registry.add(ping)
    (definition,) = registry.definitions("openai_chat")
    assert definition == {
        "type": "function",
        "function": {
            "name": "ping",
            "description": "Check whether a host is reachable.",
            "parameters": {
                "type": "object",
                "properties": {"host": {"type": "string"}},
                "required": ["host"],
                "additionalProperties": False,
            },
        },
    }


def test_toolsets_come_from_the_project_file(compiled: Registry) -> None:
    assert compiled.toolsets == {"polite": ("hello",)}
    assert compiled.toolset("polite").names == ("greet",)
    registry = Registry()
    registry.add(compiled)
    assert registry.toolset("polite").names == ("greet",)
    registry.remove("greet")
    assert registry.toolset("polite").names == ()
    with pytest.raises(UsageError, match="there is no toolset 'rude'; choose one of: polite"):
        compiled.toolset("rude")
    with pytest.raises(UsageError, match="there is no toolset 'rude'; define toolsets in a project file"):
        Registry().toolset("rude")


def test_a_built_registry_has_parts(compiled: Registry, tmp_path: Path) -> None:
    build(tmp_path, tmp_path / "build")
    built = Registry.load(tmp_path / "build" / "registry.json")
    assert built.toolsets == compiled.toolsets
    assert built.toolset("polite").definitions("mcp") == compiled.toolset("polite").definitions("mcp")
    with pytest.raises(UsageError, match="there is no toolset 'rude'; choose one of: polite"):
        built.toolset("rude")


@pytest.mark.slow
def test_builtin_tools_are_selected_by_preset() -> None:
    assert len(Registry.builtin("none")) == 0
    readonly, coding = Registry.builtin("readonly"), Registry.builtin("coding")
    assert set(readonly.names) < set(coding.names) < set(Registry.builtin().names)
    assert all(each.sandbox.workspace in {"none", "ro"} for each in readonly)
    assert {"bash", "file_edit", "json_query"} <= set(coding.names)
    assert {"web_search", "http_fetch", "knowledge_search"} <= set(Registry.builtin("research").names)
    assert {"database_query", "json_query", "stats", "template"} <= set(Registry.builtin("data").names)
    with pytest.raises(UsageError, match="there is no toolset 'code'; did you mean 'coding'"):
        Registry.builtin("code")
    with pytest.raises(UsageError, match=r"'bash' is a tool, not a toolset; .*only\('bash'\), .*bash --builtin all"):
        Registry.builtin("bash")
    choices = "all, coding, data, readonly, research, none"
    with pytest.raises(UsageError, match=f"there is no toolset 'everything'; choose one of: {choices}"):
        Registry.builtin("everything")


@pytest.mark.slow
def test_builtin_toolsets_have_all_tools_and_what_their_names_promise() -> None:
    registry = Registry.builtin()
    assert registry.toolsets["all"] == registry.names
    for name in registry.toolsets:
        assert registry.toolset(name).names == Registry.builtin(name).names
    assert all(tool.annotations.read_only for tool in Registry.builtin("readonly"))
    assert all(
        not tool.sandbox.network.allow for name in ("coding", "data", "readonly") for tool in Registry.builtin(name)
    )
    assert registry.get("shell_exec") == registry.get("bash")


def test_no_compiled_tool_reaches_a_function_of_the_process(compiled: Registry) -> None:
    called: list[JsonObject] = []

    def greet(name: str) -> str:
        """Greet in the host's own process."""
        called.append({"name": name})
        return "hello from outside"

    compiled.remove("greet")
    compiled.add(greet)
    with pytest.raises(RegistryError, match="tool 'sneak' calls other tools than it was rev"):
        Executor(compiled).run("sneak", {})
    calls = CallPipeline(CallOptions(select_engine=never), compiled.called)
    with Cancellation() as cancellation:
        context = CallContext(call_id="c", on_event=ignore_event, cancellation=cancellation)
        result = calls.call("greet", {"name": "x"}, context, step="one")
    assert result.text == "'greet' is a function of the host process, which compiled tools may not call"
    assert calls.tools(["greet"]) == ()
    assert called == []


def test_any_number_of_threads_may_change_it() -> None:
    registry, wrong = Registry(), list[str]()

    def add_and_remove(prefix: str) -> None:
        for number in range(50):
            registry.add(named(f"{prefix}{number}"))
            names = registry.names
            if [*names] != sorted(names):
                wrong.append(str(names))
            if number % 2:
                registry.remove(f"{prefix}{number}")

    threads = [threading.Thread(target=add_and_remove, args=(prefix,)) for prefix in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
    assert len(registry) == 4 * 25

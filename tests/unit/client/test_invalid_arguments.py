import asyncio
import inspect
import math
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolc
from toolc import (
    Cancellation,
    Executor,
    Registry,
    ToolCall,
    ToolcError,
    ToolResult,
    acollect_response,
    build,
    collect_response,
    define,
    event_to_json,
    result_to_json,
    step,
    tool,
    tool_calls,
    tool_messages,
)
from toolc.functions.define import AgentKeys
from toolc.functions.tools import Traits
from toolc.model.names import PROVIDER_NAMES
from toolc.providers.response_streams import STREAMING

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_folder")]

PLAIN = [None, True, 0, -1, 1.5, 2.0**53, math.nan, math.inf, "", "x", "\ud800", "a\0b", b"x", object(), {1}, int]
JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=4,
)


@tool
def ping(host: str) -> str:
    """Check whether a host is reachable."""
    return f"{host} is reachable"


def registry() -> Registry:
    made = Registry()
    made.add(ping)
    return made


CALL = ToolCall(name="ping", arguments={"host": "a"})
EXECUTOR = Executor(registry())
RESULT = EXECUTOR.run("ping", {"host": "a"})

Use = Callable[[Any], object]


A_CALL: dict[str, Any] = {"name": "ping", "arguments": {"host": "a"}}
A_BATCH: dict[str, Any] = {"calls": [CALL], "mode": "batched", "size": 1}
A_TOOL: dict[str, Any] = {"name": "a", "description": "A tool."}
A_PARAMETER: dict[str, Any] = {"name": "n", "kind": "string", "description": "N."}
A_STEP: dict[str, Any] = {"id": "s", "tool": "ping", "args": {"host": "a"}}
AN_AGENT: dict[str, Any] = {"provider": "openai", "model": "m", "instructions": "Help."}
AN_EXECUTOR: dict[str, Any] = {"registry": registry()}


def run(**given: Any) -> object:
    return EXECUTOR.run(**(A_CALL | given))


def arun(**given: Any) -> object:
    return asyncio.run(EXECUTOR.arun(**(A_CALL | given)))


def stream(**given: Any) -> object:
    return list(EXECUTOR.stream(**(A_CALL | given)))


def astream(**given: Any) -> object:
    async def all_of(events: AsyncIterator[object]) -> list[object]:
        return [each async for each in events]

    async def listen() -> list[object]:
        return await all_of(EXECUTOR.astream(**(A_CALL | given)))

    return asyncio.run(listen())


def run_batch(**given: Any) -> object:
    return EXECUTOR.run_batch(**(A_BATCH | given))


def stream_batch(**given: Any) -> object:
    return list(EXECUTOR.stream_batch(**(A_BATCH | given)))


def arun_batch(**given: Any) -> object:
    return asyncio.run(EXECUTOR.arun_batch(**(A_BATCH | given)))


def execute(**given: Any) -> object:
    with Executor(**(AN_EXECUTOR | given)) as executor:
        return executor.run("ping", {"host": "a"})


def define_function(**given: Any) -> object:
    made = define(**(A_TOOL | given)).handler(lambda **_: 1)
    return made.registered()


def decorate(**given: Any) -> object:
    made: Any = tool(**(A_TOOL | given))
    return made(lambda: 1)


def define_composite(**given: Any) -> object:
    return define(**(A_TOOL | given)).composite("sequential", step("s", "ping"))


def define_step(**given: Any) -> object:
    made = step(**(A_STEP | given))
    registry().add(define("a", "A tool.").composite("sequential", made))
    return made


def define_agent(**given: Any) -> object:
    made = define("a", "A tool.").agent(**(AN_AGENT | given))
    registry().add(made)
    return made


def parameter(**given: Any) -> object:
    made = define("a", "A tool.").param(**(A_PARAMETER | given))
    return made.handler(lambda **_: 1)


def optional(**given: Any) -> object:
    made = define("a", "A tool.").param_opt(**(A_PARAMETER | given))
    return made.handler(lambda **_: 1)


def wait(junk: Any) -> object:
    with Cancellation() as cancellation:
        cancellation.cancel()
        return cancellation.wait(junk)


def collect_one(provider: str, junk: Any) -> object:
    return collect_response(provider, [junk])


async def chunks(*given: Any) -> AsyncIterator[object]:
    for each in given:
        yield each


def each_of(use: Callable[..., object], *names: str) -> dict[str, Use]:
    def using(name: str) -> Use:
        return lambda junk: use(**{name: junk})

    return {f"{use.__name__}({name})": using(name) for name in names}


OF_A_CALL = ("name", "arguments", "call_id", "on_event", "confirm")
OF_A_BATCH = ("calls", "mode", "size", "steer", "timeout", "on_event")
USES: dict[str, Use] = {
    **each_of(execute, *(name for name in inspect.signature(Executor).parameters)),
    **each_of(run, *OF_A_CALL, "cancellation"), **each_of(arun, *OF_A_CALL),
    **each_of(stream, "name", "arguments", "call_id"), **each_of(astream, "name", "arguments", "call_id"),
    **each_of(run_batch, *OF_A_BATCH, "cancellation"), **each_of(arun_batch, *OF_A_BATCH),
    **each_of(stream_batch, "calls", "mode", "size", "steer", "timeout"),
    **each_of(define_function, "name", "description", "parameters", *Traits.__annotations__, "unknown"),
    **each_of(decorate, "name", "description", *Traits.__annotations__, "unknown"),
    **each_of(define_composite, "name", "description", "parameters", *Traits.__annotations__),
    **each_of(define_step, *inspect.signature(step).parameters),
    **each_of(define_agent, "provider", "model", "instructions", "tools", "secrets", *AgentKeys.__annotations__),
    **each_of(parameter, "name", "kind", "description", "enum"),
    **each_of(optional, "name", "kind", "description", "enum", "default"),
    "a batch of": lambda junk: EXECUTOR.run_batch([junk]),
    "Executor.stream_batch": lambda junk: [*EXECUTOR.stream_batch(junk)],
    "Executor.stream_batch(timeout)": lambda junk: [*EXECUTOR.stream_batch([CALL], timeout=junk)],
    "ToolCall(name)": lambda junk: EXECUTOR.run_batch([ToolCall(name=junk, arguments={})]),
    "ToolCall(arguments)": lambda junk: EXECUTOR.run_batch([ToolCall(name="ping", arguments=junk)]),
    "ToolCall(call_id)": lambda junk: EXECUTOR.run_batch([ToolCall(name="ping", arguments={}, call_id=junk)]),
    "deny": lambda junk: Executor(registry()).deny(junk),
    "deny(tags)": lambda junk: Executor(registry()).deny(tags=junk), "allow": EXECUTOR.allow,
    "allow(tags)": lambda junk: EXECUTOR.allow(tags=junk), "Executor.definitions": EXECUTOR.definitions,
    "Registry": Registry, "Registry.load": Registry.load, "Registry.add": lambda junk: Registry().add(junk),
    "Registry.builtin": lambda junk: Registry.builtin(junk if junk != "all" else "none"),
    "Registry.remove": lambda junk: registry().remove(junk), "Registry.get": lambda junk: registry().get(junk),
    "Registry.only": lambda junk: registry().only(junk), "Registry.toolset": lambda junk: registry().toolset(junk),
    "Registry.definitions": lambda junk: registry().definitions(junk),
    "Registry.schema": lambda junk: registry().schema(junk),
    "Registry.execute": lambda junk: registry().execute(junk, {}),
    "Registry.execute(arguments)": lambda junk: registry().execute("ping", junk),
    "in": lambda junk: junk in registry(), "build": lambda junk: build(junk, "out"),
    "build(out)": lambda junk: build("nowhere", junk), "event_to_json": event_to_json,
    "result_to_json": result_to_json, "tool_calls(provider)": lambda junk: tool_calls(junk, {}),
    **{f"tool_calls({name})": partial(tool_calls, name) for name in PROVIDER_NAMES},
    "collect_response(provider)": lambda junk: collect_response(junk, []),
    **{f"collect_response({name})": partial(collect_response, name) for name in STREAMING},
    **{f"collect_response({name}) of": partial(collect_one, name) for name in STREAMING},
    "acollect_response(provider)": lambda junk: asyncio.run(acollect_response(junk, chunks())),
    "acollect_response": lambda junk: asyncio.run(acollect_response("anthropic", junk)),
    "acollect_response of": lambda junk: asyncio.run(acollect_response("anthropic", chunks(junk))),
    "request_options": lambda junk: registry().request_options(junk),
    "tool_messages(provider)": lambda junk: tool_messages(junk, [], []),
    "tool_messages(calls)": lambda junk: tool_messages("anthropic", junk, []),
    "tool_messages(results)": lambda junk: tool_messages("anthropic", [CALL], junk),
    "tool_messages of": lambda junk: tool_messages("anthropic", [junk], [RESULT]),
    "tool_messages with": lambda junk: tool_messages("anthropic", [CALL], [junk]), "@tool": tool,
    "handler": lambda junk: define("a", "A tool.").handler(junk),
    "composite": lambda junk: define("a", "A tool.").composite(junk, step("s", "ping")),
    "composite of": lambda junk: define("a", "A tool.").composite("sequential", junk),
    "ToolResult.failure(kind)": lambda junk: ToolResult.failure("x", kind=junk),
    "ToolResult.success": ToolResult.success, "Cancellation.wait": wait,
}  # fmt: skip


def is_accepted_or_described(name: str, junk: object) -> bool:
    """Return whether toolc accepts the value or raises an error with a message; other exceptions fail the test."""
    # A type is callable too, and toolc does not handle what it raises for an event.
    if junk is int and any(word in name for word in ("on_event", "steer", "ask", "confirm")):
        return True
    try:
        USES[name](junk)
    except ToolcError as error:
        return len(str(error)) > 10
    return True


@pytest.mark.parametrize("name", USES)
def test_arguments_of_other_types_are_described(name: str) -> None:
    assert all(is_accepted_or_described(name, junk) for junk in PLAIN)


@pytest.mark.parametrize("name", USES)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(junk=JUNK)
def test_invalid_values_raise_a_toolc_error(name: str, junk: object) -> None:
    assert is_accepted_or_described(name, junk)


def test_all_public_names_are_tested() -> None:
    callables = {name for name in toolc.__all__ if inspect.isfunction(getattr(toolc, name))}
    assert callables == {
        "acollect_response", "build", "collect_response", "define", "event_to_json", "result_to_json", "step", "tool",
        "tool_calls", "tool_messages",
    }  # fmt: skip

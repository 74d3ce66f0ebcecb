"""A tool with ``confirm: true``, called by an MCP client: the user confirms it, or the call is denied."""

from dataclasses import replace
from typing import Literal, cast

import anyio
import pytest
from calls.fake_tools import executor, tool
from calls.fake_tools import text as text_result
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.types import CallToolRequestParams, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent

from toolc.client.executor import Executor
from toolc.model.call import Allow, BoundCall, Deny
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.result import Outcome
from toolc.serve.mcp import make_server
from toolc.serve.mcp_interaction import ClientConfirmation, InputRequiredError
from toolc.testing.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio
WIPE = replace(tool("wipe", path={"type": "string"}), confirm=True)
QUESTION = 'Run the tool wipe with these arguments?\n{\n  "path": "a"\n}'


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Literal["auto", "legacy"]:
    return "legacy" if request.param == "legacy" else "auto"


def wiping(calls: list[JsonObject]) -> Executor:
    def wipe(arguments: JsonObject) -> JsonObject:
        calls.append(arguments)
        return text_result("wiped")

    return executor({"wipe": wipe}, WIPE)


@pytest.mark.parametrize(("action", "text"), [("accept", "wiped"), ("decline", None), ("cancel", None)])
async def test_the_user_is_asked_and_the_call_runs_only_if_accepted(
    mode: Literal["auto", "legacy"], action: Literal["accept", "decline", "cancel"], text: str | None
) -> None:
    prompted: list[str] = []
    calls: list[JsonObject] = []

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        prompted.append(params.message)
        return ElicitResult(action=action)

    with wiping(calls) as each:
        async with Client(make_server(each, version="1"), mode=mode, elicitation_callback=ask) as client:
            result = await client.call_tool("wipe", {"path": "a"})
    assert prompted == [QUESTION]
    assert (result.is_error, calls) == ((False, [{"path": "a"}]) if text else (True, []))
    assert result.content == [TextContent(type="text", text=text or "this call of 'wipe' was denied")]


async def test_a_client_without_elicitation_gets_an_error_with_a_hint(mode: Literal["auto", "legacy"]) -> None:
    calls: list[JsonObject] = []
    with wiping(calls) as each:
        async with Client(make_server(each, version="1"), mode=mode) as client:
            result = await client.call_tool("wipe", {"path": "a"})
    assert (result.is_error, calls) == (True, [])
    assert isinstance(result.content[0], TextContent)
    assert "toolc serve with a client that supports elicitation" in result.content[0].text


async def test_the_confirm_function_of_the_application_is_used_instead_of_the_client() -> None:
    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        raise AssertionError(params)

    calls: list[JsonObject] = []
    with wiping(calls) as each:
        engine = FakeEngine(lambda _: Outcome(ending="exited"))
        strict = Executor(each.registry, engine=engine, confirm=lambda _: Deny("not today"))
        async with Client(make_server(strict, version="1"), elicitation_callback=ask) as client:
            result = await client.call_tool("wipe", {"path": "a"})
    assert result.content == [TextContent(type="text", text="this call of 'wipe' was denied: not today")]


async def test_cancelling_a_call_during_the_question_frees_the_server() -> None:
    prompted = anyio.Event()

    async def think(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        prompted.set()
        await anyio.sleep_forever()
        raise AssertionError

    calls: list[JsonObject] = []
    with wiping(calls) as each:
        async with Client(make_server(each, version="1"), mode="legacy", elicitation_callback=think) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "wipe", {"path": "a"})
                await prompted.wait()
                tasks.cancel_scope.cancel()
            assert (await client.list_tools()).tools
    assert calls == []


async def test_only_one_question_is_asked_at_a_time() -> None:
    events: list[tuple[str, str]] = []
    both = anyio.Event()

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        which = params.message[-4]
        events.append(("asked", which))
        with anyio.move_on_after(0.3):
            # If the other question were asked concurrently, it would set this.
            await both.wait()
        if len([each for each in events if each[0] == "asked"]) == 2:
            both.set()
        events.append(("answered", which))
        return ElicitResult(action="accept" if which == "a" else "decline")

    calls: list[JsonObject] = []
    results: dict[str, bool] = {}
    with wiping(calls) as each:
        async with Client(make_server(each, version="1"), mode="legacy", elicitation_callback=ask) as client:

            async def call(path: str) -> None:
                results[path] = (await client.call_tool("wipe", {"path": path})).is_error

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, "a")
                tasks.start_soon(call, "b")
    (_, first), (_, second) = events[::2]
    assert events == [("asked", first), ("answered", first), ("asked", second), ("answered", second)]
    assert (results, calls) == ({"a": False, "b": True}, [{"path": "a"}])


async def test_a_call_that_waits_for_its_question_can_be_cancelled() -> None:
    prompted, answer = anyio.Event(), anyio.Event()
    questions: list[str] = []

    async def think(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        prompted.set()
        await answer.wait()
        return ElicitResult(action="accept")

    calls: list[JsonObject] = []
    with wiping(calls) as each:
        async with Client(make_server(each, version="1"), mode="legacy", elicitation_callback=think) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "wipe", {"path": "a"})
                await prompted.wait()
                async with anyio.create_task_group() as waiting:
                    waiting.start_soon(client.call_tool, "wipe", {"path": "b"})
                    await client.list_tools()  # then the server has received both calls
                    waiting.cancel_scope.cancel()
                answer.set()
            assert (await client.list_tools()).tools
    assert (questions, calls) == ([QUESTION], [{"path": "a"}])


async def test_a_denied_tool_is_no_longer_listed() -> None:
    with wiping([]) as each:
        async with Client(make_server(each, version="1")) as client:
            assert [found.name for found in (await client.list_tools(cache_mode="bypass")).tools] == ["wipe"]
            each.deny("wipe")
            assert (await client.list_tools(cache_mode="bypass")).tools == []


async def test_the_user_can_fill_in_what_the_model_has_left_out(mode: Literal["auto", "legacy"]) -> None:
    forms: list[object] = []
    calls: list[JsonObject] = []
    optional = Schema(
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "default": "."},
                "depth": {"type": "integer", "default": 1, "maximum": 9},
                "force": {"type": "boolean", "examples": [True]},
                "names": {"type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": False,
        }
    )

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        forms.append(params.requested_schema)
        return ElicitResult(action="accept", content={"path": "b", "depth": 3, "force": None, "other": 1})

    def wipe(arguments: JsonObject) -> JsonObject:
        calls.append(arguments)
        return text_result("wiped")

    with executor({"wipe": wipe}, replace(WIPE, parameters=optional)) as each:
        async with Client(make_server(each, version="1"), mode=mode, elicitation_callback=ask) as client:
            assert not (await client.call_tool("wipe", {"path": "a"})).is_error
    fields = {"depth": {"type": "integer", "default": 1, "maximum": 9}, "force": {"type": "boolean"}}
    assert forms == [{"type": "object", "properties": fields}]
    assert calls == [{"path": "a", "depth": 3}]


async def test_a_response_is_only_valid_for_its_own_question() -> None:
    def prompted(arguments: JsonObject, answers: dict[str, ElicitResult]) -> tuple[str, ...]:
        params = CallToolRequestParams(name="wipe", arguments=arguments, input_responses={**answers})
        confirmation = ClientConfirmation(context, params, anyio.Lock(), "c", is_answer=True)
        with pytest.raises(InputRequiredError) as caught:
            confirmation.confirm(BoundCall(tool=WIPE, arguments=arguments, call_id="c"))
        return tuple(caught.value.result.input_requests or ())

    context: ServerRequestContext[dict[str, object]] = ServerRequestContext(
        session=cast("ServerSession", None), lifespan_context={}, protocol_version="2026-07-28", method="tools/call"
    )
    yes = ElicitResult(action="accept")
    (key,) = prompted({"path": "a"}, {})
    (other,) = prompted({"path": "b"}, {key: yes})
    assert key != other
    params = CallToolRequestParams(name="wipe", arguments={"path": "b"}, input_responses={other: yes})
    call = BoundCall(tool=WIPE, arguments={"path": "b"}, call_id="c")
    confirmation = ClientConfirmation(context, params, anyio.Lock(), "c", is_answer=True)
    assert confirmation.confirm(call) == Allow()
    assert isinstance(confirmation.confirm(replace(call, call_id="c.part")), Deny)

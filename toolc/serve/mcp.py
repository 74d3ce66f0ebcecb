"""Serve tools to an MCP client: list them, and run each call in a separate sandbox.

Failures of a tool and invalid arguments become results with ``isError``, so that the model can correct itself. An
unknown tool is the JSON-RPC error -32602, and a failure of the sandbox is -32603.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from secrets import token_bytes
from typing import Any, Final, TypeAlias

import anyio
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    SetLevelRequestParams,
    Tool,
)

from toolc.client.executor import CallableTools, Executor
from toolc.model.call import NO_CLAIMS, Claims
from toolc.model.events import Event, Listener
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.registry_io import surfaces_digest
from toolc.serve.mcp_call import Context, answer_of
from toolc.serve.mcp_interaction import ClientConfirmation, InputRequiredError, LogRelay, ProgressRelay
from toolc.serve.mcp_options import NO_OPTIONS, McpOptions
from toolc.serve.offered import CALL, SEARCH_TOOLS
from toolc.serve.served_client import STATE_SECONDS, QuotaError, Reservation, RunningCall, ServedClient, ServerCalls
from toolc.serve.tasks import TaskRequiredError, Tasks

REGISTRY_KEY: Final = "toolc/registry"
"""The key of the registry's digest in the metadata of a list of tools. Typed clients compare it with their own."""

PAGE: Final = 1000
"""The number of tools in a page of ``tools/list``."""

LEVELS_WITH_STDERR: Final = ("debug", "info")
"""The log levels with which a client receives the stderr of tools. Clients set a level up to revision 2025-11-25."""

LIST_SECONDS: Final = 60
"""How long a client of revision 2026-07-28 may keep a list of tools. A subscribed client learns of a change earlier."""

_Answer: TypeAlias = "CallToolResult | InputRequiredResult | JsonObject"
"""A result, a question, or a task."""


def make_server(executor: Executor, *, version: str, options: McpOptions = NO_OPTIONS) -> Server[dict[str, Any]]:
    """Return a server that offers the executor's tools to one client. It does not need to be closed."""
    client = ServedClient("stdio", executor, ServerCalls())
    return make_shared_server(lambda _: client, lambda: executor.registry, version=version, options=options)


def make_shared_server(
    client_of: Callable[[Context], ServedClient],
    tools: Callable[[], CallableTools],
    *,
    version: str,
    reservation_of: Callable[[Context], Reservation | None] = lambda _: None,
    claims_of: Callable[[Context], Claims] = lambda _: NO_CLAIMS,
    tools_change: bool = False,
    options: McpOptions = NO_OPTIONS,
) -> Server[dict[str, Any]]:
    """Return a server for several clients. ``client_of`` returns the client that made a request.

    ``tools`` returns the tools of all clients, whose schemas say which headers must repeat an argument.
    ``reservation_of`` returns the right to make the call if the transport has reserved it, and ``claims_of`` returns
    the claims of the sender. With ``tools_change``, the server declares that it notifies clients when the tools change.
    """
    finding, tasks = options.finding, Tasks(options)

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        client = client_of(context)
        left_out = await client.changed_tools()
        executor = client.executor
        definitions = finding.definitions(executor) if finding else executor.definitions("mcp")
        registry = executor.registry
        digest = surfaces_digest({tool.name: registry.registered(tool.name).surface_digest for tool in registry})
        return _page(definitions, digest, params.cursor if params else None, left_out)

    async def call_tool(context: Context, params: CallToolRequestParams) -> _Answer:
        client, claims = client_of(context), claims_of(context)
        refused = partial(client.record_refusal, claims=claims)
        if finding and params.name in SEARCH_TOOLS:
            resolved = await finding.resolve(params, client.executor, await client.changed_tools())
            if isinstance(resolved, CallToolResult):
                if params.name == CALL:
                    named = params.arguments or {}
                    await refused(str(named.get("name", "")), named.get("arguments"), "not_found")
                return resolved
            params = resolved
        state = params.request_state
        if state is not None and not client.take_answer(state):
            raise MCPError(INVALID_PARAMS, "Invalid or expired requestState", {"reason": "invalid_request_state"})
        executor, is_answer = client.executor, state is not None and bool(params.input_responses)
        if params.name not in executor.registry and all(params.name != tool.name for tool in executor.tools):
            await refused(params.name, params.arguments, "not_found")
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        opening = client.calling(params.name, reservation_of(context), claims)
        confirmation_of = partial(ClientConfirmation, context, params, client.asking, is_answer=is_answer)
        try:
            if tasks.accepts(context, executor, params.name) and (is_answer or not _asks(executor, params.name)):
                return await tasks.start(client, opening, params.arguments or {}, confirmation_of)
            with opening as call:
                result = await _run(call, params, confirmation_of(call.call_id), context)
        except TaskRequiredError:
            await refused(params.name, params.arguments, "no_task")
            raise
        except QuotaError as error:
            await refused(params.name, params.arguments, "quota")
            raise MCPError(INTERNAL_ERROR, str(error), {"retryAfter": error.seconds}) from None
        return _with_state(result, client) if isinstance(result, InputRequiredResult) else result

    async def set_level(context: Context, params: SetLevelRequestParams) -> EmptyResult:
        client_of(context).receives_logs = params.level in LEVELS_WITH_STDERR
        return EmptyResult()

    server = (_ChangingServer if tools_change else Server[dict[str, Any]])(
        "toolc",
        version=version,
        on_list_tools=list_tools,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_SECONDS * 1000)},
        get_tool_input_schema=lambda name: _input_schema(tools(), name),
        lifespan=tasks.lifespan,
    )
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    tasks.register(server, client_of)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
    security = RequestStateSecurity(
        keys=[token_bytes(32)], ttl=STATE_SECONDS, bind_principal=lambda context: client_of(context).name
    )
    server.middleware.append(RequestStateBoundary(security, default_audience=None))
    return server


class _ChangingServer(Server[dict[str, Any]]):
    """A server that declares to clients of revisions up to 2025-11-25 that its tools can change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Add the options, because the SDK passes none for sessions over HTTP."""
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def _asks(executor: Executor, tool: str) -> bool:
    """Return whether a call ends with a question to the client before it starts, instead of waiting for a reviewer."""
    return executor.confirm is None and executor.registry.registered(tool).spec.confirm


def _input_schema(tools: CallableTools, name: str) -> JsonObject | None:
    return tools.registered(name).spec.parameters.value if name in tools else None


def _page(
    definitions: Sequence[JsonValue], digest: str, cursor: str | None, left_out: Collection[str]
) -> ListToolsResult:
    """Return a page of the tools without those left out. Nothing is cached, because a deny-list may change."""
    generation, _, start = (cursor or f"{digest}:0").rpartition(":")
    if generation != digest or not re.fullmatch("[0-9]{1,9}", start):
        raise MCPError(INVALID_PARAMS, "Invalid cursor: the list of tools has changed; list the tools again")
    end = int(start) + PAGE
    page = (Tool.model_validate(each) for each in definitions[int(start) : end])
    tools = [each for each in page if each.name not in left_out]
    following = f"{digest}:{end}" if end < len(definitions) else None
    return ListToolsResult(tools=tools, next_cursor=following, _meta={REGISTRY_KEY: digest})


def _with_state(result: InputRequiredResult, client: ServedClient) -> InputRequiredResult:
    """Return a question with the state that its answer must repeat. The SDK's middleware encrypts the state."""
    state = client.new_question()
    if state is None:
        raise MCPError(INTERNAL_ERROR, "too many questions to this client are unanswered; try again later")
    return result.model_copy(update={"request_state": state})


async def _run(
    running: RunningCall, params: CallToolRequestParams, confirmation: ClientConfirmation, context: Context
) -> CallToolResult | InputRequiredResult:
    """Run a call on a separate thread. Cancelling this task ends the call and waits for its sandbox."""
    relay = ProgressRelay(context.session.report_progress)
    log = LogRelay(lambda line, tool: context.session.send_log_message("info", line, tool, context.request_id))

    def on_event(event: Event) -> None:
        relay.on_event(event)
        if running.owner.receives_logs:
            log.on_event(event)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay.run)
        tasks.start_soon(log.run)
        attempt = partial(_attempt, running, params, on_event, confirmation)
        result = await running.on_thread(attempt, confirmation.closed.set)
        await relay.flush()
        await log.flush()
        tasks.cancel_scope.cancel()
    if isinstance(result, MCPError):
        raise result
    return result


def _attempt(
    running: RunningCall, params: CallToolRequestParams, on_event: Listener, confirmation: ClientConfirmation
) -> CallToolResult | InputRequiredResult | MCPError:
    try:
        confirm = confirmation.confirm if confirmation.is_supported else None
        return answer_of(running, running.run(params.arguments or {}, on_event, confirm))
    except InputRequiredError as question:
        return question.result

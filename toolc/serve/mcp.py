"""Tools for an MCP client: list them, and run each call in a sandbox of its own.

A tool's own failure, wrong arguments among them, is a result that says ``isError``, so that the model can
correct itself. An unknown tool is JSON-RPC error -32602; a sandbox that could not do its work is -32603.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)

from toolc.client.executor import Executor
from toolc.model.errors import ToolcError
from toolc.model.result import ToolResult
from toolc.providers.mcp import call_result
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.batch import new_call_id
from toolc.serve.mcp_interaction import Person, ProgressRelay, UnansweredError

__all__ = [
    "make_server",
]

MAX_CALLS: Final = 16
"""How many calls run at once; more wait their turn. Below anyio's 40 threads: reading stdin takes one too."""


def make_server(executor: Executor, *, version: str) -> Server[dict[str, Any]]:
    """A server that offers the executor's tools to one client; it holds nothing that needs closing."""
    turns = anyio.Semaphore(MAX_CALLS)
    asking = anyio.Lock()

    async def list_tools(
        _: ServerRequestContext[dict[str, Any]],
        params: PaginatedRequestParams | None,  # noqa: ARG001
    ) -> ListToolsResult:
        # Each time anew: a deny-list may change.
        return ListToolsResult(tools=[Tool.model_validate(each) for each in executor.definitions("mcp")])

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.name not in executor.registry and all(params.name != tool.name for tool in executor.tools):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        async with turns:
            return await _run(executor, params, Person(context, params, new_call_id(), asking), context)

    return Server("toolc", version=version, on_list_tools=list_tools, on_call_tool=call_tool)


def to_call_result(result: ToolResult) -> CallToolResult:
    """A result as the SDK has it."""
    return CallToolResult.model_validate(call_result(result))


async def _run(
    executor: Executor,
    params: CallToolRequestParams,
    person: Person,
    context: ServerRequestContext[dict[str, Any]],
) -> CallToolResult | InputRequiredResult:
    """One call on a thread of its own. Cancelled, it ends the call and waits until the sandbox is gone.

    Progress goes to a client that asked for it.
    """
    relay = ProgressRelay(context.session.report_progress)
    with Cancellation() as cancellation:
        call = partial(_attempt, executor, params, cancellation, relay, person)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_pass_on, cancellation, person.gone)
            tasks.start_soon(relay.run)
            with anyio.CancelScope(shield=True):
                result = await anyio.to_thread.run_sync(call)
            await relay.flush()
            tasks.cancel_scope.cancel()
    if isinstance(result, MCPError):
        raise result
    return result


def _attempt(
    executor: Executor,
    params: CallToolRequestParams,
    cancellation: Cancellation,
    relay: ProgressRelay,
    person: Person,
) -> CallToolResult | InputRequiredResult | MCPError:
    """The call itself; errors are returned, for a task group would wrap one that is raised."""
    # What embeds the server may have its own mind about who confirms a call.
    asks = executor.confirm is None and person.can_be_asked
    try:
        result = executor.run(
            params.name,
            params.arguments or {},
            call_id=person.call_id,
            on_event=relay.hear,
            confirm=person.confirm if asks else None,
            cancellation=cancellation,
        )
    except UnansweredError as question:
        return question.result
    except ToolcError as error:
        return MCPError(INTERNAL_ERROR, str(error))
    except Exception as error:  # noqa: BLE001  our bug: the client must have an answer, and no traceback
        return MCPError(INTERNAL_ERROR, f"this is a bug in toolc: {type(error).__name__}: {error}")
    return to_call_result(result)


async def _pass_on(cancellation: Cancellation, gone: anyio.Event) -> None:
    """Cancel the call when this task is cancelled; after the call's end that does nothing."""
    try:
        await anyio.sleep_forever()
    finally:
        cancellation.cancel()
        gone.set()

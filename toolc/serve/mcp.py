"""Serve tools to an MCP client: list them, and run each call in a separate sandbox.

A failure of a tool and invalid arguments are results with ``isError``, so that the model can correct itself. An unknown
tool is the JSON-RPC error -32602, and a failure of the sandbox is -32603.
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

from toolc.client.executor import CallableTools, Executor
from toolc.model.errors import ToolcError
from toolc.model.registry_io import surfaces_digest
from toolc.providers.mcp import call_result
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.batch import new_call_id
from toolc.serve.mcp_interaction import ClientConfirmation, InputRequiredError, ProgressRelay

MAX_CALLS: Final = 16
"""The maximum number of concurrent calls. Others wait. It is below anyio's 40 threads, because stdin needs one."""


REGISTRY_KEY: Final = "toolc/registry"
"""The key of the registry's digest in the metadata of a list of tools. Typed clients compare it with their own."""


def make_server(executor: Executor, *, version: str) -> Server[dict[str, Any]]:
    """Return a server that offers the executor's tools to one client. It need not be closed."""
    slots = anyio.Semaphore(MAX_CALLS)
    lock = anyio.Lock()

    async def list_tools(
        _: ServerRequestContext[dict[str, Any]],
        params: PaginatedRequestParams | None,  # noqa: ARG001
    ) -> ListToolsResult:
        # List the tools for each request, because a deny-list may change.
        tools = [Tool.model_validate(each) for each in executor.definitions("mcp")]
        return ListToolsResult(tools=tools, _meta={REGISTRY_KEY: _registry_digest(executor.registry)})

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.name not in executor.registry and all(params.name != tool.name for tool in executor.tools):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        async with slots:
            confirmation = ClientConfirmation(context, params, new_call_id(), lock)
            return await _run(executor, params, confirmation, context)

    return Server("toolc", version=version, on_list_tools=list_tools, on_call_tool=call_tool)


def _registry_digest(registry: CallableTools) -> str:
    return surfaces_digest({tool.name: registry.registered(tool.name).surface_digest for tool in registry})


async def _run(
    executor: Executor,
    params: CallToolRequestParams,
    confirmation: ClientConfirmation,
    context: ServerRequestContext[dict[str, Any]],
) -> CallToolResult | InputRequiredResult:
    """Run a call on a separate thread. Cancelling this task ends the call and waits for its sandbox."""
    relay = ProgressRelay(context.session.report_progress)
    with Cancellation() as cancellation:
        call = partial(_attempt, executor, params, cancellation, relay, confirmation)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_call, cancellation, confirmation.closed)
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
    confirmation: ClientConfirmation,
) -> CallToolResult | InputRequiredResult | MCPError:
    """Run the call. Return errors instead of raising them, because a task group would wrap them."""
    # An application that embeds the server may have its own ``confirm``.
    asks = executor.confirm is None and confirmation.is_supported
    try:
        result = executor.run(
            params.name,
            params.arguments or {},
            call_id=confirmation.call_id,
            on_event=relay.on_event,
            confirm=confirmation.confirm if asks else None,
            cancellation=cancellation,
        )
    except InputRequiredError as question:
        return question.result
    except ToolcError as error:
        return MCPError(INTERNAL_ERROR, str(error))
    except Exception as error:  # noqa: BLE001  a bug in toolc: the client must get an answer without a traceback
        return MCPError(INTERNAL_ERROR, f"this is a bug in toolc: {type(error).__name__}: {error}")
    is_registered = params.name in executor.registry  # the tool that reads long results is not
    schema = executor.registry.registered(params.name).spec.result_schema if is_registered else None
    return CallToolResult.model_validate(call_result(result, schema))


async def _cancel_call(cancellation: Cancellation, closed: anyio.Event) -> None:
    """Cancel the call when this task is cancelled. This has no effect after the end of the call."""
    try:
        await anyio.sleep_forever()
    finally:
        cancellation.cancel()
        closed.set()

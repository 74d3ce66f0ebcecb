"""Tools for an MCP client: list them, and run each call in a sandbox of its own.

A tool's own failure, wrong arguments among them, is a result that says ``isError``, so that the model can
correct itself. An unknown tool is JSON-RPC error -32602; a sandbox that could not do its work is -32603.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
)

from toolc.api import Executor, Registry
from toolc.errors import ToolcError, UsageError
from toolc.result import Content, Resource, Text, ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.unready import unready
from toolc.runtime.workspace import mount
from toolc.serve.progress import ProgressRelay, Send
from toolc.template import as_text

MAX_CALLS: Final = 16
"""How many calls run at once; more wait their turn. Below anyio's 40 threads: reading stdin takes one too."""


def check_workspace(registry: Registry, workspace: Path | None) -> None:
    """Refuse at once what every call would be refused for. Raises ``UsageError``."""
    if workspace is not None:
        mount(workspace, "ro")
        return
    needing = [tool.name for tool in registry if tool.sandbox.workspace != "none"]
    if needing:
        raise UsageError(
            f"{', '.join(needing)}: these tools work on a folder, and serve takes none by itself; "
            "say which one they may use with: --workspace DIR"
        )


def check_ready(registry: Registry) -> None:
    """Refuse to offer a model tools that no call could run. Raises ``UsageError``."""
    reasons = [reason for tool in registry if (reason := unready(tool))]
    if reasons:
        raise UsageError("\n".join([*reasons, "serve a file, or SPEC#NAME, without these tools"]))


def make_server(executor: Executor, *, version: str) -> Server[dict[str, Any]]:
    """A server that offers the executor's tools; it holds nothing that needs closing."""
    tools = [Tool.model_validate(definition) for definition in executor.registry.definitions("mcp")]
    turns = anyio.Semaphore(MAX_CALLS)

    async def list_tools(
        _: ServerRequestContext[dict[str, Any]],
        params: PaginatedRequestParams | None,  # noqa: ARG001
    ) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult:
        if params.name not in executor.registry:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        async with turns:
            return to_call_result(await _run(executor, params, context.session.report_progress))

    return Server("toolc", version=version, on_list_tools=list_tools, on_call_tool=call_tool)


def to_call_result(result: ToolResult) -> CallToolResult:
    """A result as MCP has it: ``details`` stay here, and data is ``structuredContent`` if it is an object.

    Data that has no words beside it is said in a text block too.
    """
    data = result.structured
    content = [_block(block) for block in result.content]
    if data is not None and not content:
        content = [TextContent(type="text", text=as_text(data[0]))]
    structured = data[0] if data is not None and isinstance(data[0], dict) else None
    return CallToolResult(content=content, structured_content=structured, is_error=result.is_error)


async def _run(executor: Executor, params: CallToolRequestParams, report: Send) -> ToolResult:
    """One call on a thread of its own. Cancelled, it ends the call and waits until the sandbox is gone.

    ``report`` does nothing for a client that did not ask for progress.
    """
    relay = ProgressRelay(report)
    with Cancellation() as cancellation:
        call = partial(_attempt, executor, params, cancellation, relay)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_pass_on, cancellation)
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
) -> ToolResult | MCPError:
    """The call itself; errors are returned, for a task group would wrap one that is raised."""
    try:
        return executor.run(params.name, params.arguments or {}, on_event=relay.hear, cancellation=cancellation)
    except ToolcError as error:
        return MCPError(INTERNAL_ERROR, str(error))
    except Exception as error:  # noqa: BLE001  our bug: the client must have an answer, and no traceback
        return MCPError(INTERNAL_ERROR, f"this is a bug in toolc: {type(error).__name__}: {error}")


async def _pass_on(cancellation: Cancellation) -> None:
    """Cancel the call when this task is cancelled; after the call's end that does nothing."""
    try:
        await anyio.sleep_forever()
    finally:
        cancellation.cancel()


def _block(block: Content) -> ContentBlock:
    if isinstance(block, Text):
        return TextContent(type="text", text=block.text)
    if isinstance(block, Resource):
        return EmbeddedResource(type="resource", resource=_resource(block))
    data = base64.b64encode(block.data).decode("ascii")
    return ImageContent(type="image", data=data, mime_type=block.mime_type)


def _resource(block: Resource) -> TextResourceContents | BlobResourceContents:
    """A text as text, so that a client can give it to its model; all else as Base64."""
    uri = f"toolc:///{quote(block.name)}"
    if block.mime_type.startswith("text/"):
        with suppress(UnicodeDecodeError):
            return TextResourceContents(uri=uri, mime_type=block.mime_type, text=block.data.decode("utf-8"))
    blob = base64.b64encode(block.data).decode("ascii")
    return BlobResourceContents(uri=uri, mime_type=block.mime_type, blob=blob)

"""Pydantic AI: each tool as a ``Tool`` with the JSON Schema of its parameters.

Invalid arguments raise ``ModelRetry``, which counts as one of the tool's retries. Any other failed call raises
``ToolFailed``. The metadata of a successful call is its result as JSON. A failure of the sandbox is raised and ends the
run. For tools with ``confirm: true``, which require approval, the run ends with ``DeferredToolRequests``.
"""

from __future__ import annotations

from typing import Any

from toolc.adapters.framework_tool import AdaptedTool, adapt, object_of
from toolc.client.executor import Executor
from toolc.client.serialization import result_to_json
from toolc.model.errors import MissingExtraError
from toolc.model.result import Content, Text, ToolResult
from toolc.providers.content import blocks, describe_block

try:
    from pydantic_ai import BinaryContent, ModelRetry, RunContext, Tool, ToolFailed, ToolReturn
except ModuleNotFoundError as error:
    raise MissingExtraError("toolc.adapters.pydantic_ai", "pydantic-ai") from error


def tools(executor: Executor) -> list[Tool[Any]]:
    """Return the executor's tools for ``Agent(tools=...)``. They work until the executor is closed."""
    return [_tool(tool) for tool in adapt(executor, "mcp")]


def _tool(tool: AdaptedTool) -> Tool[Any]:
    """Return the tool with its original schema, because Pydantic AI adapts it to each provider."""

    async def call(context: RunContext[Any], /, **arguments: Any) -> Any:
        result = await tool.arun(arguments, call_id=context.tool_call_id, is_approved=context.tool_call_approved)
        if result.error is not None:
            text = "\n".join(map(describe_block, blocks(result)))
            raise ModelRetry(text) if result.error.kind == "invalid_args" else ToolFailed(text)
        return ToolReturn(_content(result), metadata=result_to_json(result))

    made: Tool[Any] = Tool.from_schema(
        call,
        name=tool.spec.name,
        description=tool.description,
        json_schema=object_of(tool.definition, "inputSchema"),
        takes_ctx=True,
    )
    made.requires_approval = tool.needs_approval
    return made


def _content(result: ToolResult) -> Any:
    """Return the text, or a list of all blocks if some are not text."""
    content = blocks(result)
    texts = [block.text for block in content if isinstance(block, Text)]
    if len(texts) == len(content):
        return "\n".join(texts)
    return [_block(block) for block in content]


def _block(block: Content) -> str | BinaryContent:
    return block.text if isinstance(block, Text) else BinaryContent(block.data, media_type=block.mime_type)

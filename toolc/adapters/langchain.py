"""LangChain and LangGraph: each tool as a ``BaseTool`` with the JSON Schema of its parameters.

A failed call raises ``ToolException``. The tool handles it, so the model receives a ``ToolMessage`` with the status
``error``. The artifact of other messages is the result as JSON, with its data and details. A failure of the sandbox is
raised and ends the run. LangChain cannot ask for confirmation, so calls of tools with ``confirm: true`` need the
executor's ``confirm``.
"""

from __future__ import annotations

from typing import Any

from toolc.adapters.framework_tool import AdaptedTool, adapt, object_of
from toolc.client.executor import Executor
from toolc.client.serialization import result_to_json
from toolc.model.errors import MissingExtraError
from toolc.model.json_schema import JsonObject
from toolc.model.result import Content, Image, Resource, ToolResult
from toolc.providers.content import blocks, describe_block, to_base64

try:
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise MissingExtraError("toolc.adapters.langchain", "langchain") from error


def tools(executor: Executor) -> list[BaseTool]:
    """Return the executor's tools for an agent or a ``ToolNode``. They work until the executor is closed."""
    return [_Tool.of(tool) for tool in adapt(executor, "mcp")]


class _Tool(BaseTool):
    """A subclass of ``BaseTool``, because ``StructuredTool`` reserves the names ``config`` and ``run_manager``."""

    _tool: AdaptedTool = PrivateAttr()

    @classmethod
    def of(cls, tool: AdaptedTool) -> _Tool:
        """Return the tool with its original schema, because LangChain adapts it to each provider."""
        made = cls(
            name=tool.spec.name,
            description=tool.description,
            args_schema={"properties": {}, **object_of(tool.definition, "inputSchema")},
            response_format="content_and_artifact",
            handle_tool_error=True,
            tags=[*tool.spec.tags],
        )
        made._tool = tool
        return made

    def _run(self, /, **arguments: Any) -> tuple[Any, JsonObject]:
        return _content_and_artifact(self._tool.run(arguments))

    async def _arun(self, /, **arguments: Any) -> tuple[Any, JsonObject]:
        return _content_and_artifact(await self._tool.arun(arguments))


def _content_and_artifact(result: ToolResult) -> tuple[Any, JsonObject]:
    content = [_block(block) for block in blocks(result)]
    texts = [block["text"] for block in content if block["type"] == "text"]
    message = "\n".join(texts) if len(texts) == len(content) else content
    if result.is_error:
        raise ToolException(message)
    return message, result_to_json(result)


def _block(block: Content) -> dict[str, Any]:
    """Return a content block for LangChain, whose tool messages have no block for audio."""
    match block:
        case Image():
            return {"type": "image", "base64": to_base64(block), "mime_type": block.mime_type}
        case Resource():
            return {"type": "file", "base64": to_base64(block), "mime_type": block.mime_type, "filename": block.name}
        case _:
            return {"type": "text", "text": describe_block(block)}

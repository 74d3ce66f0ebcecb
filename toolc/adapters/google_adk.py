"""Google Agent Development Kit: each tool as a ``BaseTool`` with the declaration for Gemini.

A result is ``{"output": ...}``, and a failed call is ``{"error": ...}``. Images, recordings and PDF files are parts of
the response. A failure of the sandbox is raised and ends the run. For tools with ``confirm: true``, the ADK asks for a
``ToolConfirmation``.
"""

from __future__ import annotations

import base64
from typing import Any

from toolc.adapters.framework_tool import AdaptedTool, adapt
from toolc.client.executor import Executor
from toolc.client.messages import tool_messages
from toolc.model.call import ToolCall
from toolc.model.errors import MissingExtraError

try:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types
except ModuleNotFoundError as error:
    raise MissingExtraError("toolc.adapters.google_adk", "google-adk") from error

_PROVIDER = "gemini"


def tools(executor: Executor) -> list[BaseTool]:
    """Return the executor's tools for ``Agent(tools=...)``. They work until the executor is closed."""
    return [_Tool(tool) for tool in adapt(executor, _PROVIDER)]


class _Tool(BaseTool):
    def __init__(self, tool: AdaptedTool) -> None:
        super().__init__(name=tool.spec.name, description=str(tool.definition["description"]))
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration.model_validate(self._tool.definition)

    async def check_require_confirmation(self, args: dict[str, Any], tool_context: ToolContext) -> bool:
        """Return whether the ADK must ask before it calls ``run_async``."""
        return self._tool.needs_approval

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Call the tool. The ADK moves the media parts of this result to the parts of the response."""
        call = ToolCall(name=self.name, arguments=args, call_id=tool_context.function_call_id or "")
        result = await self._tool.arun(args, call_id=call.call_id, is_approved=True)
        [content] = tool_messages(_PROVIDER, [call], [result])
        response = content["parts"][0]["functionResponse"]
        media = [each["inlineData"] for each in response.get("parts", [])]
        parts = [
            types.Part.from_bytes(data=base64.b64decode(each["data"]), mime_type=each["mimeType"]) for each in media
        ]
        return {**response["response"], "media": parts} if parts else response["response"]

"""OpenAI Agents SDK: each tool as a ``FunctionTool`` with the schema that OpenAI accepts, strict if its spec says so.

A failed call returns its error as text, because the API has no error flag. A failure of the sandbox is raised and ends
the run. For tools with ``confirm: true``, the run is interrupted until ``RunState.approve`` or ``reject`` is called.
"""

from __future__ import annotations

from typing import Any, cast

from toolc.adapters.framework_tool import AdaptedTool, adapt, object_of
from toolc.client.executor import Executor
from toolc.client.messages import tool_messages
from toolc.model.call import ToolCall
from toolc.model.errors import MissingExtraError
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.providers.calls import parse_arguments

try:
    from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext
except ModuleNotFoundError as error:
    raise MissingExtraError("toolc.adapters.openai_agents", "openai-agents") from error

_PROVIDER = "openai_responses"


def tools(executor: Executor) -> list[FunctionTool]:
    """Return the executor's tools for ``Agent(tools=...)``. They work until the executor is closed."""
    return [_function_tool(tool) for tool in adapt(executor, _PROVIDER)]


def _function_tool(tool: AdaptedTool) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        # Text that is not JSON fails with a message for the model.
        given = cast("JsonObject", parse_arguments(arguments))
        call = ToolCall(name=tool.spec.name, arguments=given, call_id=context.tool_call_id)
        return _output(call, await tool.arun(given, call_id=call.call_id, is_approved=True))

    return FunctionTool(
        name=tool.spec.name,
        description=tool.description,
        params_json_schema=object_of(tool.definition, "parameters"),
        on_invoke_tool=invoke,
        strict_json_schema=tool.definition["strict"] is True,
        needs_approval=tool.needs_approval,
    )


def _output(call: ToolCall, result: ToolResult) -> Any:
    """Return the output for the API's message, with the SDK's types for images and files."""
    [message] = tool_messages(_PROVIDER, [call], [result])
    output = message["output"]
    return output if isinstance(output, str) else [_part(each) for each in output]


def _part(item: dict[str, Any]) -> ToolOutputText | ToolOutputImage | ToolOutputFileContent:
    match item["type"]:
        case "input_image":
            return ToolOutputImage(image_url=item["image_url"], detail=item["detail"])
        case "input_file":
            return ToolOutputFileContent(file_data=item["file_data"], filename=item["filename"])
        case _:
            return ToolOutputText(text=item["text"])

"""Cohere Chat, version 2 of the API: ``cohere.ToolV2`` per tool, ``cohere.ToolChatMessageV2`` per result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.providers.calls import function_calls, members
from toolc.providers.content import blocks, describe_block, shown_data
from toolc.providers.json_schema import passes
from toolc.providers.json_schema.lowering import LossLog
from toolc.providers.json_schema.target import Target
from toolc.providers.provider import CallMessage, Lowering, Provider, function_tool, lower_each, lower_strict
from toolc.providers.provider_limits import StrictTools

STRICT: Final = Target(
    name="Cohere's strict mode", subset="cohere", is_strict=True,
    passes=(
        passes.merge_parts, passes.refuse_keywords, passes.refuse_recursion, passes.fold_choices_of_root,
        passes.refuse_all_optional, passes.drop_inapplicable, passes.keep_one_structure,
        passes.refuse_structured_values, passes.one_of_to_any_of, passes.lower_subschemas, passes.declare_required,
        passes.fold_keywords, passes.split_values, passes.split_types, passes.describe_folded, passes.name_references,
    ),
)  # fmt: skip
"""The subset of ``strict_tools``, an option of the request that applies to all of its tools."""

_CUT_OFF: Final = (None, "MAX_TOKENS", "ERROR", "TIMEOUT")
"""The finish reasons of a response that is cut off. The reason is null if a stream ended early."""


def _lower(tools: Sequence[ToolSpec]) -> Lowering:
    """Return the ``tools`` argument of ``ClientV2.chat``."""
    logs = {tool.name: LossLog(tool.name) for tool in tools}
    strict = _strict_parameters(tools, logs)
    others = [name for name, parameters in strict.items() if parameters is None]

    def declare(tool: ToolSpec, losses: LossLog) -> JsonObject:
        losses.add_unsupported(tool, "label", "annotations", "examples", "result_schema")
        parameters = strict[tool.name]
        if parameters is None or not others:
            losses.extend(logs[tool.name])
        else:
            reason = f"applies to all tools of a request, and {min(others)} is not strict"
            message = f"{STRICT.name} {reason}; the definition is not strict"
            losses.add("/providers/cohere/strict", message, kind="not_strict")
        return function_tool(tool, tool.parameters.value if others or parameters is None else parameters)

    return lower_each(tools, declare)


def _request_options(tools: Sequence[ToolSpec]) -> JsonObject:
    """Return ``strict_tools`` if every tool is strict, because the option applies to all tools of a request."""
    strict = _strict_parameters(tools, {tool.name: LossLog(tool.name) for tool in tools})
    return {"strict_tools": True} if tools and None not in strict.values() else {}


def _calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the calls of a ``V2ChatResponse``, or of its message."""
    tool_calls = members(response, "tool_calls") or members(response, "message", "tool_calls")
    return function_calls(tool_calls, cut_off=response.get("finish_reason", "TOOL_CALL") in _CUT_OFF)


def _messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return a ``tool`` message for each call, with a document that the model can cite. Images are described."""
    return [{"role": "tool", "tool_call_id": each.call.call_id, "content": [_document(each)]} for each in results]


def _strict_parameters(tools: Sequence[ToolSpec], logs: Mapping[str, LossLog]) -> dict[str, JsonObject | None]:
    """Return the parameters of each tool for strict mode, by the tool's name. They are None for a tool without it."""
    accept = StrictTools("cohere").add
    return {tool.name: lower_strict(tool, "cohere", STRICT, logs[tool.name], accept) for tool in tools}


def _document(message: CallMessage) -> JsonObject:
    """Return the data of a result if it is an object. Otherwise return the result under ``output`` or ``error``."""
    result = message.result
    text = "\n".join(map(describe_block, blocks(result)))
    data = shown_data(result, text)
    if result.is_error or not isinstance(data, dict):
        data = {"error" if result.is_error else "output": data}
    return {"type": "document", "document": {"data": data}}


COHERE: Final = Provider(
    name="cohere", lower=_lower, calls=_calls, messages=_messages, request_options=_request_options, limits_strict=True
)

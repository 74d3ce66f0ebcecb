"""Ollama Chat: ``ollama.Tool`` per tool, a ``tool`` message per result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, child_pointer, map_under
from toolc.model.spec.tool import ToolSpec
from toolc.providers.calls import UNNAMED, function_calls, members, numbered
from toolc.providers.content import blocks, describe_block, is_image, to_base64, with_error_kind
from toolc.providers.json_schema import passes
from toolc.providers.json_schema.lowering import LossLog
from toolc.providers.json_schema.target import ROOT, Target, lower_schema
from toolc.providers.provider import CallMessage, Provider, function_tool, lower_each

TARGET: Final = Target(
    name="Ollama", subset="ollama",
    passes=(
        passes.merge_parts, passes.inline_references, passes.fold_choices_of_root, passes.one_of_to_any_of,
        passes.open_patterned_objects, passes.open_tuples, passes.drop_inapplicable, passes.const_to_enum,
        passes.name_value_types, passes.lower_subschemas, passes.merge_null, passes.fold_keywords,
        passes.describe_folded,
    ),
)  # fmt: skip
"""The keywords that the server passes on to models. It ignores all others."""

_SENT: Final = frozenset({"$defs", "items", "properties", "required", "type"})
_SENT_OF_PROPERTY: Final = frozenset({"description", "enum", "items", "type"})
"""The keywords that the SDK sends, for all parameters together and for each parameter."""


def _calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the calls of a ``ChatResponse``, or of its message. Calls without an id are numbered."""
    return numbered(function_calls(members(response, "tool_calls") or members(response, "message", "tool_calls")))


def _messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return a ``tool`` message for each call. Ollama matches messages with calls by their order."""
    return [_message(each) for each in results]


def _tool(tool: ToolSpec, losses: LossLog) -> JsonObject:
    """Return an item of the ``tools`` argument of ``ollama.chat``."""
    losses.add_unsupported(tool, "label", "annotations", "examples", "result_schema")
    parameters = lower_schema(tool.parameters.value, TARGET, losses)
    _add_losses_of_sdk(parameters, tool.parameters.value, losses)
    definition = function_tool(tool, parameters)
    note = parameters.pop("description", None)
    if isinstance(note, str) and isinstance(function := definition["function"], dict):
        function["description"] = f"{function['description']} {note}"  # models do not see the description of the schema
    return definition


def _add_losses_of_sdk(parameters: JsonObject, source: JsonObject, losses: LossLog) -> None:
    """Record the keywords that ``ollama.Tool``, the model of the SDK, does not send to the server."""
    for key in sorted(parameters.keys() - _SENT - {"description"}):
        losses.add(_place(source, key), f"the ollama package does not send {key}", "dropped", sdk="ollama")
    for name, schema in map_under(parameters, "properties").items():
        for key in sorted(schema.keys() - _SENT_OF_PROPERTY) if isinstance(schema, dict) else ():
            pointer = _place(source, "properties", name, key)
            message = f"the ollama package does not send {key} of the parameter {name!r}"
            losses.add(pointer, message, "dropped", sdk="ollama")


def _place(source: JsonValue, *keys: str) -> str:
    """Return the JSON Pointer in the spec of a keyword, or of the schema from which a pass created it."""
    pointer = ROOT
    for key in keys:
        if not isinstance(source, dict) or key not in source:
            break
        pointer, source = child_pointer(pointer, key), source[key]
    return pointer


def _message(message: CallMessage) -> JsonObject:
    content = blocks(message.result)
    lines = [describe_block(each, "see the image") if is_image(each) else describe_block(each) for each in content]
    text = with_error_kind(message.result, "\n".join(lines))
    result: JsonObject = {"role": "tool", "tool_name": message.call.name, "content": text}
    if not message.call.call_id.startswith(UNNAMED):
        result["tool_call_id"] = message.call.call_id
    images: list[JsonValue] = [to_base64(each) for each in content if is_image(each)]
    return {**result, "images": images} if images else result


OLLAMA: Final = Provider(name="ollama", lower=lambda tools: lower_each(tools, _tool), calls=_calls, messages=_messages)

"""Read the calls in a provider's response, even if they are malformed or were cut off.

The arguments of such a call are kept as text, and running the call reports what is wrong with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, unique_object

INVALID_JSON = "INVALID_JSON"
"""The key for arguments that are not valid JSON, in APIs that accept only objects. Anthropic documents it."""

UNNAMED: Final = "toolc_call_"
"""The prefix of the ids of calls to which the model gave no id. These ids are not sent to the model."""


def choice_calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the calls of the first choice of Chat Completions, or of a message."""
    (choice,) = members(response, "choices")[:1] or [{"message": response}]
    cut_off = choice.get("finish_reason", "stop") in (None, "length")
    return function_calls(members(choice, "message", "tool_calls"), cut_off=cut_off)


def function_calls(tool_calls: Sequence[JsonObject], *, cut_off: bool = False) -> tuple[ToolCall, ...]:
    """Return the calls in the ``tool_calls`` of Chat Completions. A call without an id has an empty ``call_id``.

    With ``cut_off``, the response ended early, so the last call may be incomplete.
    """
    functions = [(each, each.get("function")) for each in tool_calls]
    return tuple(
        named_call(
            function,
            parse_arguments(function.get("arguments"), cut_off=cut_off and call is tool_calls[-1]),
            call.get("id"),
        )
        for call, function in functions
        if isinstance(function, dict)
    )


def named_call(part: JsonObject, arguments: JsonValue, call_id: JsonValue) -> ToolCall:
    """Return the call of the tool that ``part`` names. A name or an id that is missing becomes an empty text."""
    return ToolCall(name=str(part.get("name") or ""), arguments=arguments, call_id=str(call_id or ""))


def numbered(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls. A call without an id gets its number in the response as its id."""
    return tuple(
        call if call.call_id else replace(call, call_id=f"{UNNAMED}{index}") for index, call in enumerate(calls)
    )


def parse_arguments(text: JsonValue, *, cut_off: bool = False) -> JsonValue:
    """Parse a provider's JSON text. If it is invalid or repeats a key, return the text, so that the call can report it.

    An empty text means that there are no arguments, unless the call was ``cut_off`` at the limit of a response.
    """
    if not isinstance(text, str) or (cut_off and not text):
        return text
    try:
        value: JsonValue = json.loads(text or "{}", object_pairs_hook=unique_object)
    except (ValueError, RecursionError):
        return text
    return value


def object_arguments(value: JsonValue, *, cut_off: bool = False) -> JsonValue:
    """Return the arguments of a call that a provider sends as an object.

    Arguments that are not JSON are returned as text. If the call was ``cut_off`` at the limit of a response, the object
    may lack a part of what the model wrote. It is returned as the text of an incomplete object, which the call reports.
    """
    if isinstance(value, dict) and value.keys() == {INVALID_JSON}:
        return value[INVALID_JSON]
    return json.dumps(value, ensure_ascii=False)[:-1] if cut_off and isinstance(value, dict) else value


def members(value: JsonValue, *path: str | int) -> list[JsonObject]:
    """Return the objects in the list at ``path`` of a provider's response. Without such a list, there are none."""
    for step in path:
        if isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) and isinstance(step, str) else None
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

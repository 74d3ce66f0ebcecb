"""A call of a tool, before and after its arguments were validated."""

from __future__ import annotations

from dataclasses import dataclass

from toolc.schema import JsonObject, JsonValue
from toolc.spec import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as it came: a tool's name, arguments nobody has looked at, and the caller's id for it.

    An executor gives one to a call whose id is empty.
    Models write arguments that are no object, or not even JSON: then it is their text, and the call fails.
    """

    name: str
    arguments: JsonValue
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """A call whose arguments satisfy the tool's schema, defaults filled in."""

    tool: ToolSpec
    arguments: JsonObject
    call_id: str

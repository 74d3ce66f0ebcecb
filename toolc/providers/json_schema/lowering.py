"""What the providers share: losses, descriptions, and keywords folded into words.

To *fold* a keyword is to remove it from a schema and say it in that schema's description. What was
folded or dropped still holds: a call's arguments are validated against the tool's own schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from toolc.model.json_schema import JsonObject, JsonValue, direct_subschemas, map_subschemas
from toolc.model.spec.tool import Annotations, ToolSpec

__all__ = ["Loss", "LossLog"]


# A tuple is made and hashed in a fraction of the time, and a thousand tools have ten thousand of these.
class Loss(NamedTuple):
    """Something a provider's definition cannot say: which tool, where in it (a JSON Pointer), and what."""

    tool: str
    pointer: str
    message: str


REJECTED_AT_ROOT: Final = frozenset({"allOf", "anyOf", "const", "enum", "not", "oneOf"})
"""Keywords that OpenAI's API (all) and Anthropic's (three of them) answer with status 400 in a tool's root schema.

Neither documents it; their messages are "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/
'enum'/'const'/'not' at the top level" and "input_schema does not support oneOf, allOf, or anyOf at the top level".
"""


@dataclass(slots=True)
class LossLog:
    """Collects the losses of one tool at the end of ``found``, which tools may share."""

    tool: str
    found: list[Loss] = field(default_factory=list)
    _known: set[Loss] = field(default_factory=set)

    def add(self, pointer: str, message: str) -> None:
        """Record a loss at a JSON Pointer into the tool. The same loss is kept once."""
        loss = Loss(self.tool, pointer, message)
        if loss not in self._known:
            self._known.add(loss)
            self.found.append(loss)

    def unsaid(self, tool: ToolSpec, *names: str) -> None:
        """Record those of a tool's own fields that are set and have no place in the provider's definition."""
        for name in names:
            if getattr(tool, name) not in _SAYS_NOTHING:
                self.add(f"/{name}", f"{name} has no place in this provider's definition; dropped")


_SAYS_NOTHING: Final = (None, (), Annotations())


def description(tool: ToolSpec) -> str:
    """The words for the model: never empty, and a deprecation is said in them."""
    words = tool.description or tool.label or tool.name
    return f"{words} (deprecated: {tool.deprecated})" if tool.deprecated else words


def child(pointer: str, *keys: str | int) -> str:
    """The JSON Pointer (RFC 6901) of something below ``pointer``."""
    for key in keys:
        text = str(key)
        escaped = text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text
        pointer = f"{pointer}/{escaped}"
    return pointer


def say(schema: JsonObject, keywords: Mapping[str, JsonValue]) -> JsonObject:
    """``schema`` with each of ``keywords``, as JSON, at the end of its description."""
    if not keywords:
        return schema
    said = ", ".join(f"{key}: {_compact(keywords[key])}" for key in sorted(keywords))
    before = schema.get("description")
    return {**schema, "description": f"{before} ({said})" if isinstance(before, str) and before else f"({said})"}


def lower_plain(tool: ToolSpec, rejected_at_root: frozenset[str], losses: LossLog) -> JsonObject:
    """A tool's parameters where any JSON Schema is taken, save for some keywords at the root, which are folded."""
    schema = tool.parameters.value
    if rejected_at_root.isdisjoint(schema):
        return schema
    rejected = {key: value for key, value in schema.items() if key in rejected_at_root}
    for key in sorted(rejected):
        losses.add(
            child("/parameters", key), f"{key} is refused at the root of the parameters; said in the description"
        )
    return say({key: value for key, value in schema.items() if key not in rejected}, rejected)


def with_items(schema: JsonObject) -> JsonObject:
    """``schema`` in which every array type has ``items``, ``{}`` where it had none: that means the same.

    OpenAI's API answers an array without ``items`` with status 400 ("array schema missing items").
    """
    return _with_items(schema) if _lacks_items(schema) else schema


def _with_items(schema: JsonObject) -> JsonObject:
    result = map_subschemas(schema, lambda inner: _with_items(inner) if isinstance(inner, dict) else inner)
    if _is_array(schema):
        result.setdefault("items", {})
    return result


def _lacks_items(schema: JsonObject) -> bool:
    """Whether there is an array type without ``items`` in ``schema``."""
    return (_is_array(schema) and "items" not in schema) or any(map(_lacks_items, direct_subschemas(schema)))


def _is_array(schema: JsonObject) -> bool:
    types = schema.get("type")
    return types == "array" or (isinstance(types, list) and "array" in types)


def _compact(value: JsonValue) -> str:
    return _COMPACT.encode(value)


_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)

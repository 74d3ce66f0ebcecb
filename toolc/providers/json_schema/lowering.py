"""Losses, descriptions, and functions that move unsupported keywords of a schema to its description.

A keyword that was moved or dropped still applies, because a call's arguments are validated against the tool's own
schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonObject, JsonValue, child_pointer, direct_subschemas, map_subschemas, types_of
from toolc.model.spec.tool import Annotations, ToolSpec
from toolc.providers.json_schema.embedding import located
from toolc.providers.json_schema.result_schema import model_reads_data, with_result

IGNORED: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "definitions"}
)
"""Keywords that are dropped without a loss, because they tell a model nothing."""

REJECTED_AT_ROOT: Final = frozenset({"allOf", "anyOf", "const", "enum", "not", "oneOf"})
"""Keywords that providers' APIs reject with status 400 in a tool's root schema: OpenAI's all, Anthropic's ``CHOICES``.

Neither provider documents this. The messages are "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/
'enum'/'const'/'not' at the top level" and "input_schema does not support oneOf, allOf, or anyOf at the top level".
"""

CHOICES: Final = frozenset({"allOf", "anyOf", "oneOf"})
"""The keywords whose schemas can declare properties for ``unevaluatedProperties``."""

MAX_DESCRIPTION: Final = 1024
"""The maximum number of characters of a description with the short form of a result schema. This is OpenAI's limit."""

_NO_ROOM: Final = f"dropped, as the description would have more than {MAX_DESCRIPTION} characters"
_DEFAULTS: Final = (None, (), Annotations())
_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


LossKind: TypeAlias = Literal["part", "not_strict", "closed"]
"""The kind of a loss: a part of the tool, a strict mode that is not possible, or the openness of an object."""


# A tuple is faster to create and to hash than a dataclass, and a thousand tools have ten thousand losses.
class Loss(NamedTuple):
    """A part of a tool that a provider's definition cannot express, with its JSON Pointer.

    ``action`` says what happened to the part. ``sdk`` is the package that removes the part when a program sends the
    definition. It is empty if the definition itself lacks the part.
    """

    tool: str
    pointer: str
    message: str
    action: str = "changed"
    sdk: str = ""
    kind: LossKind = "part"

    @property
    def is_inherent(self) -> bool:
        """Whether almost every tool has the loss, so that no change to a spec avoids it."""
        return bool(self.sdk) or (self.action == "dropped" and self.pointer.endswith("/additionalProperties"))


@dataclass(slots=True)
class LossLog:
    """Appends the losses of one tool to ``losses``, a list that several tools may share."""

    tool: str
    losses: list[Loss] = field(default_factory=list)
    _known: set[Loss] = field(default_factory=set)

    def add(
        self, pointer: str, message: str, action: str = "changed", *, sdk: str = "", kind: LossKind = "part"
    ) -> None:
        """Record a loss at a JSON Pointer into the tool. Duplicates are ignored.

        ``action`` is ``folded`` (moved to the description), ``dropped``, or ``changed`` (another meaning).
        """
        self._add(Loss(self.tool, pointer, message, action, sdk, kind))

    def extend(self, other: LossLog) -> None:
        """Record the losses of ``other``."""
        for each in other.losses:
            self._add(each)

    def _add(self, loss: Loss) -> None:
        if loss not in self._known:
            self._known.add(loss)
            self.losses.append(loss)

    def add_unsupported(self, tool: ToolSpec, *names: str) -> None:
        """Record a loss for each of these fields that the tool sets, because the provider's definition lacks it."""
        for name in names:
            if name == "result_schema" and model_reads_data(tool):
                is_folded = description(tool) != description_without_result(tool)
                end, action = ("in short in the description", "folded") if is_folded else (_NO_ROOM, "dropped")
                self.add("/result/schema", f"this provider's definition has no result schema; {end}", action)
            elif name != "result_schema" and getattr(tool, name) not in _DEFAULTS:
                self.add(f"/{name}", f"this provider's definition has no {name}; dropped", "dropped")


def description(tool: ToolSpec) -> str:
    """Return the description for the model, with the short form of the result schema.

    For a provider whose definitions have a result schema, use ``description_without_result``.
    """
    return with_result(description_without_result(tool), tool, MAX_DESCRIPTION)


def description_without_result(tool: ToolSpec) -> str:
    """Return the description of the spec, which is never empty, with a note if the tool is deprecated."""
    text = tool.description or tool.label or tool.name
    return f"{text} (deprecated: {tool.deprecated})" if tool.deprecated else text


def add_to_description(schema: JsonObject, keywords: Mapping[str, JsonValue]) -> JsonObject:
    """Return ``schema`` with ``keywords``, as JSON, at the end of its description."""
    if not keywords:
        return schema
    note = ", ".join(f"{key}: {_COMPACT.encode(keywords[key])}" for key in sorted(keywords))
    before = schema.get("description")
    return {**schema, "description": f"{before} ({note})" if isinstance(before, str) and before else f"({note})"}


def lower_plain(tool: ToolSpec, rejected_at_root: frozenset[str], losses: LossLog) -> JsonObject:
    """Return a tool's parameters, with the rejected keywords of the root moved to its description."""
    schema = tool.parameters.value
    if rejected_at_root.isdisjoint(schema):
        return schema
    rejected = {key: value for key, value in schema.items() if key in rejected_at_root}
    if not CHOICES.isdisjoint(rejected) and "unevaluatedProperties" in schema:
        # It would refuse the properties that the moved schemas declare.
        rejected["unevaluatedProperties"] = schema["unevaluatedProperties"]
    for key in sorted(rejected):
        message = f"{key} is not supported at the root of the parameters; moved to the description"
        losses.add(child_pointer("/parameters", key), message, "folded")
    return add_to_description({key: value for key, value in schema.items() if key not in rejected}, rejected)


def with_items(schema: JsonObject, at: str, losses: LossLog) -> JsonObject:
    """Return ``schema`` with ``items: {}`` in every array type without ``items``. ``at`` is its pointer in the tool.

    OpenAI's API rejects an array without ``items`` with status 400 ("array schema missing items"). The meaning stays
    the same, except that ``unevaluatedItems`` no longer applies to any item.
    """
    if not _lacks_items(schema):
        return schema
    for pointer, each in located(schema, at):
        if "unevaluatedItems" in each:
            message = "OpenAI requires items for each array, and unevaluatedItems has no effect with it"
            losses.add(child_pointer(pointer, "unevaluatedItems"), message)
    return _with_items(schema)


def _with_items(schema: JsonObject) -> JsonObject:
    result = map_subschemas(schema, lambda inner: _with_items(inner) if isinstance(inner, dict) else inner)
    if "array" in types_of(schema):
        result.setdefault("items", {})
    return result


def _lacks_items(schema: JsonObject) -> bool:
    return ("array" in types_of(schema) and "items" not in schema) or any(map(_lacks_items, direct_subschemas(schema)))

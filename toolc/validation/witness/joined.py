"""Two schemas in one, so that a part of one can be combined with a part of the other.

The result is ``{"$defs": {"old": OLD, "new": NEW}}``, in which every reference starts at ``#/$defs/old`` or
``#/$defs/new``.
"""

from __future__ import annotations

import json
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import (
    JsonObject,
    JsonValue,
    anchors,
    child_pointer,
    map_subschemas,
    target_of,
    values_within,
)
from toolc.validation.validate import validation_errors

ANNOTATIONS: Final = frozenset(
    {
        "$comment", "$defs", "$id", "$schema", "$anchor", "$dynamicAnchor", "$vocabulary", "contentEncoding",
        "contentMediaType", "contentSchema", "default", "definitions", "deprecated", "description", "examples",
        "readOnly", "title", "writeOnly",
    }
)  # fmt: skip
"""Keywords that do not refuse any value."""

_SETS: Final = frozenset({"allOf", "anyOf", "oneOf", "enum", "required"})


@dataclass(slots=True)
class Joined:
    """The old and the new schema in one root. References to the same definition lead to the same place."""

    root: JsonObject
    old: JsonObject
    new: JsonObject
    _keys: dict[int, tuple[JsonValue, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, old: JsonObject, new: JsonObject) -> Joined:
        """Join two schemas. If a definition is the same on both sides, references lead to that of the old schema."""
        shared = _shared_pointers(old, new)
        before = _moved(old, old, "old", frozenset())
        after = _moved(new, new, "new", shared)
        assert isinstance(before, dict)
        assert isinstance(after, dict)
        return cls({"$defs": {"old": before, "new": after}}, before, after)

    def target(self, pointer: str) -> JsonValue:
        """Return the schema that a reference leads to, or None if there is none."""
        return target_of(self.root, pointer)

    def written(self, value: JsonValue) -> JsonValue:
        """Return a schema of the joined root with its references as the old or the new schema writes them."""
        if isinstance(value, list):
            return [self.written(each) for each in value]
        if not isinstance(value, dict):
            return value
        found = {key: self.written(each) for key, each in value.items()}
        pointer = value.get("$ref")
        if isinstance(pointer, str):
            found["$ref"] = f"#{pointer.removeprefix('#/$defs/old').removeprefix('#/$defs/new')}"
        return found

    def accepts(self, schema: JsonValue, value: JsonValue) -> bool:
        """Return whether a schema with references into the root accepts a value. Raises ``UnresolvableError``."""
        return not self.refusals(schema, value)

    def refusals(self, schema: JsonValue, value: JsonValue) -> list[str]:
        """Return the messages of the errors of a value."""
        if not isinstance(schema, dict):
            return [] if schema is not False else ["no value is allowed here"]
        if '"$ref"' in self.key(schema) or '"$dynamicRef"' in self.key(schema):
            errors = validation_errors({**schema, "$defs": self.root["$defs"]}, value)
        else:
            errors = validation_errors(schema, value)
        return [each.message for each in errors]

    def key(self, schema: JsonValue) -> str:
        """Return a text that is the same for schemas that differ only in order and annotations."""
        known = self._keys.get(id(schema))
        if known is None:
            known = schema, json.dumps(self._plain(schema), sort_keys=True)
            self._keys[id(schema)] = known
        return known[1]

    def _plain(self, schema: JsonValue) -> JsonValue:
        if not isinstance(schema, dict):
            return schema
        plain: JsonObject = {}
        for keyword, value in map_subschemas(schema, self._plain).items():
            if keyword in ANNOTATIONS:
                continue
            if keyword in _SETS and isinstance(value, list):
                members = [(json.dumps(each, sort_keys=True), each) for each in map(plain_value, value)]
                distinct = members if keyword == "oneOf" else dict(members).items()
                plain[keyword] = [each for _, each in sorted(distinct, key=lambda member: member[0])]
            elif keyword == "type" and isinstance(value, list):
                plain[keyword] = [*sorted(map(str, value))] if len(value) > 1 else value[0]
            else:
                plain[keyword] = plain_value(value)
        return plain or True


def plain_value(value: JsonValue) -> JsonValue:
    """Return a value with whole numbers as integers, because JSON Schema compares them by value."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [plain_value(each) for each in value]
    return {name: plain_value(each) for name, each in value.items()} if isinstance(value, dict) else value


def plain_text(value: JsonValue) -> str:
    """Return a text that is the same for values that JSON Schema compares as equal."""
    return json.dumps(plain_value(value), sort_keys=True)


def _references(schema: JsonValue) -> set[str]:
    found = (each.get("$ref") for _, each in values_within(schema) if isinstance(each, dict))
    return {each for each in found if isinstance(each, str)}


def _shared_pointers(old: JsonObject, new: JsonObject) -> frozenset[str]:
    """Return the references whose target, with everything that it refers to, is the same in both schemas."""
    targets = {each: (target_of(old, each), target_of(new, each)) for each in _references(new)}
    shared = {each for each, (one, other) in targets.items() if one is not None and one == other}
    while lost := {each for each in shared if not _references(targets[each][1]) <= shared}:
        shared -= lost
    return frozenset(shared)


def _moved(schema: JsonValue, root: JsonObject, side: str, shared: frozenset[str]) -> JsonValue:
    """Return a schema whose references start at the schema's place in the joined root."""
    if not isinstance(schema, dict):
        return schema
    moved = map_subschemas(schema, lambda inner: _moved(inner, root, side, shared))
    moved = {key: value for key, value in moved.items() if key not in {"$id", "$schema"}}
    pointer = schema.get("$ref")
    if isinstance(pointer, str) and pointer.startswith("#"):
        moved["$ref"] = f"#/$defs/{'old' if pointer in shared else side}{_as_pointer(root, pointer)}"
    return moved


def _as_pointer(root: JsonObject, reference: str) -> str:
    """Return a reference to an anchor as the JSON Pointer to its schema. Return a JSON Pointer unchanged."""
    name = reference.removeprefix("#")
    if not name or name.startswith("/"):
        return name
    routes = (route for route, each in values_within(root) if isinstance(each, dict) and name in anchors(each))
    return child_pointer("", *next(routes, ("$defs", name)))

"""Lower a JSON Schema to the subset that a strict mode supports.

In strict mode a model can only write values that the schema allows. Unsupported keywords are moved to the
description, so the schema may allow more values; arguments are validated against the tool's own schema anyway. A
schema whose meaning would change (a map that would always be empty, a value of any type) cannot be lowered: the
definition is then not strict, and a loss gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from toolc.model.json_schema import JsonObject, JsonValue, child_pointer, types_of
from toolc.providers.json_schema.lowering import IGNORED, LossLog, add_to_description
from toolc.providers.json_schema.references import References, merge_all_of
from toolc.validation.coercion import allows_null

__all__ = ["CLOSES"]

_TEXTS: Final = frozenset({"description", "title"})
_STRUCTURAL: Final = frozenset(
    {"$ref", "additionalProperties", "anyOf", "const", "enum", "items", "oneOf", "properties", "required", "type"}
)
_UNSUPPORTED: Final = ("allOf", "prefixItems", "patternProperties", "$dynamicRef")
"""Unsupported keywords that cannot be moved, as the schema would then reject valid values."""

_TYPE_KEYWORDS: Final = {
    "array": ("items", "maxItems", "minItems"),
    "object": ("additionalProperties", "properties", "required"),
}
_TYPES: Final = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}
_DEFINITIONS: Final = "#/$defs/"

CLOSES: Final = "closes this object"
"""The end of the loss for an object that allows other properties, which strict mode forbids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictMode:
    """What a provider's strict mode supports.

    ``keeps`` returns whether a keyword with its value is supported, in addition to the structural keywords. With
    ``requires_all``, an optional property becomes "a value or null".
    """

    provider: str
    keeps: Callable[[str, JsonValue], bool]
    requires_all: bool
    allows_type_lists: bool
    allows_recursion: bool


class NotStrictError(Exception):
    """A part of a schema that strict mode does not support, with its JSON Pointer."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer

    def add_to(self, losses: LossLog, provider: str) -> None:
        """Record that the definition is not strict, and the reason."""
        losses.add(self.pointer, f"{provider}'s strict mode does not support {self}; the definition is not strict")


def lower_strict(schema: JsonObject, mode: StrictMode, losses: LossLog) -> JsonObject:
    """Return the parameters' schema for a strict mode. Raises ``NotStrictError``; ``losses`` is then unchanged."""
    log = LossLog(losses.tool)
    lowering = _Lowering(mode, References(schema), log)
    result = lowering.lower(schema, "/parameters")
    if definitions := lowering.lower_definitions():
        result["$defs"] = definitions
    for loss in log.losses:
        losses.add(loss.pointer, loss.message)
    return result


@dataclass(slots=True)
class _Lowering:
    mode: StrictMode
    references: References
    losses: LossLog
    named: dict[str, str] = field(default_factory=dict)

    def lower(self, schema: JsonValue, pointer: str) -> JsonObject:
        """Return ``schema``, the subschema at ``pointer``, lowered for the strict mode."""
        if not isinstance(schema, dict):
            raise NotStrictError(pointer, "a value without a schema")
        source = merge_all_of(schema, self.references)
        if unsupported := next((key for key in _UNSUPPORTED if key in source), None):
            raise NotStrictError(child_pointer(pointer, unsupported), unsupported)
        result: JsonObject = {key: value for key, value in source.items() if key in _TEXTS}
        result |= self._structure(source, pointer)
        moved: JsonObject = {}
        for key in sorted(source.keys() - _TEXTS - IGNORED - result.keys()):
            if key.startswith("x-"):
                self._lose(child_pointer(pointer, key), f"does not support {key}; dropped")
            elif key not in _STRUCTURAL and self.mode.keeps(key, source[key]):
                result[key] = source[key]
            elif key not in _STRUCTURAL or _is_missing(key, source, result):
                moved[key] = source[key]
                self._lose(child_pointer(pointer, key), f"does not support {key} here; moved to the description")
        return self._split_types(add_to_description(result, moved))

    def lower_definitions(self) -> JsonObject:
        """Return the referenced schemas, including those that they refer to."""
        definitions: JsonObject = {}
        while waiting := [name for name in self.named if name not in definitions]:
            for name in waiting:
                target = self.references.target(self.named[name])
                definitions[name] = self.lower(target, child_pointer("/parameters/$defs", name))
        return definitions

    def _structure(self, source: JsonObject, pointer: str) -> JsonObject:
        """Return the lowered subschemas, and the keywords for types and alternatives."""
        if "$ref" in source:
            return self._reference(source, pointer)
        types = types_of(source)
        is_root = pointer == "/parameters"
        if ("enum" in source or "const" in source) and not is_root:
            return self._lower_enum(source, pointer)
        if not types:
            keyword = next((key for key in ("anyOf", "oneOf") if isinstance(source.get(key), list)), None)
            if keyword is None:
                raise NotStrictError(pointer, "a value without a type")
            return self._lower_alternatives(keyword, source[keyword], pointer)
        result: JsonObject = {"type": source["type"]}
        if "object" in types:
            result |= self._object(source, pointer)
        if "array" in types:
            if "items" not in source:
                raise NotStrictError(pointer, "an array without items")
            result["items"] = self.lower(source["items"], child_pointer(pointer, "items"))
        return result

    def _reference(self, source: JsonObject, pointer: str) -> JsonObject:
        reference = source["$ref"]
        assert isinstance(reference, str)
        where = child_pointer(pointer, "$ref")
        others = source.keys() - _TEXTS - IGNORED - {"$ref", "default", "examples", "deprecated"}
        if others:
            raise NotStrictError(where, f"a reference together with {min(others)}")
        if self.references.is_recursive(reference) and not self.mode.allows_recursion:
            raise NotStrictError(where, "a recursive reference")
        name = reference.removeprefix(_DEFINITIONS)
        if reference != "#" and (name == reference or "/" in name):
            raise NotStrictError(where, f"a reference to {reference}, which is not in $defs")
        if reference != "#":
            self.named[unquote(name).replace("~1", "/").replace("~0", "~")] = reference
        return {"anyOf": [{"$ref": reference}]} if len(source) > 1 else {"$ref": reference}

    def _lower_enum(self, source: JsonObject, pointer: str) -> JsonObject:
        keyword = "enum" if "enum" in source else "const"
        value = source[keyword]
        values = value if keyword == "enum" and isinstance(value, list) else [value]
        if not values:
            raise NotStrictError(child_pointer(pointer, keyword), f"an empty {keyword}")
        if any(isinstance(each, list | dict) for each in values):
            raise NotStrictError(child_pointer(pointer, keyword), f"{keyword} of arrays or objects")
        types = sorted({_TYPES[type(each)] for each in values})
        given = types_of(source) or types
        if any(each not in given and not (each == "integer" and "number" in given) for each in types):
            raise NotStrictError(child_pointer(pointer, keyword), f"{keyword} with values of another type")
        named: JsonValue = [*types] if len(types) > 1 else types[0]
        kind = source.get("type", named)
        if isinstance(kind, list) and not self.mode.allows_type_lists:
            return {keyword: value}
        return {"type": kind, keyword: value}

    def _lower_alternatives(self, keyword: str, choices: JsonValue, pointer: str) -> JsonObject:
        assert isinstance(choices, list)
        if keyword == "oneOf":
            self._lose(child_pointer(pointer, keyword), "treats oneOf as anyOf")
        return {"anyOf": [self.lower(each, child_pointer(pointer, keyword, at)) for at, each in enumerate(choices)]}

    def _object(self, source: JsonObject, pointer: str) -> JsonObject:
        properties, beyond = source.get("properties", {}), source.get("additionalProperties")
        assert isinstance(properties, dict)
        if beyond not in (None, False) or (beyond is None and not properties):
            raise NotStrictError(pointer, "an object with arbitrary properties")
        if beyond is None:
            self._lose(pointer, CLOSES)
        required = source.get("required", [])
        assert isinstance(required, list)
        if any(name not in properties for name in required):
            raise NotStrictError(child_pointer(pointer, "required"), "a required property that is not declared")
        lowered: JsonObject = {}
        for name, each in sorted(properties.items()):
            place = child_pointer(pointer, "properties", name)
            lowered[name] = self.lower(each, place)
            if self.mode.requires_all and name not in required:
                lowered[name] = self._or_null(each, lowered[name], place)
        names: list[JsonValue] = [*lowered] if self.mode.requires_all else required
        return {"properties": lowered, "required": names, "additionalProperties": False}

    def _or_null(self, source: JsonValue, lowered: JsonValue, pointer: str) -> JsonObject:
        assert isinstance(lowered, dict)
        if allows_null(self.references.root, source):
            self._lose(pointer, "requires this property: null replaces an absent value")
            return lowered
        if isinstance(kind := lowered.get("type"), str | list) and not {"enum", "const"} & lowered.keys():
            return {**lowered, "type": [*(kind if isinstance(kind, list) else [kind]), "null"]}
        texts: JsonObject = {key: value for key, value in lowered.items() if key in _TEXTS}
        rest: JsonObject = {key: value for key, value in lowered.items() if key not in _TEXTS}
        choices = rest["anyOf"] if rest.keys() == {"anyOf"} else [rest]
        assert isinstance(choices, list)
        return {**texts, "anyOf": [*choices, {"type": "null"}]}

    def _split_types(self, schema: JsonObject) -> JsonObject:
        """Return ``schema`` with an ``anyOf`` instead of several types, if the mode supports only one."""
        types = types_of(schema)
        if len(types) == 1:
            return {**schema, "type": types[0]}
        if not types or self.mode.allows_type_lists:
            return schema
        type_keywords = {key for keys in _TYPE_KEYWORDS.values() for key in keys}
        choices: list[JsonValue] = [
            {
                "type": each,
                **{key: schema[key] for key in schema.keys() - _TEXTS - {"type"} if key not in type_keywords},
                **{key: schema[key] for key in _TYPE_KEYWORDS.get(each, ()) if key in schema},
            }
            for each in types
        ]
        return {**{key: value for key, value in schema.items() if key in _TEXTS}, "anyOf": choices}

    def _lose(self, pointer: str, message: str) -> None:
        self.losses.add(pointer, f"{self.mode.provider}'s strict mode {message}")


def _is_missing(key: str, source: JsonObject, result: JsonObject) -> bool:
    """Return whether a structural keyword that is not in ``result`` is not expressed by another one either."""
    match key:
        case "oneOf":
            return "anyOf" not in result or "anyOf" in source
        case "type" | "$ref":
            return False  # expressed by the values of enum or const, or by an anyOf with one schema
        case "properties" | "required" | "additionalProperties" | "items":
            return False  # for a type that the schema does not allow
        case _:
            return True

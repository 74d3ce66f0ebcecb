"""JSON Schema, lowered to the subset of it that a strict mode takes.

In strict mode a model can write nothing that the schema refuses; the price is a smaller language. Keywords beyond
it are said in the description, which makes the schema weaker but never wrong: arguments are validated against the
tool's own schema anyway. What would come to mean something else (a map that would always be empty, a value of any
type) cannot be lowered: the definition is then not strict, and its loss says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers.json_schema.lowering import LossLog, child, say
from toolc.providers.json_schema.references import References, merge_all_of
from toolc.validation.coercion import allows_null

__all__ = ["CLOSES"]

_WORDS: Final = frozenset({"description", "title"})
_MEANINGLESS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "definitions"}
)
_STRUCTURAL: Final = frozenset(
    {"$ref", "additionalProperties", "anyOf", "const", "enum", "items", "oneOf", "properties", "required", "type"}
)
_CHANGING: Final = ("allOf", "prefixItems", "patternProperties", "$dynamicRef")
"""Keywords without which the schema would take what it should not, or refuse what it should take."""

_ABOUT: Final = {
    "array": ("items", "maxItems", "minItems"),
    "object": ("additionalProperties", "properties", "required"),
}
_TYPES: Final = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}
_DEFINITIONS: Final = "#/$defs/"

CLOSES: Final = "closes this object"
"""What the loss of an open object that strict mode makes a closed one ends with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictMode:
    """What a provider's strict mode takes.

    ``keeps`` says of a keyword with its value whether it may stay, beside those of the structure. Where
    ``requires_all``, an optional property becomes "a value or null".
    """

    provider: str
    keeps: Callable[[str, JsonValue], bool]
    requires_all: bool
    lists_types: bool
    recurses: bool


class NotStrictError(Exception):
    """What strict mode cannot say, and where it stands: a JSON Pointer."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer

    def tell(self, provider: str, losses: LossLog) -> None:
        """Record that the definition is not strict, and why."""
        losses.add(self.pointer, f"{provider}'s strict mode cannot say {self}; the definition is not strict")


def lower_strict(schema: JsonObject, mode: StrictMode, losses: LossLog) -> JsonObject:
    """The parameters' schema for a strict mode. Raises ``NotStrictError``; ``losses`` then has nothing new."""
    log = LossLog(losses.tool)
    lowering = _Lowering(mode, References(schema), log)
    result = lowering.lower(schema, "/parameters")
    if definitions := lowering.lower_definitions():
        result["$defs"] = definitions
    for loss in log.found:
        losses.add(loss.pointer, loss.message)
    return result


@dataclass(slots=True)
class _Lowering:
    mode: StrictMode
    references: References
    losses: LossLog
    named: dict[str, str] = field(default_factory=dict)

    def lower(self, schema: JsonValue, pointer: str) -> JsonObject:
        """One subschema."""
        if not isinstance(schema, dict):
            raise NotStrictError(pointer, "a value of which nothing is said")
        source = merge_all_of(schema, self.references)
        if changing := next((key for key in _CHANGING if key in source), None):
            raise NotStrictError(child(pointer, changing), changing)
        result: JsonObject = {key: value for key, value in source.items() if key in _WORDS}
        result |= self._structure(source, pointer)
        said: JsonObject = {}
        for key in sorted(source.keys() - _WORDS - _MEANINGLESS - result.keys()):
            if key.startswith("x-"):
                self.losses.add(child(pointer, key), f"{self.mode.provider}'s strict mode does not take {key}; dropped")
            elif key not in _STRUCTURAL and self.mode.keeps(key, source[key]):
                result[key] = source[key]
            elif key not in _STRUCTURAL or self._is_unsaid(key, source, result):
                said[key] = source[key]
                message = f"{self.mode.provider}'s strict mode does not take {key} here; said in the description"
                self.losses.add(child(pointer, key), message)
        return self._one_type_each(say(result, said))

    def lower_definitions(self) -> JsonObject:
        """The schemas that were referred to, and those that these refer to in turn."""
        definitions: JsonObject = {}
        while waiting := [name for name in self.named if name not in definitions]:
            for name in waiting:
                target = self.references.target(self.named[name])
                definitions[name] = self.lower(target, child("/parameters/$defs", name))
        return definitions

    def _structure(self, source: JsonObject, pointer: str) -> JsonObject:
        """The keywords that hold schemas, lowered, and those of types and choices."""
        if "$ref" in source:
            return self._reference(source, pointer)
        types = _types(source)
        is_root = pointer == "/parameters"
        if ("enum" in source or "const" in source) and not is_root:
            return self._choice_of_values(source, pointer)
        if not types:
            keyword = next((key for key in ("anyOf", "oneOf") if isinstance(source.get(key), list)), None)
            if keyword is None:
                raise NotStrictError(pointer, "a value of which no type is said")
            return self._choice_of_schemas(keyword, source[keyword], pointer)
        result: JsonObject = {"type": source["type"]}
        if "object" in types:
            result |= self._object(source, pointer)
        if "array" in types:
            if "items" not in source:
                raise NotStrictError(pointer, "an array of which no items are said")
            result["items"] = self.lower(source["items"], child(pointer, "items"))
        return result

    def _reference(self, source: JsonObject, pointer: str) -> JsonObject:
        reference = source["$ref"]
        assert isinstance(reference, str)
        where = child(pointer, "$ref")
        beside = source.keys() - _WORDS - _MEANINGLESS - {"$ref", "default", "examples", "deprecated"}
        if beside:
            raise NotStrictError(where, f"a reference beside {min(beside)}")
        if self.references.is_recursive(reference) and not self.mode.recurses:
            raise NotStrictError(where, "a reference that leads back to itself")
        name = reference.removeprefix(_DEFINITIONS)
        if reference != "#" and (name == reference or "/" in name):
            raise NotStrictError(where, f"a reference to {reference}, which is none of $defs")
        if reference != "#":
            self.named[unquote(name).replace("~1", "/").replace("~0", "~")] = reference
        return {"anyOf": [{"$ref": reference}]} if len(source) > 1 else {"$ref": reference}

    def _choice_of_values(self, source: JsonObject, pointer: str) -> JsonObject:
        keyword = "enum" if "enum" in source else "const"
        found = source[keyword]
        values = found if keyword == "enum" and isinstance(found, list) else [found]
        if any(isinstance(each, list | dict) for each in values):
            raise NotStrictError(child(pointer, keyword), f"{keyword} of arrays or objects")
        types = sorted({_TYPES[type(each)] for each in values})
        given = _types(source) or types
        if any(each not in given and not (each == "integer" and "number" in given) for each in types):
            raise NotStrictError(child(pointer, keyword), f"{keyword} with values of another type than its own")
        named: JsonValue = [*types] if len(types) > 1 else types[0]
        kind = source.get("type", named)
        if isinstance(kind, list) and not self.mode.lists_types:
            return {keyword: found}
        return {"type": kind, keyword: found}

    def _choice_of_schemas(self, keyword: str, choices: JsonValue, pointer: str) -> JsonObject:
        assert isinstance(choices, list)
        if keyword == "oneOf":
            self.losses.add(child(pointer, keyword), f"{self.mode.provider}'s strict mode reads oneOf as anyOf")
        return {"anyOf": [self.lower(each, child(pointer, keyword, at)) for at, each in enumerate(choices)]}

    def _object(self, source: JsonObject, pointer: str) -> JsonObject:
        properties, beyond = source.get("properties", {}), source.get("additionalProperties")
        assert isinstance(properties, dict)
        if beyond not in (None, False) or (beyond is None and not properties):
            raise NotStrictError(pointer, "an object with names of a call's own")
        if beyond is None:
            self.losses.add(pointer, f"{self.mode.provider}'s strict mode {CLOSES}")
        required = source.get("required", [])
        assert isinstance(required, list)
        if any(name not in properties for name in required):
            raise NotStrictError(child(pointer, "required"), "a required name that is not declared")
        lowered: JsonObject = {}
        for name, each in sorted(properties.items()):
            place = child(pointer, "properties", name)
            lowered[name] = self.lower(each, place)
            if self.mode.requires_all and name not in required:
                lowered[name] = self._or_null(each, lowered[name], place)
        names: list[JsonValue] = [*lowered] if self.mode.requires_all else required
        return {"properties": lowered, "required": names, "additionalProperties": False}

    def _or_null(self, source: JsonValue, lowered: JsonValue, pointer: str) -> JsonObject:
        assert isinstance(lowered, dict)
        if allows_null(self.references.root, source):
            message = f"{self.mode.provider}'s strict mode requires it: null is given where it could be left out"
            self.losses.add(pointer, message)
            return lowered
        if isinstance(kind := lowered.get("type"), str | list) and not {"enum", "const"} & lowered.keys():
            return {**lowered, "type": [*(kind if isinstance(kind, list) else [kind]), "null"]}
        words: JsonObject = {key: value for key, value in lowered.items() if key in _WORDS}
        rest: JsonObject = {key: value for key, value in lowered.items() if key not in _WORDS}
        choices = rest["anyOf"] if rest.keys() == {"anyOf"} else [rest]
        assert isinstance(choices, list)
        return {**words, "anyOf": [*choices, {"type": "null"}]}

    def _is_unsaid(self, key: str, source: JsonObject, result: JsonObject) -> bool:
        """Whether a keyword of the structure found no place in ``result``."""
        match key:
            case "oneOf":
                return "anyOf" not in result or "anyOf" in source
            case "type" | "$ref":
                return False  # said by the values of enum or const; in an anyOf of one
            case "properties" | "required" | "additionalProperties" | "items":
                return False  # about another type than the schema's
            case _:
                return key not in result

    def _one_type_each(self, schema: JsonObject) -> JsonObject:
        """``schema`` with an ``anyOf`` in place of several types, where the mode takes one only."""
        types = _types(schema)
        if len(types) == 1:
            return {**schema, "type": types[0]}
        if not types or self.mode.lists_types:
            return schema
        about = {key for keys in _ABOUT.values() for key in keys}
        choices: list[JsonValue] = [
            {
                "type": each,
                **{key: schema[key] for key in schema.keys() - _WORDS - {"type"} if key not in about},
                **{key: schema[key] for key in _ABOUT.get(each, ()) if key in schema},
            }
            for each in types
        ]
        return {**{key: value for key, value in schema.items() if key in _WORDS}, "anyOf": choices}


def _types(schema: JsonObject) -> list[str]:
    found = schema.get("type")
    return [str(each) for each in found] if isinstance(found, list) else [str(found)] if found else []

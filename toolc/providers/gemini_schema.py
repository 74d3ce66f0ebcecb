"""JSON Schema, lowered to the subset of it that Gemini documents for ``parametersJsonSchema``.

That subset is $defs, $ref (to a root $defs, nothing but ``$`` keys beside it, cyclic only below an optional
property), type (one), title, description, enum (strings and numbers), items, prefixItems, minItems, maxItems,
minimum, maximum, anyOf, properties, additionalProperties, required, and format, which is kept for numbers only.
One unknown keyword makes the API refuse the whole request, so everything else is folded or dropped. What is
lowered takes every value that the original takes, and perhaps more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers.json_schema.lowering import LossLog, child, say
from toolc.providers.json_schema.references import Recursion, References, merge_all_of

_KINDS: Final = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def type_variants(source: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """One ``{"type", "enum"?}`` for each type that type, enum and const leave, and those keywords that say more."""
    declared = source.get("type")
    several = declared if isinstance(declared, list) else [declared]
    types = [each for each in several if isinstance(each, str)]
    said: JsonObject = {key: source[key] for key in ("const", "enum") if key in source}
    if not said:
        return {}, [{"type": each} for each in types if each != "integer" or "number" not in types]
    groups: dict[str, list[JsonValue]] = {}
    for value in _allowed(source):
        if kind := _type(value, types):
            groups.setdefault(kind, []).append(value)
    if not groups:
        return said, [{"type": each} for each in types[:1]]
    inexact = [kind for kind, values in groups.items() if not _is_exact(kind, values)]
    return said if inexact else {}, [_variant(kind, values) for kind, values in groups.items()]


def _allowed(source: JsonObject) -> list[JsonValue]:
    values = source.get("enum")
    if not isinstance(values, list):
        return [source["const"]]
    return [value for value in values if "const" not in source or _same(value, source["const"])]


def _same(one: JsonValue, other: JsonValue) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _type(value: JsonValue, declared: Sequence[str]) -> str | None:
    """The JSON type of a value (``number`` for every number), or None if it is not among the declared ones."""
    kind = _KINDS[type(value)]
    fits = kind in declared or (kind == "number" and "integer" in declared and _is_whole(value))
    return kind if fits or not declared else None


def _is_whole(value: JsonValue) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _is_exact(kind: str, values: Sequence[JsonValue]) -> bool:
    return kind in {"string", "number", "null"} or (kind == "boolean" and len(set(map(str, values))) == 2)


def _variant(kind: str, values: list[JsonValue]) -> JsonObject:
    match kind:
        case "string":
            return {"type": kind, "enum": values}
        case "number":
            return {"type": "integer" if all(map(_is_whole, values)) else "number", "enum": values}
        case _:
            return {"type": kind}


MAX_NODES: Final = 5_000
"""So many subschemas are lowered; what is beyond them takes any value. References can make a small schema huge."""

_KEPT: Final = frozenset({"description", "maxItems", "maximum", "minItems", "minimum", "required", "title"})
_MEANINGLESS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "definitions"}
)
"""Dropped without a word: nothing a model could be told by them."""

_FOLDED: Final = frozenset(
    {
        "allOf", "contains", "contentEncoding", "contentMediaType", "contentSchema", "default", "dependentRequired",
        "dependentSchemas", "deprecated", "else", "examples", "exclusiveMaximum", "exclusiveMinimum", "format",
        "if", "items", "maxContains", "maxLength", "maxProperties", "minContains", "minLength", "minProperties",
        "multipleOf", "not", "oneOf", "pattern", "patternProperties", "propertyNames", "readOnly", "then",
        "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly",
    }
)  # fmt: skip
_STRUCTURAL: Final = frozenset(
    {"$ref", "additionalProperties", "anyOf", "const", "enum", "prefixItems", "properties", "type"}
)
_STRUCTURED: Final = frozenset(
    {"additionalProperties", "anyOf", "items", "oneOf", "prefixItems", "properties", "required"}
)
_SAID_ELSEWHERE: Final = _KEPT | _MEANINGLESS | _STRUCTURAL
_OF_TYPE: Final = {
    "array": ("items", "maxItems", "minItems", "prefixItems"),
    "integer": ("maximum", "minimum"),
    "number": ("maximum", "minimum"),
    "object": ("additionalProperties", "properties", "required"),
}
"""The kept keywords that say something about one type only."""


def lower_schema(schema: JsonObject, losses: LossLog) -> JsonObject:
    """The parameters' schema for Gemini; ``losses`` gets every keyword that was folded or dropped."""
    references = References(schema)
    lowering = _Lowering(references, Recursion(references), losses)
    result = lowering.lower(schema, _Place("#", "/parameters"))
    if definitions := lowering.lower_definitions():
        result["$defs"] = definitions
    return result


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a subschema stands.

    ``scope`` is the referenced schema it is part of (``#`` for the root), ``pointer`` its JSON Pointer in
    the tool, and ``optional`` whether some property on the way from the scope may be left out.
    """

    scope: str
    pointer: str
    optional: bool = False

    def at(self, *keys: str | int) -> _Place:
        """A place below this one."""
        return _Place(self.scope, child(self.pointer, *keys), self.optional)

    def property(self, name: str, *, required: bool) -> _Place:
        """The place of a property."""
        return _Place(self.scope, child(self.pointer, "properties", name), self.optional or not required)


@dataclass(slots=True)
class _Lowering:
    references: References
    recursion: Recursion
    losses: LossLog
    names: dict[str, str] = field(default_factory=dict)
    nodes: int = 0

    def lower(self, schema: JsonValue, place: _Place) -> JsonObject:
        """One subschema."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.losses.add("/parameters", f"more than {MAX_NODES} subschemas; the rest takes any value")
            return {}
        if not isinstance(schema, dict):
            return self._lower_boolean(schema, place)
        source = merge_all_of(schema, self.references)
        result = self._structure(source, place)
        said = _shape(source, result)
        if _SAID_ELSEWHERE.issuperset(source) and not said and "$ref" not in source:
            return result
        for key in sorted(source.keys() - _SAID_ELSEWHERE):
            if key not in _FOLDED:
                self.losses.add(child(place.pointer, key), f"Gemini does not take {key}; dropped")
            elif not _is_lowered(key, source, result):
                said[key] = source[key]
        for key in sorted(said):
            self.losses.add(child(place.pointer, key), f"Gemini does not take {key} here; said in the description")
        return self._refer(source, say(result, said), place)

    def lower_definitions(self) -> JsonObject:
        """The schemas that were referred to, by their new names, and those that these refer to in turn."""
        definitions: JsonObject = {}
        while waiting := [reference for reference, name in self.names.items() if name not in definitions]:
            for reference in waiting:
                place = _Place(reference, f"/parameters{reference[1:]}")
                definitions[self.names[reference]] = self.lower(self.references.target(reference), place)
        return definitions

    def _lower_boolean(self, schema: JsonValue, place: _Place) -> JsonObject:
        if schema is not False:
            return {}
        self.losses.add(place.pointer, "Gemini cannot forbid a value; said in the description")
        return {"description": "(must not be given)"}

    def _structure(self, source: JsonObject, place: _Place) -> JsonObject:
        """The keywords that are kept as they are, and those that hold schemas, lowered."""
        result: JsonObject = {key: value for key, value in source.items() if key in _KEPT}
        if _STRUCTURED.isdisjoint(source):
            return result
        required = _names(source.get("required"))
        # In order of name, so that neither losses nor new names depend on how the spec's keys are ordered.
        for key in sorted(_STRUCTURED & source.keys()):
            value = source[key]
            match key, value:
                case "properties", dict():
                    result[key] = {
                        name: self.lower(each, place.property(name, required=name in required))
                        for name, each in sorted(value.items())
                    }
                case ("items", dict() | True) | ("additionalProperties", dict()):
                    result[key] = self.lower(value, place.at(key))
                case "additionalProperties", bool():
                    result[key] = value
                case "prefixItems" | "anyOf", list():
                    result[key] = [self.lower(each, place.at(key, index)) for index, each in enumerate(value)]
                case "oneOf", list() if "anyOf" not in source:
                    result["anyOf"] = [self.lower(each, place.at(key, index)) for index, each in enumerate(value)]
                    self.losses.add(child(place.pointer, key), "Gemini reads oneOf as anyOf")
                case _:
                    pass
        self._declare(required, source, result, place)
        return result

    def _declare(self, required: Sequence[str], source: JsonObject, result: JsonObject, place: _Place) -> None:
        """Give every required name a property: Gemini refuses a schema that requires what it does not list."""
        properties = result.get("properties")
        known = properties if isinstance(properties, dict) else {}
        beyond = source.get("additionalProperties", True)
        missing: JsonObject = {
            name: self.lower(beyond, place.at("additionalProperties")) for name in required if name not in known
        }
        if missing:
            result["properties"] = known | missing

    def _refer(self, source: JsonObject, result: JsonObject, place: _Place) -> JsonObject:
        """``result`` with the reference of ``source``: alone, or in an ``anyOf`` beside the rest."""
        reference = source.get("$ref")
        if not isinstance(reference, str):
            return result
        pointer = child(place.pointer, "$ref")
        if self.references.target(reference) is None:
            self.losses.add(pointer, f"{reference} is not a schema in these parameters; takes any value")
            return result
        if not place.optional and self.recursion.leads_back(reference, place.scope):
            self.losses.add(pointer, "Gemini takes a recursive reference only below an optional property; dropped")
            return say(result, {"like": reference})
        target: JsonObject = {"$ref": child("#/$defs", self._name(reference))}
        if not result:
            return target
        if "anyOf" in result:
            self.losses.add(pointer, "Gemini takes no reference beside anyOf; dropped")
            return result
        return {**result, "anyOf": [target]}

    def _name(self, reference: str) -> str:
        if reference not in self.names:
            wanted = reference.rpartition("/")[2].strip("#") or "root"
            taken = set(self.names.values())
            names = (wanted, *(f"{wanted}_{number}" for number in range(2, len(taken) + 3)))
            self.names[reference] = next(name for name in names if name not in taken)
        return self.names[reference]


def _names(required: JsonValue) -> list[str]:
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _is_lowered(key: str, source: JsonObject, result: JsonObject) -> bool:
    """Whether a keyword that may have to be folded was said in another way."""
    match key:
        case "oneOf":
            return "anyOf" not in source
        case "items":
            return source[key] is True or isinstance(source[key], dict)
        case "format" if result.get("type") in {"integer", "number"}:
            result[key] = source[key]
            return True
        case _:
            return False


def _shape(source: JsonObject, result: JsonObject) -> JsonObject:
    """Write type, enum and const as Gemini's ``type`` and ``enum``; what these leave unsaid is returned.

    Several types become an ``anyOf``, in which each takes along the keywords that are about it.
    """
    kind = source.get("type")
    if isinstance(kind, str) and kind != "array" and "enum" not in source and "const" not in source:
        result["type"] = kind
        return {}
    said, variants = type_variants(source)
    if len(variants) > 1 and ("anyOf" in result or "$ref" in source):
        return {key: source[key] for key in ("const", "enum", "type") if key in source}
    if len(variants) == 1:
        result |= variants[0]
    elif variants:
        about = {key: result.pop(key) for keys in _OF_TYPE.values() for key in keys if key in result}
        for each in variants:
            each |= {key: about[key] for key in _OF_TYPE.get(str(each["type"]), ()) if key in about}
        result["anyOf"] = list(variants)
    for each in (result, *variants):
        if each.get("type") == "array" and not {"items", "prefixItems"} & each.keys():
            each["items"] = {}
    return said

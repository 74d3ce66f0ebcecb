"""Lower a JSON Schema to the subset that Gemini documents for ``parametersJsonSchema``.

That subset is $defs, $ref (to a root $defs, together with ``$`` keys only, recursive only below an optional property),
type (one), title, description, enum (strings and numbers), items, prefixItems, minItems, maxItems, minimum, maximum,
anyOf, properties, additionalProperties, required, and format, which is kept for numbers only. The API rejects a
request with an unknown keyword, so every other keyword is moved to the description or dropped. The lowered schema
allows every value that the original allows, and possibly more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from toolc.model.json_schema import JsonObject, JsonValue, child_pointer, list_under, map_under, types_of
from toolc.providers.json_schema.lowering import IGNORED, LossLog, add_to_description
from toolc.providers.json_schema.references import Recursion, References, merge_all_of

_TYPES: Final = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object", type(None): "null",
}  # fmt: skip

MAX_NODES: Final = 5_000
"""The maximum number of lowered subschemas; others become ``{}``. References can make a small schema very large."""

_KEPT: Final = frozenset({"description", "maxItems", "maximum", "minItems", "minimum", "required", "title"})
_MOVED: Final = frozenset(
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
_WITH_SCHEMAS: Final = frozenset(
    {"additionalProperties", "anyOf", "items", "oneOf", "prefixItems", "properties", "required"}
)
_HANDLED: Final = _KEPT | IGNORED | _STRUCTURAL
_OF_TYPE: Final = {
    "array": ("items", "maxItems", "minItems", "prefixItems"),
    "integer": ("maximum", "minimum"),
    "number": ("maximum", "minimum"),
    "object": ("additionalProperties", "properties", "required"),
}
"""The kept keywords that apply to a single type."""

_NOT_IN_NAMES: Final = re.compile("[^A-Za-z0-9_.-]+")
"""The characters that a name in ``$defs`` must not contain, because a reference would have to escape them."""


def split_types(source: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return the keywords of ``const`` and ``enum`` that the variants do not express completely, and the variants.

    There is one variant, ``{"type", "enum"?}``, for each type that ``type``, ``enum`` and ``const`` allow.
    """
    types = types_of(source)
    values_keywords: JsonObject = {key: source[key] for key in ("const", "enum") if key in source}
    if not values_keywords:
        return {}, [{"type": each} for each in types if each != "integer" or "number" not in types]
    groups: dict[str, list[JsonValue]] = {}
    for value in _allowed_values(source):
        kind = _TYPES[type(value)]
        if not types or kind in types or (kind == "number" and "integer" in types and _is_whole(value)):
            groups.setdefault(kind, []).append(value)
    if not groups:
        return values_keywords, [{"type": each} for each in types[:1]]
    is_exact = all(
        kind in {"string", "number", "null"} or (kind == "boolean" and len(set(map(str, values))) == 2)
        for kind, values in groups.items()
    )
    return {} if is_exact else values_keywords, [_variant(kind, values) for kind, values in groups.items()]


def _allowed_values(source: JsonObject) -> list[JsonValue]:
    values = source.get("enum")
    if not isinstance(values, list):
        return [source["const"]]
    return [value for value in values if "const" not in source or _equal(value, source["const"])]


def _equal(one: JsonValue, other: JsonValue) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_whole(value: JsonValue) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _variant(kind: str, values: list[JsonValue]) -> JsonObject:
    match kind:
        case "string":
            return {"type": kind, "enum": values}
        case "number":
            return {"type": "integer" if all(map(_is_whole, values)) else "number", "enum": values}
        case _:
            return {"type": kind}


def lower_schema(schema: JsonObject, losses: LossLog) -> JsonObject:
    """Return the parameters' schema for Gemini. Every keyword that was moved or dropped is added to ``losses``."""
    references = References(schema)
    lowering = _Lowering(references, Recursion(references), losses)
    result = lowering.lower(schema, _Location("#", "/parameters"))
    if definitions := lowering.lower_definitions():
        result["$defs"] = definitions
    return result


@dataclass(frozen=True, slots=True)
class _Location:
    """The location of a subschema.

    ``scope`` is the referenced schema that contains it (``#`` for the root), ``pointer`` its JSON Pointer in the
    tool. ``optional``: a property between the two can be absent.
    """

    scope: str
    pointer: str
    optional: bool = False

    def at(self, *keys: str | int) -> _Location:
        """Return the location of the subschema at ``keys`` below this one."""
        return _Location(self.scope, child_pointer(self.pointer, *keys), self.optional)

    def property(self, name: str, *, required: bool) -> _Location:
        """Return the location of a property."""
        return _Location(self.scope, child_pointer(self.pointer, "properties", name), self.optional or not required)


@dataclass(slots=True)
class _Lowering:
    references: References
    recursion: Recursion
    losses: LossLog
    names: dict[str, str] = field(default_factory=dict)
    nodes: int = 0

    def lower(self, schema: JsonValue, location: _Location) -> JsonObject:
        """Return ``schema``, the subschema at ``location``, lowered for Gemini."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.losses.add("/parameters", f"more than {MAX_NODES} subschemas; the others allow any value")
            return {}
        if schema is False:
            self.losses.add(location.pointer, "Gemini cannot forbid a value; moved to the description")
            return {"description": "(must not be given)"}
        if not isinstance(schema, dict):
            return {}
        source = merge_all_of(schema, self.references)
        result = self._lower_subschemas(source, location)
        moved = _set_type(source, result)
        if "patternProperties" in source and source.get("additionalProperties", True) is not True:
            moved["additionalProperties"] = source["additionalProperties"]
        if _HANDLED.issuperset(source) and not moved and "$ref" not in source:
            return result
        for key in sorted(source.keys() - _HANDLED):
            if key not in _MOVED:
                self.losses.add(child_pointer(location.pointer, key), f"Gemini does not support {key}; dropped")
            elif not _is_lowered(key, source, result):
                moved[key] = source[key]
        for key in sorted(moved):
            message = f"Gemini does not support {key} here; moved to the description"
            self.losses.add(child_pointer(location.pointer, key), message)
        return self._add_reference(source, add_to_description(result, moved), location)

    def lower_definitions(self) -> JsonObject:
        """Return the referenced schemas by their new names, including those that they refer to."""
        definitions: JsonObject = {}
        while waiting := [reference for reference, name in self.names.items() if name not in definitions]:
            for reference in waiting:
                location = _Location(reference, f"/parameters{reference[1:]}")
                definitions[self.names[reference]] = self.lower(self.references.target(reference), location)
        return definitions

    def _lower_subschemas(self, source: JsonObject, location: _Location) -> JsonObject:
        """Return the supported keywords of ``source``, with its subschemas lowered."""
        result: JsonObject = {key: value for key, value in source.items() if key in _KEPT}
        if _WITH_SCHEMAS.isdisjoint(source):
            return result
        # Names that match a pattern are not additional: without the pattern, the keyword would refuse them.
        others = True if "patternProperties" in source else source.get("additionalProperties", True)
        required = [name for name in list_under(source, "required") if isinstance(name, str)]
        # Sorted, so that neither losses nor new names depend on the order of the spec's keys.
        for key in sorted(_WITH_SCHEMAS & source.keys()):
            value = source[key]
            match key, value:
                case "properties", dict():
                    result[key] = {
                        name: self.lower(each, location.property(name, required=name in required))
                        for name, each in sorted(value.items())
                    }
                case "items", dict() | True:
                    result[key] = self.lower(value, location.at(key))
                case "additionalProperties", dict() if value is others:
                    result[key] = self.lower(value, location.at(key))
                case "additionalProperties", bool() if value is others:
                    result[key] = value
                case "prefixItems" | "anyOf", list():
                    result[key] = [self.lower(each, location.at(key, index)) for index, each in enumerate(value)]
                case "oneOf", list() if "anyOf" not in source:
                    result["anyOf"] = [self.lower(each, location.at(key, index)) for index, each in enumerate(value)]
                    self.losses.add(child_pointer(location.pointer, key), "Gemini treats oneOf as anyOf")
                case _:
                    pass
        # Gemini rejects a schema that requires a property it does not declare.
        declared = map_under(result, "properties")
        missing: JsonObject = {
            name: self.lower(others, location.at("additionalProperties")) for name in required if name not in declared
        }
        if missing:
            result["properties"] = declared | missing
        return result

    def _add_reference(self, source: JsonObject, result: JsonObject, location: _Location) -> JsonObject:
        """Return ``result`` with the reference of ``source``, in an ``anyOf`` if there are other keywords."""
        reference = source.get("$ref")
        if not isinstance(reference, str):
            return result
        pointer = child_pointer(location.pointer, "$ref")
        if self.references.target(reference) is None:
            self.losses.add(pointer, f"{reference} is not a schema in these parameters; any value is allowed")
            return result
        if not location.optional and self.recursion.leads_back(reference, location.scope):
            message = "Gemini supports a recursive reference only below an optional property; dropped"
            self.losses.add(pointer, message)
            return add_to_description(result, {"like": reference})
        target: JsonObject = {"$ref": child_pointer("#/$defs", self._name(reference))}
        if not result:
            return target
        if "anyOf" in result:
            self.losses.add(pointer, "Gemini does not support a reference together with anyOf; dropped")
            return result
        return {**result, "anyOf": [target]}

    def _name(self, reference: str) -> str:
        if reference not in self.names:
            last = unquote(reference.rpartition("/")[2].strip("#")).replace("~1", "/").replace("~0", "~")
            base_name = _NOT_IN_NAMES.sub("_", last) or "root"
            used = set(self.names.values())
            names = (base_name, *(f"{base_name}_{number}" for number in range(2, len(used) + 3)))
            self.names[reference] = next(name for name in names if name not in used)
        return self.names[reference]


def _is_lowered(key: str, source: JsonObject, result: JsonObject) -> bool:
    """Return whether ``result`` expresses a keyword that may have to be moved. A number's ``format`` is added to it."""
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


def _set_type(source: JsonObject, result: JsonObject) -> JsonObject:
    """Write type, enum and const as Gemini's ``type`` and ``enum``. Return the keywords that these do not express.

    Several types become an ``anyOf``, and the keywords for a single type move to its schema.
    """
    kind = source.get("type")
    if isinstance(kind, str) and kind != "array" and "enum" not in source and "const" not in source:
        result["type"] = kind
        return {}
    moved, variants = split_types(source)
    if len(variants) > 1 and ("anyOf" in result or "$ref" in source):
        return {key: source[key] for key in ("const", "enum", "type") if key in source}
    if len(variants) == 1:
        result |= variants[0]
    elif variants:
        of_type = {key: result.pop(key) for keys in _OF_TYPE.values() for key in keys if key in result}
        for each in variants:
            each |= {key: of_type[key] for key in _OF_TYPE.get(str(each["type"]), ()) if key in of_type}
        result["anyOf"] = list(variants)
    for each in (result, *variants):
        if each.get("type") == "array" and not {"items", "prefixItems"} & each.keys():
            each["items"] = {}
    return moved

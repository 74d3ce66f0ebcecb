"""Change a schema of parameters where a client of MCP or its provider refuses it, and nowhere else.

The changed schema accepts every value that the schema accepts, except empty texts in ``enum``. Therefore, ``oneOf``
becomes ``anyOf`` if one of its schemas accepts more than before, and ``not``, ``if`` and ``contains`` are folded.
"""

from __future__ import annotations

from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import (
    LISTS_OF_SCHEMAS,
    MAPS_OF_SCHEMAS,
    SCHEMAS,
    JsonObject,
    JsonValue,
    list_under,
    map_under,
    types_of,
    values_within,
)
from toolc.model.text import lazy_re
from toolc.providers.json_schema.lowering import CHOICES, REJECTED_AT_ROOT, add_to_description
from toolc.providers.json_schema.portable_rules import Refusal, Rule, is_refused_id, is_refused_pattern, refused_name
from toolc.providers.json_schema.references import (
    LocatedSchema,
    Origins,
    Recursion,
    References,
    merge,
    new_definition_name,
    origin,
    without_all_of,
)
from toolc.providers.json_schema.target import ROOT
from toolc.providers.json_schema.values import type_names

_READ: Final = frozenset({"$defs", "additionalProperties", "anyOf", "items", "oneOf", "prefixItems", "properties"})
"""The keywords whose schemas Gemini reads."""

_VALUES: Final = frozenset({"const", "default", "dependentRequired", "dependentSchemas", "enum", "examples"})
"""The keywords in which a key ``$ref`` is not a reference."""

_PLAIN: Final = lazy_re(r"#/\$defs/([A-Za-z0-9_.-]+)")
_NEXT_TO_REFERENCE: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$ref", "default", "description"}
)
_GROUPS: Final = {
    "not": ("not",), "if": ("if", "then", "else"), "contains": ("contains", "minContains", "maxContains"),
}  # fmt: skip
"""Keywords that accept less if their schema accepts more, with those that have no meaning without them."""


def portable(schema: JsonObject, at: str = ROOT) -> tuple[JsonObject, tuple[Refusal, ...]]:
    """Return the portable form of a schema, and what is refused in it. ``at`` is its JSON Pointer in the tool.

    The schema must be valid. References that lead to no schema are left unchanged.
    """
    references = References(schema, at)
    repair = _Repair(references, Recursion(references))
    return repair.root(), tuple(repair.refusals)


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of a subschema, like ``target.Place``. ``is_exact``: it must not accept more than before."""

    pointer: str
    scope: str = "#"
    optional: bool = False
    is_read: bool = True
    is_exact: bool = False
    is_root: bool = False
    origins: Origins = field(default_factory=dict)

    def at(self, *keys: str | int) -> str:
        """Return the JSON Pointer of the part at ``keys``."""
        return origin(self.origins, self.pointer, keys)

    def inside(self, schema: JsonObject, keyword: str, *key: str | int) -> _Place:
        """Return the place of a subschema of ``schema``, which is here."""
        is_optional = keyword == "properties" and key[0] not in list_under(schema, "required")
        return _Place(
            self.at(keyword, *key),
            self.scope,
            self.optional or is_optional,
            is_read=self.is_read and keyword in _READ,
            is_exact=self.is_exact or keyword in _GROUPS,
        )


@dataclass(slots=True)
class _Repair:
    """The state of one schema. ``widened`` counts the changes after which a schema accepts more than before.

    ``names`` has the names in ``$defs`` of the schemas of references, and ``wide`` their share of ``widened``.
    """

    references: References
    recursion: Recursion
    refusals: dict[Refusal, None] = field(default_factory=dict)
    widened: int = 0
    rule: Rule = "closed"
    names: dict[str, str] = field(default_factory=dict)
    wide: dict[str, int] = field(default_factory=dict)
    definitions: JsonObject = field(default_factory=dict)

    def root(self) -> JsonObject:
        """Return the repaired root schema."""
        located = self._merged_root()
        place = _Place(located.pointer, is_root=True, origins=located.origins)
        schema = {key: value for key, value in located.schema.items() if key != "$defs"}
        folded: JsonObject = {key: schema.pop(key) for key in sorted(schema.keys() & REJECTED_AT_ROOT)}
        if not CHOICES.isdisjoint(folded) and "unevaluatedProperties" in schema:
            folded["unevaluatedProperties"] = schema.pop("unevaluatedProperties")
        if isinstance(self.references.target(str(schema.get("$ref"))), dict):
            folded["$ref"] = schema.pop("$ref")
        for key in folded:
            rule: Rule = "value_at_root" if key in {"const", "enum", "not"} else "choice_at_root"
            self._fold(rule, place, key)
        result = add_to_description(self._repaired(schema, place), folded)
        if "properties" not in result:
            self._report("no_properties", place.pointer)
            result["properties"] = {}
        declared = map_under(self.references.root, "$defs")
        for name in sorted(declared):
            if name not in self.definitions and _PLAIN.fullmatch(reference := f"#/$defs/{name}"):
                self._define(reference)
        order = [*(name for name in declared if name in self.definitions), *self.definitions]
        return result | ({"$defs": {name: self.definitions[name] for name in order}} if order else {})

    def _merged_root(self) -> LocatedSchema:
        """Return the root without ``allOf`` and ``$ref``, if one schema can express it."""
        schema, at = self.references.root, self.references.at
        located = without_all_of(LocatedSchema(schema, at), self.references)
        reference = located.schema.get("$ref")
        if isinstance(reference, str) and isinstance(target := self.references.target(reference), dict):
            rest = {key: value for key, value in located.schema.items() if key != "$ref"}
            inner = LocatedSchema(target, self.references.pointer(reference))
            merged = merge(LocatedSchema(rest, at, located.origins), [without_all_of(inner, self.references)])
            located = merged if merged and "$ref" not in merged.schema else located
        for key in ("$ref", "allOf"):
            if key in schema and key not in located.schema:
                self._report("choice_at_root", f"{at}/{key}")
        return located

    def _report(self, rule: Rule, pointer: str, done: str = "", action: str = "") -> None:
        self.refusals[Refusal(rule, pointer, done, action)] = None
        self.rule = rule if done else self.rule

    def _fold(self, rule: Rule, place: _Place, *keys: str | int) -> None:
        """Record that the part at ``keys`` is now only in the description."""
        self._report(rule, place.at(*keys), "moved to the description", "folded")
        self.widened += 1

    def _child(self, value: JsonValue, place: _Place, keyword: str) -> JsonValue:
        if isinstance(value, dict):
            return self._repaired(value, place)
        if isinstance(value, bool) and keyword in (_READ | LISTS_OF_SCHEMAS) - {"additionalProperties"}:
            self._report("false_items" if keyword == "items" and not value else "boolean", place.pointer)
            return {} if value else {"not": {}}
        return value

    def _repaired(self, schema: JsonObject, place: _Place) -> JsonObject:
        """Return a subschema, with its own subschemas, repaired."""
        result = dict(schema)
        folded: JsonObject = {}
        self._reference(result, place, folded)
        self._names(result, place, folded)
        self._subschemas(schema, result, place, folded)
        if is_refused_id(result.get("$id"), is_root=place.is_root):
            self._report("identity", place.at("$id"))
            del result["$id"]
        self._additional_properties(result, place)
        for key in result.keys() & _VALUES:
            if any(isinstance(each, dict) and "$ref" in each for _, each in values_within(result[key])):
                folded[key] = schema[key]
                del result[key]
                self._fold("ref_property", place, key)
        self._patterns(schema, result, place, folded)
        if place.is_read:
            self._empty_text(result, place, folded)
            self._enum_values(result, place, folded)
        if "array" in types_of(result) and "items" not in result:
            self._items(result, place)
        self._required(result, place, folded)
        return add_to_description(result, folded)

    def _subschemas(self, schema: JsonObject, result: JsonObject, place: _Place, folded: JsonObject) -> None:
        for key in sorted(result.keys() & (MAPS_OF_SCHEMAS | LISTS_OF_SCHEMAS | SCHEMAS)):
            value, before = result.get(key), self.widened
            if key in MAPS_OF_SCHEMAS and isinstance(value, dict):
                # Sorted, so that no name in $defs depends on the order of the spec's keys. The result has this order.
                made = {each: self._child(value[each], place.inside(schema, key, each), key) for each in sorted(value)}
                result[key] = {name: made[name] for name in value}
            elif key in LISTS_OF_SCHEMAS and isinstance(value, list):
                result[key] = [self._child(each, place.inside(schema, key, at), key) for at, each in enumerate(value)]
            elif key in SCHEMAS and key in result:
                result[key] = self._child(value, place.inside(schema, key), key)
            if self.widened > before and key in {"oneOf", *_GROUPS}:
                self._widen(key, result, place, folded, schema)

    def _widen(self, key: str, result: JsonObject, place: _Place, folded: JsonObject, schema: JsonObject) -> None:
        """Replace a keyword that would accept less, because a schema in it accepts more."""
        self.widened += 1
        if key == "oneOf" and "anyOf" not in result:
            result["anyOf"] = result.pop("oneOf")
            message = "this changed a schema of oneOf, which is therefore anyOf"
            self.refusals[Refusal(self.rule, place.at(key), message, "changed", is_consequence=True)] = None
            return
        for each in _GROUPS.get(key, (key,)):
            if each in result:
                del result[each]
                folded[each] = schema[each]
                message = f"this changed a schema of {key}, which is therefore only in the description"
                self.refusals[Refusal(self.rule, place.at(each), message, "folded", is_consequence=True)] = None

    def _reference(self, schema: JsonObject, place: _Place, folded: JsonObject) -> None:
        if "$dynamicRef" in schema and "$ref" not in schema:
            schema["$ref"] = schema.pop("$dynamicRef")
        reference = schema.get("$ref")
        if not isinstance(reference, str) or (target := self.references.target(reference)) is None:
            return
        if place.is_read and not place.optional and self.recursion.leads_back(reference, place.scope):
            del schema["$ref"]
            folded["like"] = reference
            if isinstance(target, dict) and "type" in target:
                schema.setdefault("type", target["type"])
            self._fold("recursion", place, "$ref")
            return
        new = f"#/$defs/{self._define(reference)}"
        if new != reference:
            self._report("reference", place.at("$ref"))
        schema["$ref"] = new
        if schema.keys() - _NEXT_TO_REFERENCE:
            self._report("reference_siblings", place.at("$ref"))
            key = "allOf" if "anyOf" in schema else "anyOf"
            schema[key] = [*list_under(schema, key), {"$ref": schema.pop("$ref")}]

    def _define(self, reference: str) -> str:
        """Return the name in ``$defs`` of the schema of a reference, after repairing it."""
        if reference in self.names:
            self.widened += self.wide.get(reference, 0)
            return self.names[reference]
        plain = _PLAIN.fullmatch(reference)
        used = {*self.names.values(), *map_under(self.references.root, "$defs")}
        name = plain[1] if plain else new_definition_name(reference, used)
        before = self.widened
        self.names[reference] = name
        self.definitions[name] = {}
        place = _Place(self.references.pointer(reference), scope=reference)
        target = self.references.target(reference)
        if target is self.references.root:  # its own $defs are the result's
            target = {key: value for key, value in self.references.root.items() if key != "$defs"}
        self.definitions[name] = self._child(target, place, "$defs")
        self.wide[reference] = self.widened - before
        return name

    def _names(self, schema: JsonObject, place: _Place, folded: JsonObject) -> None:
        """Fold the properties whose names are refused."""
        properties = map_under(schema, "properties")
        refused = {name: rule for name in properties if (rule := refused_name(name, is_root=place.is_root))}
        if not refused:
            return
        for name, rule in refused.items():
            self._fold(rule, place, "properties", name)
        folded["properties"] = {name: properties[name] for name in refused}
        schema["properties"] = {name: each for name, each in properties.items() if name not in refused}
        if required := [name for name in list_under(schema, "required") if name in refused]:
            folded["required"] = [*required]
            schema["required"] = [name for name in list_under(schema, "required") if name not in refused]
            self._fold("property_name", place, "required")
        for key in ("additionalProperties", "unevaluatedProperties"):
            if schema.get(key, True) is not True:
                folded[key] = schema.pop(key)
                self._fold("property_name", place, key)

    def _additional_properties(self, schema: JsonObject, place: _Place) -> None:
        value = schema.get("additionalProperties")
        if not isinstance(value, bool):
            return
        pointer = place.at("additionalProperties")
        if value or place.is_exact:
            schema["additionalProperties"] = {} if value else {"not": {}}
            self._report("closed", pointer)
        else:
            del schema["additionalProperties"]
            self._report("closed", pointer, "left out", "dropped")
            self.widened += 1

    def _patterns(self, source: JsonObject, schema: JsonObject, place: _Place, folded: JsonObject) -> None:
        keys = ["pattern"] if is_refused_pattern(schema.get("pattern")) else []
        if any(map(is_refused_pattern, map_under(schema, "patternProperties"))):
            keys += ["patternProperties", "additionalProperties", "unevaluatedProperties"]
        for key in schema.keys() & keys:
            folded[key] = source[key]
            del schema[key]
            self._fold("pattern", place, key)

    def _items(self, schema: JsonObject, place: _Place) -> None:
        """Add ``items: {}``, which has the same meaning, except that ``unevaluatedItems`` has no effect with it."""
        schema["items"] = {}
        if "unevaluatedItems" in schema:
            self._report("no_items", place.at("unevaluatedItems"), "unevaluatedItems has no effect", "changed")
            self.widened += 1
        else:
            self._report("no_items", place.pointer)

    def _required(self, schema: JsonObject, place: _Place, folded: JsonObject) -> None:
        """Declare each property that is required but not declared, with the schema of other properties."""
        declared, others = map_under(schema, "properties"), schema.get("additionalProperties")
        missing = [each for each in list_under(schema, "required") if isinstance(each, str) and each not in declared]
        if refused := [name for name in missing if refused_name(name, is_root=place.is_root)]:
            folded["required"] = [*list_under(folded, "required"), *refused]
            schema["required"] = [each for each in list_under(schema, "required") if each not in refused]
            self._fold("property_name", place, "required")
        if added := [name for name in missing if name not in refused]:
            self._report("undeclared", place.at("required"))
            if "unevaluatedProperties" in schema:
                where = place.at("unevaluatedProperties")
                self._report("undeclared", where, "unevaluatedProperties does not apply to it", "changed")
                self.widened += 1
            schema["properties"] = declared | {name: others if isinstance(others, dict) else {} for name in added}

    def _empty_text(self, schema: JsonObject, place: _Place, folded: JsonObject) -> None:
        for keyword in ("enum", "const"):
            values = [schema["const"]] if keyword == "const" and "const" in schema else list_under(schema, keyword)
            if "" not in values:
                continue
            self._report("empty_text", place.at(keyword), "left out; the description has all values", "folded")
            folded[keyword] = schema.pop(keyword)
            if kept := [each for each in values if each != ""]:
                schema["enum"] = kept
            else:
                schema.setdefault("type", "string")

    def _enum_values(self, schema: JsonObject, place: _Place, folded: JsonObject) -> None:
        """Fold an ``enum`` with other values than texts: Gemini's function declarations, which ADK makes, refuse them.

        If the type is string, or string and null, ADK writes such values as texts, and leaves out null.
        """
        values = list_under(schema, "enum")
        if all(isinstance(each, str) for each in values):
            return
        types = types_of(schema) or type_names(values)
        is_text = next((each for each in types if each != "null"), "") == "string" and "array" not in types
        if not is_text or ("type" not in schema and set(types) != {"string", "null"}):
            self._fold("enum_value", place, "enum")
            folded["enum"] = schema.pop("enum")
        elif "type" not in schema:
            self._report("enum_value", place.at("enum"))
        schema.setdefault("type", [*types])

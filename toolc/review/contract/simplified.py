"""Both schemas without combinations that only one of them has, so that equal parts have the same keyword.

Pydantic writes ``anyOf: [{type: string}, {type: "null"}]`` for what another generator writes as
``type: [string, "null"]``. Both become the latter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolc.compiler.schema.type_names import declared_types
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under
from toolc.review.contract.places import Place
from toolc.review.model.schema_node import Node, is_same
from toolc.validation.witness.formulas import KEYWORDS, constants
from toolc.validation.witness.joined import ANNOTATIONS, plain_text

_ALTERNATIVES: Final = ("anyOf", "oneOf")
_OF_TYPE: Final[dict[str, frozenset[str]]] = {
    "object": frozenset({
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired", "dependentSchemas",
    }),
    "array": frozenset({
        "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains",
    }),
    **{
        kind: frozenset(keyword for keyword, kinds in KEYWORDS.items() if kind in kinds and len(kinds) < 3)
        for kind in ("string", "integer")
    },
}  # fmt: skip
"""For each type, the keywords that apply only to values of this type."""

_TOGETHER: Final = (
    frozenset({"properties", "patternProperties", "additionalProperties"}),
    frozenset({"items", "prefixItems"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"if", "then", "else"}),
)
"""Keywords that affect each other within one schema."""

_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})


def simplified(place: Place) -> Place:
    """Return a place with equivalent schemas, without combinations that only one of them needs."""
    keywords = ("anyOf", "oneOf", "allOf", "not", "if")
    if all((keyword in place.before) == (keyword in place.after) for keyword in keywords):
        return place
    old, new = _simplified(place.old, place.new), _simplified(place.new, place.old)
    for keyword in _ALTERNATIVES:
        old, new = _wrapped(old, new, keyword), _wrapped(new, old, keyword)
    return replace(place, old=old, new=new)


def with_shared_types(place: Place) -> Place:
    """Return a place without keywords for types that only one schema allows, which the change of the type covers."""
    shared = declared_types(place.before) & declared_types(place.after)
    unused = {keyword for kind, keywords in _OF_TYPE.items() if kind not in shared for keyword in keywords}
    if unused.isdisjoint({*place.before, *place.after}):
        return place
    old, new = (
        replace(node, schema={key: value for key, value in node.schema.items() if key not in unused})
        for node in (place.old, place.new)
    )
    return replace(place, old=old, new=new)


def _wrapped(node: Node, other: Node, keyword: str) -> Node:
    """If the other node has only alternatives, return this node as the only one of several alternatives."""
    if keyword in node.schema or other.schema.keys() - ANNOTATIONS != {keyword}:
        return node
    kept: JsonObject = {key: value for key, value in node.schema.items() if key in ANNOTATIONS}
    inner: JsonObject = {key: value for key, value in node.schema.items() if key not in ANNOTATIONS}
    return replace(node, schema=kept | {keyword: [inner]})


def _simplified(node: Node, other: Node) -> Node:
    schema = _without_detours(node.schema, other.schema)
    for keyword in _ALTERNATIVES:
        if keyword not in schema or keyword in other.schema:
            continue
        members = [node.inner(each).schema for each in list_under(schema, keyword) if each is not False]
        if keyword == "anyOf":
            members = [*{plain_text(each): each for each in members}.values()]
        rest: JsonObject = {key: value for key, value in schema.items() if key != keyword}
        merged = members[0] if len(members) == 1 else _merged_values(members) or _merged_types(members)
        combined = None if merged is None else _merged(rest, merged)
        schema = schema if combined is None else combined
    if "allOf" in schema and "allOf" not in other.schema:
        kept: list[JsonValue] = []
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        for each in list_under(schema, "allOf"):
            combined = _merged(rest, node.inner(each).schema)
            if combined is None:
                kept.append(each)
            else:
                rest = combined
        schema = rest | ({"allOf": kept} if kept else {})
    return node if schema is node.schema else replace(node, schema=schema)


def _without_detours(schema: JsonObject, other: JsonObject) -> JsonObject:
    """Return the schema with double negations and constant conditions turned into parts of ``allOf``."""
    kept: JsonObject = {**schema}
    parts: list[JsonValue] = []
    negated, test = schema.get("not"), schema.get("if")
    if "not" not in other and isinstance(negated, dict) and negated.keys() - ANNOTATIONS == {"not"}:
        parts.append(negated["not"])
        del kept["not"]
    if "if" not in other and isinstance(test, bool):
        parts.append(schema.get("then" if test else "else", True))
        kept = {key: value for key, value in kept.items() if key not in {"if", "then", "else"}}
    return kept | {"allOf": [*list_under(kept, "allOf"), *parts]} if parts else schema


def _merged(schema: JsonObject, member: JsonObject) -> JsonObject | None:
    """Return one schema for two that must both hold, or None if their keywords affect each other."""
    effective: JsonObject = {key: value for key, value in member.items() if key not in ANNOTATIONS or key == "default"}
    if not _UNEVALUATED.isdisjoint({*schema, *effective}) or "$ref" in effective:
        return None
    shared = _shared(schema, effective)
    one, other = schema.keys() - shared, effective.keys() - shared
    for together in _TOGETHER:
        if not together.isdisjoint(one) and not together.isdisjoint(other):
            same = all(is_same(schema.get(key), effective.get(key)) for key in together)
            if not same:
                return None
    if any(not is_same(schema[key], effective[key]) for key in one & other):
        return None
    return schema | effective | shared


def _shared(one: JsonObject, other: JsonObject) -> JsonObject:
    """Return ``required`` and ``properties`` with the names of both schemas, if both have such names."""
    shared: JsonObject = {}
    if "required" in one and "required" in other:
        shared["required"] = [*dict.fromkeys(map(str, [*list_under(one, "required"), *list_under(other, "required")]))]
    limits = {"additionalProperties", "patternProperties"}
    if "properties" in one and "properties" in other and limits.isdisjoint({*one, *other}):
        first, second = map_under(one, "properties"), map_under(other, "properties")
        if all(is_same(first[name], second[name]) for name in first.keys() & second.keys()):
            shared["properties"] = first | second
    return shared


def _merged_values(members: list[JsonObject]) -> JsonObject | None:
    """Return an ``enum`` if every alternative has one value and all values are distinct, otherwise None."""
    values = constants(members)
    return {"enum": values} if values else None


def _merged_types(members: list[JsonObject]) -> JsonObject | None:
    """Return one schema for alternatives of different types, or None if their types or keywords overlap."""
    kinds: list[JsonValue] = []
    merged: JsonObject = {}
    for each in members:
        declared = each.get("type")
        own = declared if isinstance(declared, list) else [declared]
        allowed = {"type"} | ANNOTATIONS
        for kind in own:
            if not isinstance(kind, str) or kind in kinds or {"number", "integer"} <= {*kinds, kind}:
                return None
            allowed |= _OF_TYPE.get("integer" if kind == "number" else kind, frozenset())
            kinds.append(kind)
        if not each.keys() <= allowed:
            return None
        merged |= {key: value for key, value in each.items() if key not in ANNOTATIONS}
    return merged | {"type": kinds}

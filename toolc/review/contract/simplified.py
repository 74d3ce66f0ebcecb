"""The same schemas without combinations that only one of them has, so that equal parts have the same keyword.

Pydantic writes ``anyOf: [{type: string}, {type: "null"}]`` for what another generator writes as
``type: [string, "null"]``. Both become the latter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, list_under
from toolc.review.contract.formulas import KEYWORDS
from toolc.review.contract.joined import ANNOTATIONS
from toolc.review.contract.places import Place
from toolc.review.model.schema_node import Node, is_same

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
"""For each type, keywords that apply to values of this type only."""

_TOGETHER: Final = (
    frozenset({"properties", "patternProperties", "additionalProperties"}),
    frozenset({"items", "prefixItems"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"if", "then", "else"}),
)
"""Keywords that affect each other within one schema."""

_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})


def simplified(place: Place) -> Place:
    """Return a place whose schemas mean the same, without combinations that only one of them needs."""
    keywords = ("anyOf", "oneOf", "allOf")
    if all((keyword in place.before) == (keyword in place.after) for keyword in keywords):
        return place
    old, new = _simplified(place.old, place.new), _simplified(place.new, place.old)
    for keyword in _ALTERNATIVES:
        old, new = _wrapped(old, new, keyword), _wrapped(new, old, keyword)
    return replace(place, old=old, new=new)


def _wrapped(node: Node, other: Node, keyword: str) -> Node:
    """Return the node as the only one of several alternatives if the other one has nothing but alternatives."""
    if keyword in node.schema or other.schema.keys() - ANNOTATIONS != {keyword}:
        return node
    kept: JsonObject = {key: value for key, value in node.schema.items() if key in ANNOTATIONS}
    inner: JsonObject = {key: value for key, value in node.schema.items() if key not in ANNOTATIONS}
    return replace(node, schema=kept | {keyword: [inner]})


def _simplified(node: Node, other: Node) -> Node:
    schema = node.schema
    for keyword in _ALTERNATIVES:
        if keyword not in schema or keyword in other.schema:
            continue
        members = [node.inner(each).schema for each in list_under(schema, keyword)]
        rest: JsonObject = {key: value for key, value in schema.items() if key != keyword}
        merged = members[0] if len(members) == 1 else _merged_types(members)
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


def _merged(schema: JsonObject, member: JsonObject) -> JsonObject | None:
    """Return one schema for two that must both hold; None if their keywords affect each other."""
    effective: JsonObject = {key: value for key, value in member.items() if key not in ANNOTATIONS or key == "default"}
    one, other = schema.keys(), effective.keys()
    if not _UNEVALUATED.isdisjoint({*one, *other}) or "$ref" in other:
        return None
    for together in _TOGETHER:
        if not together.isdisjoint(one) and not together.isdisjoint(other):
            same = all(is_same(schema.get(key), effective.get(key)) for key in together)
            if not same:
                return None
    if any(not is_same(schema[key], effective[key]) for key in one & other):
        return None
    return schema | effective


def _merged_types(members: list[JsonObject]) -> JsonObject | None:
    """Return one schema for alternatives of different types; None if their types or keywords overlap."""
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

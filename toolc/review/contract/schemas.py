"""Compare the keywords of objects and arrays, combined schemas such as ``anyOf``, and the schemas inside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract import bounds
from toolc.review.contract.bounds import Compare, types
from toolc.review.contract.movement import Aspect, Direction, SchemaChange, doubts
from toolc.review.model.change import Route
from toolc.review.model.schema_node import Node, is_same, label, list_under, map_under, root, shorten

_CONDITIONS: Final = ("propertyNames", "contains", "unevaluatedItems", "unevaluatedProperties", "contentSchema")
"""Keywords with one schema. Their absence means ``true``, except for ``contains``."""

MAX_DEPTH: Final = 128
"""How many levels below the root schemas are compared; anything deeper is reported as one change."""


def object_changes(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of properties, items and their dependencies."""
    yield from _properties(old, new, route, compare)
    yield from _required(old.schema, new.schema, route)
    yield from _additional_properties(old, new, route, compare)
    yield from _keyed_conditions(old, new, route, compare)
    yield from _items(old, new, route, compare)
    before, after = _without_idle_names(old), _without_idle_names(new)
    for keyword in _CONDITIONS:
        yield from _condition(keyword, before, after, route, compare)


def _properties(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    before, after = map_under(old.schema, "properties"), map_under(new.schema, "properties")
    for name in dict.fromkeys([*before, *after]):
        where = (*route, "properties", name)
        if name in before and name in after:
            yield from compare(old.inner(before[name]), new.inner(after[name]), where)
        elif name in after:
            direction = Direction.WIDER if is_closed(old.schema) else Direction.NARROWER
            message = f"{label(where)} was added"
            yield SchemaChange(Aspect.PROPERTY_ADDED, direction, where, message, None, after[name], is_sure=False)
        else:
            is_refused = is_closed(new.schema)
            direction = Direction.NARROWER if is_refused else Direction.WIDER
            message = f"{label(where)} was removed" + (", and other names are rejected" if is_refused else "")
            yield SchemaChange(
                Aspect.PROPERTY_REMOVED, direction, where, message, before[name], None, is_sure=is_refused
            )


def is_closed(schema: JsonObject) -> bool:
    """Return whether an object may have named properties only."""
    return any(schema.get(keyword) is False for keyword in ("additionalProperties", "unevaluatedProperties"))


def _required(old: JsonObject, new: JsonObject, route: Route) -> Iterator[SchemaChange]:
    before, after = _names(old, "required"), _names(new, "required")
    earlier = map_under(old, "properties")
    for name in after:
        if name not in before:
            where = (*route, "properties", name)
            message = f"{label(where)} {'is now required' if name in earlier else 'was added and is required'}"
            yield _requirement(Direction.NARROWER, name, route, message, before, after)
    for name in before:
        if name not in after:
            message = f"{label((*route, 'properties', name))} is now optional"
            yield _requirement(Direction.WIDER, name, route, message, before, after)


def _requirement(
    direction: Direction, name: str, route: Route, message: str, before: list[str], after: list[str]
) -> SchemaChange:
    return SchemaChange(Aspect.REQUIRED, direction, (*route, "required"), message, [*before], [*after], subject=name)


def _additional_properties(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of ``additionalProperties``: the values of properties that are not listed."""
    before, after = old.schema.get("additionalProperties"), new.schema.get("additionalProperties")
    where = (*route, "additionalProperties")
    if (before is False) != (after is False):
        direction = Direction.NARROWER if after is False else Direction.WIDER
        message = f"{label(route)} {'no longer allows' if after is False else 'now allows'} other properties"
        yield SchemaChange(Aspect.CLOSED, direction, where, message, before, after)
    elif before is not False:
        yield from compare(old.inner(before), new.inner(after), where)


def _keyed_conditions(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of ``patternProperties``, ``dependentSchemas`` and ``dependentRequired``."""
    for keyword in ("patternProperties", "dependentSchemas", "dependentRequired"):
        before, after = map_under(old.schema, keyword), map_under(new.schema, keyword)
        for name in dict.fromkeys([*before, *after]):
            where = (*route, keyword, name)
            one, other = before.get(name), after.get(name)
            if name in before and name in after and keyword != "dependentRequired":
                yield from compare(old.inner(one), new.inner(other), where)
                continue
            if keyword == "patternProperties" and (_is_limited(old.schema) or _is_limited(new.schema)):
                yield from _name_pattern(name, old.schema, new.schema, where)
                continue
            if name not in before or (name in after and _exceeds(other, one)):
                message = f"{label(route)}: a condition was added ({keyword})"
                yield SchemaChange(Aspect.CONDITION, Direction.NARROWER, where, message, one, other)
            if name not in after or (name in before and keyword == "dependentRequired" and _exceeds(one, other)):
                message = f"{label(route)}: a condition was removed ({keyword})"
                yield SchemaChange(Aspect.CONDITION, Direction.WIDER, where, message, one, other)


def _name_pattern(name: str, old: JsonObject, new: JsonObject, where: Route) -> Iterator[SchemaChange]:
    """Yield an added or removed name pattern if other names are limited: matching names then have another rule."""
    before, after = (map_under(schema, "patternProperties").get(name) for schema in (old, new))
    message = f"{label(where[:-2])}: names that match {shorten(name)} now allow"
    is_refused, was_refused = name in map_under(old, "patternProperties") and is_closed(new), is_closed(old)
    for direction, verb, is_sure in (
        (Direction.NARROWER, "fewer values", is_refused),
        (Direction.WIDER, "more values", was_refused and not is_refused),
    ):
        yield SchemaChange(Aspect.CONDITION, direction, where, f"{message} {verb}", before, after, is_sure=is_sure)


def _is_limited(schema: JsonObject) -> bool:
    """Return whether the values of other properties are restricted."""
    others = ("additionalProperties", "unevaluatedProperties")
    return any(schema.get(keyword, True) is not True for keyword in others)


def _exceeds(one: JsonValue, other: JsonValue) -> bool:
    """Return whether the first list contains a name that the second does not."""
    return isinstance(one, list) and isinstance(other, list) and any(each not in other for each in one)


def _items(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    before, after = list_under(old.schema, "prefixItems"), list_under(new.schema, "prefixItems")
    rest = (old.inner(old.schema.get("items")), new.inner(new.schema.get("items")))
    for index in range(max(len(before), len(after))):
        one = old.inner(before[index]) if index < len(before) else rest[0]
        two = new.inner(after[index]) if index < len(after) else rest[1]
        yield from compare(one, two, (*route, "prefixItems", index))
    yield from compare(*rest, (*route, "items"))
    old_value, new_value = old.schema.get("uniqueItems") is True, new.schema.get("uniqueItems") is True
    if old_value != new_value:
        message = f"{label(route)}: items {'must now be unique' if new_value else 'need no longer be unique'}"
        direction = Direction.NARROWER if new_value else Direction.WIDER
        yield SchemaChange(Aspect.ITEMS, direction, (*route, "uniqueItems"), message, old_value, new_value)


def _without_idle_names(node: Node) -> Node:
    """Return the node without ``propertyNames: {type: string}``. Generators write it, and every object satisfies it."""
    if node.schema.get("propertyNames") != {"type": "string"}:
        return node
    return replace(node, schema={key: each for key, each in node.schema.items() if key != "propertyNames"})


def _condition(keyword: str, old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    before, after = old.schema.get(keyword), new.schema.get(keyword)
    where = (*route, keyword)
    has_effect = keyword == "contains"  # also if it allows any value, because one item is required
    if keyword not in old.schema and keyword in new.schema and (has_effect or after is not True):
        message = f"{label(route)}: a condition was added ({keyword})"
        yield SchemaChange(Aspect.CONDITION, Direction.NARROWER, where, message, before, after)
    elif keyword in old.schema and keyword not in new.schema and (has_effect or before is not True):
        message = f"{label(route)}: a condition was removed ({keyword})"
        yield SchemaChange(Aspect.CONDITION, Direction.WIDER, where, message, before, after)
    elif keyword in old.schema and not is_same(before, after):
        inner_changes = [*compare(old.inner(before), new.inner(after), where)]
        yield from inner_changes
        if keyword == "contains" and ("maxContains" in old.schema or "maxContains" in new.schema):
            message = f"{label(route)}: other items count against maxContains"
            yield from doubts(inner_changes, Aspect.CONDITION, where, message)


def _names(schema: JsonObject, keyword: str) -> list[str]:
    return [name for name in list_under(schema, keyword) if isinstance(name, str)]


def combined_changes(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of combined schemas."""
    for keyword in ("anyOf", "oneOf"):
        yield from _alternatives(keyword, old, new, route, compare)
    yield from _all_of(old, new, route, compare)
    yield from _not(old, new, route, compare)
    yield from _conditional(old.schema, new.schema, route)


def _alternatives(keyword: str, old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    before, after = list_under(old.schema, keyword), list_under(new.schema, keyword)
    where = (*route, keyword)
    if bool(before) != bool(after):
        direction = Direction.NARROWER if after else Direction.WIDER
        verb = "must now match" if after else "need no longer match"
        message = f"{label(route)} {verb} one of several schemas ({keyword})"
        yield SchemaChange(Aspect.ALTERNATIVE, direction, where, message, before or None, after or None, is_sure=False)
        return
    inner_changes = [*_changed(keyword, old, new, route, compare)]
    yield from inner_changes
    nodes = [*map(old.inner, before)], [*map(new.inner, after)]
    if keyword == "oneOf" and not all(map(_are_apart, nodes)):
        message = f"{label(route)}: another number of alternatives may match (oneOf)"
        yield from doubts(inner_changes, Aspect.ALTERNATIVE, where, message)


def _changed(keyword: str, old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    """Yield the changes of the alternatives themselves."""
    before, after = list_under(old.schema, keyword), list_under(new.schema, keyword)
    where = (*route, keyword)
    removed, added = _unmatched(before, after)
    for old_value, new_value in zip(removed, added, strict=False):
        yield from compare(old.inner(before[old_value]), new.inner(after[new_value]), (*where, new_value))
    for index in removed[len(added) :]:
        message = f"{label(route)}: an alternative was removed ({keyword})"
        yield SchemaChange(Aspect.ALTERNATIVE, Direction.NARROWER, (*where, index), message, before[index], None)
    for index in added[len(removed) :]:
        message = f"{label(route)}: an alternative was added ({keyword})"
        yield SchemaChange(Aspect.ALTERNATIVE, Direction.WIDER, (*where, index), message, None, after[index])


def _are_apart(nodes: Sequence[Node]) -> bool:
    """Return whether no value can match two of these: their types, or the constants of a property, are disjoint."""
    return all(
        not types(one.schema) & types(two.schema) or _have_other_constants(one, two)
        for one, two in combinations(nodes, 2)
    )


def _have_other_constants(one: Node, two: Node) -> bool:
    named = [map_under(node.schema, "properties") for node in (one, two)]
    return any(
        name in list_under(one.schema, "required")
        and name in list_under(two.schema, "required")
        and (texts := [_texts(properties.get(str(name))) for properties in named])[0].isdisjoint(texts[1])
        and all(texts)
        for name in named[0]
    )


def _texts(schema: JsonValue) -> frozenset[str]:
    """Return the strings that a schema allows if it lists them all; else none."""
    values = (schema.get("enum") or [schema.get("const")]) if isinstance(schema, dict) else []
    strings = [each for each in values if isinstance(each, str)] if isinstance(values, list) else []
    return frozenset(strings if isinstance(values, list) and len(strings) == len(values) else ())


def _all_of(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    before, after = list_under(old.schema, "allOf"), list_under(new.schema, "allOf")
    removed, added = _unmatched(before, after)
    for old_value, new_value in zip(removed, added, strict=False):
        yield from compare(old.inner(before[old_value]), new.inner(after[new_value]), (*route, "allOf", new_value))
    for index in added[len(removed) :]:
        message = f"{label(route)}: a schema was added (allOf)"
        yield SchemaChange(Aspect.ALL_OF, Direction.NARROWER, (*route, "allOf", index), message, None, after[index])
    for index in removed[len(added) :]:
        message = f"{label(route)}: a schema was removed (allOf)"
        # The alternative may have moved into the schema itself.
        yield SchemaChange(
            Aspect.ALL_OF, Direction.WIDER, (*route, "allOf", index), message, before[index], None, is_sure=False
        )


def _unmatched(before: list[JsonValue], after: list[JsonValue]) -> tuple[list[int], list[int]]:
    """Return the indices of the items that only one side has, regardless of order."""
    added = [*range(len(after))]
    removed: list[int] = []
    for index, each in enumerate(before):
        match = next((other for other in added if is_same(each, after[other])), None)
        if match is None:
            removed.append(index)
        else:
            added.remove(match)
    return removed, added


def _not(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[SchemaChange]:
    before, after = old.schema.get("not"), new.schema.get("not")
    if is_same(before, after):
        return
    where = (*route, "not")
    if "not" in old.schema and "not" in new.schema:
        for each in compare(old.inner(before), new.inner(after), where):
            yield replace(each, direction=each.direction.reversed, is_sure=False)
        return
    direction = Direction.NARROWER if "not" in new.schema else Direction.WIDER
    message = f"{label(route)} {'must now not' if 'not' in new.schema else 'may now'} match a schema (not)"
    yield SchemaChange(Aspect.CONDITION, direction, where, message, before, after)


def _conditional(old: JsonObject, new: JsonObject, route: Route) -> Iterator[SchemaChange]:
    keywords = ("if", "then", "else")
    before: JsonObject = {key: old[key] for key in keywords if key in old}
    after: JsonObject = {key: new[key] for key in keywords if key in new}
    new_applies, old_applies = _has_effect(after), _has_effect(before)
    if is_same(before, after) or not (new_applies or old_applies):
        return
    where = (*route, "if")
    if new_applies and not old_applies:
        message = f"{label(route)}: a condition was added (if)"
        yield SchemaChange(Aspect.CONDITION, Direction.NARROWER, where, message, None, after)
    elif old_applies and not new_applies:
        message = f"{label(route)}: a condition was removed (if)"
        yield SchemaChange(Aspect.CONDITION, Direction.WIDER, where, message, before, None)
    else:
        message = f"{label(route)}: a condition (if) changed"
        for direction in (Direction.NARROWER, Direction.WIDER):
            yield SchemaChange(Aspect.CONDITION, direction, where, message, before, after, is_sure=False)


def _has_effect(conditional: JsonObject) -> bool:
    return "if" in conditional and ("then" in conditional or "else" in conditional)


def schema_changes(old: JsonObject, new: JsonObject) -> tuple[SchemaChange, ...]:
    """Return all changes from one schema to the other."""
    return () if is_same(old, new) else tuple(_Comparison().compare(root(old), root(new), ()))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The pairs of schemas that were compared already, by identity: recursive schemas have no end."""

    seen: set[tuple[int, int]] = field(default_factory=set)

    def compare(self, old: Node, new: Node, route: Route) -> Iterator[SchemaChange]:
        if old.schema is new.schema or (not _refers(old.schema, new.schema) and is_same(old.schema, new.schema)):
            return
        pair = (id(old.original), id(new.original))
        if pair in self.seen:
            return
        if len(route) > MAX_DEPTH:
            message = f"{label(route)}: a schema nested deeper than {MAX_DEPTH} levels changed"
            yield SchemaChange(Aspect.REFERENCE, Direction.NARROWER, route, message, is_sure=False)
            return
        self.seen.add(pair)
        yield from bounds.keyword_changes(old, new, route)
        inside = [*object_changes(old, new, route, self.compare), *combined_changes(old, new, route, self.compare)]
        yield from inside
        yield from _unevaluated(old, new, route, inside)


def _unevaluated(old: Node, new: Node, route: Route, inner_changes: Sequence[SchemaChange]) -> Iterator[SchemaChange]:
    """Yield the effects of ``inner_changes`` on ``unevaluatedProperties`` and ``unevaluatedItems``."""
    looking = [each for each in inner_changes if each.route[len(route) : len(route) + 1] != ("properties",)]
    for keyword in ("unevaluatedProperties", "unevaluatedItems"):
        if any(node.schema.get(keyword, True) is not True for node in (old, new)):
            message = f"{label(route)}: other values depend on {keyword}"
            yield from doubts(looking, Aspect.CLOSED, (*route, keyword), message)


def _refers(*schemas: JsonObject) -> bool:
    return any("$ref" in repr(schema) for schema in schemas)

"""Keywords of objects and arrays, and the schemas inside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.change import Route
from toolc.review.contract.bounds import Compare
from toolc.review.contract.movement import Aspect, Direction, Movement, doubts
from toolc.review.contract.node import Node, is_same, list_under, map_under, place, short

_CONDITIONS: Final = ("propertyNames", "contains", "unevaluatedItems", "unevaluatedProperties", "contentSchema")
"""Keywords with one schema, which was true where it is not there, but for ``contains``."""


def movements(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    """What moved of properties, items and what they depend on."""
    yield from _properties(old, new, route, compare)
    yield from _required(old.schema, new.schema, route)
    yield from _others(old, new, route, compare)
    yield from _named(old, new, route, compare)
    yield from _items(old, new, route, compare)
    before, after = _without_idle_names(old), _without_idle_names(new)
    for keyword in _CONDITIONS:
        yield from _condition(keyword, before, after, route, compare)


def _properties(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    before, after = map_under(old.schema, "properties"), map_under(new.schema, "properties")
    for name in dict.fromkeys([*before, *after]):
        where = (*route, "properties", name)
        if name in before and name in after:
            yield from compare(old.inner(before[name]), new.inner(after[name]), where)
        elif name in after:
            direction = Direction.WIDER if is_closed(old.schema) else Direction.NARROWER
            words = f"{place(where)} is new"
            yield Movement(Aspect.PROPERTY_ADDED, direction, where, words, None, after[name], is_sure=False)
        else:
            is_refused = is_closed(new.schema)
            direction = Direction.NARROWER if is_refused else Direction.WIDER
            words = f"{place(where)} is gone" + (", and other names are refused" if is_refused else "")
            yield Movement(Aspect.PROPERTY_REMOVED, direction, where, words, before[name], None, is_sure=is_refused)


def is_closed(schema: JsonObject) -> bool:
    """Whether an object may have no other properties than those that are named."""
    return any(schema.get(keyword) is False for keyword in ("additionalProperties", "unevaluatedProperties"))


def _required(old: JsonObject, new: JsonObject, route: Route) -> Iterator[Movement]:
    before, after = _names(old, "required"), _names(new, "required")
    had = map_under(old, "properties")
    for name in after:
        if name not in before:
            where = (*route, "properties", name)
            words = f"{place(where)} is now required" if name in had else f"{place(where)} is new and required"
            yield Movement(Aspect.REQUIRED, Direction.NARROWER, (*route, "required"), words, [*before], [*after])
    for name in before:
        if name not in after:
            words = f"{place((*route, 'properties', name))} may now be left out"
            yield Movement(Aspect.REQUIRED, Direction.WIDER, (*route, "required"), words, [*before], [*after])


def _others(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    """``additionalProperties``: what names that are not listed may hold."""
    was, now = old.schema.get("additionalProperties"), new.schema.get("additionalProperties")
    where = (*route, "additionalProperties")
    if (was is False) != (now is False):
        direction = Direction.NARROWER if now is False else Direction.WIDER
        words = f"{place(route)} {'no longer takes' if now is False else 'now takes'} names that are not listed"
        yield Movement(Aspect.CLOSED, direction, where, words, was, now)
    elif was is not False:
        yield from compare(old.inner(was), new.inner(now), where)


def _named(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    """Maps whose entries are conditions: ``patternProperties``, ``dependentSchemas``, ``dependentRequired``."""
    for keyword in ("patternProperties", "dependentSchemas", "dependentRequired"):
        before, after = map_under(old.schema, keyword), map_under(new.schema, keyword)
        for name in dict.fromkeys([*before, *after]):
            where = (*route, keyword, name)
            was, now = before.get(name), after.get(name)
            if name in before and name in after and keyword != "dependentRequired":
                yield from compare(old.inner(was), new.inner(now), where)
                continue
            if keyword == "patternProperties" and (_is_limited(old.schema) or _is_limited(new.schema)):
                yield from _named_or_not(name, old.schema, new.schema, where)
                continue
            if name not in before or (name in after and _exceeds(now, was)):
                words = f"{place(route)} has another condition, in {keyword}"
                yield Movement(Aspect.CONDITION, Direction.NARROWER, where, words, was, now)
            if name not in after or (name in before and keyword == "dependentRequired" and _exceeds(was, now)):
                words = f"{place(route)} has one condition less, in {keyword}"
                yield Movement(Aspect.CONDITION, Direction.WIDER, where, words, was, now)


def _named_or_not(name: str, old: JsonObject, new: JsonObject, where: Route) -> Iterator[Movement]:
    """A pattern of names that came or went where all names are limited: what fits it is now under another rule."""
    was, now = (map_under(schema, "patternProperties").get(name) for schema in (old, new))
    words = f"{place(where[:-2])}: names that fit {short(name)} may now hold"
    is_refused, was_refused = name in map_under(old, "patternProperties") and is_closed(new), is_closed(old)
    for direction, verb, is_sure in (
        (Direction.NARROWER, "less", is_refused),
        (Direction.WIDER, "more", was_refused and not is_refused),
    ):
        yield Movement(Aspect.CONDITION, direction, where, f"{words} {verb}", was, now, is_sure=is_sure)


def _is_limited(schema: JsonObject) -> bool:
    """Whether what other names may hold is not anything."""
    others = ("additionalProperties", "unevaluatedProperties")
    return any(schema.get(keyword, True) is not True for keyword in others)


def _exceeds(one: JsonValue, other: JsonValue) -> bool:
    """Whether the first list names something that the second does not."""
    return isinstance(one, list) and isinstance(other, list) and any(each not in other for each in one)


def _items(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    before, after = list_under(old.schema, "prefixItems"), list_under(new.schema, "prefixItems")
    rest = (old.inner(old.schema.get("items")), new.inner(new.schema.get("items")))
    for index in range(max(len(before), len(after))):
        one = old.inner(before[index]) if index < len(before) else rest[0]
        two = new.inner(after[index]) if index < len(after) else rest[1]
        yield from compare(one, two, (*route, "prefixItems", index))
    yield from compare(*rest, (*route, "items"))
    was, now = old.schema.get("uniqueItems") is True, new.schema.get("uniqueItems") is True
    if was != now:
        words = f"{place(route)}: items {'must now all differ' if now else 'may now be alike'}"
        direction = Direction.NARROWER if now else Direction.WIDER
        yield Movement(Aspect.ITEMS, direction, (*route, "uniqueItems"), words, was, now)


def _without_idle_names(node: Node) -> Node:
    """The node without ``propertyNames: {type: string}``, which generators write and every object fits."""
    if node.schema.get("propertyNames") != {"type": "string"}:
        return node
    return replace(node, schema={key: each for key, each in node.schema.items() if key != "propertyNames"})


def _condition(keyword: str, old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    was, now = old.schema.get(keyword), new.schema.get(keyword)
    where = (*route, keyword)
    binds = keyword == "contains"  # also if anything fits, since one item has to
    if keyword not in old.schema and keyword in new.schema and (binds or now is not True):
        words = f"{place(route)} has another condition, {keyword}"
        yield Movement(Aspect.CONDITION, Direction.NARROWER, where, words, was, now)
    elif keyword in old.schema and keyword not in new.schema and (binds or was is not True):
        words = f"{place(route)} has one condition less, {keyword}"
        yield Movement(Aspect.CONDITION, Direction.WIDER, where, words, was, now)
    elif keyword in old.schema and not is_same(was, now):
        moved = [*compare(old.inner(was), new.inner(now), where)]
        yield from moved
        if keyword == "contains" and ("maxContains" in old.schema or "maxContains" in new.schema):
            words = f"{place(route)}: other items count against maxContains"
            yield from doubts(moved, Aspect.CONDITION, where, words)


def _names(schema: JsonObject, keyword: str) -> list[str]:
    return [name for name in list_under(schema, keyword) if isinstance(name, str)]

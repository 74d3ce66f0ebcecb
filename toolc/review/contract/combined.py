"""Keywords that combine schemas: ``anyOf``, ``oneOf``, ``allOf``, ``not`` and ``if``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.change import Route
from toolc.review.contract.bounds import Compare, types
from toolc.review.contract.movement import Aspect, Direction, Movement, doubts
from toolc.review.contract.node import Node, is_same, list_under, map_under, place


def movements(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    """What moved of combined schemas."""
    for keyword in ("anyOf", "oneOf"):
        yield from _alternatives(keyword, old, new, route, compare)
    yield from _all_of(old, new, route, compare)
    yield from _not(old, new, route, compare)
    yield from _if(old.schema, new.schema, route)


def _alternatives(keyword: str, old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    before, after = list_under(old.schema, keyword), list_under(new.schema, keyword)
    where = (*route, keyword)
    if bool(before) != bool(after):
        direction = Direction.NARROWER if after else Direction.WIDER
        words = (
            f"{place(route)} {'must now fit' if after else 'need no longer fit'} one of several schemas ({keyword})"
        )
        yield Movement(Aspect.ALTERNATIVE, direction, where, words, before or None, after or None, is_sure=False)
        return
    moved = [*_changed(keyword, old, new, route, compare)]
    yield from moved
    nodes = [*map(old.inner, before)], [*map(new.inner, after)]
    if keyword == "oneOf" and not all(map(_are_apart, nodes)):
        words = f"{place(route)} may fit more than one alternative (oneOf), or no longer more than one"
        yield from doubts(moved, Aspect.ALTERNATIVE, where, words)


def _changed(keyword: str, old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    """What moved of the alternatives themselves."""
    before, after = list_under(old.schema, keyword), list_under(new.schema, keyword)
    where = (*route, keyword)
    lost, won = _unmatched(before, after)
    for was, now in zip(lost, won, strict=False):
        yield from compare(old.inner(before[was]), new.inner(after[now]), (*where, now))
    for index in lost[len(won) :]:
        words = f"{place(route)} has one alternative less ({keyword})"
        yield Movement(Aspect.ALTERNATIVE, Direction.NARROWER, (*where, index), words, before[index], None)
    for index in won[len(lost) :]:
        words = f"{place(route)} has another alternative ({keyword})"
        yield Movement(Aspect.ALTERNATIVE, Direction.WIDER, (*where, index), words, None, after[index])


def _are_apart(nodes: Sequence[Node]) -> bool:
    """Whether no value can fit two of these: by their types, or by a property that is another constant in each."""
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
    """The texts that a schema allows, where it lists them all; else none."""
    listed = (schema.get("enum") or [schema.get("const")]) if isinstance(schema, dict) else []
    found = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    return frozenset(found if isinstance(listed, list) and len(found) == len(listed) else ())


def _all_of(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    before, after = list_under(old.schema, "allOf"), list_under(new.schema, "allOf")
    lost, won = _unmatched(before, after)
    for was, now in zip(lost, won, strict=False):
        yield from compare(old.inner(before[was]), new.inner(after[now]), (*route, "allOf", now))
    for index in won[len(lost) :]:
        words = f"{place(route)} must fit another schema (allOf)"
        yield Movement(Aspect.ALL_OF, Direction.NARROWER, (*route, "allOf", index), words, None, after[index])
    for index in lost[len(won) :]:
        words = f"{place(route)} must fit one schema less (allOf)"
        # What stood there may stand in the schema itself now.
        yield Movement(
            Aspect.ALL_OF, Direction.WIDER, (*route, "allOf", index), words, before[index], None, is_sure=False
        )


def _unmatched(before: list[JsonValue], after: list[JsonValue]) -> tuple[list[int], list[int]]:
    """The places of those that stand on one side only, whatever their order."""
    won = [*range(len(after))]
    lost: list[int] = []
    for index, each in enumerate(before):
        twin = next((other for other in won if is_same(each, after[other])), None)
        if twin is None:
            lost.append(index)
        else:
            won.remove(twin)
    return lost, won


def _not(old: Node, new: Node, route: Route, compare: Compare) -> Iterator[Movement]:
    was, now = old.schema.get("not"), new.schema.get("not")
    if is_same(was, now):
        return
    where = (*route, "not")
    if "not" in old.schema and "not" in new.schema:
        for each in compare(old.inner(was), new.inner(now), where):
            yield replace(each, direction=each.direction.turned, is_sure=False)
        return
    direction = Direction.NARROWER if "not" in new.schema else Direction.WIDER
    words = f"{place(route)} {'must now not' if 'not' in new.schema else 'may now'} fit a schema (not)"
    yield Movement(Aspect.CONDITION, direction, where, words, was, now)


def _if(old: JsonObject, new: JsonObject, route: Route) -> Iterator[Movement]:
    keywords = ("if", "then", "else")
    before: JsonObject = {key: old[key] for key in keywords if key in old}
    after: JsonObject = {key: new[key] for key in keywords if key in new}
    has, had = _binds(after), _binds(before)
    if is_same(before, after) or not (has or had):
        return
    where = (*route, "if")
    if has and not had:
        words = f"{place(route)} has another condition (if)"
        yield Movement(Aspect.CONDITION, Direction.NARROWER, where, words, None, after)
    elif had and not has:
        words = f"{place(route)} has one condition less (if)"
        yield Movement(Aspect.CONDITION, Direction.WIDER, where, words, before, None)
    else:
        words = f"{place(route)}: a condition (if) is another"
        for direction in (Direction.NARROWER, Direction.WIDER):
            yield Movement(Aspect.CONDITION, direction, where, words, before, after, is_sure=False)


def _binds(conditional: JsonObject) -> bool:
    return "if" in conditional and ("then" in conditional or "else" in conditional)

"""Changes of bounds, ``multipleOf``, ``pattern``, ``format``, ``enum``, ``const`` and ``type``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler.schema.type_names import declared_types
from toolc.model.json_schema import JsonObject, JsonValue, list_under
from toolc.review.contract.movement import Aspect, Direction, SchemaChange
from toolc.review.contract.places import Place
from toolc.review.model.schema_node import is_same, join_values, short_json
from toolc.validation.numbers import to_fraction
from toolc.validation.witness.joined import plain_text

_UPPER: Final = (("maxLength",), ("maxItems",), ("maxProperties",), ("maxContains",), ("maximum", "exclusiveMaximum"))
_LOWER: Final = (("minLength",), ("minItems",), ("minProperties",), ("minContains",), ("minimum", "exclusiveMinimum"))

_IMPLIED: Final = {"minLength": (0, True), "minItems": (0, True), "minProperties": (0, True), "minContains": (1, True)}
"""Bounds that have no effect, because they always hold."""

_TEXTS: Final = (
    ("pattern", Aspect.PATTERN),
    ("format", Aspect.FORMAT),
    ("contentEncoding", Aspect.CONTENT),
    ("contentMediaType", Aspect.CONTENT),
)


def keyword_changes(place: Place) -> Iterator[SchemaChange]:
    """Yield the changes of keywords that do not contain schemas."""
    yield from _types(place)
    yield from _values(place)
    for keywords in _UPPER:
        yield from _bound(keywords, place, Aspect.UPPER_BOUND, 1)
    for keywords in _LOWER:
        yield from _bound(keywords, place, Aspect.LOWER_BOUND, -1)
    yield from _multiple(place)
    for keyword, aspect in _TEXTS:
        yield from _text(keyword, aspect, place)
    yield from _default(place)


def _types(place: Place) -> Iterator[SchemaChange]:
    before, after = declared_types(place.before), declared_types(place.after)
    for direction, some, verb in (
        (Direction.NARROWER, before - after, "no longer allows"),
        (Direction.WIDER, after - before, "now allows"),
    ):
        others = sorted(some - {"null"})
        if others:
            message = " or ".join(others) if len(others) < 4 else "any other type"
            edited = _with_types(place, before, some - {"null"})
            yield place.change(Aspect.TYPE, direction, "type", f"{place.label} {verb} {message}", edited)
        if "null" in some:
            edited = _with_types(place, before, some & {"null"})
            yield place.change(Aspect.NULL, direction, "type", f"{place.label} {verb} null", edited)


def _with_types(place: Place, before: frozenset[str], changed: frozenset[str]) -> JsonValue:
    """Return the whole old schema without the changed types if it had them, otherwise with them."""
    kept = before ^ changed
    names: list[JsonValue] = [*sorted(kept - {"integer"} if "number" in kept else kept)]
    return place.with_keywords(type=names) if names else place.rebuild(False)


def _values(place: Place) -> Iterator[SchemaChange]:
    for keyword, aspect in (("enum", Aspect.ENUM), ("const", Aspect.CONST)):
        own_before, own_after = _allowed(place.before, keyword), _allowed(place.after, keyword)
        if own_before is None and own_after is None:
            continue
        if keyword == "const" and "enum" in (*place.before, *place.after):
            continue  # reported as a change of ``enum``
        before, after = _choices(place.before, keyword), _choices(place.after, keyword)
        edited = place.with_new("enum", "const")
        if before is None and after is not None:
            message = f"{place.label} allows only {join_values(after)}"
            yield place.change(aspect, Direction.NARROWER, keyword, message, edited)
        elif before is not None and after is None:
            message = f"{place.label} allows more than {join_values(before)}"
            yield place.change(aspect, Direction.WIDER, keyword, message, edited)
        elif before is not None and after is not None:
            removed, added = _without(before, after), _without(after, before)
            if removed:
                message = f"{place.label} no longer allows {join_values(removed)}"
                edited = place.with_keywords(const=None, enum=_without(before, removed))
                yield place.change(aspect, Direction.NARROWER, keyword, message, edited)
            if added:
                message = f"{place.label} now allows {join_values(added)}"
                edited = place.with_keywords(const=None, enum=[*before, *added])
                yield place.change(aspect, Direction.WIDER, keyword, message, edited)


def _without(values: list[JsonValue], others: list[JsonValue]) -> list[JsonValue]:
    known = {*map(plain_text, others)}
    return [each for each in values if plain_text(each) not in known]


def _choices(schema: JsonObject, keyword: str) -> list[JsonValue] | None:
    """Return the values that a schema lists with ``enum`` or ``const``, or with both."""
    own = _allowed(schema, keyword)
    other = _allowed(schema, "const") if keyword == "enum" else None
    if own is None or other is None:
        return own if own is not None else other
    known = {*map(plain_text, other)}
    return [each for each in own if plain_text(each) in known]


def _allowed(schema: JsonObject, keyword: str) -> list[JsonValue] | None:
    if keyword not in schema:
        return None
    return [schema[keyword]] if keyword == "const" else list_under(schema, keyword)


def _bound(keywords: tuple[str, ...], place: Place, aspect: Aspect, sign: int) -> Iterator[SchemaChange]:
    """Yield the change of the upper (``sign`` 1) or lower (-1) bound, the stricter of inclusive and exclusive."""
    before, after = _tightest(keywords, place.before, sign), _tightest(keywords, place.after, sign)
    if before is None and after is None:
        return
    keyword = (after or before or ("",))[0]
    old_value = place.before.get(before[0]) if before else None
    new_value = place.after.get(after[0]) if after else None
    if before is None and after is not None:
        if after[1:] == _IMPLIED.get(keyword, ()):
            return
        message = f"{place.label} now has the {keyword} {short_json(new_value)}"
        direction = Direction.WIDER if _allows_more(keyword, after) else Direction.NARROWER
    elif before is not None and after is None:
        if before[1:] == _IMPLIED.get(keyword, ()):
            return
        message = f"{place.label}: the {keyword} was removed"
        direction = Direction.NARROWER if _allows_more(keyword, before) else Direction.WIDER
    elif before and after and before[1:] != after[1:]:
        is_narrower = (after[1] * sign, after[2]) < (before[1] * sign, before[2])
        direction = Direction.NARROWER if is_narrower else Direction.WIDER
        message = f"{place.label}: {keyword} changed from {short_json(old_value)} to {short_json(new_value)}"
        if before[0] != keyword:
            message = f"{place.label}: {before[0]} {short_json(old_value)} changed to {keyword} {short_json(new_value)}"
    else:
        return
    where, edited = (*place.route, keyword), place.with_new(*keywords)
    yield SchemaChange(aspect, direction, where, message, old_value, new_value, edited=edited)


def _allows_more(keyword: str, bound: tuple[str, float, bool]) -> bool:
    """Return whether a bound requires less than its absence would, such as ``minContains: 0`` for ``contains``."""
    return keyword in _IMPLIED and bound[1] < _IMPLIED[keyword][0]


def _tightest(keywords: tuple[str, ...], schema: JsonObject, sign: int) -> tuple[str, float, bool] | None:
    """Return the stricter keyword, its value, and whether the value itself is allowed."""
    found: list[tuple[float, bool, str]] = []
    for keyword in keywords:
        value = schema.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            is_inclusive = not keyword.startswith("exclusive")
            if (
                not is_inclusive
                and "number" not in declared_types(schema)
                and (isinstance(value, int) or value.is_integer())
            ):
                value, is_inclusive = value - sign, True  # for integers, below 10 means at most 9
            found.append((value * sign, is_inclusive, keyword))
    if not found:
        return None
    value, inclusive, keyword = min(found)
    return keyword, value * sign, inclusive


def _multiple(place: Place) -> Iterator[SchemaChange]:
    keyword = "multipleOf"
    old_value, new_value = place.before.get(keyword), place.after.get(keyword)
    if is_same(old_value, new_value):
        return
    before, after = to_fraction(old_value), to_fraction(new_value)
    if before is None:
        message = f"{place.label} must now be a multiple of {short_json(new_value)}"
    elif after is None:
        message = f"{place.label} need no longer be a multiple of {short_json(old_value)}"
    else:
        message = f"{place.label}: multipleOf changed from {short_json(old_value)} to {short_json(new_value)}"
    is_narrower = before is None or (after is not None and (after / before).denominator == 1)
    is_wider = after is None or (before is not None and (before / after).denominator == 1)
    edited = place.with_new(keyword)
    for direction, has_direction in ((Direction.NARROWER, is_narrower), (Direction.WIDER, is_wider)):
        if has_direction or not (is_narrower or is_wider):
            yield place.change(Aspect.MULTIPLE, direction, keyword, message, edited)


def _text(keyword: str, aspect: Aspect, place: Place) -> Iterator[SchemaChange]:
    before, after = place.before.get(keyword), place.after.get(keyword)
    if is_same(before, after):
        return
    directions = [Direction.NARROWER, Direction.WIDER]
    if before is None:
        message = f"{place.label} must now match the {keyword} {short_json(after)}"
        directions = [Direction.NARROWER]
    elif after is None:
        message = f"{place.label}: the {keyword} was removed"
        directions = [Direction.WIDER]
    else:
        message = f"{place.label}: the {keyword} changed from {short_json(before)} to {short_json(after)}"
    if aspect is Aspect.CONTENT and before is None:
        message = f"{place.label} now has the {keyword} {short_json(after)}, which is not checked"
    edited = place.with_new(keyword)
    for direction in directions:
        yield place.change(aspect, direction, keyword, message, edited)


def _default(place: Place) -> Iterator[SchemaChange]:
    before, after = place.before.get("default"), place.after.get("default")
    if ("default" in place.before) == ("default" in place.after) and is_same(before, after):
        return
    if "default" not in place.before:
        message = f"{place.label} now has the default {short_json(after)}"
    elif "default" not in place.after:
        message = f"{place.label}: the default {short_json(before)} was removed"
    else:
        message = f"{place.label}: the default changed from {short_json(before)} to {short_json(after)}"
    # An argument that is null and one that is absent are the same to a tool.
    direction = Direction.WIDER if before is None and after is None else Direction.OTHER
    yield place.change(Aspect.DEFAULT, direction, "default", message, None)

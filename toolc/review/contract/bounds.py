"""Changes of bounds, ``multipleOf``, ``pattern``, ``format``, ``enum``, ``const`` and ``type``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.movement import Aspect, Direction, SchemaChange
from toolc.review.model.change import Route
from toolc.review.model.schema_node import Node, is_same, join_values, label, shorten
from toolc.validation.numbers import is_multiple

TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")

_UPPER: Final = (("maxLength",), ("maxItems",), ("maxProperties",), ("maxContains",), ("maximum", "exclusiveMaximum"))
_LOWER: Final = (("minLength",), ("minItems",), ("minProperties",), ("minContains",), ("minimum", "exclusiveMinimum"))

_IMPLIED: Final = {"minLength": (0, True), "minItems": (0, True), "minProperties": (0, True), "minContains": (1, True)}
"""Bounds that have no effect, because they hold without the keyword too."""

Compare = Callable[[Node, Node, Route], Iterator[SchemaChange]]
"""Compares two subschemas."""


def keyword_changes(old: Node, new: Node, route: Route) -> Iterator[SchemaChange]:
    """Yield the changes of keywords that do not contain schemas."""
    yield from _types(old.schema, new.schema, route)
    yield from _values(old.schema, new.schema, route)
    for keywords in _UPPER:
        yield from _bound(keywords, old.schema, new.schema, route, Aspect.UPPER_BOUND, 1)
    for keywords in _LOWER:
        yield from _bound(keywords, old.schema, new.schema, route, Aspect.LOWER_BOUND, -1)
    yield from _multiple(old.schema, new.schema, route)
    for keyword, aspect, is_sure in (
        ("pattern", Aspect.PATTERN, True),
        ("format", Aspect.FORMAT, False),
        ("contentEncoding", Aspect.CONTENT, True),
        ("contentMediaType", Aspect.CONTENT, True),
    ):
        yield from _text(keyword, aspect, old.schema, new.schema, route, is_sure=is_sure)
    yield from _default(old.schema, new.schema, route)


def types(schema: JsonObject) -> frozenset[str]:
    """Return the types that a schema allows; ``number`` includes ``integer``."""
    declared = schema.get("type", [*TYPES])
    named = {each for each in (declared if isinstance(declared, list) else [declared]) if isinstance(each, str)}
    return frozenset(named | {"integer"} if "number" in named else named)


def _types(old: JsonObject, new: JsonObject, route: Route) -> Iterator[SchemaChange]:
    before, after, where = types(old), types(new), (*route, "type")
    old_value, new_value = old.get("type"), new.get("type")
    for direction, some, verb in (
        (Direction.NARROWER, before - after, "no longer allows"),
        (Direction.WIDER, after - before, "now allows"),
    ):
        others = sorted(some - {"null"})
        if others:
            message = " or ".join(others) if len(others) < 4 else "any other type"
            yield SchemaChange(Aspect.TYPE, direction, where, f"{label(route)} {verb} {message}", old_value, new_value)
        if "null" in some:
            yield SchemaChange(Aspect.NULL, direction, where, f"{label(route)} {verb} null", old_value, new_value)


def _values(old: JsonObject, new: JsonObject, route: Route) -> Iterator[SchemaChange]:
    for keyword, aspect in (("enum", Aspect.ENUM), ("const", Aspect.CONST)):
        before, after = _allowed(old, keyword), _allowed(new, keyword)
        where, old_value, new_value = (*route, keyword), old.get(keyword), new.get(keyword)
        if before is None and after is not None and not (keyword == "const" and _allowed(old, "enum")):
            message = f"{label(route)} allows only {join_values(after)}"
            yield SchemaChange(aspect, Direction.NARROWER, where, message, old_value, new_value)
        elif before is not None and after is None and not (keyword == "const" and _allowed(new, "enum")):
            message = f"{label(route)} allows more than {join_values(before)}"
            yield SchemaChange(aspect, Direction.WIDER, where, message, old_value, new_value)
        elif before is not None or after is not None:
            before = before if before is not None else _allowed(old, "enum") or []
            after = after if after is not None else _allowed(new, "enum") or []
            if removed := [each for each in before if not any(is_same(each, other) for other in after)]:
                message = f"{label(route)} no longer allows {join_values(removed)}"
                yield SchemaChange(aspect, Direction.NARROWER, where, message, old_value, new_value)
            if added := [each for each in after if not any(is_same(each, other) for other in before)]:
                message = f"{label(route)} now allows {join_values(added)}"
                yield SchemaChange(aspect, Direction.WIDER, where, message, old_value, new_value)


def _allowed(schema: JsonObject, keyword: str) -> list[JsonValue] | None:
    if keyword not in schema:
        return None
    value = schema[keyword]
    if keyword == "const":
        return [value]
    return value if isinstance(value, list) else []


def _bound(
    keywords: tuple[str, ...], old: JsonObject, new: JsonObject, route: Route, aspect: Aspect, sign: int
) -> Iterator[SchemaChange]:
    """Yield the change of one bound, upper (``sign`` 1) or lower (-1): the stricter of inclusive and exclusive."""
    before, after = _tightest(keywords, old, sign), _tightest(keywords, new, sign)
    if before is None and after is None:
        return
    keyword = (after or before or ("",))[0]
    old_value, new_value = (old.get(before[0]) if before else None), (new.get(after[0]) if after else None)
    where = (*route, keyword)
    if before is None and after is not None:
        if after[1:] != _IMPLIED.get(keyword, ()):
            message = f"{label(route)} now has the {keyword} {shorten(new_value)}"
            direction = Direction.WIDER if _allows_more(keyword, after) else Direction.NARROWER
            yield SchemaChange(aspect, direction, where, message, old_value, new_value, is_sure=False)
    elif before is not None and after is None:
        message = f"{label(route)}: the {keyword} was removed"
        direction = Direction.NARROWER if _allows_more(keyword, before) else Direction.WIDER
        yield SchemaChange(aspect, direction, where, message, old_value, new_value)
    elif before and after and before[1:] != after[1:]:
        is_narrower = (after[1] * sign, after[2]) < (before[1] * sign, before[2])
        direction = Direction.NARROWER if is_narrower else Direction.WIDER
        message = f"{label(route)}: {keyword} changed from {shorten(old_value)} to {shorten(new_value)}"
        yield SchemaChange(aspect, direction, where, message, old_value, new_value)


def _allows_more(keyword: str, bound: tuple[str, float, bool]) -> bool:
    """Return whether a bound requires less than its absence does, such as ``minContains: 0`` for ``contains``."""
    return keyword in _IMPLIED and bound[1] < _IMPLIED[keyword][0]


def _tightest(keywords: tuple[str, ...], schema: JsonObject, sign: int) -> tuple[str, float, bool] | None:
    """Return the strictest keyword, its value, and whether the value itself is allowed."""
    found: list[tuple[float, bool, str]] = []
    for keyword in keywords:
        value = schema.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            is_inclusive = not keyword.startswith("exclusive")
            if not is_inclusive and "number" not in types(schema) and (isinstance(value, int) or value.is_integer()):
                value, is_inclusive = value - sign, True  # for integers, below 10 means at most 9
            found.append((value * sign, is_inclusive, keyword))
    if not found:
        return None
    value, inclusive, keyword = min(found)
    return keyword, value * sign, inclusive


def _multiple(old: JsonObject, new: JsonObject, route: Route) -> Iterator[SchemaChange]:
    old_value, new_value = old.get("multipleOf"), new.get("multipleOf")
    if is_same(old_value, new_value):
        return
    where = (*route, "multipleOf")
    before, after = _number(old_value), _number(new_value)
    message = f"{label(route)}: multipleOf changed from {shorten(old_value)} to {shorten(new_value)}"
    if before is None or (after is not None and is_multiple(after, before)):
        yield SchemaChange(Aspect.MULTIPLE, Direction.NARROWER, where, message, old_value, new_value)
    elif after is None or is_multiple(before, after):
        yield SchemaChange(Aspect.MULTIPLE, Direction.WIDER, where, message, old_value, new_value)
    else:
        yield SchemaChange(Aspect.MULTIPLE, Direction.NARROWER, where, message, old_value, new_value)
        yield SchemaChange(Aspect.MULTIPLE, Direction.WIDER, where, message, old_value, new_value)


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _text(
    keyword: str, aspect: Aspect, old: JsonObject, new: JsonObject, route: Route, *, is_sure: bool
) -> Iterator[SchemaChange]:
    before, after = old.get(keyword), new.get(keyword)
    if is_same(before, after):
        return
    where = (*route, keyword)
    if before is None:
        message = f"{label(route)} must now match the {keyword} {shorten(after)}"
        yield SchemaChange(aspect, Direction.NARROWER, where, message, before, after, is_sure=is_sure)
    elif after is None:
        message = f"{label(route)}: the {keyword} was removed"
        yield SchemaChange(aspect, Direction.WIDER, where, message, before, after, is_sure=is_sure)
    else:
        message = f"{label(route)}: the {keyword} changed from {shorten(before)} to {shorten(after)}"
        is_content = aspect is Aspect.CONTENT
        yield SchemaChange(aspect, Direction.NARROWER, where, message, before, after, is_sure=is_content)
        yield SchemaChange(aspect, Direction.WIDER, where, message, before, after, is_sure=is_content)


def _default(old: JsonObject, new: JsonObject, route: Route) -> Iterator[SchemaChange]:
    before, after = old.get("default"), new.get("default")
    if ("default" in old) == ("default" in new) and is_same(before, after):
        return
    if "default" not in old:
        message = f"{label(route)} now has the default {shorten(after)}"
    elif "default" not in new:
        message = f"{label(route)}: the default {shorten(before)} was removed"
    else:
        message = f"{label(route)}: the default changed from {shorten(before)} to {shorten(after)}"
    yield SchemaChange(Aspect.DEFAULT, Direction.OTHER, (*route, "default"), message, before, after)

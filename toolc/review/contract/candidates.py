"""Values to try: few, always the same, and close to where two schemas differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from toolc.review.contract.node import Node, list_under, map_under
from toolc.schema import JsonObject, JsonValue

MANY: Final = 40
"""How many values are tried of one schema."""

_DEEP: Final = 6
_BY_TYPE: Final[dict[str, tuple[JsonValue, ...]]] = {
    "string": (
        "a",
        "",
        "abc",
        "0",
        "a b",
        "A-1",
        "2020-01-31",
        "a@example.com",
        "https://example.com/",
        "aaaaaaaaaaaaaaaa",
    ),
    "integer": (1, 0, 2, -1, 10, 1000),
    "number": (0.5, 1, 0, -1.5, 1000.25),
    "boolean": (True, False),
    "null": (None,),
    "array": ([],),
    "object": ({},),
}


def candidates(node: Node, other: Node | None = None, depth: int = 0) -> Iterator[JsonValue]:
    """Values that ``node`` probably allows, those at its own edges and at those of ``other`` first."""
    return islice(_values(node, other, depth), MANY)


def _values(node: Node, other: Node | None, depth: int) -> Iterator[JsonValue]:
    schema = node.schema
    for keyword in ("const", "default"):
        if keyword in schema:
            yield schema[keyword]
    for keyword in ("enum", "examples"):
        yield from list_under(schema, keyword)
    for each in (other, node):
        if each is not None:
            yield from _edges(each.schema)
    if depth < _DEEP:
        for keyword in ("anyOf", "oneOf", "allOf"):
            for inner in list_under(schema, keyword):
                yield from islice(candidates(node.inner(_merged(schema, inner)), None, depth + 1), 8)
        yield from _objects(node, depth)
        yield from _arrays(node, depth)
    for name in _types(schema):
        yield from _BY_TYPE.get(name, ())


def _merged(schema: JsonObject, inner: JsonValue) -> JsonValue:
    rest: JsonObject = {key: value for key, value in schema.items() if key not in {"anyOf", "oneOf", "allOf"}}
    return rest | inner if isinstance(inner, dict) else rest


def _types(schema: JsonObject) -> list[str]:
    said = schema.get("type")
    named = [said] if isinstance(said, str) else said if isinstance(said, list) else [*_BY_TYPE]
    return [name for name in named if isinstance(name, str)]


def _edges(schema: JsonObject) -> Iterator[JsonValue]:
    """Values at a schema's bounds, and beside them."""
    yield from list_under(schema, "enum")
    if "const" in schema:
        yield schema["const"]
    for keyword in ("minLength", "maxLength"):
        length = schema.get(keyword)
        if isinstance(length, int) and not isinstance(length, bool) and 0 <= length < 100_000:
            yield from ("a" * each for each in (length, length + 1, max(0, length - 1)))
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        bound = schema.get(keyword)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            yield from (bound, bound + 1, bound - 1, bound * 2)
            yield from () if isinstance(bound, int) else (int(bound), int(bound) + 1)
            yield from (bound + 0.5, bound - 0.5)


def _objects(node: Node, depth: int) -> Iterator[JsonValue]:
    schema = node.schema
    if "object" not in _types(schema):
        return
    least = least_object(node, depth)
    if least is None:
        return
    yield least
    properties = map_under(schema, "properties")
    for name, inner in properties.items():
        if name not in least:
            for value in islice(candidates(node.inner(inner), None, depth + 1), 2):
                yield least | {name: value}
    yield least | {"another": "a"}


def least_object(node: Node, depth: int = 0) -> JsonObject | None:
    """An object with what is required and nothing else; None where it cannot be had."""
    properties = map_under(node.schema, "properties")
    found: JsonObject = {}
    for name in list_under(node.schema, "required"):
        value = next(candidates(node.inner(properties.get(str(name))), None, depth + 1), _NONE)
        if value is _NONE:
            return None
        found[str(name)] = value
    return found


_NONE: Final[JsonObject] = {}


def _arrays(node: Node, depth: int) -> Iterator[JsonValue]:
    schema = node.schema
    if "array" not in _types(schema):
        return
    first = [
        next(candidates(node.inner(each), None, depth + 1), None) for each in list_under(schema, "prefixItems")
    ]
    items = [*islice(candidates(node.inner(schema.get("items")), None, depth + 1), 4)]
    for size in dict.fromkeys([*_sizes(schema), 0, 1, 2]):
        if size < len(first):
            yield first[:size]
        elif items:
            yield first + [items[index % len(items)] for index in range(size - len(first))]
            yield first + items[:1] * (size - len(first))


def _sizes(schema: JsonObject) -> Iterator[int]:
    for keyword in ("minItems", "maxItems"):
        size = schema.get(keyword)
        if isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1000:
            yield from (size, size + 1)

"""Values to try: few, always the same, and close to where two schemas differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.node import Node, is_same, list_under, map_under
from toolc.review.contract.samples import BY_FORMAT, BY_TYPE
from toolc.validation.validate import errors

MANY: Final = 40
"""How many values are tried of one schema."""

_DEEP: Final = 6
_HARD: Final = frozenset(
    {"pattern", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "allOf", "anyOf", "oneOf", "not", "if"}
    | {"uniqueItems", "contains", "minProperties", "propertyNames", "patternProperties", "dependentRequired"}
)
"""Keywords with which the first value that comes to mind is often refused."""

_JUDGED: Final = 100
"""How many values are judged to make one object or array."""


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
    if (form := schema.get("format")) and isinstance(form, str) and form in BY_FORMAT:
        yield BY_FORMAT[form]
    if depth < _DEEP:
        for keyword in ("anyOf", "oneOf", "allOf"):
            for inner in list_under(schema, keyword):
                yield from islice(candidates(node.inner(_merged(schema, inner)), None, depth + 1), 8)
        yield from _objects(node, depth)
        yield from _arrays(node, depth)
    for name in _types(schema):
        yield from BY_TYPE.get(name, ())


def _merged(schema: JsonObject, inner: JsonValue) -> JsonValue:
    rest: JsonObject = {key: value for key, value in schema.items() if key not in {"anyOf", "oneOf", "allOf"}}
    return rest | inner if isinstance(inner, dict) else rest


def _types(schema: JsonObject) -> list[str]:
    said = schema.get("type")
    named = [said] if isinstance(said, str) else said if isinstance(said, list) else [*BY_TYPE]
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
    patience = iter(range(_JUDGED))
    for name in list_under(node.schema, "required"):
        value = _fitting(node.inner(properties.get(str(name))), depth + 1, patience)
        if value is _NONE:
            return None
        found[str(name)] = value
    return found


def _fitting(node: Node, depth: int, patience: Iterator[int]) -> JsonValue:
    """The first value that the schema allows, else the first that it probably allows; ``_NONE`` without any.

    ``patience`` ends after as many values as may be judged.
    """
    tried = candidates(node, None, depth)
    first = next(tried, _NONE)
    if first is _NONE or _HARD.isdisjoint(node.schema):
        return first
    # A schema without references is judged by itself: whole ones are large.
    root = node.root if "'$ref'" in repr(node.schema) else node.schema
    for value, _ in zip(chain([first], tried), patience, strict=False):
        if not errors(root, value, at=node.schema):
            return value
    return first


_NONE: Final[JsonObject] = {}


def _arrays(node: Node, depth: int) -> Iterator[JsonValue]:
    schema = node.schema
    if "array" not in _types(schema):
        return
    patience = iter(range(_JUDGED))
    first = [_fitting(node.inner(each), depth + 1, patience) for each in list_under(schema, "prefixItems")]
    item = node.inner(schema.get("items"))
    fitting = _fitting(item, depth + 1, patience)
    others = (each for each in candidates(item, None, depth + 1) if not is_same(each, fitting))
    items = [] if fitting is _NONE else [fitting, *islice(others, 3)]
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

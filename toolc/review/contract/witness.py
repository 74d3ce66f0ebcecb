"""Find a value that one schema accepts and the other rejects, among a few fixed candidates near the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.movement import SchemaChange
from toolc.review.model.change import Counterexample, Route
from toolc.review.model.schema_node import Node, is_same, list_under, map_under, root
from toolc.validation.formats import EXAMPLES
from toolc.validation.validate import UnresolvableError, validation_errors

BY_TYPE: Final[dict[str, tuple[JsonValue, ...]]] = {
    "string": (
        "a", "", "abc", "0", "a b", "A-1", "2020-01-31", "a@example.com", "https://example.com/", "aaaaaaaaaaaaaaaa",
        "4f9f5f0e-3b7a-4c1d-9e2b-6a8d0c1e2f3a", "2020-01-31T12:30:00Z", "12:30:00Z", "192.0.2.1", "www.example.com",
        "/a/b", "1.0.0", "en-GB", "0123456789abcdef", "ABC", "1",
    ),
    "integer": (1, 0, 2, -1, 10, 1000), "number": (0.5, 1, 0, -1.5, 1000.25), "boolean": (True, False),
    "null": (None,), "array": ([],), "object": ({},),
}  # fmt: skip
"""A few values of each type. The strings also match the most common patterns: identifiers, times, hosts."""

MAX_CANDIDATES: Final = 40
"""The maximum number of values that are tried per schema."""

_MAX_DEPTH: Final = 6
_RESTRICTIVE: Final = frozenset(
    {"pattern", "format", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "allOf", "anyOf", "oneOf", "not", "if"}
    | {"uniqueItems", "contains", "minProperties", "propertyNames", "patternProperties", "dependentRequired"}
)
"""Keywords that often reject the first candidate."""

_MAX_VALIDATED: Final = 100
"""The maximum number of values that are validated to build one object or array."""

_NONE: Final[JsonObject] = {}

MAX_TRIES: Final = 300
"""The maximum number of values that are validated before the search stops."""

MAX_PARTS: Final = 60_000
"""The maximum number of parts of values validated per schema; a thousand required properties need a million."""

NOT_FOUND: Final = f"none of the {MAX_TRIES} values tried shows the change; compare the schemas"
TOO_MANY: Final = "this schema has too many changes to search for more examples; compare the schemas"
UNRESOLVED: Final = "a schema refers to a schema that does not exist; fix its $ref"


def candidates(node: Node, other: Node | None = None, depth: int = 0) -> Iterator[JsonValue]:
    """Yield values that ``node`` probably allows, starting with those at its bounds and at those of ``other``."""
    return islice(_values(node, other, depth), MAX_CANDIDATES)


def least_object(node: Node, depth: int = 0) -> JsonObject | None:
    """Return an object with the required properties only; None if none can be found."""
    properties = map_under(node.schema, "properties")
    found: JsonObject = {}
    attempts = iter(range(_MAX_VALIDATED))
    for name in list_under(node.schema, "required"):
        value = _first_valid(node.inner(properties.get(str(name))), depth + 1, attempts)
        if value is _NONE:
            return None
        found[str(name)] = value
    return found


@dataclass(slots=True)
class EvaluationBudget:
    """How much may still be validated for the changes of one schema."""

    left: int = MAX_PARTS

    def spend(self, value: JsonValue) -> bool:
        """Return whether the value may be validated too, and subtract its cost."""
        self.left -= _parts(value)
        return self.left >= 0


def witness(
    accepts: JsonObject, refuses: JsonObject, change: SchemaChange, budget: EvaluationBudget | None = None
) -> Counterexample | str:
    """Return a value that ``accepts`` allows and ``refuses`` does not, near ``change``; else the reason for none.

    A value that is rejected because of the change is preferred to one rejected for another reason. ``budget`` is
    shared by several changes of the same schemas; without it, this change has its own budget.
    """
    other = None
    budget = budget or EvaluationBudget()
    if budget.left < 0:
        return TOO_MANY
    try:
        for value in islice(_whole_values(root(accepts), root(refuses), change.route), MAX_TRIES):
            if not budget.spend(value):
                return other or TOO_MANY
            if validation_errors(accepts, value):
                continue
            for wrong in validation_errors(refuses, value):
                if tuple(wrong.absolute_schema_path) == change.route:
                    return Counterexample(value, wrong.message[:200])
                other = other or Counterexample(value, wrong.message[:200])
    except UnresolvableError:
        return UNRESOLVED
    return other or NOT_FOUND


def _values(node: Node, other: Node | None, depth: int) -> Iterator[JsonValue]:
    schema = node.schema
    for keyword in ("const", "default"):
        if keyword in schema:
            yield schema[keyword]
    for keyword in ("enum", "examples"):
        yield from list_under(schema, keyword)
    for each in (other, node):
        if each is not None:
            yield from _values_at_bounds(each.schema)
    if isinstance(form := schema.get("format"), str) and form in EXAMPLES:
        yield EXAMPLES[form]
    if depth < _MAX_DEPTH:
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
    declared = schema.get("type")
    named = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else [*BY_TYPE]
    return [name for name in named if isinstance(name, str)]


def _values_at_bounds(schema: JsonObject) -> Iterator[JsonValue]:
    """Yield values at a schema's bounds and next to them."""
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


def _first_valid(node: Node, depth: int, attempts: Iterator[int]) -> JsonValue:
    """Return the first valid value, else the first probably valid one, else ``_NONE``; ``attempts`` limits the work."""
    tried = candidates(node, None, depth)
    first = next(tried, _NONE)
    if first is _NONE or _RESTRICTIVE.isdisjoint(node.schema):
        return first
    # A schema without references is validated alone: whole schemas are large.
    root = node.root if "'$ref'" in repr(node.schema) else node.schema
    for value, _ in zip(chain([first], tried), attempts, strict=False):
        if not validation_errors(root, value, at=node.schema):
            return value
    return first


def _arrays(node: Node, depth: int) -> Iterator[JsonValue]:
    schema = node.schema
    if "array" not in _types(schema):
        return
    attempts = iter(range(_MAX_VALIDATED))
    first = [_first_valid(node.inner(each), depth + 1, attempts) for each in list_under(schema, "prefixItems")]
    item = node.inner(schema.get("items"))
    fitting = _first_valid(item, depth + 1, attempts)
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


def _parts(value: JsonValue) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_parts, inside))


def _whole_values(accepts: Node, refuses: Node, route: Route) -> Iterator[JsonValue]:
    """Yield whole values: the smallest one with the difference at its place, then any others."""
    path, one, two = _follow_route(accepts, refuses, route)
    yield from map(_embedder(accepts, path), chain(candidates(one, two), candidates(two, one)))
    yield from candidates(accepts, refuses)


def _follow_route(accepts: Node, refuses: Node, route: Route) -> tuple[tuple[str | int, ...], Node, Node]:
    """Return the path in a value that a schema's route describes, and the two schemas at its end."""
    path: list[str | int] = []
    steps = [*route]
    while steps:
        step = steps.pop(0)
        if step == "properties" and steps:
            name = str(steps.pop(0))
            if not any(name in map_under(node.schema, "properties") for node in (accepts, refuses)):
                break
            path.append(name)
            accepts, refuses = _property(accepts, name), _property(refuses, name)
        elif step == "prefixItems" and steps:
            index = int(steps.pop(0))
            path += [0] * (index == 0)
            break
        elif step in {"items", "additionalProperties"} and (steps or step == "items"):
            path.append(0 if step == "items" else "another")
            accepts, refuses = accepts.inner(accepts.schema.get(step)), refuses.inner(refuses.schema.get(step))
        else:
            break
    return tuple(path), accepts, refuses


def _property(node: Node, name: str) -> Node:
    properties = map_under(node.schema, "properties")
    return node.inner(properties[name] if name in properties else node.schema.get("additionalProperties"))


def _embedder(node: Node, path: tuple[str | int, ...]) -> Callable[[JsonValue], JsonValue]:
    """Return a function that puts a value at ``path`` into the smallest value that has this path."""
    if not path:
        return lambda inner: inner
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        item = _embedder(node.inner(node.schema.get("items")), rest)
        least = node.schema.get("minItems")
        size = max(1, min(least if isinstance(least, int) else 1, 100))
        return lambda inner: [item(inner)] * size
    member, least_one = _embedder(_property(node, step), rest), least_object(node) or {}
    return lambda inner: least_one | {step: member(inner)}

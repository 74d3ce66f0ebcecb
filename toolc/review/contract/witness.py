"""A call that was accepted and is refused now, or a result that could not come before: both schemas judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.change import Route, Witness
from toolc.review.contract.candidates import candidates, least_object
from toolc.review.contract.movement import Movement
from toolc.review.contract.node import Node, map_under, root
from toolc.validation.validate import UnresolvableError, errors

TRIES: Final = 300
"""How many values are judged before the search is given up."""

EFFORT: Final = 60_000
"""How many parts of values are judged for all changes of one schema. A schema of a thousand required properties has
a thousand changes, each with a call of a thousand parts."""

NOT_FOUND: Final = f"none was found among the {TRIES} values tried; read the schemas"
TOO_MANY: Final = "too many changes of this schema have one to be searched for; read the schemas"
UNRESOLVED: Final = "a schema refers to one that is not there"


@dataclass(slots=True)
class Effort:
    """How much may still be judged for the changes of one schema."""

    left: int = EFFORT

    def spend(self, value: JsonValue) -> bool:
        """Whether the value may be judged too."""
        self.left -= _parts(value)
        return self.left >= 0


def _parts(value: JsonValue) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_parts, inside))


def witness(
    accepts: JsonObject, refuses: JsonObject, movement: Movement, effort: Effort | None = None
) -> Witness | str:
    """A value that ``accepts`` allows and ``refuses`` does not, near ``movement``; else why there is none.

    One that is refused by what moved goes before one that is refused by something else. ``effort`` is for several
    movements of the same schemas; without it, it is this one's own.
    """
    other = None
    effort = effort or Effort()
    if effort.left < 0:
        return TOO_MANY
    try:
        for value in islice(_tries(root(accepts), root(refuses), movement.route), TRIES):
            if not effort.spend(value):
                return other or TOO_MANY
            if errors(accepts, value):
                continue
            for wrong in errors(refuses, value):
                if tuple(wrong.absolute_schema_path) == movement.route:
                    return Witness(value, wrong.message[:200])
                other = other or Witness(value, wrong.message[:200])
    except UnresolvableError:
        return UNRESOLVED
    return other or NOT_FOUND


def _tries(accepts: Node, refuses: Node, route: Route) -> Iterator[JsonValue]:
    """Whole values: the smallest with what differs put where it differs, then any."""
    path, one, two = _followed(accepts, refuses, route)
    around = _around(accepts, path)
    yield from map(around, _inner(one, two))
    yield from candidates(accepts, refuses)


def _inner(one: Node, two: Node) -> Iterator[JsonValue]:
    yield from candidates(one, two)
    yield from candidates(two, one)


def _followed(accepts: Node, refuses: Node, route: Route) -> tuple[tuple[str | int, ...], Node, Node]:
    """The way in a value that a schema's route is, and the two schemas at its end."""
    path: list[str | int] = []
    steps = [*route]
    while steps:
        step = steps.pop(0)
        if step == "properties" and steps:
            name = str(steps.pop(0))
            if not _has(accepts, refuses, "properties", name):
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


def _has(accepts: Node, refuses: Node, keyword: str, name: str) -> bool:
    return any(name in map_under(node.schema, keyword) for node in (accepts, refuses))


def _property(node: Node, name: str) -> Node:
    properties = map_under(node.schema, "properties")
    return node.inner(properties[name] if name in properties else node.schema.get("additionalProperties"))


def _around(node: Node, path: tuple[str | int, ...]) -> Callable[[JsonValue], JsonValue]:
    """What puts a value at ``path`` in the smallest value that leads there."""
    if not path:
        return lambda inner: inner
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        item = _around(node.inner(node.schema.get("items")), rest)
        least = node.schema.get("minItems")
        size = max(1, min(least if isinstance(least, int) else 1, 100))
        return lambda inner: [item(inner)] * size
    member, least_one = _around(_property(node, step), rest), least_object(node) or {}
    return lambda inner: least_one | {step: member(inner)}

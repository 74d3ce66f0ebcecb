"""Two schemas compared, all the way down; each pair of places once, however they refer to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolc.model.json_schema import JsonObject
from toolc.review.change import Route
from toolc.review.contract import bounds, combined, objects
from toolc.review.contract.movement import Aspect, Direction, Movement, doubts
from toolc.review.contract.node import Node, is_same, place, root

MAX_DEPTH: Final = 128
"""How many steps from the root schemas are compared; what lies deeper is told as one change."""


def movements(old: JsonObject, new: JsonObject) -> tuple[Movement, ...]:
    """Everything that moved from one schema to the other."""
    return () if is_same(old, new) else tuple(_Comparison().compare(root(old), root(new), ()))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The pairs of schemas that were compared already, by identity: those that refer to each other have no end."""

    seen: set[tuple[int, int]] = field(default_factory=set)

    def compare(self, old: Node, new: Node, route: Route) -> Iterator[Movement]:
        if old.schema is new.schema or (not _refers(old.schema, new.schema) and is_same(old.schema, new.schema)):
            return
        pair = (id(old.written), id(new.written))
        if pair in self.seen:
            return
        if len(route) > MAX_DEPTH:
            words = f"{place(route)}: something changed deeper than {MAX_DEPTH} levels"
            yield Movement(Aspect.REFERENCE, Direction.NARROWER, route, words, is_sure=False)
            return
        self.seen.add(pair)
        yield from bounds.movements(old, new, route)
        inside = [
            *objects.movements(old, new, route, self.compare),
            *combined.movements(old, new, route, self.compare),
        ]
        yield from inside
        yield from _unevaluated(old, new, route, inside)


def _unevaluated(old: Node, new: Node, route: Route, moved: Sequence[Movement]) -> Iterator[Movement]:
    """What else may be refused or allowed where the rest is what no other keyword has looked at."""
    looking = [each for each in moved if each.route[len(route) : len(route) + 1] != ("properties",)]
    for keyword in ("unevaluatedProperties", "unevaluatedItems"):
        if any(node.schema.get(keyword, True) is not True for node in (old, new)):
            words = f"{place(route)}: others are left to {keyword}"
            yield from doubts(looking, Aspect.CLOSED, (*route, keyword), words)


def _refers(*schemas: JsonObject) -> bool:
    return any("$ref" in repr(schema) for schema in schemas)

"""Every contract change of one tool, each with its grade, its lines and its witness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler.schema.parameters import is_full_schema
from toolc.document.nodes import Mapping
from toolc.model.json_schema import Schema
from toolc.review.change import Change, Route, Witness
from toolc.review.contract import tool
from toolc.review.contract.grades import Side, grade, rule
from toolc.review.contract.movement import Movement
from toolc.review.contract.node import whole
from toolc.review.contract.schemas import movements
from toolc.review.contract.witness import Effort, witness
from toolc.review.pairing import Pair
from toolc.review.state import Reviewed

_UNSAFE: Final = frozenset({"breaking", "warning"})


def changes(pair: Pair) -> Iterator[Change]:
    """What changed for those who call the tool or read its results."""
    yield from tool.changes(pair)
    if pair.old is None or pair.new is None:
        return
    old, new = pair.old.spec, pair.new.spec
    yield from _schemas(pair.old, pair.new, old.parameters, new.parameters, "input", ("parameters",))
    if old.result_schema and new.result_schema:
        route = ("result", "schema")
        yield from _schemas(pair.old, pair.new, old.result_schema, new.result_schema, "output", route)
    elif old.result_schema or new.result_schema:
        yield _result_schema(pair.old, pair.new)


def _result_schema(old: Reviewed, new: Reviewed) -> Change:
    is_gone = new.spec.result_schema is None
    words = "results are no longer promised to fit a schema" if is_gone else "results now fit a schema"
    route = ("result", "schema")
    return Change(
        kind="contract",
        rule=tool.RESULT_SCHEMA,
        grade="breaking" if is_gone else "compatible",
        message=words,
        path=route,
        before=_shown(old.spec.result_schema),
        after=_shown(new.spec.result_schema),
        old=old.span(*route),
        new=new.span(*route),
        no_witness="any result is one" if is_gone else "",
    )


def _shown(schema: Schema | None) -> str | None:
    return whole(schema.value) if schema else None


def _schemas(
    old: Reviewed, new: Reviewed, before: Schema, after: Schema, side: Side, top: Route
) -> Iterator[Change]:
    # Of an input what was accepted must be, of an output what may come must have been allowed.
    accepts, refuses = (before.value, after.value) if side == "input" else (after.value, before.value)
    effort = Effort()
    for movement in movements(before.value, after.value):
        graded = grade(side, movement)
        found = witness(accepts, refuses, movement, effort) if graded in _UNSAFE else ""
        yield _schema_change(old, new, movement, side, top, found)


def _schema_change(
    old: Reviewed,
    new: Reviewed,
    movement: Movement,
    side: Side,
    top: Route,
    found: Witness | str,
) -> Change:
    graded = grade(side, movement)
    is_missed = isinstance(found, str) and graded == "breaking"
    return Change(
        kind="contract",
        rule=rule(side, movement.aspect),
        grade=graded,
        message=f"result: {movement.message}" if side == "output" else movement.message,
        path=(*top, *movement.route),
        before=whole(movement.before),
        after=whole(movement.after),
        old=old.span(*_written(old, top, movement.route)),
        new=new.span(*_written(new, top, movement.route)),
        witness=None if isinstance(found, str) else found,
        no_witness=found if is_missed and isinstance(found, str) else "",
    )


def _written(side: Reviewed, top: Route, route: Route) -> Route:
    """Where a schema's place stands in the spec: the shorthand has no ``properties`` of its own."""
    if top != ("parameters",) or side.located is None or route[:1] != ("properties",):
        return (*top, *route)
    node = side.located.node.get("parameters")
    is_full = isinstance(node, Mapping) and is_full_schema(node)
    return (*top, *route) if is_full else (*top, *route[1:])

"""Contract changes of a whole tool: its name, aliases, schemas, errors, timeout and toolsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolc.compiler.schema.parameters import is_full_schema
from toolc.document.nodes import Mapping
from toolc.model.json_schema import Schema
from toolc.model.source import Span
from toolc.model.spec.code_backends import ErrorKind, ShellBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.review.contract.movement import rule
from toolc.review.contract.verdicts import verdicts
from toolc.review.model.change import Grade, Route, Side, ToolChange
from toolc.review.model.pairing import ToolPair
from toolc.review.model.schema_node import to_json_text
from toolc.review.model.state import Reviewed, State

_HINTS: Final = {None: None, True: "true", False: "false"}


def contract_changes(pair: ToolPair) -> Iterator[ToolChange]:
    """Yield the changes that affect callers of the tool and readers of its results."""
    if pair.old is None and pair.new is not None:
        yield _change(pair, "CON312", "compatible", "the tool was added", ("name",), None, pair.new.spec.name)
    elif pair.new is None and pair.old is not None:
        message = "the tool was removed, so calls fail"
        yield _change(pair, "CON301", "breaking", message, ("name",), pair.old.spec.name, None)
    elif pair.old and pair.new:
        old, new = pair.old.spec, pair.new.spec
        yield from _changes_of_kept_tool(pair, old, new)
        yield from _schemas(pair.old, pair.new, old.parameters, new.parameters, "input", ("parameters",))
        route = ("result", "schema")
        if old.result_schema and new.result_schema:
            yield from _schemas(pair.old, pair.new, old.result_schema, new.result_schema, "output", route)
        elif old.result_schema:
            before, witness = to_json_text(old.result_schema.value), "any result is a counterexample"
            removed = _change(pair, "CON311", "breaking", "the result schema was removed", route, before, None)
            yield replace(removed, no_witness=witness)
        elif new.result_schema:
            after = to_json_text(new.result_schema.value)
            yield _change(pair, "CON311", "compatible", "a result schema was added", route, None, after)


def toolset_changes(pair: ToolPair, old: State, new: State) -> Iterator[ToolChange]:
    """Yield a change for each toolset that the tool joined or left. For a removed tool, yield nothing."""
    if pair.new is None:
        return
    before, after = _toolsets_of(pair.old, old), _toolsets_of(pair.new, new)
    for name in sorted(before.keys() ^ after.keys()):
        is_in = name in after
        yield ToolChange(
            rule="CON313", grade="warning",
            message=f"the tool joined the toolset {name}" if is_in else f"the tool left the toolset {name}",
            path=("toolsets", name), before=None if is_in else name, after=name if is_in else None,
            old=before.get(name), new=after.get(name),
        )  # fmt: skip


def _changes_of_kept_tool(pair: ToolPair, old: ToolSpec, new: ToolSpec) -> Iterator[ToolChange]:
    if old.name != new.name:
        has_alias = old.name in new.aliases
        message = f"probably renamed from {old.name} ({pair.reason}); " + (
            "the old name still works" if has_alias else f"calls of {old.name} fail; add it to aliases"
        )
        grade: Grade = "compatible" if has_alias else "breaking"
        renamed = _change(pair, "CON302", grade, message, ("name",), old.name, new.name)
        yield replace(renamed, direction="" if has_alias else "narrower")
    for alias in old.aliases:
        if alias not in new.aliases and alias != new.name:
            message = f"the alias {alias} was removed, so calls with it fail"
            yield _change(pair, "CON303", "breaking", message, ("aliases",), alias, None)
    if old.backend.tag != new.backend.tag:
        message = f"the backend changed from {old.backend.tag} to {new.backend.tag}"
        yield _change(pair, "CON304", "breaking", message, ("backend",), old.backend.tag, new.backend.tag)
    if old.result.format != new.result.format:
        message = f"the result format changed from {old.result.format} to {new.result.format}"
        yield _change(pair, "CON305", "breaking", message, ("result", "format"), old.result.format, new.result.format)
    if _error_mapping(old) != _error_mapping(new):
        message = "errors are mapped to other kinds"
        both = ("; ".join(f"{cause}: {kind}" for cause, kind in _error_mapping(each)) or None for each in (old, new))
        yield _change(pair, "CON306", "breaking", message, ("backend",), *both)
    yield from _limits(pair, old, new)
    yield from _annotations(pair, old, new)
    if new.deprecated is not None and old.deprecated is None:
        yield _change(pair, "CON310", "warning", "the tool is deprecated", ("deprecated",), None, new.deprecated)


def _limits(pair: ToolPair, old: ToolSpec, new: ToolSpec) -> Iterator[ToolChange]:
    before, after = old.sandbox.limits, new.sandbox.limits
    route = ("sandbox", "limits")
    if after.timeout_ms < before.timeout_ms:
        both = f"{before.timeout_ms} ms", f"{after.timeout_ms} ms"
        yield _change(pair, "CON307", "breaking", "the timeout is shorter", (*route, "timeout"), *both)
    if after.output_bytes < before.output_bytes:
        both = f"{before.output_bytes} bytes", f"{after.output_bytes} bytes"
        yield _change(pair, "CON308", "breaking", "the output limit is lower", (*route, "output"), *both)


def _annotations(pair: ToolPair, old: ToolSpec, new: ToolSpec) -> Iterator[ToolChange]:
    for name in ("read_only", "destructive", "idempotent", "open_world"):
        before, after = getattr(old.annotations, name), getattr(new.annotations, name)
        if before != after:
            is_same = _effective(old, name) is _effective(new, name)
            message = f"the annotation {name} changed" + (", but not its meaning" if is_same else "")
            grade: Grade = "compatible" if is_same else "warning"
            yield _change(pair, "CON309", grade, message, ("annotations", name), _HINTS[before], _HINTS[after])


def _effective(tool: ToolSpec, name: str) -> bool | None:
    """Return the effective value of an annotation in MCP, or None if it is meaningless for a read-only tool."""
    if tool.annotations.read_only and name in {"destructive", "idempotent"}:
        return None
    value: bool | None = getattr(tool.annotations, name)
    return name in {"destructive", "open_world"} if value is None else value


def _error_mapping(tool: ToolSpec) -> tuple[tuple[str, ErrorKind | str], ...]:
    """Return how failures are mapped to error kinds."""
    backend = tool.backend
    if isinstance(backend, ShellBackend):
        codes = backend.success_exit_codes
        succeeds = "any" if codes is None else ", ".join(map(str, sorted(codes)))
        return (("exits with success", succeeds), *sorted((str(each.status), each.kind) for each in backend.errors))
    if isinstance(backend, HttpBackend):
        return tuple((each.status or each.when or "", each.kind) for each in backend.errors)
    return ()


def _change(
    pair: ToolPair, rule: str, grade: Grade, message: str, route: Route, before: str | None, after: str | None
) -> ToolChange:
    return ToolChange(
        rule=rule, grade=grade, message=message, path=route, before=before, after=after,
        old=pair.old.span(*route) if pair.old else None, new=pair.new.span(*route) if pair.new else None,
    )  # fmt: skip


def _schemas(
    old: Reviewed, new: Reviewed, before: Schema, after: Schema, side: Side, top: Route
) -> Iterator[ToolChange]:
    for verdict in verdicts(before.value, after.value, side):
        change = verdict.change
        yield ToolChange(
            rule=rule(side, change.aspect), grade=verdict.grade,
            message=f"result: {change.message}" if side == "output" else change.message, path=(*top, *change.route),
            before=to_json_text(change.before), after=to_json_text(change.after), direction=change.direction.value,
            subject=change.subject, old=old.span(*_route_in_spec(old, top, change.route)),
            new=new.span(*_route_in_spec(new, top, change.route)), witness=verdict.witness,
            no_witness=verdict.no_witness,
        )  # fmt: skip


def _route_in_spec(side: Reviewed, top: Route, route: Route) -> Route:
    """Return the route in the spec for a place in a schema. The shorthand has no ``properties`` key."""
    if top != ("parameters",) or side.located is None or route[:1] != ("properties",):
        return (*top, *route)
    node = side.located.node.get("parameters")
    is_full = isinstance(node, Mapping) and is_full_schema(node)
    return (*top, *route) if is_full else (*top, *route[1:])


def _toolsets_of(tool: Reviewed | None, state: State) -> dict[str, Span | None]:
    """Return the toolsets of a tool, each with the position of the entry that adds the tool."""
    if tool is None:
        return {}
    name = tool.spec.name
    return {toolset: members[name] for toolset, members in state.toolsets.items() if name in members}

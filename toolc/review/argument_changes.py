"""RSK20: parameters of a command, a URL, a request or code that accept more values, or have another default.

For a caller, such a change is compatible. The tool, however, can receive other input: each call that omits the
parameter uses its default, and a pattern may be the only restriction of a command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.model.json_schema import JsonObject, JsonValue, list_under, values_within
from toolc.model.spec.code_backends import PluginBackend, PythonBackend, Script, ShellBackend
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.mcp_backend import McpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re, shorten
from toolc.review.contract.movement import Aspect, rule
from toolc.review.model.change import Grade, Route, ToolChange
from toolc.review.model.state import Reviewed
from toolc.review.model.text_diff import as_in_spec, format_route
from toolc.review.risk.risk_rule import Sides
from toolc.validation.witness.results import Unsolved
from toolc.validation.witness.solver import value_refused_by

RULE: Final = "RSK20"

_DEFAULT: Final = rule("input", Aspect.DEFAULT)
_ADDED: Final = rule("input", Aspect.PROPERTY_ADDED)
_TYPE: Final = rule("input", Aspect.TYPE)

_BOUNDS: Final = frozenset(
    rule("input", each) for each in (Aspect.UPPER_BOUND, Aspect.LOWER_BOUND, Aspect.MULTIPLE, Aspect.REQUIRED)
)
"""Rules for changes that allow more or longer values, but no new text."""

_NOT_REPORTED: Final = frozenset(
    rule("input", each) for each in (Aspect.NULL, Aspect.REQUIRED, Aspect.PROPERTY_REMOVED, Aspect.CONTENT)
)
"""Rules for changes that let a caller omit a value, but not send other values."""

_TEXTUAL: Final = lazy_re("string|array|object|any other")

_LONGEST: Final = 80
"""The maximum length of a value in a message, in characters. The report shows the whole value below the message."""

_MAX_PROOFS: Final = 50
"""The maximum number of changes per tool that toolc tries to prove harmless. One proof takes up to 0.4 seconds."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A place in the backend that uses a parameter, with its text. ``is_direct`` in a command, a script or a URL."""

    route: Route
    text: str
    is_direct: bool

    @property
    def words(self) -> str:
        """The name of the place for a message."""
        return f"{format_route(self.route)} uses it" + (f": {self.text}" if self.text else "")


def argument_changes(sides: Sides, contracts: Sequence[ToolChange]) -> Iterator[ToolChange]:
    """Yield a change for each change in ``contracts`` that lets other values reach the backend."""
    if sides.old is None:
        return
    names = list_under(sides.after.parameters.value, "required")
    proofs = _MAX_PROOFS
    for change in contracts:
        if not change.rule.startswith("CON1"):
            continue
        name = str(change.path[2]) if change.path[1:2] == ("properties",) and len(change.path) > 2 else ""
        if change.rule == _DEFAULT:
            if not (change.after is None and name in names):
                yield from _default(sides, change, name)
        elif change.direction == "wider" and change.rule not in _NOT_REPORTED:
            proofs -= 1
            if proofs >= 0 and not _may_allow_more(sides, name):
                continue
            yield from _accepts_more(sides, change, name)


def _default(sides: Sides, change: ToolChange, name: str) -> Iterator[ToolChange]:
    use = _use(sides.new, name)
    if use is None:
        return
    values = [json.loads(each) for each in (change.before, change.after) if each is not None]
    is_number = all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)
    grade: Grade = "high" if use.is_direct and not is_number else "medium"
    yield _risk(change, grade, name, use)


def _accepts_more(sides: Sides, change: ToolChange, name: str) -> Iterator[ToolChange]:
    if change.rule == _TYPE and not _TEXTUAL.search(change.message.rpartition("now allows")[2]):
        return
    if change.rule == _ADDED and not _is_known_to_code(sides, name):
        return
    if name:
        use = _use(sides.new, name)
    else:  # a condition for several parameters
        uses = [_use(sides.new, each) for each in sides.after.parameters.properties]
        use = max((each for each in uses if each), key=lambda each: each.is_direct, default=None)
    if use is not None:
        is_high = change.rule == _ADDED or (use.is_direct and change.rule not in _BOUNDS)
        grade: Grade = "high" if is_high else "medium"
        yield _risk(change, grade, name, use)


def _risk(change: ToolChange, grade: Grade, name: str, use: _Use) -> ToolChange:
    return replace(
        change, rule=RULE, grade=grade, message=f"{change.message}; {use.words}",
        subject=f"{name} {change.rule}", witness=None, no_witness="",
    )  # fmt: skip


def _may_allow_more(sides: Sides, name: str) -> bool:
    """Return whether all changes of a parameter together may allow a value that was refused before."""
    assert sides.before is not None
    found = value_refused_by(_schema_of(sides.before, name), _schema_of(sides.after, name))
    return found is not Unsolved.IMPOSSIBLE


def _schema_of(tool: ToolSpec, name: str) -> JsonObject:
    """Return the schema of a parameter, or of all if there is no name, with the definitions that it refers to."""
    whole = tool.parameters.value
    if not name:
        return whole
    shared: JsonObject = {key: whole[key] for key in ("$defs", "definitions") if key in whole}
    return shared | tool.parameters.properties[name] if name in tool.parameters.properties else {"not": {}}


def _is_known_to_code(sides: Sides, name: str) -> bool:
    """Return whether unchanged code uses a new parameter, so that callers can now set it."""
    old, new = sides.before, sides.after
    if old is None or not name or old.backend != new.backend:
        return False
    return any(re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}\b", text) for text in _programs(new.backend))


def _programs(backend: object) -> Iterator[str]:
    if isinstance(backend, ShellBackend) and isinstance(backend.command, Script):
        yield backend.command.text
    elif isinstance(backend, PythonBackend | PluginBackend | McpBackend):
        yield from (file.text or "" for file in backend.programs)


def _use(tool: Reviewed, name: str) -> _Use | None:
    """Return the most important use of a parameter, or None if the backend does not use it."""
    backend = tool.spec.backend
    if isinstance(backend, PythonBackend | PluginBackend | McpBackend):
        return _Use(("backend", backend.tag), "", is_direct=False)
    if isinstance(backend, AgentBackend):
        return _Use(("backend", "agent"), "", is_direct=False)
    if isinstance(backend, ShellBackend) and isinstance(backend.command, Script):
        lines = [line.strip() for line in backend.command.text.splitlines() if f"ARG_{name}" in line]
        return _Use(("backend", "shell", "script"), shorten(next(iter(lines), ""), _LONGEST), is_direct=True)
    is_http = isinstance(backend, HttpBackend)
    uses = [
        _Use(_route_in_spec(route), shorten(text, _LONGEST), is_direct="url" in route[:3] or not is_http)
        for route, text in _templates(tool.stored["backend"], ("backend",), name)
    ]
    return max(uses, key=lambda each: each.is_direct, default=None)


def _templates(value: JsonValue, route: Route, name: str) -> Iterator[tuple[Route, str]]:
    """Yield each stored template that uses a parameter, with its route and its form in a spec."""
    for place, parts in values_within(value, route):
        if isinstance(parts, list) and any(
            isinstance(part, dict) and part.get("name") == name and "filters" in part for part in parts
        ):
            yield place, "".join(part if isinstance(part, str) else str(as_in_spec(part)) for part in parts)


def _route_in_spec(route: Route) -> Route:
    """Return the part of a stored route that exists in a spec: a key of the backend, such as ``backend.shell.argv``."""
    if "argv" in route and "elements" in route:
        at = route.index("elements") + 1
        return ("backend", "shell", "argv", *route[at : at + 1])
    return route[:3]

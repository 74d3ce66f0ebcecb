"""RSK12: what all specs share looks away more: a project's lint settings and exclusions, comments that ignore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolc.compiler.project.project import NO_PROJECT, Project
from toolc.compiler.project.settings import severity_of
from toolc.compiler.project.suppressions import Suppression, suppressions
from toolc.document.nodes import Mapping, Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostics, Severity
from toolc.model.source import Position, SourceText, Span
from toolc.review.change import Change, Grade
from toolc.review.state import State, inside

RULE: Final = "RSK12"

_GRAVE: Final = ("TC21", "TC4", "TC5", "TC6", "TC9")
"""Findings about what a model is made to do, what runs, what it may reach, secrets, and policies."""

_LEVELS: Final = {None: 0, Severity.WARNING: 1, Severity.ERROR: 2}
_NAMES: Final = {None: "off", Severity.WARNING: "warning", Severity.ERROR: "error"}


def changes(old: State, new: State) -> Iterator[Change]:
    """Each finding that is told less than before, and each file that is no longer looked at."""
    if old.tools and new.tools:
        told: set[tuple[str, str]] = set()
        for place in (*sorted(new.projects_by_place), *new.folders):
            was, now = old.project_at(place) or NO_PROJECT, new.project_at(place) or NO_PROJECT
            both = was.vars.where, now.vars.where
            if both not in told:
                told.add(both)
                said = _Said(new, now) if now is not NO_PROJECT else _Said(old, was)
                yield from _of_project(was, now, said, place)
    yield from _comments(old, new)


@dataclass(frozen=True, slots=True)
class _Said:
    """Where a project file says what it says."""

    state: State
    project: Project

    def at(self, *route: str) -> Span:
        """The key or the item at ``route``, or what of the way there exists."""
        node: Node | None = self.project.root
        span = Span(self.project.vars.where, Position(1, 1), Position(1, 2))
        for step in route:
            if isinstance(node, Mapping) and (entry := node.entry(step)):
                span, node = entry.key_span, entry.value
            elif isinstance(node, Sequence):
                node = next((each for each in node.items if isinstance(each, Scalar) and each.value == step), None)
                span = node.span if node else span
            else:
                break
        return Span(inside(span.path, self.state.prefix), span.start, span.end)

    def about(self, code: Code) -> Span:
        """What has the last word on a finding: an entry of ``ignore`` or ``severity``, else ``select``."""
        lint = self.project.lint
        routes = [("lint", "ignore", each) for each in lint.ignore]
        routes += [("lint", "severity", each) for each in lint.severity]
        named = [route for route in routes if code.number.startswith(route[2])]
        return self.at(*max(named, key=lambda route: len(route[2]), default=("lint", "select")))


def _of_project(old: Project, new: Project, said: _Said, place: str) -> Iterator[Change]:
    whose = "all specs" if place == "." else f"the specs in {place}"
    levels = [(each, severity_of(each, [old.lint]), severity_of(each, [new.lint])) for each in codes.ALL]
    lowered = [each for each in levels if _LEVELS[each[2]] < _LEVELS[each[1]]]
    for code, was, now in lowered:
        words = f"the finding {code.number} is {_NAMES[now]} for {whose}, and was {_NAMES[was]}"
        yield _change(_grade(code.number), words, ("lint", code.number), _NAMES[was], _NAMES[now], said.about(code))
    for host in sorted(set(new.lint.hosts) - set(old.lint.hosts)):
        words = f"descriptions may name the host {host}"
        yield _change("medium", words, ("lint", "hosts", host), None, host, said.at("lint", "hosts", host))
    for pattern in sorted(set(new.exclude) - set(old.exclude)):
        words = f"files are no longer looked at: {pattern}"
        yield _change("high", words, ("exclude", pattern), None, pattern, said.at("exclude", pattern))


def _comments(old: State, new: State) -> Iterator[Change]:
    before: Counter[tuple[str, str]] = Counter()
    for source in _sources(old):
        before.update((source.path, each.number) for each in _found(source))
    gone = {path for path, _ in before} - {source.path for source in _sources(new)}
    known = Counter(
        {
            number: sum(n for (path, each), n in before.items() if each == number and path in gone)
            for _, number in before
        }
    )
    after = [each for source in _sources(new) for each in _found(source)]
    fresh: list[Suppression] = []
    for each in after:
        key = (each.span.path, each.number)
        if before[key]:
            before[key] -= 1
        else:
            fresh.append(each)
    for each in fresh:
        if known[each.number] > 0:  # its file has another name now
            known[each.number] -= 1
            continue
        words = f"a comment ignores the finding {each.number}"
        text = each.comment.source.line(each.span.start.line).strip()
        yield _change(_grade(each.number), words, ("ignore", each.span.path, each.number), None, text, each.span)


def _sources(state: State) -> list[SourceText]:
    """The texts of a state's specs, each once, sorted by path."""
    found = {tool.path: tool.source for tool in state.tools.values() if tool.source is not None}
    return [found[path] for path in sorted(found)]


def _found(source: SourceText) -> list[Suppression]:
    return [*suppressions(source, Diagnostics())]


def _grade(number: str) -> Grade:
    return "high" if number.startswith(_GRAVE) else "medium"


def _change(
    grade: Grade, message: str, route: tuple[str, ...], before: str | None, after: str | None, span: Span
) -> Change:
    return Change(
        kind="risk", rule=RULE, grade=grade, message=message, path=route, before=before, after=after, new=span
    )

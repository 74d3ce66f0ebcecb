"""RSK12: what all specs share looks away more: a project's lint settings and exclusions, comments that ignore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.project import NO_PROJECT, Project
from toolc.compiler.settings import severity_of
from toolc.compiler.suppressions import Suppression, suppressions
from toolc.diagnostics import Diagnostics, Severity
from toolc.review.change import Change, Grade
from toolc.review.state import State, inside
from toolc.source import Position, SourceText, Span

RULE: Final = "RSK12"

_GRAVE: Final = ("TC21", "TC4", "TC5", "TC6", "TC9")
"""Findings about what a model is made to do, what runs, what it may reach, secrets, and policies."""

_LEVELS: Final = {None: 0, Severity.WARNING: 1, Severity.ERROR: 2}
_NAMES: Final = {None: "off", Severity.WARNING: "warning", Severity.ERROR: "error"}


def changes(old: State, new: State) -> Iterator[Change]:
    """Each finding that is told less than before, and each file that is no longer looked at."""
    if old.tools and new.tools:
        before, after = old.projects_by_place, new.projects_by_place
        for place in sorted(before.keys() | after.keys()):
            was, now = before.get(place, NO_PROJECT), after.get(place, NO_PROJECT)
            yield from _of_project(was, now, _top_of(new, now) if place in after else _top_of(old, was))
    yield from _comments(old, new)


def _top_of(state: State, project: Project) -> Span:
    return Span(inside(project.vars.where, state.prefix), Position(1, 1), Position(1, 2))


def _of_project(old: Project, new: Project, span: Span) -> Iterator[Change]:
    levels = [(each, severity_of(each, [old.lint]), severity_of(each, [new.lint])) for each in codes.ALL]
    lowered = [each for each in levels if _LEVELS[each[2]] < _LEVELS[each[1]]]
    for code, was, now in lowered:
        words = f"the finding {code.number} is {_NAMES[now]} for all specs, and was {_NAMES[was]}"
        yield _change(_grade(code.number), words, ("lint", code.number), _NAMES[was], _NAMES[now], span)
    for host in sorted(set(new.lint.hosts) - set(old.lint.hosts)):
        words = f"descriptions may name the host {host}"
        yield _change("medium", words, ("lint", "hosts", host), None, host, span)
    for pattern in sorted(set(new.exclude) - set(old.exclude)):
        words = f"files are no longer looked at: {pattern}"
        yield _change("high", words, ("exclude", pattern), None, pattern, span)


def _comments(old: State, new: State) -> Iterator[Change]:
    before: Counter[tuple[str, str]] = Counter()
    for source in _sources(old):
        before.update((source.path, each.number) for each in _found(source))
    known = Counter({number: sum(n for (_, each), n in before.items() if each == number) for _, number in before})
    after = [each for source in _sources(new) for each in _found(source)]
    fresh: list[Suppression] = []
    for each in after:
        key = (each.span.path, each.number)
        if before[key]:
            before[key] -= 1
            known[each.number] -= 1
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

"""The project settings of the base of a review, which the specs of the head cannot relax."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from toolc.compiler.project.project import NO_PROJECT, Project
from toolc.compiler.project.settings import Settings, TokenBudget, severity_of
from toolc.dataclass import dataclass, field, replace
from toolc.model import codes
from toolc.model.diagnostics import Severity

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.compiler.project.suppressions import Suppression

LEVELS: Final = {None: 0, Severity.WARNING: 1, Severity.ERROR: 2}
"""How severely a finding is reported, from not at all to as an error."""


def nearest(projects: Mapping[str, Project], place: str) -> Project | None:
    """Return the project of a folder, or None without one. Folders are relative to one that all have in common."""
    inside = [str(each) for each in (PurePosixPath(place), *PurePosixPath(place).parents)]
    above = sorted((each for each in projects if each.split("/")[0] == ".."), key=len)
    return next((projects[each] for each in [*inside, *above] if each in projects), None)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The projects of the base by their folders, relative to ``top``, the corresponding folder of the head.

    ``has_comment`` returns whether the base has a suppression comment at the same place of one of the tools.
    """

    projects: Mapping[str, Project]
    top: Path
    has_comment: Callable[[Suppression, Sequence[LocatedTool]], bool]
    _known: dict[tuple[int, int], Project] = field(default_factory=dict)

    def applied_to(self, project: Project, folder: Path) -> Project:
        """Return the project of the head that applies to ``folder``, with each setting at least as strict as here."""
        base = nearest(self.projects, os.path.relpath(folder.resolve(), self.top.resolve())) or NO_PROJECT
        key = id(project), id(base)
        if key not in self._known:
            self._known[key] = replace(
                project,
                lint=stricter(project.lint, base.lint),
                policies=tuple(dict.fromkeys([*project.policies, *base.policies])),
                base_exclude=base.excludes,
            )
        return self._known[key]


def stricter(one: Settings, other: Settings) -> Settings:
    """Return settings that report every finding as severely as the stricter of both."""
    if one == other:
        return one
    severity: dict[str, Severity | None] = {}
    for code in codes.ALL:
        level = max(severity_of(code, [one]), severity_of(code, [other]), key=LEVELS.__getitem__)
        if code.severity is not Severity.ERROR and level is not severity_of(code, []):
            severity[code.number] = max(level, severity.get(code.number), key=LEVELS.__getitem__)
    hosts = [each for each in one.hosts if _is_listed(each, other)] + [
        each for each in other.hosts if _is_listed(each, one)
    ]
    return Settings(
        severity=severity, hosts=tuple(dict.fromkeys(hosts)), max_tokens=_smaller(one.max_tokens, other.max_tokens)
    )


def _smaller(head: Mapping[str, TokenBudget], base: Mapping[str, TokenBudget]) -> dict[str, TokenBudget]:
    """Return the smaller budget of each scope, at the place in the head. The files of the base are temporary."""
    budgets: dict[str, TokenBudget] = {}
    for scope in (*head, *base):
        sides = [side[scope] for side in (head, base) if scope in side]
        budgets[scope] = TokenBudget(min(each.tokens for each in sides), head[scope].span if scope in head else None)
    return budgets


def _is_listed(host: str, settings: Settings) -> bool:
    return any(host == each or host.endswith(f".{each}") for each in settings.hosts)

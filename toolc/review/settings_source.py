"""Decide which acceptances and settings apply in a review: the base's, unless the base lets the head decide.

Otherwise the author of a change could accept the change, or turn off the rule that reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from toolc.compiler.project.baseline import Baseline
from toolc.compiler.project.policy import read_policy
from toolc.dataclass import dataclass, replace
from toolc.model.source import start_of_file
from toolc.model.spec.policy import Policy
from toolc.model.spec.project import ReviewSettings
from toolc.review.compare import Difference
from toolc.review.model.change import ToolChange
from toolc.review.model.state import State, placed
from toolc.review.project_changes import central_policy_changes
from toolc.review.sources.reviewed_files import ReviewedFiles, reviewed_files
from toolc.review.sources.states import baseline_here, state_of

_NO_REVIEW = ReviewSettings()

NO_EFFECT: Final = "it has no effect, because the base does not set review: {accept_from: head}"
"""The end of a message: why a relaxation of the head has no effect."""


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """The side that decides. The output shows the ``reason``.

    ``is_first_adoption`` is true if the base does not use toolc yet.
    """

    side: Literal["base", "head"]
    reason: str
    is_first_adoption: bool = False


def settings_source(base: State, *, is_first_adoption: bool) -> SettingsSource:
    """Return which side decides.

    All project files of the base must let the head decide. A file without ``review`` uses that of the next file above.
    """
    if is_first_adoption:
        reason = "the base has no project file, lock file, accepted changes or spec"
        return SettingsSource("head", reason, is_first_adoption=True)
    settings = [_review_at(base, place) for place in base.projects_by_place] or [_NO_REVIEW]
    if all(each.accept_from == "head" for each in settings):
        return SettingsSource("head", "the project file of the base sets review.accept_from: head")
    return SettingsSource("base", "the base decides")


def baseline_of(base: str, paths: Sequence[Path]) -> Baseline | None:
    """Return the settings of ``base``, which the specs cannot relax, or None if it lets them. Raises ``UsageError``."""
    with reviewed_files(base, None) as files, state_of(base, paths) as state:
        source = settings_source(state, is_first_adoption=files.is_first_adoption(paths))
        return baseline_here(state) if source.side == "base" else None


def source_for(source: SettingsSource, difference: Difference) -> SettingsSource:
    """Return the source for a difference. The base decides about tools without a project file."""
    old, new = difference.old, difference.new
    changed = [each for tool in difference.tools for each in ((old, tool.pair.old), (new, tool.pair.new))]
    folders = {state.place_of(tool.located) for state, tool in changed if tool and tool.located}
    if source.side == "base" or source.is_first_adoption or all(old.project_at(folder) for folder in folders):
        return source
    return SettingsSource("base", "the base decides about specs without a project file")


def _review_at(state: State, place: str) -> ReviewSettings:
    """Return the settings for a folder. Project files above the compared folder do not count."""
    for folder in (PurePosixPath(place), *PurePosixPath(place).parents):
        project = state.projects_by_place.get(str(folder))
        if project and project.review and ".." not in folder.parts:
            return project.review
    return _NO_REVIEW


def with_source(difference: Difference, source: SettingsSource, more: Sequence[ToolChange] = ()) -> Difference:
    """Return the difference with added changes: of who decides, and ``more`` changes of settings.

    The message of a change of settings says if it has no effect.
    """
    opened = review_changes(difference.old, difference.new, source)
    shared = [*difference.shared, *more, *opened, *_excluded(difference)]
    if source.side == "base":
        shared = [_without_effect(each) for each in shared]
    if source.is_first_adoption:
        message = f"first adoption: {source.reason}, so those of the head apply"
        shared.append(ToolChange(rule="RSK17", grade="low", message=message))
    return replace(difference, shared=tuple(shared))


def _without_effect(change: ToolChange) -> ToolChange:
    if change.rule in {"RSK12", "RSK15"} and change.path[:1] in {("lint",), ("ignore",), ("exclude",), ("policy",)}:
        return replace(change, message=f"{change.message}; {NO_EFFECT}")
    return change


def _excluded(difference: Difference) -> Iterator[ToolChange]:
    """Yield a change (RSK15) for each tool of the base whose file the head excludes, which is like removing the tool.

    If the base decides, the file was compared although the head excludes it.
    """
    new = difference.new
    renamed = {tool.pair.new.spec.name for tool in difference.tools if tool.pair.old and tool.pair.new}
    for name, tool in sorted(new.tools.items()):
        project = new.project_at(new.place_of(tool.located)) if tool.located else None
        is_known = name in difference.old.tools or name in renamed
        if tool.located and project and is_known and project.excludes(Path(tool.located.path)):
            yield ToolChange(
                rule="RSK15", grade="breaking", message=f"the file of {name} is excluded: {tool.path}",
                path=("exclude", tool.path), subject=name, new=tool.span(),
            )  # fmt: skip


def review_changes(old: State, new: State, source: SettingsSource) -> Iterator[ToolChange]:
    """Yield a change (RSK16) for each place where the head would let more changes accept themselves."""
    if source.is_first_adoption:
        return
    for place in dict.fromkeys([*old.projects_by_place, *new.projects_by_place]):
        before, after = _review_at(old, place), _review_at(new, place)
        project = new.projects_by_place.get(place)
        span = start_of_file(project.vars.where if project else "")
        entry = project.root.entry("review") if project and project.root else None
        at = placed(entry.key_span if entry else span, new.prefix)
        scope = "all specs" if place == "." else f"the specs in {place}"
        if (before.accept_from, after.accept_from) == ("base", "head"):
            message = f"later pull requests may accept their own changes to {scope}: review.accept_from is head"
            yield ToolChange(
                rule="RSK16", grade="critical", message=message, path=("review", "accept_from"), before="base",
                after="head", subject=place, new=at,
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CentralPolicy:
    """The policy file of ``--policy``. If it is in the repository under review, it is that of the base.

    The tools must comply with the policies in ``required``. Those in ``all`` name approvers. ``changes`` are the rules
    that the head relaxes.
    """

    required: tuple[Policy, ...] = ()
    all: tuple[Policy, ...] = ()
    changes: tuple[ToolChange, ...] = ()


def read_central_policy(name: str, files: ReviewedFiles, *, head_decides: bool) -> CentralPolicy:
    """Read the file ``name``. A stricter policy of the head applies as well. Raises ``UsageError``."""
    path = Path(name)
    in_base, in_head = (None, None) if files.is_outside(path) else (files.of_base(path), files.of_head(path))
    if in_base is None and in_head is None:
        return CentralPolicy((policy := read_policy(path),), (policy,))
    old = read_policy(in_base, path.as_posix()) if in_base else None
    new = read_policy(in_head, path.as_posix()) if in_head else None
    both = tuple(each for each in (old, new) if each)
    required = (new,) if head_decides and new else both
    return CentralPolicy(required, both, tuple(central_policy_changes(old, new)) if old else ())

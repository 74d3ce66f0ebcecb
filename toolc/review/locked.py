"""Differences between a lock file and the tools, with the changed fields if Git has the approved version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.call_graph import called_tools
from toolc.model.errors import ToolcError
from toolc.model.json_schema import JsonObject
from toolc.model.lock_file import Lock, LockedTool, lock_tools
from toolc.model.registry import RegisteredTool
from toolc.model.spec.tool import EFFECT, SURFACE
from toolc.model.text import join_first
from toolc.reporters.text import printable
from toolc.review.compare import compare
from toolc.review.model.state import Reviewed, State
from toolc.review.model.text_diff import changed_parts, format_route
from toolc.review.reports import diff_text
from toolc.review.sources.repository import Repository
from toolc.review.sources.states import state_of

Part: TypeAlias = Literal["added", "removed", "surface", "effect", "image", "packages", "base"]

_MISSING: Final = "missing"
"""In ``with_known_pins``, the image or package of a tool that the lock file does not have."""

_MAX_FIELDS: Final = 6
_DIGITS: Final = 12
"""How many fields and digits of a digest a line shows. With more, it would not fit the width of a terminal."""


@dataclass(frozen=True, slots=True)
class LockChange:
    """One part of a tool that the lock file does not approve.

    ``fields`` are the places in the spec that changed, or None if the approved version is unknown. If there are no
    fields, ``detail`` says what changed.
    """

    tool: str
    part: Part
    approved: str | None
    actual: str | None
    fields: tuple[str, ...] | None = None
    detail: str = ""


def with_known_pins(lock: Lock, tools: Iterable[RegisteredTool], path: str) -> Lock:
    """Return the lock of ``tools`` with the images, packages and base image of ``lock``. Only engines find others."""

    def pin(tool: RegisteredTool) -> tuple[str | None, tuple[str, ...]]:
        locked = lock.tools.get(tool.spec.name)
        image = (locked and locked.image) or _MISSING if tool.spec.sandbox.image else None
        packages = (locked and locked.packages) or (_MISSING,) if tool.spec.backend.packages else ()
        return image, packages

    return lock_tools(tools, pin, path, lock.base)


class History(ExitStack):
    """The tools at the commits that may have the approved versions: the last change of the lock file, and ``HEAD``.

    This is a context manager. Outside a repository there are no commits.
    """

    def __init__(self, lock: Path, paths: Sequence[Path]) -> None:
        super().__init__()
        self._lock, self._paths = lock, paths

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The states, read when they are first needed. States that cannot be read are left out."""
        return tuple(self._read())

    def _read(self) -> Iterator[State]:
        try:
            repository = Repository.of(Path())
            if repository is None or repository.commit("HEAD") is None:
                return
            place = repository.inside(self._lock)
            last = repository.git("log", "-1", "--format=%H", "--", place).decode().strip()
        except ToolcError:
            return
        commits = {commit.identity: name for name in ("HEAD", last[:_DIGITS]) if (commit := repository.commit(name))}
        for name in reversed(commits.values()):
            try:
                yield self.enter_context(state_of(name, self._paths))
            except ToolcError:  # for example, the specs of that commit cannot be read
                continue

    def approved(self, tool: LockedTool, part: Part) -> tuple[State, Reviewed] | None:
        """Return the version of a tool with the approved digest of a part, and its state."""
        for state in self.states:
            if tool.name in state.tools and getattr(state.digests(tool.name), part) == getattr(tool, part):
                return state, state.tools[tool.name]
        return None

    def report(self, changes: Sequence[LockChange], *, color: bool) -> str:
        """Return the output of ``toolc diff`` since the newest state, or ``""`` if no digest changed or none exists."""
        names = {each.tool for each in changes if each.part in {"surface", "effect"}}
        if not names or not self.states:
            return ""
        with state_of(None, self._paths) as new:
            found = compare(self.states[0], new)
        return diff_text.report(found, color=color) if found.tools else ""


def lock_changes(lock: Lock, actual: Lock, tools: Iterable[RegisteredTool], history: History) -> Iterator[LockChange]:
    """Yield the changes from ``lock`` to ``actual``, sorted by tool. ``tools`` are the tools of ``actual``."""
    if lock.base != actual.base:
        yield LockChange("*", "base", lock.base, actual.base, detail=f"{_short(lock.base)} to {_short(actual.base)}")
    specs = {tool.spec.name: Reviewed(tool.spec) for tool in tools}
    for name in sorted(lock.tools.keys() | actual.tools.keys()):
        before, after = lock.tools.get(name), actual.tools.get(name)
        if before is None or after is None:
            yield from _whole(lock, actual, name)
            continue
        if before.surface != after.surface:
            yield _digest_change(before, "surface", SURFACE, specs[name], after.surface, history)
        if before.effect != after.effect:
            yield _digest_change(before, "effect", EFFECT, specs[name], after.effect, history)
        if before.image != after.image:
            detail = f"{_short(before.image)} to {_short(after.image)}"
            yield LockChange(name, "image", before.image, after.image, detail=detail)
        if set(before.packages) != set(after.packages):
            yield _packages(before, after)


def _whole(lock: Lock, actual: Lock, name: str) -> Iterator[LockChange]:
    """Yield the change of a tool that was added or removed."""
    if after := actual.tools.get(name):
        gone = [each for each in lock.tools.values() if each.name not in actual.tools and each.effect == after.effect]
        detail = f"same effect as {gone[0].name}, which was removed" if gone else ""
        yield LockChange(name, "added", None, after.effect, detail=detail)
    else:
        yield LockChange(name, "removed", lock.tools[name].effect, None)


def _digest_change(
    before: LockedTool, part: Part, fields: Sequence[str], now: Reviewed, digest: str, history: History
) -> LockChange:
    old_digest = before.surface if part == "surface" else before.effect
    approved = history.approved(before, part)
    if approved is not None:
        places = tuple(format_route(each.route) for each in changed_parts(approved[1], now, fields))
        detail = "" if places else "the tools that it calls"
        return LockChange(before.name, part, old_digest, digest, places, detail)
    names = ((state, state.tools.get(now.spec.name)) for state in history.states)
    same = [state for state, old in names if old and not any(changed_parts(old, now, fields))]
    if same and not called_tools(now.spec):
        detail = f"no fields since {same[0].label}; another version of toolc wrote the digest, or the line was edited"
        return LockChange(before.name, part, old_digest, digest, (), detail)
    detail = "Git has no version with the approved digest, so the fields are unknown"
    return LockChange(before.name, part, old_digest, digest, None, detail)


def _packages(before: LockedTool, after: LockedTool) -> LockChange:
    old, new = (_versions(each.packages) for each in (before, after))
    words = [
        f"{name} {old.get(name, 'none')} to {new.get(name, 'none')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]
    detail = ", ".join(words[:_MAX_FIELDS]) or "other digests of the same versions"
    return LockChange(before.name, "packages", " ".join(before.packages), " ".join(after.packages), detail=detail)


def _versions(packages: Sequence[str]) -> Mapping[str, str]:
    return {each.partition("==")[0]: each.partition("==")[2].partition("@")[0] for each in packages}


def _short(image: str | None) -> str:
    kind, separator, digest = (image or "none").rpartition("sha256:")
    return f"{kind}{separator}{digest[:_DIGITS]}"


def as_text(changes: Sequence[LockChange]) -> str:
    """Return the changes as a table, or ``""`` if there are none."""
    if not changes:
        return ""
    rows = [
        ("TOOL", "CHANGE", "DETAILS"),
        *((each.tool, each.part, join_first(each.fields or (), _MAX_FIELDS) or each.detail) for each in changes),
    ]
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = (f"{tool:{first}}  {part:{second}}  {printable(fields)}".rstrip() for tool, part, fields in rows)
    return "".join(f"{line}\n" for line in lines)


def as_json(lock: str, changes: Sequence[LockChange]) -> str:
    """Return the changes as one JSON object."""
    listed: list[JsonObject] = [
        {
            "tool": each.tool, "moved": each.part, "approved": each.approved, "actual": each.actual,
            "fields": None if each.fields is None else [*each.fields], "detail": each.detail,
        }
        for each in changes
    ]  # fmt: skip
    return json.dumps({"lock": lock, "changes": listed}, indent=2) + "\n"

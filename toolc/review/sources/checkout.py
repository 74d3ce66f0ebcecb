"""Changes between two commits that affect a checkout but not their specs: submodules and converted files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.model.source import Position, Span
from toolc.review.model.change import ToolChange
from toolc.review.model.state import State
from toolc.review.sources.repository import Commit, concerns, in_commit
from toolc.review.sources.reviewed_files import ReviewedFiles

RULE: Final = "RSK12"

_CONVERTING: Final = ("filter=", "working-tree-encoding=", "ident")
"""Attributes (gitattributes(5)) that may give a checked-out file another text than the commit has."""

_HARMLESS: Final = ("filter=lfs",)
"""The attribute of Git LFS. A spec that is stored there is refused."""


def checkout_changes(files: ReviewedFiles, old: State, paths: Sequence[Path]) -> Iterator[ToolChange]:
    """Yield a change for each submodule and converting attribute that is new or changed, unless ``old`` excludes it.

    ``files`` are both sides of the review. The working tree has the submodules and attributes of ``HEAD``. Folders have
    none.
    """
    base, head, repository = files.base, files.head, files.repository
    if repository is None or not isinstance(base, Commit) or isinstance(head, Path):
        return
    new = head or repository.commit("HEAD")
    if new is None:
        return
    places = in_commit(new, paths) if head else [repository.inside(path) for path in paths]
    for change in (*_submodules(base, new, places), *_attributes(base, new, places)):
        project = old.project_at(str(PurePosixPath(change.subject).parent))
        if project is None or not project.excludes(old.top / change.subject):
            yield change


def _submodules(old: Commit, new: Commit, places: Sequence[str]) -> Iterator[ToolChange]:
    before, after = ({each.path: each.identity for each in side.submodules()} for side in (old, new))
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path) or not concerns(path, places):
            continue
        verb = "changed" if path in before and path in after else "was added" if path in after else "was removed"
        message = f"the submodule {path} {verb}, but its specs are not compared; run toolc diff in the submodule"
        yield _change(message, ("submodule", path), before.get(path), after.get(path), path, 1)


def _attributes(old: Commit, new: Commit, places: Sequence[str]) -> Iterator[ToolChange]:
    known = {line for _, _, line in _converting_lines(old)}
    for path, number, line in _converting_lines(new):
        if line not in known and concerns(str(PurePosixPath(path).parent).removeprefix("."), places):
            message = (
                f"Git converts files when it checks them out, so they may differ from the compared ones; remove: {line}"
            )
            yield _change(message, ("gitattributes", path), None, line, path, number)


def _converting_lines(commit: Commit) -> Iterator[tuple[str, int, str]]:
    """Yield each line that may convert files: its file, its number and its text."""
    blobs = [blob for blob in commit.blobs([]) if blob.path.rpartition("/")[2] == ".gitattributes"]
    for blob, data in commit.read_small(blobs):
        if data is None:
            yield blob.path, 1, "a file that is too large"
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            words = line.split()
            if words and not words[0].startswith("#") and any(map(_converts, words[1:])):
                yield blob.path, number, " ".join(words)


def _converts(attribute: str) -> bool:
    return attribute.startswith(_CONVERTING) and attribute not in _HARMLESS


def _change(
    message: str, route: tuple[str, ...], before: str | None, after: str | None, path: str, line: int
) -> ToolChange:
    return ToolChange(
        rule=RULE, grade="high", message=message, path=route, before=before, after=after, subject=path,
        new=Span(path, Position(line, 1), Position(line, 2)),
    )  # fmt: skip

"""Folders that git takes for a repository though none is called ``.git``: it would run what their ``config`` says.

See gitrepository-layout(5) and ``is_git_directory`` in git's setup.c.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from toolc.model.call import FileChange
from toolc.runtime.beneath import Root

_PARTS: Final = ({"objects", "refs"}, {"commondir"})
"""What stands beside ``HEAD``: one of these."""


def repositories(real: Root, changes: Iterable[FileChange]) -> frozenset[str]:
    """The folders above ``changes`` that git would take for a repository when they are made."""
    made: dict[str, set[str]] = {}
    folders: set[str] = set()
    for change in changes:
        folder, _, name = change.path.rpartition("/")
        folders.update(_above(change.path))
        # A folder is no HEAD, and many are called so.
        if change.action != "deleted" and not (change.kind == "directory" and name.casefold() == "head"):
            made.setdefault(folder, set()).add(name.casefold())
    return frozenset(folder for folder in folders if _is_repository(real, folder, made.get(folder, set())))


def is_in(change: FileChange, found: frozenset[str]) -> bool:
    """Whether a change is somewhere in one of these folders."""
    return bool(found) and not found.isdisjoint(_above(change.path))


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def _is_repository(real: Root, folder: str, made: set[str]) -> bool:
    def has(name: str) -> bool:
        return name.casefold() in made or _mode(real, f"{folder}/{name}".lstrip("/")) is not None

    head = _mode(real, f"{folder}/HEAD".lstrip("/"))
    has_head = "head" in made or (head is not None and not stat.S_ISDIR(head))
    return has_head and any(all(map(has, parts)) for parts in _PARTS)


def _mode(real: Root, path: str) -> int | None:
    # What cannot be looked at is judged as a change, by itself.
    with suppress(OSError):
        status = real.status_of(path.encode("utf-8", "surrogateescape"))
        return None if status is None else status.st_mode
    return None

"""The folder that a call leaves, as the tool itself could see it: which files fit a pattern, and what they hold.

Read on the host, by descriptor, once the sandbox is gone: no symbolic link is followed and nothing that is
mounted is entered. toolc may have more rights than the tool had, so each right is asked of the file's own mode.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Iterator
from glob import has_magic
from typing import Final, Protocol, TypeAlias

from toolc.model.plan import Mount
from toolc.model.spec.code_backends import ErrorKind
from toolc.runtime.workspace.dir_handle import DirHandle

MOST_ENTRIES: Final = 20_000
"""How many names are looked at for all patterns of one call."""

DEEPEST: Final = 100
"""How deep ``**`` looks, in folders."""

_Names: TypeAlias = tuple[str, ...]


class FolderError(Exception):
    """Why a file is not returned: a kind of error, and words that a model can act on."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ResultFolder(Protocol):
    """Paths are bytes, relative, and ``b""`` is the folder itself. Each method raises ``OSError``."""

    def status_of(self, path: bytes) -> os.stat_result | None:
        """What stands at ``path`` itself; None if nothing does."""

    def entries(self, path: bytes, most: int) -> list[tuple[bytes, os.stat_result]]:
        """What is in the folder at ``path``, by name; of more than ``most`` only so many."""

    def read(self, path: bytes, most: int) -> bytes:
        """At most ``most`` bytes of the regular file at ``path``."""


class RealFolder:
    """A folder that is what it seems."""

    def __init__(self, root: DirHandle) -> None:
        self._root = root
        self.status_of = root.status_of
        self.entries = root.entries

    def read(self, path: bytes, most: int) -> bytes:
        """As ``Folder.read``."""
        return read_beneath(self._root, path, most)


def read_beneath(root: DirHandle, path: bytes, most: int) -> bytes:
    """At most ``most`` bytes of the regular file at ``path`` below ``root``. Raises ``OSError``."""
    with root.file(path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(most)


class FinalFolder:
    """One call's folder, with the rights of the tool: its owner's and his group's. Looks at so much and no more."""

    def __init__(self, folder: ResultFolder, mount: Mount) -> None:
        self._folder = folder
        self._owner = mount.owner
        self._group = mount.group
        self._looked_at = 0

    def files(self, pattern: str) -> list[bytes]:
        """The files that fit, sorted. Raises ``FolderError``, also where a pattern that is a path has no file."""
        if has_magic(pattern):
            return sorted(set(self._matching(tuple(pattern.split("/")))))
        path = os.fsencode(pattern)
        try:
            status = self._folder.status_of(path)
        except OSError as error:
            raise _unreadable(path, error) from None
        if status is None:
            raise FolderError("not_found", f"the tool left no file {shown(path)!r}")
        if not stat.S_ISREG(status.st_mode):
            raise FolderError("file", f"{shown(path)!r}, which the tool left, is no file{_instead(status)}")
        return [path]

    def read(self, path: bytes, most: int) -> bytes:
        """At most ``most`` bytes of a file. Raises ``FolderError``."""
        try:
            for at, character in enumerate(path):
                if character == ord("/") and not self._may(self._folder.status_of(path[:at]), 0o1):
                    raise PermissionError(errno.EACCES, "the tool may not look into its folder")
            if not self._may(self._folder.status_of(path), 0o4):
                raise PermissionError(errno.EACCES, "the tool may not read it")
            return self._folder.read(path, most)
        except OSError as error:
            raise _unreadable(path, error) from None

    def _matching(self, pattern: _Names) -> Iterator[bytes]:
        waiting = [(b"", pattern)]
        seen = set(waiting)
        while waiting:
            folder, names = waiting.pop()
            for name, status in self._entries(folder):
                path = folder + b"/" + name if folder else name
                for rest in _rests(names, os.fsdecode(name)):
                    if stat.S_ISREG(status.st_mode) and rest in {(), ("**",)}:
                        yield path
                    elif stat.S_ISDIR(status.st_mode) and rest and (path, rest) not in seen:
                        seen.add((path, rest))
                        waiting.append((path, rest))

    def _entries(self, path: bytes) -> list[tuple[bytes, os.stat_result]]:
        try:
            if path.count(b"/") >= DEEPEST or not self._may(self._folder.status_of(path), 0o5):
                return []
            found = self._folder.entries(path, MOST_ENTRIES + 1 - self._looked_at)
        except OSError:
            return []  # it is gone by now, or something else is mounted there
        self._looked_at += len(found)
        if self._looked_at > MOST_ENTRIES:
            raise FolderError(
                "file", f"the workspace has more files than result.files looks through, {MOST_ENTRIES}"
            )
        return found

    def _may(self, status: os.stat_result | None, rights: int) -> bool:
        if status is None:
            return False
        shift = 6 if status.st_uid == self._owner else 3 if status.st_gid == self._group else 0
        return status.st_mode >> shift & rights == rights


def shown(path: bytes) -> str:
    """A path as text."""
    return path.decode("utf-8", "replace")


def _rests(pattern: _Names, name: str) -> Iterator[_Names]:
    """What of a pattern is left below ``name``; nothing comes where it does not fit.

    As in a shell, a name that begins with a dot fits only what does too.
    """
    first, rest = pattern[0], pattern[1:]
    hidden = name.startswith(".")
    if first == "**":
        if not hidden:
            yield pattern
        if rest:
            yield from _rests(rest, name)
    elif fnmatch.fnmatchcase(name, first) and (first.startswith(".") or not hidden):
        yield rest


def _unreadable(path: bytes, error: OSError) -> FolderError:
    kind: ErrorKind = "denied" if isinstance(error, PermissionError) else "file"
    return FolderError(kind, f"the file {shown(path)!r}, which the tool left, cannot be read: {error.strerror}")


def _instead(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return " but a symbolic link, and none is followed"
    return " but a folder" if stat.S_ISDIR(status.st_mode) else ""

"""Find and read result files in the folder that a call leaves, with the access rights of the tool.

The folder is read on the host, by descriptor, after the sandbox has exited: no symbolic link is followed and no
mount is entered. toolc may have more rights than the tool had, so every access is checked against the mode of the
file.
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
"""The number of names inspected for all patterns of one call."""

DEEPEST: Final = 100
"""The number of folder levels that ``**`` descends."""

_Names: TypeAlias = tuple[str, ...]


class FolderError(Exception):
    """The reason why a file is not returned: an error kind and a message that a model can act on."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ResultFolder(Protocol):
    """A folder to read results from. Paths are relative bytes; ``b""`` is the folder itself.

    Every method raises ``OSError``.
    """

    def status_of(self, path: bytes) -> os.stat_result | None:
        """Return the status of ``path`` without following a link; None if it does not exist."""

    def entries(self, path: bytes, most: int) -> list[tuple[bytes, os.stat_result]]:
        """Return at most ``most`` entries of the folder at ``path``, sorted by name."""

    def read(self, path: bytes, most: int) -> bytes:
        """Return at most ``most`` bytes of the regular file at ``path``."""


class RealFolder:
    """A real folder, without an overlay."""

    def __init__(self, root: DirHandle) -> None:
        self._root = root
        self.status_of = root.status_of
        self.entries = root.entries

    def read(self, path: bytes, most: int) -> bytes:
        """Implement ``ResultFolder.read``."""
        return read_beneath(self._root, path, most)


def read_beneath(root: DirHandle, path: bytes, most: int) -> bytes:
    """Return at most ``most`` bytes of the regular file at ``path`` below ``root``. Raise ``OSError``."""
    with root.file(path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(most)


class FinalFolder:
    """The folder of one call, read with the rights of the tool: those of the folder's owner and group.

    The number of inspected names and the depth are limited.
    """

    def __init__(self, folder: ResultFolder, mount: Mount) -> None:
        self._folder = folder
        self._owner = mount.owner
        self._group = mount.group
        self._looked_at = 0

    def files(self, pattern: str) -> list[bytes]:
        """Return the matching files, sorted. Raise ``FolderError``, also if a pattern without wildcards has no
        file.
        """
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
        """Return at most ``most`` bytes of a file. Raise ``FolderError``."""
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
            return []  # removed in the meantime, or something is mounted there
        self._looked_at += len(found)
        if self._looked_at > MOST_ENTRIES:
            raise FolderError("file", f"the workspace has more files than result.files looks through, {MOST_ENTRIES}")
        return found

    def _may(self, status: os.stat_result | None, rights: int) -> bool:
        if status is None:
            return False
        shift = 6 if status.st_uid == self._owner else 3 if status.st_gid == self._group else 0
        return status.st_mode >> shift & rights == rights


def shown(path: bytes) -> str:
    """Return a path as text."""
    return path.decode("utf-8", "replace")


def _rests(pattern: _Names, name: str) -> Iterator[_Names]:
    """Yield what remains of a pattern to match below ``name``; nothing if ``name`` does not match.

    As in a shell, a name that begins with a dot matches only a pattern that begins with a dot.
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

"""Find and read the result files of a call in its workspace, with the access rights of the tool.

The folder is read on the host after the sandbox has exited. Files are opened by descriptor, so that no symbolic link is
followed and no mount is entered. toolc may have more rights than the tool had, so every access is checked against the
mode of the file.
"""

import errno
import fnmatch
import os
import stat
from collections.abc import Iterator
from glob import has_magic
from typing import Final, Protocol, TypeAlias

from toolc.model.errors import raise_shortage
from toolc.model.plan import Mount
from toolc.model.spec.code_backends import ErrorKind
from toolc.runtime.workspace.dir_handle import DirHandle, join_path

MAX_ENTRIES: Final = 20_000
"""The maximum number of names that are inspected for all patterns of one call.

A tool can leave millions of files, and the host reads their names.
"""

MAX_DEPTH: Final = 100
"""The maximum number of folder levels that ``**`` descends.

Real folders have far fewer, but a tool could create one that is too deep for the stack.
"""

_Names: TypeAlias = tuple[str, ...]


class FolderError(Exception):
    """A file cannot be returned. Has an error kind, and a message that a model can act on."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ResultFolder(Protocol):
    """A folder of results. Paths are relative bytes, and ``b""`` is the folder. Every method raises ``OSError``."""

    def status_of(self, path: bytes) -> os.stat_result | None:
        """Return the status of ``path`` without following a link, or None if it does not exist."""

    def entries(self, path: bytes, max_entries: int) -> list[tuple[bytes, os.stat_result]]:
        """Return at most ``max_entries`` entries of the folder at ``path``, sorted by name."""

    def read(self, path: bytes, max_bytes: int) -> bytes:
        """Return at most ``max_bytes`` bytes of the regular file at ``path``."""


class RealFolder:
    """A real folder, without an overlay."""

    def __init__(self, root: DirHandle) -> None:
        self._root = root
        self.status_of = root.status_of
        self.entries = root.entries

    def read(self, path: bytes, max_bytes: int) -> bytes:
        """Implement ``ResultFolder.read``."""
        return read_beneath(self._root, path, max_bytes)


def read_beneath(root: DirHandle, path: bytes, max_bytes: int) -> bytes:
    """Return at most ``max_bytes`` bytes of the regular file at ``path`` below ``root``. Raises ``OSError``."""
    with root.file(path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(max_bytes)


class FinalFolder:
    """The folder of one call, read with the rights of the tool, which are those of the folder's owner and group.

    The number of inspected names and the depth are limited.
    """

    def __init__(self, folder: ResultFolder, mount: Mount) -> None:
        self._folder = folder
        self._owner = mount.owner
        self._group = mount.group
        self._inspected = 0

    def files(self, pattern: str) -> list[bytes]:
        """Return the matching files, sorted. Raises ``FolderError``, even if a path without wildcards is missing."""
        if has_magic(pattern):
            return sorted(set(self._matching(tuple(pattern.split("/")))))
        path = os.fsencode(pattern)
        try:
            status = self._folder.status_of(path)
        except OSError as error:
            raise _unreadable(path, error) from None
        if status is None:
            raise FolderError("not_found", f"the tool left no file {format_path(path)!r}")
        if not stat.S_ISREG(status.st_mode):
            raise FolderError("file", f"{format_path(path)!r} is not a file{_actual_kind(status)}")
        return [path]

    def read(self, path: bytes, max_bytes: int) -> bytes:
        """Return at most ``max_bytes`` bytes of a file. Raises ``FolderError``."""
        try:
            for at, character in enumerate(path):
                if character == ord("/") and not self._has_rights(self._folder.status_of(path[:at]), 0o1):
                    raise PermissionError(errno.EACCES, "the tool has no permission to access its folder")
            if not self._has_rights(self._folder.status_of(path), 0o4):
                raise PermissionError(errno.EACCES, "the tool has no permission to read it")
            return self._folder.read(path, max_bytes)
        except OSError as error:
            raise _unreadable(path, error) from None

    def _matching(self, pattern: _Names) -> Iterator[bytes]:
        pending = [(b"", pattern)]
        seen = set(pending)
        while pending:
            folder, names = pending.pop()
            for name, status in self._entries(folder):
                path = join_path(folder, name)
                for rest in _rests(names, os.fsdecode(name)):
                    if stat.S_ISREG(status.st_mode) and rest in {(), ("**",)}:
                        yield path
                    elif stat.S_ISDIR(status.st_mode) and rest and (path, rest) not in seen:
                        seen.add((path, rest))
                        pending.append((path, rest))

    def _entries(self, path: bytes) -> list[tuple[bytes, os.stat_result]]:
        try:
            if path.count(b"/") >= MAX_DEPTH or not self._has_rights(self._folder.status_of(path), 0o5):
                return []
            entries = self._folder.entries(path, MAX_ENTRIES + 1 - self._inspected)
        except OSError as error:
            raise_shortage(error)
            return []  # removed in the meantime, or something is mounted there
        self._inspected += len(entries)
        if self._inspected > MAX_ENTRIES:
            raise FolderError("file", f"the workspace has more than {MAX_ENTRIES} files, the limit of result.files")
        return entries

    def _has_rights(self, status: os.stat_result | None, rights: int) -> bool:
        if status is None:
            return False
        shift = 6 if status.st_uid == self._owner else 3 if status.st_gid == self._group else 0
        return status.st_mode >> shift & rights == rights


def format_path(path: bytes) -> str:
    """Return a path as text for a message."""
    return path.decode("utf-8", "replace")


def _rests(pattern: _Names, name: str) -> Iterator[_Names]:
    """Yield the rest of a pattern that must match below ``name``, or nothing if ``name`` does not match.

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
    raise_shortage(error)
    kind: ErrorKind = "denied" if isinstance(error, PermissionError) else "file"
    return FolderError(kind, f"the file {format_path(path)!r} cannot be read: {error.strerror}")


def _actual_kind(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return " but a symbolic link, which is not followed"
    return " but a folder" if stat.S_ISDIR(status.st_mode) else ""

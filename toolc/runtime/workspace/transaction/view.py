"""Scan what a tool has changed in its view: the upper directory of an overlay, or a full copy.

Both kinds list what may have changed (``scan``) and check whether a real file is still what the tool saw
(``is_as_seen``). The contents were created by the tool and are read by descriptor only.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from toolc.model.spec.sandbox import MIB
from toolc.runtime.workspace.dir_handle import FOLDER, READ, DirHandle, openat2_beneath, write_all

MAX_ENTRIES: Final = 20_000
"""The number of paths that a call may change, and that a copy may have."""

MAX_DEPTH: Final = 100
"""The number of folder levels: every part of a path is opened separately."""

_WHITEOUT: Final = os.makedev(0, 0)

MAX_BYTES: Final = 1024 * MIB
"""The maximum size of a workspace that is copied, in bytes."""

_PIECE: Final = 1 << 20


class TooManyChangesError(Exception):
    """A call has changed more than toolc processes; ``str(error)`` says what."""


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A path in a view that may differ from the real file; ``status`` is None if it was deleted.

    ``hides_real``: a folder that hides the real one at its path. ``has_origin``: it originates from a file of the real
    folder, at this path or, except for folders, at another.
    """

    path: bytes
    status: os.stat_result | None
    hides_real: bool = False
    has_origin: bool = False


class View(Protocol):
    """The view of a call. ``root`` holds what the call wrote: in an overlay only that, in a copy everything."""

    @property
    def root(self) -> DirHandle:
        """The folder from which the new files are read."""

    def scan(self) -> Iterator[ViewEntry]:
        """Yield each path that may differ, folders first. Raises ``OSError`` or ``TooManyChangesError``."""

    def is_as_seen(self, path: bytes, status: os.stat_result | None, entry: ViewEntry | None) -> bool:
        """Return whether the real file (None if there is none now) is what was at ``path`` when the tool started.

        ``entry`` is the entry of ``scan`` for this path, None if there was only one for a folder above it.
        """


@dataclass(frozen=True, slots=True)
class Overlay:
    """The upper directory of an overlay; its markers are documented in the kernel's filesystems/overlayfs.rst.

    ``since_ns`` is a time of the kernel's file clock before the sandbox started: the tool may not have seen later
    changes. The ctime of a file cannot be set by any process. Inspecting every file beforehand would take longer
    than most calls.
    """

    root: DirHandle
    real: DirHandle
    since_ns: int

    def scan(self) -> Iterator[ViewEntry]:
        """Yield everything in the upper directory."""
        pending: list[tuple[bytes, bool]] = [(b"", False)]
        count = 0
        while pending:
            folder, is_opaque = pending.pop()
            prefix = folder + b"/" if folder else b""
            for name, status in self.root.entries(folder, MAX_ENTRIES + 1):
                count += 1
                path = prefix + name
                _check(count, path)
                if stat.S_ISCHR(status.st_mode) and status.st_rdev == _WHITEOUT:
                    yield ViewEntry(path, None)
                elif stat.S_ISDIR(status.st_mode):
                    with self.root.folder(path) as descriptor:
                        hides = is_opaque or _marker(descriptor, "opaque") == b"y"
                        has_origin = not hides and _marker(descriptor, "origin") is not None
                    yield ViewEntry(path, status, hides_real=hides, has_origin=has_origin)
                    pending.append((path, hides))
                else:
                    yield ViewEntry(path, status, has_origin=self._has_origin(path, status))

    def is_as_seen(self, path: bytes, status: os.stat_result | None, entry: ViewEntry | None) -> bool:
        """Compare the time of the last change; if there is no file, that of the folder above."""
        if status is not None:
            return stat.S_ISDIR(status.st_mode) or status.st_ctime_ns < self.since_ns
        if entry is None or entry.status is None or not entry.has_origin:
            return True
        if stat.S_ISDIR(entry.status.st_mode):
            return False
        # The tool moved it here, or another process removed it: then its folder was changed.
        folder = self.real.status_of(path.rpartition(b"/")[0])
        return folder is None or folder.st_ctime_ns < self.since_ns

    def _has_origin(self, path: bytes, status: os.stat_result) -> bool:
        if not stat.S_ISREG(status.st_mode):
            return False
        with suppress(PermissionError), self.root.file(path) as descriptor:
            return _marker(descriptor, "origin") is not None
        return False


class Stamp(NamedTuple):
    """Attributes that distinguish two versions of a file without reading their content."""

    inode: int
    size: int
    changed_ns: int
    mode: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A full copy. ``originals`` and ``copies`` hold the stamps of both sides when it was made."""

    root: DirHandle
    originals: dict[bytes, Stamp] = field(default_factory=dict)
    copies: dict[bytes, Stamp] = field(default_factory=dict)

    def scan(self) -> Iterator[ViewEntry]:
        """Yield what was changed or added in the copy, and what was removed from it."""
        seen: set[bytes] = set()
        folders: set[bytes] = {b""}
        pending = [b""]
        while pending:
            folder = pending.pop()
            prefix = folder + b"/" if folder else b""
            for name, status in self.root.entries(folder, MAX_ENTRIES + 1):
                path = prefix + name
                seen.add(path)
                _check(len(seen), path)
                if stat.S_ISDIR(status.st_mode):
                    folders.add(path)
                    yield ViewEntry(path, status)
                    pending.append(path)
                elif self.copies.get(path) != _stamp(status):
                    yield ViewEntry(path, status, has_origin=path in self.originals)
        for path in sorted(self.originals):
            if path not in seen and path.rpartition(b"/")[0] in folders:
                yield ViewEntry(path, None, has_origin=True)

    def is_as_seen(self, path: bytes, status: os.stat_result | None, entry: ViewEntry | None) -> bool:
        """Compare the stamp of the original; for folders only that both are folders."""
        original = self.originals.get(path)
        if status is None or original is None:
            return status is None and original is None
        if stat.S_ISDIR(status.st_mode) and stat.S_ISDIR(original.mode):
            return True
        return original == _stamp(status)


def check_depth(path: bytes) -> None:
    """Raise ``TooManyChangesError`` if a path is too deep."""
    if path.count(b"/") >= MAX_DEPTH:
        raise TooManyChangesError(f"there are more than {MAX_DEPTH} levels of folders")


def copy_tree(real: DirHandle, target: DirHandle) -> Copy:
    """Copy the contents of ``real`` into the empty folder ``target``. Raises ``OSError`` or ``TooManyChangesError``.

    Folders, files and symbolic links are copied with their permissions, owners (as root) and times. Fifos, sockets,
    devices, mounts below the folder, and files that the caller may not read are left out.
    """
    view = Copy(target)
    folders: list[tuple[bytes, os.stat_result]] = [(b"", real.status)]
    total = 0
    for folder, _ in folders:
        prefix = folder + b"/" if folder else b""
        with real.folder(folder) as source, target.folder(folder) as copy_folder:
            for name, status in _entries(real, folder):
                path = prefix + name
                check_depth(path)
                if len(view.originals) >= MAX_ENTRIES:
                    raise TooManyChangesError(f"it has more than {MAX_ENTRIES} files")
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
                if total > MAX_BYTES:
                    raise TooManyChangesError(f"it has more than {MAX_BYTES // MIB} MiB")
                if status.st_dev == real.status.st_dev and _copy(source, copy_folder, name, status):
                    view.originals[path] = _stamp(status)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append((path, status))
    # Innermost first, because creating the contents of a folder changes its times.
    for path, status in reversed(folders):
        with target.folder(path) as copy_folder:
            _copy_metadata(copy_folder, status)
    # The kernel's timestamps are complete only now.
    for folder, _ in folders:
        prefix = folder + b"/" if folder else b""
        copies = target.entries(folder, MAX_ENTRIES)
        view.copies.update({prefix + name: _stamp(status) for name, status in copies})
    return view


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_size, status.st_ctime_ns, status.st_mode)


def _marker(descriptor: int, name: str) -> bytes | None:
    try:
        return os.getxattr(descriptor, f"user.overlay.{name}")
    except OSError:
        return None


def _check(count: int, path: bytes) -> None:
    if count > MAX_ENTRIES:
        raise TooManyChangesError(f"the call changes more than {MAX_ENTRIES} files")
    check_depth(path)


def _entries(real: DirHandle, folder: bytes) -> list[tuple[bytes, os.stat_result]]:
    try:
        return real.entries(folder, MAX_ENTRIES + 1)
    except PermissionError:
        if not folder:
            raise
        return []


def _copy(source: int, target: int, name: bytes, status: os.stat_result) -> bool:
    """Copy one entry of the folder ``source`` into ``target``; return False for a kind that is skipped."""
    if stat.S_ISDIR(status.st_mode):
        if _is_mounted(source, name):
            return False
        os.mkdir(name, 0o700, dir_fd=target)
    elif stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        if os.geteuid() == 0:
            os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
    elif stat.S_ISREG(status.st_mode):
        return _copy_file(source, target, name, status)
    else:
        return False
    return True


def _is_mounted(source: int, name: bytes) -> bool:
    """Return whether a folder is a mount of the same file system; others are detected by their device number."""
    try:
        os.close(openat2_beneath(source, name, FOLDER))
    except PermissionError:
        return False
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return True
    return False


def _copy_file(source: int, target: int, name: bytes, status: os.stat_result) -> bool:
    try:
        original = openat2_beneath(source, name, READ)
    except PermissionError:
        return False
    except OSError as error:
        if error.errno == errno.EXDEV:
            return False
        raise
    try:
        if not stat.S_ISREG(os.fstat(original).st_mode):
            return False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        copy = os.open(name, flags, 0o600, dir_fd=target)
        try:
            left = status.st_size
            # Never more than was counted: the file may be growing.
            while left > 0 and (piece := os.read(original, min(left, _PIECE))):
                left -= len(piece)
                write_all(copy, piece)
            _copy_metadata(copy, status)
        finally:
            os.close(copy)
    finally:
        os.close(original)
    return True


def _copy_metadata(descriptor: int, status: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o1777)
    os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))

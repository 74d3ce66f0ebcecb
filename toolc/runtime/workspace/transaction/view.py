"""Scan the changes of a tool in its view, which is the upper directory of an overlay, or a full copy.

Both kinds list the paths that may have changed (``scan``), and return their state when the call began (``base``). The
tool has created the contents, so they are read only by descriptor.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from toolc.dataclass import dataclass, field
from toolc.model.text import render_size
from toolc.runtime.workspace.dir_handle import READ, DirHandle, join_path, openat2_beneath
from toolc.runtime.workspace.transaction.baseline import Baseline
from toolc.runtime.workspace.transaction.file_state import FileState, copy_content, read_state, state_at, state_of

MAX_ENTRIES: Final = 20_000
"""The maximum number of paths that a call may change, and that a copy may have.

Copying or comparing more takes seconds, and the call waits for it.
"""

MAX_DEPTH: Final = 100
"""The maximum number of folder levels. Every part of a path is opened separately. Real folders have far fewer."""

CHANGED: Final = FileState(0, 0, 0, 0, "")
"""The base of a path that may have been changed since the call began. It is equal to no real state."""

_WHITEOUT: Final = os.makedev(0, 0)

_ORIGIN_HANDLE: Final = 21
"""The offset of the file handle in the attribute ``overlay.origin`` (``struct ovl_fb`` in fs/overlayfs/overlayfs.h)."""


class TooManyChangesError(Exception):
    """A call has changed more than toolc can process. ``str(error)`` says which limit was exceeded."""


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """An entry of the upper directory of an overlay. ``status`` is None if the path was deleted.

    ``hides_real`` is set for a folder that hides the real folder at its path.
    """

    path: bytes
    status: os.stat_result | None
    hides_real: bool = False


class View(Protocol):
    """The view of a call. ``root`` holds the written files in an overlay, and all files in a copy."""

    @property
    def root(self) -> DirHandle:
        """The folder from which the new files are read."""

    def scan(self) -> Iterator[tuple[bytes, FileState | None]]:
        """Yield each path that may differ from the base, with the state that the tool left.

        Raises ``OSError`` or ``TooManyChangesError``.
        """

    def base(self, path: bytes, now: FileState | None) -> FileState | None:
        """Return the real state of ``path`` when the call began, or None if it did not exist.

        ``now`` is its present state. If the earlier state is unknown and others may have changed it, returns
        ``CHANGED``.
        """

    def is_original(self, folder: bytes, now: FileState) -> bool:
        """Return whether the real folder, whose state is ``now``, is still the one in which the tool made its changes.

        Returns True if that is unknown.
        """


@dataclass(frozen=True, slots=True)
class Overlay:
    """The upper directory of an overlay. The kernel's filesystems/overlayfs.rst documents its markers."""

    root: DirHandle
    real: DirHandle
    baseline: Baseline

    def entries(self) -> Iterator[ViewEntry]:
        """Yield everything in the upper directory, folders first. Raises ``OSError`` or ``TooManyChangesError``."""
        pending: list[tuple[bytes, bool]] = [(b"", False)]
        count = 0
        while pending:
            folder, is_opaque = pending.pop()
            for name, status in self.root.entries(folder, MAX_ENTRIES + 1):
                count += 1
                path = join_path(folder, name)
                _check(count, path)
                if stat.S_ISCHR(status.st_mode) and status.st_rdev == _WHITEOUT:
                    yield ViewEntry(path, None)
                elif stat.S_ISDIR(status.st_mode):
                    hides = is_opaque or self._marker(path, "opaque") == b"y"
                    yield ViewEntry(path, status, hides_real=hides)
                    pending.append((path, hides))
                else:
                    yield ViewEntry(path, status)

    def scan(self) -> Iterator[tuple[bytes, FileState | None]]:
        """Yield everything in the upper directory, and everything in real folders that it hides."""
        for entry in self.entries():
            mine = None if entry.status is None else read_state(self.root, entry.path)
            yield entry.path, mine
            if mine is None or not mine.is_folder:
                yield from self._below(entry.path)
            elif entry.hides_real:
                for name in self._names(entry.path):
                    path = join_path(entry.path, name)
                    if self.root.status_of(path) is None:
                        yield path, None
                        yield from self._below(path)

    def base(self, path: bytes, now: FileState | None) -> FileState | None:
        """Return the recorded state. If there is none, decide by the time of the last change."""
        recorded = self.baseline.states.get(path)
        is_covered = self.baseline.covers(path)
        if is_covered and (recorded is None or recorded.is_known):
            return recorded
        if now is None:
            return CHANGED if is_covered or self._was_removed(path) else None
        return CHANGED if self.baseline.clock.is_before(now.changed_ns) else now

    def is_original(self, folder: bytes, now: FileState) -> bool:
        """Compare the handle of the folder that the kernel has stored in the upper directory. See ``View``."""
        origin, handle = (self._marker(folder, "origin") or b"")[_ORIGIN_HANDLE:], now.content.partition(":")[2]
        return not origin or not handle or origin.hex() == handle

    def _below(self, top: bytes) -> Iterator[tuple[bytes, None]]:
        """Yield the paths below a folder of the base, or nothing if there was no folder."""
        pending = [top]
        while pending:
            folder = pending.pop()
            for name in self._names(folder):
                path = join_path(folder, name)
                check_depth(path)
                yield path, None
                pending.append(path)

    def _names(self, path: bytes) -> tuple[bytes, ...]:
        names = self.baseline.names(path)
        if names is not None:
            return names
        status = self.real.status_of(path)
        if status is None or not stat.S_ISDIR(status.st_mode):
            return ()
        return tuple(name for name, _ in self.real.entries(path, MAX_ENTRIES + 1))

    def _was_removed(self, path: bytes) -> bool:
        """Return whether others may have removed the original of the entry at ``path``, which was not recorded."""
        status = self.root.status_of(path)
        is_marked = status is not None and stat.S_IFMT(status.st_mode) in {stat.S_IFREG, stat.S_IFDIR}
        if status is None or not is_marked or self._marker(path, "origin") is None:
            return False
        if stat.S_ISDIR(status.st_mode):
            return True
        # Otherwise the tool moved it here from another path.
        folder = self.real.status_of(path.rpartition(b"/")[0])
        return folder is not None and self.baseline.clock.is_before(folder.st_ctime_ns)

    def _marker(self, path: bytes, name: str) -> bytes | None:
        with suppress(OSError):
            opened = openat2_beneath(self.root.descriptor, path, READ)
            try:
                return os.getxattr(opened, f"user.overlay.{name}")
            finally:
                os.close(opened)
        return None


class _Stamp(NamedTuple):
    """Attributes that distinguish two versions of a file in the copy. Only the kernel can set its ctime."""

    inode: int
    size: int
    changed_ns: int
    mode: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A full copy: the copied paths, the paths that are not safe to copy (``left_out``), and stamps of the copies."""

    root: DirHandle
    originals: dict[bytes, FileState] = field(default_factory=dict)
    left_out: set[bytes] = field(default_factory=set)
    copies: dict[bytes, _Stamp] = field(default_factory=dict)

    def scan(self) -> Iterator[tuple[bytes, FileState | None]]:
        """Yield the paths that were changed in, added to, or removed from the copy."""
        seen: set[bytes] = set()
        pending = [b""]
        while pending:
            folder = pending.pop()
            for name, status in self.root.entries(folder, MAX_ENTRIES + 1):
                path = join_path(folder, name)
                seen.add(path)
                _check(len(seen), path)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(path)
                if stat.S_ISDIR(status.st_mode) or self.copies.get(path) != _stamp(status):
                    yield path, read_state(self.root, path)
        yield from ((path, None) for path in self.originals if path not in seen)

    def base(self, path: bytes, now: FileState | None) -> FileState | None:
        """Return the copied state. Paths that were left out cannot be compared, because the tool did not see them."""
        return CHANGED if path in self.left_out else self.originals.get(path)

    def is_original(self, folder: bytes, now: FileState) -> bool:
        """Return True, because the copied folders are known and the tool did not see the others."""
        return True


def check_depth(path: bytes) -> None:
    """Raise ``TooManyChangesError`` if a path is too deep."""
    if path.count(b"/") >= MAX_DEPTH:
        raise TooManyChangesError(f"there are more than {MAX_DEPTH} levels of folders")


def copy_tree(real: DirHandle, target: DirHandle, max_bytes: int) -> Copy:
    """Copy the contents of ``real`` into the empty folder ``target``. Raises ``OSError`` or ``TooManyChangesError``.

    Folders, files and symbolic links are copied with their permissions, owners (as root) and times. Fifos, sockets,
    devices, mounts below the folder, and files that the caller may not read are left out.
    """
    view = Copy(target)
    folders: list[tuple[bytes, os.stat_result]] = [(b"", real.status)]
    total = 0
    for folder, _ in folders:
        with real.folder(folder) as source, target.folder(folder) as copy_folder:
            for name, status in _entries(real, folder):
                path = join_path(folder, name)
                check_depth(path)
                if len(view.originals) >= MAX_ENTRIES:
                    raise TooManyChangesError(f"it has more than {MAX_ENTRIES} files")
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
                if total > max_bytes:
                    raise TooManyChangesError(f"it has more than {render_size(max_bytes)}")
                original = _copy(source, copy_folder, name, status)
                if original is None:
                    view.left_out.add(path)
                    continue
                view.originals[path] = original
                if original.is_folder:
                    folders.append((path, status))
    # Innermost first, because creating the contents of a folder changes its times.
    for path, status in reversed(folders):
        with target.folder(path) as copy_folder:
            _copy_metadata(copy_folder, status)
    # The kernel's timestamps are complete only now.
    for folder, _ in folders:
        copies = target.entries(folder, MAX_ENTRIES)
        view.copies.update({join_path(folder, name): _stamp(status) for name, status in copies})
    return view


def _stamp(status: os.stat_result) -> _Stamp:
    return _Stamp(status.st_ino, status.st_size, status.st_ctime_ns, status.st_mode)


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


def _copy(source: int, target: int, name: bytes, status: os.stat_result) -> FileState | None:
    """Copy one entry of the folder ``source``. Return its state, or None for a kind that is left out."""
    try:
        if stat.S_ISREG(status.st_mode):
            return _copy_file(source, target, name, status)
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return None
        original = state_at(source, name)
    except PermissionError:
        return None
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return None  # another file system, or this one again, is mounted there
    if original.is_folder:
        os.mkdir(name, 0o700, dir_fd=target)
    else:
        os.symlink(os.fsencode(original.content), name, dir_fd=target)
        if os.geteuid() == 0:
            os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
    return original


def _copy_file(source: int, target: int, name: bytes, status: os.stat_result) -> FileState | None:
    original = openat2_beneath(source, name, READ)
    try:
        if not stat.S_ISREG(os.fstat(original).st_mode):
            return None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        copy = os.open(name, flags, 0o600, dir_fd=target)
        try:
            # Copy no more than was counted, because the file may be growing.
            content = copy_content(original, copy, status.st_size)
            _copy_metadata(copy, status)
        finally:
            os.close(copy)
        return state_of(status, content)
    finally:
        os.close(original)


def _copy_metadata(descriptor: int, status: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o1777)
    os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))

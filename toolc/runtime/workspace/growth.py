"""How much disk space a call adds to its workspace, measured while the call runs, to stop it, and at its end.

The kernel reports only how full a file system is, and other programs change that too. So the growth of the file system
is corrected by the files in the workspace. The call added at least the files that were created since it began. It added
at most all files that were changed since then, and deleted files that it still has open or mapped. Every file counts as
at least ``FILE_BYTES``, because even empty files use up a file system.
"""

import ctypes
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from toolc.dataclass import dataclass
from toolc.guest.launch_args import boot_id
from toolc.model.errors import raise_shortage
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount
from toolc.runtime.workspace.dir_handle import DirHandle, join_path

INTERVAL_SECONDS: Final = 0.1
"""The interval between checks of the growth. A call can exceed its limit by as much as the disk writes in this time."""

FILE_BYTES: Final = 4096
"""The minimum size that a file counts for, in bytes. Even an empty file uses an inode and an entry in a folder."""

SCAN_SECONDS: Final = 0.5
"""How long the inspection of files may take before a call is stopped. After that, only the file system counts.

A call must not write without a limit for longer. In this time, a few hundred thousand files can be inspected.
"""

REPORT_SECONDS: Final = 0.01
"""The same limit at the end of a call, for its details. The inspection must not noticeably delay the result."""

REST: Final = 20
"""The wait until files are inspected again, to find growth that other programs hide, as a multiple of the inspection.

With this factor, the inspections take at most a twentieth of the time.
"""

_TICK_NS: Final = 10_000_000
"""How late the clock of file timestamps may be, in nanoseconds.

The slowest clock is that of a kernel with 100 ticks per second.
"""

_STATX: Final = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
_BTIME: Final = 0x800
_NO_FOLLOW: Final = 0x100
_BTIME_OFFSET: Final = 0x50
"""``STATX_BTIME``, ``AT_SYMLINK_NOFOLLOW``, and the position of ``stx_btime`` in ``struct statx`` (statx(2))."""


class Added(NamedTuple):
    """The total sizes of the files created, and of all files changed, since a call began, in bytes."""

    created: int
    changed: int


@dataclass(slots=True)
class WorkspaceGrowth:
    """The growth of one workspace since a call began. Close it, or use it as a context manager."""

    limit_bytes: int
    folder: DirHandle
    since_ns: int
    used: "_Used"
    pid_namespace: int = 0
    next_check: float = 0.0
    next_scan: float = 0.0
    exceeded: bool = False

    @classmethod
    def begin(cls, mount: Mount | None, limit_bytes: int) -> Self | None:
        """Return the growth from now on, or None if the call cannot write to a workspace on this machine.

        Raises ``InfrastructureError`` if there are too many open files.
        """
        if mount is None or mount.mode == "ro":
            return None
        try:
            # In an overlay, all that the call writes is in the upper layer.
            folder = DirHandle.open(f"{mount.scratch}/upper" if mount.mode == "overlay" else mount.source)
        except OSError as error:
            raise_shortage(error)
            return None
        now = time.monotonic()
        return cls(
            limit_bytes, folder, time.time_ns() - _TICK_NS, _used(folder.descriptor),
            next_check=now + INTERVAL_SECONDS, next_scan=now + 1,
        )  # fmt: skip

    def watch_processes(self, ready: JsonObject) -> None:
        """Read from the guest's READY which processes belong to the sandbox, if they run on this kernel."""
        seen = ready.get("workspace")
        if isinstance(seen, dict) and seen.get("kernel") == boot_id() and isinstance(seen.get("pid_namespace"), int):
            self.pid_namespace = int(str(seen["pid_namespace"]))

    def close(self) -> None:
        """Close the folder."""
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_exceeded(self) -> bool:
        """Return whether the limit was exceeded at the last check. If a check is due, check again."""
        now = time.monotonic()
        if not self.exceeded and now >= self.next_check:
            grown = self._file_system()
            if grown >= self.limit_bytes or now >= self.next_scan:
                grown = self._corrected(grown, SCAN_SECONDS)
                self.next_scan = time.monotonic() + max(1.0, REST * (time.monotonic() - now))
            self.exceeded = grown >= self.limit_bytes
            self.next_check = time.monotonic() + INTERVAL_SECONDS
        return self.exceeded

    def bytes(self) -> int:
        """Return how much the call has added to the workspace, in bytes."""
        return self._corrected(self._file_system(), REPORT_SECONDS)

    def _file_system(self) -> int:
        """Return how much its file system has grown, in bytes."""
        now = _used(self.folder.descriptor)
        return max(now.bytes - self.used.bytes, (now.files - self.used.files) * FILE_BYTES, 0)

    def _corrected(self, grown: int, seconds: float) -> int:
        """Limit ``grown`` to the bounds that follow from the workspace's files, if they can be inspected in time."""
        files = added(self.folder, self.since_ns, time.monotonic() + seconds)
        if files is None:
            return grown
        hidden = open_deleted_bytes(self.pid_namespace) if self.pid_namespace and grown > files.changed else 0
        return min(max(grown, files.created), files.changed + hidden)


def is_bounded(folder: str, limit_bytes: int) -> bool:
    """Return whether the file system of ``folder``, or its project quota, has at most this size.

    If so, the kernel enforces the limit. ext4 and XFS report a folder's project quota as the size of its file system.
    If another file system is mounted in the folder, the result is False, because a tool could write to that one
    without a limit.
    """
    try:
        found = os.statvfs(folder)
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return False
    inside = os.fsencode(os.path.realpath(folder)).rstrip(b"/") + b"/"
    points = (line.split(b" ")[4].decode("unicode_escape").encode("latin-1") for line in mounts)
    return 0 < found.f_blocks * found.f_frsize <= limit_bytes and not any(point.startswith(inside) for point in points)


class _Used(NamedTuple):
    bytes: int
    files: int


def _used(folder: int) -> _Used:
    found = os.fstatvfs(folder)
    return _Used((found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree)


def added(folder: DirHandle, since_ns: int, until: float) -> Added | None:
    """Return the sizes created and changed in ``folder`` since ``since_ns``, or None if ``until`` passes first.

    Sparse files count by their allocated blocks, and files with several names once. Other mounts are not entered.
    """
    created = changed = 0
    seen: set[int] = set()
    try:
        for descriptor, name, status in _files(folder, until):
            if status.st_ctime_ns >= since_ns and status.st_ino not in seen:
                seen.add(status.st_ino)
                size = max(status.st_blocks * 512, FILE_BYTES)
                changed += size
                created += size if _created_ns(descriptor, name) >= since_ns else 0
    except (OSError, TimeoutError):
        return None
    return Added(created, changed)


def _files(folder: DirHandle, until: float) -> Iterator[tuple[int, bytes, os.stat_result]]:
    """Yield the parent's descriptor, the name and the status of everything below ``folder``. Raises ``OSError``."""
    pending = [b""]
    while pending:
        path = pending.pop()
        try:
            with folder.folder(path) as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    if time.monotonic() > until:
                        raise TimeoutError
                    name = os.fsencode(entry.name)
                    with suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        if status.st_dev != folder.status.st_dev:
                            continue
                        yield descriptor, name, status
                        if stat.S_ISDIR(status.st_mode):
                            pending.append(join_path(path, name))
        except FileNotFoundError:
            continue


def _created_ns(folder: int, name: bytes) -> int:
    """Return when a file was created, or 0 if its file system or the C library does not report it."""
    if _STATX is None:
        return 0
    buffer = ctypes.create_string_buffer(256)
    if _STATX(folder, name, _NO_FOLLOW, _BTIME, buffer) != 0:
        return 0
    if not int.from_bytes(buffer.raw[:4], sys.byteorder) & _BTIME:
        return 0
    seconds = int.from_bytes(buffer.raw[_BTIME_OFFSET : _BTIME_OFFSET + 8], sys.byteorder)
    nanoseconds = int.from_bytes(buffer.raw[_BTIME_OFFSET + 8 : _BTIME_OFFSET + 12], sys.byteorder)
    return seconds * 1_000_000_000 + nanoseconds


def open_deleted_bytes(pid_namespace: int) -> int:
    """Return the size of the deleted files of its workspace that a sandbox has open or mapped into memory.

    ``pid_namespace`` is the inode of the sandbox's process ID namespace. A file that is only mapped counts by the
    length of its mappings. Processes that cannot be inspected, because they belong to another user or run in a virtual
    machine, are omitted.
    """
    opened: dict[int, int] = {}
    mapped: dict[tuple[int, str], int] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                if (process / "ns/pid").stat().st_ino == pid_namespace:
                    # Each thread can have its own descriptors, and the first one may have exited.
                    for thread in (process / "task").iterdir():
                        opened |= _open_deleted(thread)
                        mapped |= _mapped_deleted(thread)
    return sum(opened.values()) + sum(size for (inode, _), size in mapped.items() if inode not in opened)


def _open_deleted(thread: Path) -> dict[int, int]:
    """Return the sizes of open deleted files by inode."""
    found = {}
    with suppress(OSError):
        device = (thread / "root/workspace").stat().st_dev
        for each in (thread / "fd").iterdir():
            with suppress(OSError):
                status = each.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and status.st_dev == device:
                    found[status.st_ino] = max(status.st_blocks * 512, FILE_BYTES)
    return found


def _mapped_deleted(thread: Path) -> dict[tuple[int, str], int]:
    """Return the lengths of the mappings of deleted files by inode and address."""
    found = {}
    with suppress(OSError):
        device = (thread / "root/workspace").stat().st_dev
        for line in (thread / "maps").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.endswith(" (deleted)"):
                addresses, _, _, numbers, inode, _ = line.split(maxsplit=5)
                major, minor = (int(number, 16) for number in numbers.split(":"))
                start, end = (int(address, 16) for address in addresses.split("-"))
                if os.makedev(major, minor) == device:
                    found[int(inode), addresses] = end - start
    return found

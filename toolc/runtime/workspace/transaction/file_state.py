"""The state of a path (kind, permissions, owner, content), and copies of files that keep their holes.

The janitor uses this module too, so it imports only the standard library and ``dir_handle``.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.runtime.workspace.dir_handle import READ, DirHandle, folder_identity, openat2_beneath, write_all

MIB: Final = 1 << 20

MAX_BYTES: Final = 1024 * MIB
"""The maximum size of a new file, of all new files of a call, and of a workspace that is copied, in bytes.

Copying that much takes seconds on an ordinary disk, and a call waits for it.
"""

_PIECE: Final = MIB
_ZEROS: Final = bytes(_PIECE)
_PATH_ONLY: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a path, by which a change is recognized. It excludes times, access lists and the number of links.

    ``content`` is the digest of a file, the target of a link, or the identity of a folder, whose entries have their own
    states. For a file that was not read, it consists of properties that a rename does not change. ``changed_ns`` is
    the ctime.
    """

    kind: int
    mode: int
    uid: int
    gid: int
    content: str
    changed_ns: int = field(default=0, compare=False)

    @property
    def is_folder(self) -> bool:
        """Whether the path is a folder."""
        return self.kind == stat.S_IFDIR

    @property
    def is_known(self) -> bool:
        """Whether equal states have equal content. False for a file that was not read."""
        return self.kind != stat.S_IFREG or self.content.startswith("sha256:")


def read_state(root: DirHandle, path: bytes, max_bytes: int = MAX_BYTES) -> FileState | None:
    """Return the state of ``path``, or None if it does not exist. A file larger than ``max_bytes`` is not read.

    Raises ``OSError``, with EXDEV if another file system is mounted there.
    """
    try:
        with root.parent(path) as (folder, name):
            return state_at(folder, name, max_bytes)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return None
        raise


def state_at(folder: int, name: bytes, max_bytes: int = MAX_BYTES) -> FileState:
    """Like ``read_state``, for ``name`` in an open folder. Raises ``OSError``, with ENOENT if it does not exist."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return state_of(status, os.readlink(name, dir_fd=folder).decode("utf-8", "surrogateescape"))
    if stat.S_ISDIR(status.st_mode):
        opened = openat2_beneath(folder, name, _PATH_ONLY)
        try:
            return state_of(os.fstat(opened), folder_identity(opened))
        finally:
            os.close(opened)
    if not stat.S_ISREG(status.st_mode):
        return state_of(status, str(status.st_rdev))
    try:
        opened = openat2_beneath(folder, name, READ)
    except PermissionError:
        return state_of(status, _unread(status))
    try:
        status = os.fstat(opened)
        return state_of(status, digest_of(opened) if status.st_size <= max_bytes else _unread(status))
    finally:
        os.close(opened)


def digest_of(descriptor: int) -> str:
    """Return the digest of an open file, up to its present size at most. Raises ``OSError``."""
    digest = hashlib.sha256()
    for piece in _pieces(descriptor, os.fstat(descriptor).st_size):
        _update(digest, piece)
    return f"sha256:{digest.hexdigest()}"


def copy_content(source: int, target: int, size: int) -> str:
    """Copy at most ``size`` bytes of an open file, with its holes, into an open empty one. Return their digest.

    Raises ``OSError``.
    """
    digest, offset = hashlib.sha256(), 0
    for piece in _pieces(source, size):
        if isinstance(piece, bytes):
            os.lseek(target, offset, os.SEEK_SET)
            write_all(target, piece)
            offset += len(piece)
        else:
            offset += piece
        _update(digest, piece)
    os.ftruncate(target, offset)
    return f"sha256:{digest.hexdigest()}"


def _pieces(descriptor: int, size: int) -> Iterator[bytes | int]:
    """Yield the first ``size`` bytes of an open file, as bytes, or as a number of bytes for each hole."""
    size, offset = min(size, os.fstat(descriptor).st_size), 0
    while offset < size:
        start, end = _data(descriptor, offset, size)
        if start > offset:
            yield start - offset
        offset = start
        while offset < end:
            piece = os.pread(descriptor, min(end - offset, _PIECE), offset)
            if not piece:
                return  # truncated in the meantime
            yield piece
            offset += len(piece)


def _data(descriptor: int, offset: int, size: int) -> tuple[int, int]:
    """Return where the next data of a file begins and ends, between ``offset`` and ``size``."""
    try:
        start = os.lseek(descriptor, offset, os.SEEK_DATA)
        return min(start, size), min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
    except OSError as error:
        # With ENXIO, no data follows. With any other error, the file system does not support holes.
        return (size, size) if error.errno == errno.ENXIO else (offset, size)


def _update(digest: "hashlib._Hash", piece: bytes | int) -> None:
    if isinstance(piece, bytes):
        digest.update(piece)
        return
    while piece > 0:
        digest.update(_ZEROS[:piece])
        piece -= _PIECE


def state_of(status: os.stat_result, content: str) -> FileState:
    """Return the state of a file with this status and content."""
    mode = status.st_mode
    return FileState(stat.S_IFMT(mode), stat.S_IMODE(mode), status.st_uid, status.st_gid, content, status.st_ctime_ns)


def _unread(status: os.stat_result) -> str:
    return f"unread:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"

"""A folder's files by descriptor: no path is ever resolved anew, and no symbolic link is followed.

Whoever renames a parent, or puts a link in its place, cannot make an operation happen anywhere else: what a
path leads over is opened as a folder and nothing else, in the same mount.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

from toolc.runtime.open_beneath import FOLDER, open_beneath

__all__ = ["FOLDER", "READ", "RENAME_EXCHANGE", "RENAME_NOREPLACE", "Root", "rename", "write_all"]

# Not blocking: what was a file a moment ago may be a fifo that nobody writes to.
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2


class Root:
    """An open folder. Paths are relative to it, bytes, with no ``.`` or ``..`` in them; ``b""`` is itself."""

    def __init__(self, descriptor: int) -> None:
        """Take over ``descriptor``, of a folder."""
        self.descriptor = descriptor
        self.status = os.fstat(descriptor)

    @classmethod
    def open(cls, path: str | bytes) -> Self:
        """Open a folder by its path, which is resolved this once. Raises ``OSError``."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def folder(self, path: bytes) -> Iterator[int]:
        """A descriptor of the folder at ``path``. Raises ``OSError``, EXDEV where something else is mounted."""
        descriptor = open_beneath(self.descriptor, path, FOLDER) if path else os.dup(self.descriptor)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def status_of(self, path: bytes) -> os.stat_result | None:
        """What stands at ``path`` itself; None if nothing does, or its parent is no folder. Raises ``OSError``."""
        parent, _, name = path.rpartition(b"/")
        try:
            with self.folder(parent) as folder:
                return os.stat(name, dir_fd=folder, follow_symlinks=False) if path else os.fstat(folder)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                return None
            raise

    def entries(self, path: bytes, most: int) -> list[tuple[bytes, os.stat_result]]:
        """What is in the folder at ``path``, by name; what is removed meanwhile is not. Raises ``OSError``.

        Of more than ``most`` entries only so many: a folder of millions must not fill the memory.
        """
        found = []
        with self.folder(path) as folder, os.scandir(folder) as entries:
            for entry in itertools.islice(entries, most):
                with suppress(FileNotFoundError):
                    found.append((os.fsencode(entry.name), entry.stat(follow_symlinks=False)))
        return sorted(found, key=lambda each: each[0])

    def read_link(self, path: bytes) -> bytes:
        """Where the symbolic link at ``path`` leads. Raises ``OSError``."""
        parent, _, name = path.rpartition(b"/")
        with self.folder(parent) as folder:
            return os.readlink(name, dir_fd=folder)

    @contextmanager
    def file(self, path: bytes) -> Iterator[int]:
        """A descriptor of the regular file at ``path``, for reading. Raises ``OSError``."""
        descriptor = open_beneath(self.descriptor, path, READ)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte. Raises ``OSError``."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def rename(from_folder: int, old: bytes, to_folder: int, new: bytes, flags: int) -> None:
    """Rename as renameat2(2) does: ``RENAME_NOREPLACE`` or ``RENAME_EXCHANGE``. Raises ``OSError``.

    A file system that knows neither gets the same in two steps, between which another process could act.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        if call(from_folder, old, to_folder, new, flags) == 0:
            return
        number = ctypes.get_errno()
        if number not in {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}:
            raise OSError(number, os.strerror(number))
    _rename_in_steps(from_folder, old, to_folder, new, flags)


def _rename_in_steps(from_folder: int, old: bytes, to_folder: int, new: bytes, flags: int) -> None:
    if flags == RENAME_EXCHANGE:
        aside = old + b".aside"
        os.rename(new, aside, src_dir_fd=to_folder, dst_dir_fd=from_folder)
        os.rename(old, new, src_dir_fd=from_folder, dst_dir_fd=to_folder)
        os.rename(aside, old, src_dir_fd=from_folder, dst_dir_fd=from_folder)
        return
    try:
        os.stat(new, dir_fd=to_folder, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(old, new, src_dir_fd=from_folder, dst_dir_fd=to_folder)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

"""Access files below an open folder by descriptor, without following symbolic links or crossing mounts.

A process cannot redirect an operation by renaming a parent folder or replacing it with a link, because every part of a
path except the last is opened as a folder, in the same mount.
"""

import ctypes
import errno
import itertools
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_OPENAT2: Final = 437
"""The system call number, which is the same on every architecture."""

_RESOLVE: Final = 0x01 | 0x02 | 0x04 | 0x08
"""RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH."""

_UNAVAILABLE: Final = frozenset({errno.ENOSYS, errno.EPERM})
"""Errors of older kernels, and of system call filters in containers, after which the path is opened step by step."""

_EMPTY_PATH: Final = 0x1000
_MAX_HANDLE: Final = 128
"""AT_EMPTY_PATH and MAX_HANDLE_SZ of name_to_handle_at(2). From ``linux/fcntl.h``."""

_LIBC: Final = ctypes.CDLL(None, use_errno=True)

# Non-blocking, because a regular file may have been replaced by a fifo without a writer.
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

RENAME_NOREPLACE: Final = 1
RENAME_EXCHANGE: Final = 2
"""From ``linux/fs.h``."""


def openat2_beneath(folder: int, path: bytes, flags: int) -> int:
    """Return a descriptor of the file at ``path`` below the open ``folder``.

    Raises ``OSError``: EINVAL for a path that contains ``.``, ``..`` or an empty name, EXDEV if another file system
    is mounted along the path or at its end, and ELOOP or ENOTDIR for a link.
    """
    names = path.split(b"/")
    if not {b"", b".", b".."}.isdisjoint(names):
        raise OSError(errno.EINVAL, f"not a path inside a folder: {path!r}")
    if sys.platform == "linux":
        try:
            return _openat2(folder, path, flags)
        except OSError as error:
            if error.errno not in _UNAVAILABLE:
                raise
    return _open_in_steps(folder, names, flags)


class DirHandle:
    """An open folder. Paths are relative bytes without ``.`` or ``..``. ``b""`` is the folder itself."""

    def __init__(self, descriptor: int) -> None:
        """Take ownership of ``descriptor``, which must refer to a folder."""
        self.descriptor = descriptor
        self.status = os.fstat(descriptor)

    @classmethod
    def open(cls, path: str | bytes) -> Self:
        """Open a folder by its path, which is not resolved again later. Raises ``OSError``."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def folder(self, path: bytes) -> Iterator[int]:
        """Yield a descriptor of the folder at ``path``. Raises ``OSError``, with EXDEV below another mount."""
        descriptor = openat2_beneath(self.descriptor, path, FOLDER) if path else os.dup(self.descriptor)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def parent(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield a descriptor of the folder that contains ``path``, and the file name. Raises ``OSError``."""
        parent, _, name = path.rpartition(b"/")
        with self.folder(parent) as folder:
            yield folder, name

    def status_of(self, path: bytes) -> os.stat_result | None:
        """Return the status of ``path`` without following a link, or None if it does not exist. Raises ``OSError``."""
        try:
            with self.parent(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False) if path else os.fstat(folder)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                return None
            raise

    def entries(self, path: bytes, max_entries: int) -> list[tuple[bytes, os.stat_result]]:
        """Return at most ``max_entries`` entries of the folder at ``path``, sorted by name. Raises ``OSError``.

        Without the limit, a folder with millions of entries could fill the memory.
        """
        result = []
        with self.folder(path) as folder, os.scandir(folder) as entries:
            for entry in itertools.islice(entries, max_entries):
                with suppress(FileNotFoundError):  # removed in the meantime
                    result.append((os.fsencode(entry.name), entry.stat(follow_symlinks=False)))
        return sorted(result, key=lambda each: each[0])

    def read_link(self, path: bytes) -> bytes:
        """Return the target of the symbolic link at ``path``. Raises ``OSError``."""
        with self.parent(path) as (folder, name):
            return os.readlink(name, dir_fd=folder)

    @contextmanager
    def file(self, path: bytes) -> Iterator[int]:
        """Yield a descriptor of the regular file at ``path``, for reading. Raises ``OSError``."""
        descriptor = openat2_beneath(self.descriptor, path, READ)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)


def folder_identity(descriptor: int) -> str:
    """Return the identity of an open folder: its inode and, if the kernel reports it, the generation of the inode.

    A new folder often gets the inode of a removed folder, but with another generation.
    """
    identity = str(os.fstat(descriptor).st_ino)
    call = getattr(_LIBC, "name_to_handle_at", None)
    handle, mount = _FileHandle(_MAX_HANDLE), ctypes.c_int()
    if call is None or call(descriptor, b"", ctypes.byref(handle), ctypes.byref(mount), _EMPTY_PATH) != 0:
        return identity
    return f"{identity}:{bytes(handle.data[: handle.size]).hex()}"


def is_same_mount(folder: int, other: int) -> bool:
    """Return whether the mounts allow renaming a file from one open folder to the other."""
    return os.fstat(folder).st_dev == os.fstat(other).st_dev and _mount(folder) == _mount(other)


def has_entries(folder: int, name: bytes) -> bool:
    """Return whether the folder ``name`` of an open folder contains anything. Raises ``OSError``."""
    opened = os.open(name, FOLDER, dir_fd=folder)
    try:
        with os.scandir(opened) as entries:
            return any(entries)
    finally:
        os.close(opened)


def join_path(folder: bytes, name: bytes) -> bytes:
    """Return the path of ``name`` in ``folder``. If ``folder`` is ``b""``, it is the open folder itself."""
    return folder + b"/" + name if folder else name


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``. Raises ``OSError``."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def rename(from_folder: int, old: bytes, to_folder: int, new: bytes, flags: int) -> None:
    """Rename as renameat2(2) does with ``RENAME_NOREPLACE`` or ``RENAME_EXCHANGE``. Raises ``OSError``.

    On a file system that supports neither flag, the rename takes two steps, and another process could act in between.
    """
    call = getattr(_LIBC, "renameat2", None)
    if call is not None:
        if call(from_folder, old, to_folder, new, flags) == 0:
            return
        number = ctypes.get_errno()
        if number not in {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}:
            raise OSError(number, os.strerror(number))
    _rename_in_steps(from_folder, old, to_folder, new, flags)


class _FileHandle(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * _MAX_HANDLE))


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _openat2(folder: int, path: bytes, flags: int) -> int:
    how = _How(flags, 0, _RESOLVE)
    descriptor: int = _LIBC.syscall(_OPENAT2, folder, path, ctypes.byref(how), ctypes.sizeof(how))
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return descriptor


def _open_in_steps(folder: int, names: list[bytes], flags: int) -> int:
    mount, descriptor = _mount(folder), os.dup(folder)
    for position, name in enumerate(names):
        last = position == len(names) - 1
        try:
            below = os.open(name, flags | os.O_NOFOLLOW if last else FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
        if _mount(descriptor) != mount:
            os.close(descriptor)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    return descriptor


def _mount(descriptor: int) -> bytes:
    """Return the identity of the mount: its ID (proc_pid_fdinfo(5)) or, without /proc, its device number.

    The two are not combined, because files and folders in an overlay may have different devices.
    """
    try:
        info = Path(f"/proc/self/fdinfo/{descriptor}").read_bytes()
    except OSError:
        info = b""
    number = re.search(rb"mnt_id:\s*(\d+)", info)
    return number[1] if number else b"%d" % os.fstat(descriptor).st_dev


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

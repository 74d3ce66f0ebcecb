"""A whole copy of a workspace, for where an overlay cannot be had: bounded, and made by descriptor."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from toolc.model.spec.sandbox import MIB
from toolc.runtime.beneath import READ, Root, write_all
from toolc.runtime.open_beneath import FOLDER, open_beneath
from toolc.runtime.transaction_view import MOST_ENTRIES, Copy, Stamp, TooManyError, check_depth

MOST_BYTES: Final = 1024 * MIB
"""How much a workspace may weigh that is copied."""

_PIECE: Final = 1 << 20


def copy_tree(real: Root, target: Root) -> Copy:
    """Copy what is in ``real`` into the empty folder ``target``. Raises ``OSError`` and ``TooManyError``.

    Folders, files and symbolic links, with their permissions, owners (as root) and times. Fifos, sockets,
    devices, and what is mounted further down, are left out, as are files that the caller may not read.
    """
    view = Copy(target)
    folders: list[tuple[bytes, os.stat_result]] = [(b"", real.status)]
    total = 0
    for folder, _ in folders:
        prefix = folder + b"/" if folder else b""
        with real.folder(folder) as source, target.folder(folder) as made:
            for name, status in _entries(real, folder):
                path = prefix + name
                check_depth(path)
                if len(view.originals) >= MOST_ENTRIES:
                    raise TooManyError(f"it holds more than {MOST_ENTRIES} files")
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
                if total > MOST_BYTES:
                    raise TooManyError(f"it holds more than {MOST_BYTES // MIB} MiB")
                if status.st_dev == real.status.st_dev and _copy(source, made, name, status):
                    view.originals[path] = Stamp.of(status)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append((path, status))
    # From the inside out, since to make what is in it changes a folder's times.
    for path, status in reversed(folders):
        with target.folder(path) as made:
            _finish(made, status)
    # The kernel's stamps are complete only now.
    for folder, _ in folders:
        prefix = folder + b"/" if folder else b""
        made_here = target.entries(folder, MOST_ENTRIES)
        view.copies.update({prefix + name: Stamp.of(status) for name, status in made_here})
    return view


def _entries(real: Root, folder: bytes) -> list[tuple[bytes, os.stat_result]]:
    try:
        return real.entries(folder, MOST_ENTRIES + 1)
    except PermissionError:
        if not folder:
            raise
        return []


def _copy(source: int, made: int, name: bytes, status: os.stat_result) -> bool:
    """Copy one entry of the folder ``source`` into the folder ``made``; False if it is none that is copied."""
    if stat.S_ISDIR(status.st_mode):
        if _is_mounted(source, name):
            return False
        os.mkdir(name, 0o700, dir_fd=made)
    elif stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=made)
        if os.geteuid() == 0:
            os.chown(name, status.st_uid, status.st_gid, dir_fd=made, follow_symlinks=False)
    elif stat.S_ISREG(status.st_mode):
        return _copy_file(source, made, name, status)
    else:
        return False
    return True


def _is_mounted(source: int, name: bytes) -> bool:
    """Whether a folder is a mount: of the same file system, for the device of another has told of it already."""
    try:
        os.close(open_beneath(source, name, FOLDER))
    except PermissionError:
        return False
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return True
    return False


def _copy_file(source: int, made: int, name: bytes, status: os.stat_result) -> bool:
    try:
        opened = open_beneath(source, name, READ)
    except PermissionError:
        return False
    except OSError as error:
        if error.errno == errno.EXDEV:
            return False
        raise
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(name, flags, 0o600, dir_fd=made)
        try:
            left = status.st_size
            # Never more than was counted: a file may be growing.
            while left > 0 and (piece := os.read(opened, min(left, _PIECE))):
                left -= len(piece)
                write_all(target, piece)
            _finish(target, status)
        finally:
            os.close(target)
    finally:
        os.close(opened)
    return True


def _finish(descriptor: int, status: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o1777)
    os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))

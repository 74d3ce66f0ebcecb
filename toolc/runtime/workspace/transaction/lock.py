"""The lock of a workspace for commits and rollbacks, on this host: a file outside it, named by device and inode.

No tool sees the file. If only the caller may write to the workspace, the file is in the caller's runtime folder.
Otherwise it is in a folder that all users share, and a file there is used only if its owner may write to the
workspace: other users cannot make a commit wait. Where no such file is possible, a commit works without a lock: a
conflict is then still detected, but later.

The janitor uses this module too, so it imports only the standard library and modules that do the same.
"""

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.runtime.workspace.dir_handle import FOLDER, RENAME_NOREPLACE, rename
from toolc.sandbox.host.owner import shared_directory

WAIT_SECONDS: Final = 60.0
"""How long a commit waits for others in the same workspace, in seconds. One commit takes milliseconds."""

SHARED: Final = (Path("/run/lock/toolc"), Path("/tmp/toolc-lock"))
"""The shared folders, the first that is usable. The second is for systems without ``/run/lock``."""

_NAMES: Final = 4
"""The number of names that are tried: other users can create files with these names first."""

_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


@contextmanager
def locked_workspace(workspace: int) -> Iterator[None]:
    """Hold the lock of the open folder ``workspace``. Raises ``OSError``: ETIMEDOUT if another keeps it too long."""
    status = os.fstat(workspace)
    name = f"{status.st_dev:x}-{status.st_ino:x}"
    is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o022
    folder = _private_folder() if is_private else _shared_folder()
    if folder is None:
        yield
        return
    deadline = time.monotonic() + WAIT_SECONDS
    try:
        for each in (name, *(f"{name}.{number}" for number in range(1, _NAMES))):
            lock = _acquire(folder, each, status, deadline)
            if lock is not None:
                with _released(folder, each, lock):
                    yield
                return
        yield
    finally:
        os.close(folder)


def lock_file(descriptor: int, deadline: float) -> None:
    """Lock an open file or folder. Raises ``OSError``: ETIMEDOUT if another process holds it until ``deadline``.

    A file system without locks admits every process.
    """
    while not _try_lock(descriptor):
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, "another process still holds the lock")
        time.sleep(0.02)  # a commit holds the lock for a few milliseconds


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}:
            raise
    return True


def _private_folder() -> int | None:
    with suppress(OSError, InfrastructureError):
        path = shared_directory() / "locks"
        path.mkdir(mode=0o700, exist_ok=True)
        return os.open(path, FOLDER)
    return None


def _shared_folder() -> int | None:
    """Return an open folder in which every user can create a file, and cannot remove a file of another."""
    for path in SHARED:
        with suppress(OSError):
            if not os.path.lexists(path):
                _create_shared(path)
            folder = os.open(path, FOLDER)
            if os.fstat(folder).st_mode & 0o1002 == 0o1002:
                return folder
            os.close(folder)
    return None


def _create_shared(path: Path) -> None:
    """Create a shared folder: complete when it gets its name. Raises ``OSError``."""
    parent = os.open(path.parent, FOLDER)
    draft = f".toolc-{secrets.token_hex(8)}"
    try:
        os.mkdir(draft, 0o700, dir_fd=parent)
        folder = os.open(draft, FOLDER, dir_fd=parent)
        try:
            os.fchmod(folder, 0o1777)
        finally:
            os.close(folder)
        try:
            rename(parent, os.fsencode(draft), parent, os.fsencode(path.name), RENAME_NOREPLACE)
        except FileExistsError:
            os.rmdir(draft, dir_fd=parent)
    finally:
        os.close(parent)


def _acquire(folder: int, name: str, workspace: os.stat_result, deadline: float) -> int | None:
    """Return the locked file ``name``; None if it belongs to a user who may not write to the workspace."""
    while True:
        try:
            lock = _open(folder, name, workspace)
        except OSError:
            return None
        try:
            status = os.fstat(lock)
            is_trusted = _is_trusted(status, workspace)
            if is_trusted:
                lock_file(lock, deadline)
            if is_trusted and _is_named(folder, name, status.st_ino):
                return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
        if not is_trusted:
            return None


def _open(folder: int, name: str, workspace: os.stat_result) -> int:
    """Open or create a lock file. Raises ``OSError``, also for a link or a file that this user may not read."""
    with suppress(FileNotFoundError):
        return os.open(name, _OPEN, dir_fd=folder)
    draft = f".{secrets.token_hex(8)}"
    lock = os.open(draft, _OPEN | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        _share(lock, workspace)
        # Under this name it would keep others from the lock too.
        if not _is_trusted(os.fstat(lock), workspace):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        rename(folder, os.fsencode(draft), folder, os.fsencode(name), RENAME_NOREPLACE)
    except FileExistsError:
        os.close(lock)
        os.unlink(draft, dir_fd=folder)
        return os.open(name, _OPEN, dir_fd=folder)
    except BaseException:
        os.close(lock)
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
    return lock


def _share(lock: int, workspace: os.stat_result) -> None:
    """Let those open a new lock file who may write to the workspace, and no others: to open it is to hold it."""
    with suppress(OSError):  # the caller is not in the group
        if workspace.st_mode & 0o020:
            os.fchown(lock, -1, workspace.st_gid)
            os.fchmod(lock, 0o640)
    if workspace.st_mode & 0o002:
        os.fchmod(lock, 0o644)


def _is_trusted(lock: os.stat_result, workspace: os.stat_result) -> bool:
    """Return whether the owner of a lock file may write to the workspace.

    Only a member of a group, and root, can give a file to it.
    """
    if not stat.S_ISREG(lock.st_mode) or lock.st_nlink > 1:
        return False
    if lock.st_uid in {0, workspace.st_uid} or workspace.st_mode & 0o002:
        return True
    return bool(workspace.st_mode & 0o020) and lock.st_gid == workspace.st_gid


def _is_named(folder: int, name: str, inode: int) -> bool:
    """Return whether a lock file still has its name; otherwise its last holder has removed it."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino == inode
    except FileNotFoundError:
        return False


@contextmanager
def _released(folder: int, name: str, lock: int) -> Iterator[None]:
    try:
        yield
    finally:
        # Only its owner can remove it; otherwise it stays for the next commit.
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_UN)  # a forked process may still have it open
        os.close(lock)

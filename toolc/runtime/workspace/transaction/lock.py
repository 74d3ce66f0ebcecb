"""The lock of a workspace for commits and rollbacks of one user, which is a file in the user's runtime folder.

Its name has the device and inode of the workspace, and no tool sees it. Commits of different users in the same
workspace do not wait for each other. Conflicts between them are still detected, but later.

The janitor uses this module too, so it imports only the standard library and modules that do the same.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.runtime.workspace.dir_handle import FOLDER
from toolc.sandbox.host.owner import shared_directory

WAIT_SECONDS: Final = 60.0
"""How long a commit waits for other commits in the same workspace, in seconds. A commit takes milliseconds."""


@contextmanager
def locked_workspace(workspace: int) -> Iterator[None]:
    """Hold the lock of the open folder ``workspace``. Raises ``OSError``, with ETIMEDOUT if the wait is too long."""
    status = os.fstat(workspace)
    name = f"{status.st_dev:x}-{status.st_ino:x}"
    folder = _folder()
    if folder is None:
        yield
        return
    try:
        lock = _acquire(folder, name, time.monotonic() + WAIT_SECONDS)
        try:
            yield
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            fcntl.flock(lock, fcntl.LOCK_UN)  # a forked process may still have it open
            os.close(lock)
    finally:
        os.close(folder)


def lock_file(descriptor: int, deadline: float) -> None:
    """Lock an open file or folder. Raises ``OSError``, with ETIMEDOUT if another process holds it until ``deadline``.

    On a file system without locks, every process succeeds.
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


def _folder() -> int | None:
    """Return the open folder of this user's locks, or None if it cannot be created."""
    with suppress(OSError, InfrastructureError):
        path = shared_directory() / "locks"
        path.mkdir(mode=0o700, exist_ok=True)
        return os.open(path, FOLDER)
    return None


def _acquire(folder: int, name: str, deadline: float) -> int:
    """Return the locked file ``name``. If its last holder has removed it, create a new one."""
    while True:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            lock_file(lock, deadline)
            with suppress(FileNotFoundError):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino == os.fstat(lock).st_ino:
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)

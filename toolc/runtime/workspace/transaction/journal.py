"""Write the steps of a commit to disk before they are carried out, so that another process can undo them.

There are two files in the transaction's scratch folder, which no tool sees. ``StagingArea`` is written before
anything is created in the workspace. ``CommitPlan`` lists every step and exists from before the first to after the
last: while it exists, the commit can be rolled back; once it is removed, it cannot. A process that commits or rolls
back holds the lock of the folder, which the kernel releases when the last thread of the holder exits.

The janitor uses this module too, so it imports only the standard library and ``dir_handle``.
"""

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from toolc.runtime.workspace.dir_handle import FOLDER

STAGING: Final = "journal.json"
PLAN: Final = "plan.json"
_DRAFT: Final = "draft.json"
NAMES: Final = frozenset({STAGING, PLAN, _DRAFT})
"""The names of the files that this module writes to a scratch folder."""

LOCK_SECONDS: Final = 10.0
"""How long to wait for another process that holds the same journal, in seconds."""

WORKSPACE_SECONDS: Final = 60.0
"""How long a commit waits for others in the same workspace, in seconds. One commit takes milliseconds."""


@dataclass(frozen=True, slots=True)
class StagingArea:
    """Where a commit keeps new and old files: the folder ``name`` in a workspace with this ``inode``.

    The device number is not stored: it may change with a reboot.
    """

    workspace: str
    inode: int
    name: str

    def write(self, scratch: Path) -> None:
        """Write it to ``scratch``. Raises ``OSError``."""
        _write(scratch, STAGING, asdict(self))

    @staticmethod
    def read(scratch: Path) -> "StagingArea | None":
        """Read it from ``scratch``; return None if no commit began. Raises ``ValueError`` for any other content."""
        match _read(scratch, STAGING):
            case None:
                return None
            case {"workspace": str(workspace), "inode": int(inode), "name": str(name)}:
                return StagingArea(workspace, inode, name)
            case _:
                raise ValueError(STAGING)


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """What identifies a new file. For a folder, whose times and mode change, only the inode."""

    inode: int
    mode: int
    size: int
    changed_ns: int

    @staticmethod
    def of(status: os.stat_result) -> "FileIdentity":
        """Return the identity of a file as it is now; a rename does not change it."""
        if stat.S_ISDIR(status.st_mode):
            return FileIdentity(status.st_ino, stat.S_IFDIR, 0, 0)
        return FileIdentity(status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class RenameStep:
    """One rename between ``path`` in the workspace and ``name`` in the staging folder.

    Without ``new`` the old file is moved out. Otherwise the new file replaces it (``replaces``) or is moved to a
    free path. Bytes of a path that are not UTF-8 are surrogates.
    """

    path: str
    name: str
    new: FileIdentity | None = None
    replaces: bool = False

    @property
    def raw_path(self) -> bytes:
        """The path as bytes, as the file system stores it."""
        return self.path.encode("utf-8", "surrogateescape")

    @property
    def display_path(self) -> str:
        """The path for display."""
        return self.raw_path.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class ChmodStep:
    """The permissions to set on a folder after all renames: ``old`` and ``new`` are the bits of chmod(2)."""

    path: str
    inode: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """All steps in order, and the inode of the staging folder."""

    staging: int
    moves: tuple[RenameStep, ...]
    modes: tuple[ChmodStep, ...]

    def write(self, scratch: Path) -> None:
        """Write it to ``scratch``: from then on, a process that finds it undoes the commit. Raises ``OSError``."""
        _write(scratch, PLAN, asdict(self))

    @staticmethod
    def read(scratch: Path) -> "CommitPlan | None":
        """Read it from ``scratch``; return None if nothing can or needs to be rolled back.

        Raises ``ValueError``, ``KeyError`` or ``TypeError`` for content written by another release.
        """
        match _read(scratch, PLAN):
            case None:
                return None
            case {"staging": int(staging), "moves": list(moves), "modes": list(modes)}:
                return CommitPlan(staging, tuple(map(_rename_step, moves)), tuple(ChmodStep(**each) for each in modes))
            case _:
                raise ValueError(PLAN)


def has_plan(scratch: Path) -> bool:
    """Return whether there is a plan that may have to be rolled back."""
    return (scratch / PLAN).exists()


def remove_plan(scratch: Path, staging: int) -> None:
    """Remove the plan: the point of no return, for a commit and for a rollback.

    ``staging`` is the open staging folder. All renames are synced to disk first. Raises ``OSError``, in which case
    the plan still exists.
    """
    # A journaling file system writes the folder that every rename used together with all earlier changes.
    os.fsync(staging)
    (scratch / PLAN).unlink()
    _sync(scratch)


def locked_journal(scratch: Path) -> AbstractContextManager[None]:
    """Hold the lock of this journal. Raises ``OSError``: ETIMEDOUT if another process keeps it too long."""
    return _locked(os.open(scratch, FOLDER), LOCK_SECONDS)


def locked_workspace(workspace: int) -> AbstractContextManager[None]:
    """Hold the lock for commits and rollbacks in the open folder ``workspace``, on this host.

    Two concurrent commits of the same files would each encounter the incomplete steps of the other. Raise
    ``OSError`` as ``locked_journal`` does. A file system without locks admits every process: a conflict is then
    still detected, but later.
    """
    return _locked(os.open(".", FOLDER, dir_fd=workspace), WORKSPACE_SECONDS)


@contextmanager
def _locked(descriptor: int, seconds: float) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    try:
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise OSError(errno.ETIMEDOUT, "another process still holds the lock")
            time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}:
            raise
    return True


def _rename_step(fields: dict[str, Any]) -> RenameStep:
    new = fields["new"]
    return RenameStep(**fields | {"new": None if new is None else FileIdentity(**new)})


def _read(scratch: Path, name: str) -> object:
    try:
        return json.loads((scratch / name).read_bytes())
    except FileNotFoundError:
        return None


def _write(scratch: Path, name: str, value: object) -> None:
    """Write a file atomically and sync it to disk."""
    draft = scratch / _DRAFT
    with draft.open("w", encoding="ascii") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(scratch / name)
    _sync(scratch)


def _sync(scratch: Path) -> None:
    descriptor = os.open(scratch, FOLDER)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

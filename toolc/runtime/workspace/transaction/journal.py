"""What a commit is about to do, on disk before it does it, so that whoever finds it can undo it.

Two files in the transaction's scratch folder, which no tool sees. ``Staging`` is there from before anything is
made in the workspace. ``Plan`` lists every step, from before the first to after the last: while it is there,
the commit is to be rolled back, and once it is gone there is no way back. Whoever commits or rolls back holds
the folder's lock, which the kernel gives up when the last thread of its holder is over.

Imports only the standard library: the janitor reads them too.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

STAGING: Final = "journal.json"
PLAN: Final = "plan.json"
_DRAFT: Final = "draft.json"
NAMES: Final = frozenset({STAGING, PLAN, _DRAFT})
"""What this module keeps in a scratch folder."""

LOCK_SECONDS: Final = 10.0
"""How long another process may be at the same journal before this one gives up for now."""

WORKSPACE_SECONDS: Final = 60.0
"""How long a commit waits for others in the same workspace: each takes milliseconds, and many may come at once."""


@dataclass(frozen=True, slots=True)
class StagingArea:
    """Where a commit keeps new and old files: the folder ``name`` in a workspace with this ``inode``.

    Not its device: that number may be another one after a reboot.
    """

    workspace: str
    inode: int
    name: str

    def write(self, scratch: Path) -> None:
        """Keep it in ``scratch``. Raises ``OSError``."""
        _write(scratch, STAGING, asdict(self))

    @staticmethod
    def read(scratch: Path) -> StagingArea | None:
        """What ``scratch`` keeps, None if no commit began. Raises ``ValueError`` for what toolc has not written."""
        match _read(scratch, STAGING):
            case None:
                return None
            case {"workspace": str(workspace), "inode": int(inode), "name": str(name)}:
                return StagingArea(workspace, inode, name)
            case _:
                raise ValueError(STAGING)


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """What tells a new file from every other; of a folder, whose times and mode change, only which it is."""

    inode: int
    mode: int
    size: int
    changed_ns: int

    @staticmethod
    def of(status: os.stat_result) -> FileIdentity:
        """That of a file as it is now; a rename does not change it."""
        if stat.S_ISDIR(status.st_mode):
            return FileIdentity(status.st_ino, stat.S_IFDIR, 0, 0)
        return FileIdentity(status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class RenameStep:
    """One rename between the workspace's ``path`` and ``name`` in the staging folder.

    Without ``new`` the old file is taken out; else the new one is put in its place (``replaces``), or where
    nothing is. Bytes of a path that are not UTF-8 are surrogates.
    """

    path: str
    name: str
    new: FileIdentity | None = None
    replaces: bool = False

    @property
    def raw_path(self) -> bytes:
        """The path as the file system has it."""
        return self.path.encode("utf-8", "surrogateescape")

    @property
    def shown_path(self) -> str:
        """The path for people."""
        return self.raw_path.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class ChmodStep:
    """The permissions that a folder gets when all is moved: ``old`` and ``new`` are the bits of chmod(2)."""

    path: str
    inode: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """All steps in their order, and the inode of the staging folder."""

    staging: int
    moves: tuple[RenameStep, ...]
    modes: tuple[ChmodStep, ...]

    def write(self, scratch: Path) -> None:
        """Keep it in ``scratch``: from here on, whoever finds it undoes it. Raises ``OSError``."""
        _write(scratch, PLAN, asdict(self))

    @staticmethod
    def read(scratch: Path) -> CommitPlan | None:
        """What ``scratch`` keeps; None if there is no way back, or none is needed.

        Raises ``ValueError``, ``KeyError`` or ``TypeError`` for what another release has written.
        """
        match _read(scratch, PLAN):
            case None:
                return None
            case {"staging": int(staging), "moves": list(moves), "modes": list(modes)}:
                return CommitPlan(staging, tuple(map(_move, moves)), tuple(ChmodStep(**each) for each in modes))
            case _:
                raise ValueError(PLAN)


def is_planned(scratch: Path) -> bool:
    """Whether there is a plan that may have to be rolled back."""
    return (scratch / PLAN).exists()


def forget_plan(scratch: Path, staging: int) -> None:
    """The point of no return, in either direction. ``staging`` is the open staging folder.

    What was renamed is on disk before. Raises ``OSError``: then the plan is there still.
    """
    # A journaling file system writes the folder that every rename went through with all that came before it.
    os.fsync(staging)
    (scratch / PLAN).unlink()
    _sync(scratch)


@contextmanager
def locked(scratch: Path) -> Iterator[None]:
    """Be the only one at this journal. Raises ``OSError``: ETIMEDOUT where another process does not get done."""
    descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _wait(descriptor, LOCK_SECONDS)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def alone(workspace: int) -> Iterator[None]:
    """Be the only one of this host that commits to the open folder ``workspace``, or undoes a commit there.

    Two commits of the same files would each find the other's half in its way. Raises ``OSError`` as ``locked``
    does. A file system that has no locks lets everybody in: then a conflict is still found, if later.
    """
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=workspace)
    try:
        _wait(descriptor, WORKSPACE_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not _locks(descriptor):
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, "another process is at it, and does not get done")
        time.sleep(0.02)


def _locks(descriptor: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}:
                raise
        return True
    return False


def _move(found: dict[str, Any]) -> RenameStep:
    new = found["new"]
    return RenameStep(**found | {"new": None if new is None else FileIdentity(**new)})


def _read(scratch: Path, name: str) -> object:
    try:
        return json.loads((scratch / name).read_bytes())
    except FileNotFoundError:
        return None


def _write(scratch: Path, name: str, value: object) -> None:
    """Write a file that is there whole or not at all, and on disk."""
    draft = scratch / _DRAFT
    with draft.open("w", encoding="ascii") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(scratch / name)
    _sync(scratch)


def _sync(scratch: Path) -> None:
    descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

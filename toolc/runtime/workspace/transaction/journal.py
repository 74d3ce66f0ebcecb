"""Write the steps of a commit to disk before they are carried out, so that another process can undo them.

There are two files in the transaction's scratch folder, which no tool sees. ``StagingArea`` is written before the
staging folder is created. ``CommitPlan`` lists every step. It is written before the first step and removed after the
last. The commit can be rolled back as long as the plan exists. A process that commits or rolls back holds the lock of
the scratch folder, which the kernel releases when the last thread of the holder exits.

The janitor uses this module too, so it imports only the standard library and ``dir_handle``.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from toolc.dataclass import dataclass
from toolc.model.atomic_files import replace_file
from toolc.runtime.workspace.dir_handle import FOLDER, has_entries
from toolc.runtime.workspace.transaction.file_state import FileState, state_at
from toolc.runtime.workspace.transaction.lock import lock_file

STAGING: Final = "journal.json"
PLAN: Final = "plan.json"
_DRAFT: Final = "draft.json"
STAGED: Final = "staged"
NAMES: Final = frozenset({STAGING, PLAN, _DRAFT, STAGED})
"""The names of the journal's files and of the staging folder in a scratch folder."""

LOCK_SECONDS: Final = 10.0
"""How long to wait for another process that holds the same journal, in seconds.

If it takes longer, the next process recovers the journal.
"""


@dataclass(frozen=True, slots=True)
class StagingArea:
    """The folder ``path`` in which a commit of the ``workspace`` with this ``inode`` keeps new and old files.

    The path may be relative to the scratch folder. The device number is not stored, because a reboot may change it.
    """

    workspace: str
    inode: int
    path: str

    def write(self, scratch: Path) -> None:
        """Write this record to ``scratch``. Raises ``OSError``."""
        _write(scratch, STAGING, asdict(self))

    @staticmethod
    def read(scratch: Path) -> "StagingArea | None":
        """Read the record from ``scratch``. None if no commit began. Raises ``ValueError`` for an invalid record."""
        match _read(scratch, STAGING):
            case None:
                return None
            case {"workspace": str(workspace), "inode": int(inode), "path": str(path)}:
                return StagingArea(workspace, inode, path)
            case _:
                raise ValueError(STAGING)


@dataclass(frozen=True, slots=True)
class NewFile:
    """The identity of a new file of a commit. While it has the same inode and state, it is unchanged."""

    inode: int
    state: FileState

    def is_at(self, folder: int, name: bytes) -> bool:
        """Return whether the file is at ``name`` in an open folder. A folder must also be empty.

        The mode of a folder is not compared, because a later step sets it. Raises ``OSError``, with ENOENT if
        ``name`` does not exist.
        """
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino != self.inode:
            return False
        state = state_at(folder, name)
        if self.state.is_folder and state.content == self.state.content:
            return state.is_folder and not has_entries(folder, name)
        return state == self.state


@dataclass(frozen=True, slots=True)
class RenameStep:
    """A rename between ``path`` in the workspace and ``name`` in the staging folder.

    Without ``new``, the old file is moved out. Otherwise the new file replaces it (``replaces``) or is moved to a
    free path. Bytes of a path that are not UTF-8 are surrogates.
    """

    path: str
    name: str
    new: NewFile | None = None
    replaces: bool = False

    @property
    def raw_path(self) -> bytes:
        """The path as the bytes that the file system stores."""
        return self.path.encode("utf-8", "surrogateescape")

    @property
    def display_path(self) -> str:
        """The path as text for display."""
        return self.raw_path.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class ChmodStep:
    """The permissions to set on a folder after all renames. ``old`` and ``new`` are mode bits of chmod(2)."""

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
        """Write the plan to ``scratch``. From now on, a process that finds it undoes the commit.

        Raises ``OSError``.
        """
        _write(scratch, PLAN, asdict(self))

    @staticmethod
    def read(scratch: Path) -> "CommitPlan | None":
        """Read the plan from ``scratch``, or return None if nothing can or must be rolled back.

        Raises ``ValueError``, ``KeyError`` or ``TypeError`` if another release wrote the file.
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
    """Remove the plan, which is the point of no return for a commit and for a rollback.

    ``staging`` is the open staging folder. All renames are synced to disk first. Raises ``OSError``, in which case
    the plan still exists.
    """
    # A journaling file system writes the folder that every rename used together with all earlier changes.
    os.fsync(staging)
    (scratch / PLAN).unlink()
    _sync(scratch)


@contextmanager
def locked_journal(scratch: Path) -> Iterator[None]:
    """Hold the lock of this journal. Raises ``OSError``, with ETIMEDOUT if another process holds it too long."""
    descriptor = os.open(scratch, FOLDER)
    try:
        lock_file(descriptor, time.monotonic() + LOCK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _rename_step(fields: dict[str, Any]) -> RenameStep:
    new = fields["new"]
    if new is not None:
        new = NewFile(new["inode"], FileState(**new["state"]))
    return RenameStep(**fields | {"new": new})


def _read(scratch: Path, name: str) -> object:
    try:
        return json.loads((scratch / name).read_bytes())
    except FileNotFoundError:
        return None


def _write(scratch: Path, name: str, value: object) -> None:
    """Write a file atomically and sync it to disk."""
    with replace_file(scratch / name, draft=scratch / _DRAFT) as file:
        file.write(json.dumps(value).encode())
        file.flush()
        os.fsync(file.fileno())
    _sync(scratch)


def _sync(scratch: Path) -> None:
    descriptor = os.open(scratch, FOLDER)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

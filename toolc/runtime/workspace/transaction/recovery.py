"""Roll back an unfinished commit. After an error, the same process does so. After a kill, the next one that finds it.

The progress of a commit need not be recorded. Every step is one rename, so the location of a file shows whether its
step was done. For the same reason, a rollback may itself be killed. Files that another process has changed since are
left as they are. In that case, the old files stay in the staging folder, and the journal that names it stays too.

The janitor uses this module too, so it imports only the standard library and the modules next to it.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.text import lazy_re, printable
from toolc.runtime.workspace.dir_handle import FOLDER, RENAME_EXCHANGE, RENAME_NOREPLACE, DirHandle, rename
from toolc.runtime.workspace.transaction.journal import (
    ChmodStep,
    CommitPlan,
    RenameStep,
    StagingArea,
    locked_journal,
    remove_plan,
)
from toolc.runtime.workspace.transaction.lock import locked_workspace

ASIDE: Final = ".aside"
"""The suffix that ``dir_handle.rename`` adds to a name during an exchange if the file system has no atomic one."""

_STAGED_NAME: Final = lazy_re(r"(new|old)\.[0-9]+(\.aside)*")

_MAX_NAMED: Final = 5
"""The maximum number of conflicts that a message names. The folder in the message has all of them."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path that another process has changed. ``old_name`` is the old file in the staging folder, if any."""

    path: str
    old_name: str = ""

    def __str__(self) -> str:
        return f"{self.path} (the old file is {self.old_name})" if self.old_name else self.path


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A workspace with partly committed changes of a call, and a message with the paths and the remedy."""

    workspace: str
    message: str


class _ConcurrentChangeError(Exception):
    """The path has a file of another process."""


def recover(scratch: Path) -> Unfinished | None:
    """Roll back or finish a killed commit with this scratch folder, and remove its staging folder.

    Returns None if nothing remains to be done. Otherwise ``scratch`` and the staging folder must not be removed.
    """
    try:
        with locked_journal(scratch):
            return _recover(scratch)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror
    except (ValueError, KeyError, TypeError):
        reason = "another release of toolc has written its journal"
    return Unfinished(
        "", f"a commit cannot be rolled back: {reason}; try again, or check the files and remove {scratch}"
    )


def roll_back(workspace: DirHandle, staging: int, plan: CommitPlan) -> list[Conflict]:
    """Undo the steps of ``plan``, starting with the last. Return the steps that could not be undone, by path."""
    conflicts = []
    for mode in reversed(plan.modes):
        with contextlib.suppress(OSError):
            _restore_mode(workspace, mode)
    for move in reversed(plan.moves):
        old_name = None
        try:
            old_name = _find_old_file(staging, move)
            _undo(workspace, staging, move, old_name)
        except (_ConcurrentChangeError, OSError):
            conflicts.append(Conflict(move.display_path, old_name or ""))
    return sorted(conflicts, key=lambda conflict: conflict.path)


def remove_staging(path: Path) -> None:
    """Remove our staging folder and the files that a commit puts there.

    Raises ``OSError``, with ENOTEMPTY if the folder contains anything else.
    """
    with _opened(path) as staging:
        with os.scandir(staging) as entries:
            names = [entry.name for entry in entries]
        for each in filter(_STAGED_NAME.fullmatch, names):
            if stat.S_ISDIR(os.stat(each, dir_fd=staging, follow_symlinks=False).st_mode):
                os.rmdir(each, dir_fd=staging)
            else:
                os.unlink(each, dir_fd=staging)
    path.rmdir()


def format_conflicts(conflicts: list[Conflict]) -> str:
    """Return the conflicts as one line without terminal control characters."""
    more = f", and {len(conflicts) - _MAX_NAMED} more" if len(conflicts) > _MAX_NAMED else ""
    named = ", ".join(map(str, conflicts[:_MAX_NAMED]))
    return printable(named) + more


def _recover(scratch: Path) -> Unfinished | None:
    area, plan = StagingArea.read(scratch), CommitPlan.read(scratch)
    if area is None:
        return None
    if plan is not None and (unfinished := _roll_back_plan(area, plan, scratch)):
        return unfinished
    with contextlib.suppress(OSError):
        remove_staging(scratch / area.path)
    return None


def _roll_back_plan(area: StagingArea, plan: CommitPlan, scratch: Path) -> Unfinished | None:
    try:
        workspace = DirHandle(os.open(area.workspace, FOLDER))
    except OSError:
        return _missing_workspace(area, scratch)
    with workspace:
        if workspace.status.st_ino != area.inode:
            return _missing_workspace(area, scratch)
        try:
            with locked_workspace(workspace.descriptor), _opened(scratch / area.path) as staging:
                if os.fstat(staging).st_ino != plan.staging:
                    raise FileNotFoundError
                conflicts = roll_back(workspace, staging, plan)
                if not conflicts:
                    remove_plan(scratch, staging)
        except FileNotFoundError:
            # The user was informed of the conflicts, resolved them, and removed the folder.
            return None
    if not conflicts:
        return None
    return Unfinished(
        area.workspace,
        f"a call was killed while it wrote its changes to {area.workspace}, and some cannot be undone because another "
        f"process has changed the same files since: {format_conflicts(conflicts)}; restore what you need from "
        f"{scratch / area.path}, then remove that folder",
    )


def _missing_workspace(area: StagingArea, scratch: Path) -> Unfinished:
    return Unfinished(
        area.workspace,
        f"a call was killed while it wrote its changes to {area.workspace}, and they cannot be undone because that "
        f"folder was moved or removed; move it back, or remove {scratch}",
    )


def _undo(workspace: DirHandle, staging: int, move: RenameStep, old_name: str | None) -> None:
    """Restore a path, depending on its present state. Raises ``_ConcurrentChangeError`` or ``OSError``."""
    if old_name is None and (move.new is None or move.replaces):
        return  # not done, or undone already
    try:
        with _parent(workspace, move) as (folder, name):
            present = _status(folder, name)
            is_ours = present is not None and _is_ours(move, folder, name)
            if old_name is not None and present is None:
                rename(staging, os.fsencode(old_name), folder, name, RENAME_NOREPLACE)
            elif old_name is not None and is_ours:
                _exchange(staging, folder, name, move, old_name)
            elif old_name is not None:
                raise _ConcurrentChangeError
            elif is_ours:
                _move_out(staging, folder, name, move)
            elif present is not None and move.new is not None and present.st_ino == move.new.inode:
                raise _ConcurrentChangeError  # another process has written to it
    except FileNotFoundError:
        if old_name is not None:
            raise


def _exchange(staging: int, folder: int, name: bytes, move: RenameStep, old_name: str) -> None:
    rename(staging, os.fsencode(old_name), folder, name, RENAME_EXCHANGE)
    if not _is_ours(move, staging, os.fsencode(old_name)):
        rename(staging, os.fsencode(old_name), folder, name, RENAME_EXCHANGE)
        raise _ConcurrentChangeError


def _move_out(staging: int, folder: int, name: bytes, move: RenameStep) -> None:
    staged_name = os.fsencode(move.name)
    rename(folder, name, staging, staged_name, RENAME_NOREPLACE)
    if not _is_ours(move, staging, staged_name):
        rename(staging, staged_name, folder, name, RENAME_NOREPLACE)
        raise _ConcurrentChangeError


def _is_ours(move: RenameStep, folder: int, name: bytes) -> bool:
    return move.new is not None and move.new.is_at(folder, name)


def _find_old_file(staging: int, move: RenameStep) -> str | None:
    """Return the name of this step's old file in the staging folder, which is any file other than the new one."""
    for name in (move.name, move.name + ASIDE):
        status = _status(staging, os.fsencode(name))
        if status is not None and (move.new is None or status.st_ino != move.new.inode):
            return name
    return None


def _restore_mode(workspace: DirHandle, mode: ChmodStep) -> None:
    with workspace.parent(mode.path.encode("utf-8", "surrogateescape")) as (folder, name):
        # Do not open it for reading, because we may lack the permission.
        opened = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            status = os.fstat(opened)
            if status.st_ino == mode.inode and stat.S_IMODE(status.st_mode) == mode.new:
                Path(f"/proc/self/fd/{opened}").chmod(mode.old)
        finally:
            os.close(opened)


@contextmanager
def _parent(workspace: DirHandle, move: RenameStep) -> Iterator[tuple[int, bytes]]:
    try:
        with workspace.parent(move.raw_path) as (folder, name):
            yield folder, name
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            raise FileNotFoundError from error
        raise


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Yield a descriptor of the staging folder. Raises ``OSError``, with ENOENT if it belongs to another process."""
    staging = os.open(path, FOLDER)
    try:
        if os.fstat(staging).st_uid != os.geteuid():
            raise FileNotFoundError
        yield staging
    finally:
        os.close(staging)


def _status(folder: int, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None

"""Write the changes of a call to the real files; at every moment each file is either the old or the new one.

How it works: the new files and folders are first created in a staging folder in the workspace. This can fail
because the disk is full, and then nothing has changed. Then the plan of all steps is written to the scratch folder.
Each step is one rename: a new file moves to its path, never over another; a changed file is exchanged with the old
one; a deleted file moves to the staging folder. The file that was moved out is compared with the one that was
present when the changes were listed. If it differs, or anything fails, everything is rolled back by the plan. After
the last step the plan is removed, then the staging folder with the old files. A process that finds the plan of a
killed process rolls it back (see ``recovery``).
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.model.call import FileChange
from toolc.model.plan import Mount
from toolc.runtime.workspace.dir_handle import FOLDER, RENAME_EXCHANGE, RENAME_NOREPLACE, DirHandle, rename, write_all
from toolc.runtime.workspace.transaction.diff import Differences
from toolc.runtime.workspace.transaction.journal import (
    ChmodStep,
    CommitPlan,
    FileIdentity,
    RenameStep,
    StagingArea,
    has_plan,
    locked_journal,
    locked_workspace,
    remove_plan,
)
from toolc.runtime.workspace.transaction.recovery import format_conflicts, has_entries, remove_staging, roll_back

PREFIX: Final = ".toolc-"
_PIECE: Final = 1 << 20
_ACCESS_LIST: Final = "system.posix_acl_access"


class ConflictError(Exception):
    """A real file was changed at the last moment; ``str(error)`` is its path. Everything was rolled back."""


class RollbackFailedError(Exception):
    """A commit could not be rolled back; ``str(error)`` names the files and the location of the old ones."""


@dataclass(frozen=True, slots=True)
class _Commit:
    real: DirHandle
    view: DirHandle
    mount: Mount
    staging: int
    expected: dict[str, os.stat_result]


def commit(real: DirHandle, view: DirHandle, differences: Differences, mount: Mount, scratch: Path) -> None:
    """Write the changes to the real files, from the files in ``view``.

    Raises ``ConflictError`` or ``OSError`` if nothing was changed, ``RollbackFailedError`` if something was.
    """
    name = f"{PREFIX}{secrets.token_hex(8)}"
    with locked_journal(scratch), locked_workspace(real.descriptor):
        for change in differences.changes:
            _check_unchanged(real, change, differences.before.get(change.path))
        # Before the folder exists: if the process is killed in between, the journal describes nothing.
        StagingArea(mount.source, real.status.st_ino, name).write(scratch)
        os.mkdir(name, 0o700, dir_fd=real.descriptor)
        staging = os.open(name, FOLDER, dir_fd=real.descriptor)
        try:
            # A process that may write to the workspace could have replaced the folder immediately.
            if os.fstat(staging).st_uid != os.geteuid() or has_entries(staging, b"."):
                raise ConflictError(name)
            _execute(_Commit(real, view, mount, staging, differences.before), differences.changes, scratch)
        except RollbackFailedError as error:
            raise RollbackFailedError(f"{error}, in {name}") from error.__cause__
        finally:
            os.close(staging)
            # As long as the plan exists, the old files are needed.
            if not has_plan(scratch):
                with contextlib.suppress(OSError):
                    remove_staging(real.descriptor, name)


def _execute(work: _Commit, changes: tuple[FileChange, ...], scratch: Path) -> None:
    """Stage everything, then rename everything; if one step fails, change nothing."""
    plan = _stage_all(work, changes)
    os.fsync(work.staging)
    plan.write(scratch)
    try:
        _apply(work, plan)
        remove_plan(scratch, work.staging)
    except BaseException as error:
        if conflicts := roll_back(work.real, work.staging, plan):
            raise RollbackFailedError(format_conflicts(conflicts)) from error
        remove_plan(scratch, work.staging)
        raise


def _check_unchanged(real: DirHandle, change: FileChange, before: os.stat_result | None) -> None:
    """Check that a path is unchanged since the changes were listed: the approval may have taken long."""
    now = real.status_of(change.raw_path)
    if before is None or now is None:
        is_same = before is now
    else:
        is_same = _stamp(before) == _stamp(now) and (
            stat.S_ISDIR(before.st_mode) or before.st_ctime_ns == now.st_ctime_ns
        )
    if not is_same:
        raise ConflictError(change.display_path)


def _stage_all(work: _Commit, changes: tuple[FileChange, ...]) -> CommitPlan:
    """Create the new files in the staging folder and return the steps to carry out."""
    moves, modes = [], []
    numbered = list(enumerate(changes))
    # Innermost first, so that folders are empty when they are handled; then outermost first.
    for number, change in reversed(numbered):
        if change.action == "deleted":
            moves.append(RenameStep(change.path, f"old.{number}"))
    inherited: dict[str, int] = {}
    for number, change in numbered:
        if change.action == "deleted":
            continue
        name, old = f"new.{number}", work.expected.get(change.path)
        if change.kind == "directory" and change.action == "changed":
            assert old is not None
            bits = stat.S_IMODE(old.st_mode)
            modes.append(ChmodStep(change.path, old.st_ino, bits, change.mode & 0o777 | bits & stat.S_ISGID))
            continue
        staged = _stage(work, change, os.fsencode(name))
        moves.append(RenameStep(change.path, name, FileIdentity.of(staged), replaces=change.action == "changed"))
        if change.kind == "directory":
            inherited[change.path] = _set_group_id(work.real, change, inherited)
            new = change.mode & 0o777 | inherited[change.path]
            modes.append(ChmodStep(change.path, staged.st_ino, stat.S_IMODE(staged.st_mode), new))
    # Modes last, and innermost first: a folder's mode may deny access to its owner too.
    return CommitPlan(os.fstat(work.staging).st_ino, tuple(moves), tuple(reversed(modes)))


def _set_group_id(real: DirHandle, change: FileChange, inherited: dict[str, int]) -> int:
    """Return the set-group-id bit that a new folder inherits from its parent; shared folders may rely on it."""
    parent = change.path.rpartition("/")[0]
    if parent in inherited:
        return inherited[parent]
    status = real.status_of(parent.encode("utf-8", "surrogateescape"))
    return 0 if status is None else status.st_mode & stat.S_ISGID


def _apply(work: _Commit, plan: CommitPlan) -> None:
    for move in plan.moves:
        if move.new is None:
            _move_out(work, move)
        else:
            _move_in(work, move)
    for mode in plan.modes:
        _set_mode(work, mode)


def _stage(work: _Commit, change: FileChange, name: bytes) -> os.stat_result:
    """Create a new file, link or folder with its final attributes in the staging folder, and sync it to disk."""
    if change.kind == "directory":
        os.mkdir(name, 0o700, dir_fd=work.staging)
        folder = os.open(name, FOLDER, dir_fd=work.staging)
        try:
            _set_owner(work, change, lambda uid, gid: os.fchown(folder, uid, gid))
            os.fchmod(folder, 0o700)
            return os.fstat(folder)
        finally:
            os.close(folder)
    if change.kind == "symlink":
        os.symlink(work.view.read_link(change.raw_path), name, dir_fd=work.staging)
        _set_owner(work, change, lambda uid, gid: os.chown(name, uid, gid, dir_fd=work.staging, follow_symlinks=False))
        return os.stat(name, dir_fd=work.staging, follow_symlinks=False)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    target = os.open(name, flags, 0o600, dir_fd=work.staging)
    try:
        with work.view.file(change.raw_path) as source:
            while piece := os.read(source, _PIECE):
                write_all(target, piece)
            _copy_attributes(source, target)
        _copy_access_list(work, change, target)
        _set_owner(work, change, lambda uid, gid: os.fchown(target, uid, gid))
        os.fchmod(target, change.mode & 0o777)
        os.fsync(target)
        return os.fstat(target)
    finally:
        os.close(target)


def _copy_attributes(source: int, target: int) -> None:
    """Copy the extended attributes that programs set for their own use, but not those that grant rights."""
    with contextlib.suppress(OSError):
        for name in os.listxattr(source):
            if name.startswith("user.") and not name.startswith("user.overlay."):
                os.setxattr(target, name, os.getxattr(source, name))


def _copy_access_list(work: _Commit, change: FileChange, target: int) -> None:
    """Copy the access control list of a changed file, without which its group would get the rights of the mask."""
    if change.path not in work.expected or change.action != "changed":
        return
    with contextlib.suppress(OSError), _parent(work.real, change) as (folder, name):
        # A path to a file that the caller may not be able to open.
        path = os.fsencode(f"/proc/self/fd/{folder}/") + name
        os.setxattr(target, _ACCESS_LIST, os.getxattr(path, _ACCESS_LIST, follow_symlinks=False))


def _set_owner(work: _Commit, change: FileChange, chown: Callable[[int, int], None]) -> None:
    """Give a file that a tool created to the owner of the workspace."""
    old = work.expected.get(change.path)
    uid = work.mount.owner
    gid = old.st_gid if old is not None and old.st_uid == uid else work.mount.group
    if os.geteuid() == 0:
        chown(uid, gid)
    else:
        # The group may be one of the caller's; otherwise the file keeps its group.
        with contextlib.suppress(OSError):
            chown(-1, gid)


def _move_out(work: _Commit, move: RenameStep) -> None:
    aside = os.fsencode(move.name)
    with _parent(work.real, move) as (folder, name):
        rename(folder, name, work.staging, aside, RENAME_NOREPLACE)
        status = _check(work, move)
        if stat.S_ISDIR(status.st_mode) and has_entries(work.staging, aside):
            raise ConflictError(move.display_path)


def _move_in(work: _Commit, move: RenameStep) -> None:
    flags = RENAME_EXCHANGE if move.replaces else RENAME_NOREPLACE
    with _parent(work.real, move) as (folder, name):
        rename(work.staging, os.fsencode(move.name), folder, name, flags)
        if move.replaces:
            _check(work, move)


def _set_mode(work: _Commit, mode: ChmodStep) -> None:
    with work.real.folder(mode.path.encode("utf-8", "surrogateescape")) as folder:
        if os.fstat(folder).st_ino != mode.inode:
            raise ConflictError(mode.path)
        os.fchmod(folder, mode.new)


def _check(work: _Commit, move: RenameStep) -> os.stat_result:
    """Check that the file moved out is the one listed before; a rename changes only its ctime."""
    before = work.expected.get(move.path)
    status = os.stat(move.name, dir_fd=work.staging, follow_symlinks=False)
    if before is None or _stamp(before) != _stamp(status):
        raise ConflictError(move.display_path)
    return status


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    # Moving something out of a folder changes the times of that folder.
    times = () if stat.S_ISDIR(status.st_mode) else (status.st_mtime_ns, status.st_size)
    return (status.st_dev, status.st_ino, status.st_mode, *times)


@contextlib.contextmanager
def _parent(real: DirHandle, step: FileChange | RenameStep) -> Iterator[tuple[int, bytes]]:
    try:
        with real.parent(step.raw_path) as (folder, name):
            yield folder, name
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EEXIST, errno.ENOTEMPTY}:
            raise ConflictError(step.display_path) from error
        raise

"""Write the changes of a call to the real files. At every moment, each file is either the old or the new one.

First, the new files and folders are created in a staging folder that no tool sees. If that fails, for example because
the disk is full, nothing has changed. Then the plan of all steps is written to the scratch folder. Each step is one
rename. A new file moves to its path, but never over another file. A changed file is exchanged with the old one. A
deleted file moves to the staging folder. When all steps are done, the files that were moved out are compared, by
content, with those that were present when the changes were listed. If one differs, or anything fails, everything is
rolled back by the plan. At the end, the plan and the staging folder with the old files are removed. A process that
finds the plan of a killed process rolls it back (see ``recovery``).
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.model.call import FileChange
from toolc.model.plan import Mount
from toolc.runtime.workspace.dir_handle import (
    FOLDER,
    RENAME_EXCHANGE,
    RENAME_NOREPLACE,
    DirHandle,
    has_entries,
    is_same_mount,
    rename,
)
from toolc.runtime.workspace.transaction.diff import MAX_READ_BYTES, ConcurrentChange, Differences, parents
from toolc.runtime.workspace.transaction.file_state import MAX_BYTES, FileState, copy_content, read_state, state_at
from toolc.runtime.workspace.transaction.journal import (
    STAGED,
    ChmodStep,
    CommitPlan,
    NewFile,
    RenameStep,
    StagingArea,
    has_plan,
    locked_journal,
    remove_plan,
)
from toolc.runtime.workspace.transaction.lock import locked_workspace
from toolc.runtime.workspace.transaction.recovery import format_conflicts, remove_staging, roll_back

PREFIX: Final = ".toolc-"
_ACCESS_LIST: Final = "system.posix_acl_access"


class ConflictError(Exception):
    """The real files in ``conflicts`` were changed at the last moment. Everything was rolled back."""

    def __init__(self, *conflicts: ConcurrentChange) -> None:
        super().__init__(", ".join(each.path for each in conflicts))
        self.conflicts = conflicts


class RollbackFailedError(Exception):
    """A commit could not be rolled back. ``str(error)`` names the files, and where the old files are."""


@dataclass(frozen=True, slots=True)
class _Commit:
    real: DirHandle
    view: DirHandle
    mount: Mount
    staging: int
    differences: Differences


def commit(real: DirHandle, view: DirHandle, differences: Differences, mount: Mount, scratch: Path) -> None:
    """Write the changes to the real files, from the files in ``view``.

    Raises ``ConflictError`` or ``OSError`` if nothing has changed, and ``RollbackFailedError`` if something has.
    """
    with locked_journal(scratch), locked_workspace(real.descriptor):
        if conflicts := _conflicts(real, differences):
            raise ConflictError(*conflicts)
        *folders, last = _staging_folders(scratch, real, mount)
        for folder in folders:
            try:
                return _commit_through(folder, real, view, differences, mount, scratch)
            except OSError as error:
                # A project quota, for example, does not let files be renamed from one folder to the other.
                if error.errno != errno.EXDEV:
                    raise
        return _commit_through(last, real, view, differences, mount, scratch)


def _staging_folders(scratch: Path, real: DirHandle, mount: Mount) -> list[Path]:
    """Return where files can be staged, best first. Paths are relative to ``scratch``, which no tool sees.

    If the workspace is itself a mount point, only the workspace is possible.
    """
    name = f"{PREFIX}{secrets.token_hex(8)}"
    above = [folder / name for folder in reversed(Path(mount.source).parents)]
    return [
        *(path for path in (Path(STAGED), *above) if _can_stage((scratch / path).parent, real.descriptor)),
        Path(mount.source, name),
    ]


def _can_stage(folder: Path, workspace: int) -> bool:
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return False
    with contextlib.suppress(OSError), DirHandle.open(str(folder)) as opened:
        return is_same_mount(opened.descriptor, workspace)
    return False


def _commit_through(
    place: Path, real: DirHandle, view: DirHandle, differences: Differences, mount: Mount, scratch: Path
) -> None:
    """Commit with the staging folder ``place``. Raises as ``commit`` does, with EXDEV if files cannot be moved."""
    # Write it before the folder exists. If the process is killed in between, there is nothing to remove.
    StagingArea(mount.source, real.status.st_ino, str(place)).write(scratch)
    path = scratch / place
    path.mkdir(mode=0o700)
    staging = os.open(path, FOLDER)
    try:
        # A process that may write to the folder above could have replaced the folder immediately.
        if os.fstat(staging).st_uid != os.geteuid() or has_entries(staging, b"."):
            raise ConflictError(ConcurrentChange(str(path)))
        _execute(_Commit(real, view, mount, staging, differences), scratch)
    except RollbackFailedError as error:
        raise RollbackFailedError(f"{error}, in {path}") from error.__cause__
    finally:
        os.close(staging)
        # As long as the plan exists, the old files are needed.
        if not has_plan(scratch):
            with contextlib.suppress(OSError):
                remove_staging(path)


def _execute(work: _Commit, scratch: Path) -> None:
    """Stage everything, then rename everything. If a step fails, nothing changes."""
    plan = _stage_all(work, work.differences.changes)
    os.fsync(work.staging)
    plan.write(scratch)
    begun: list[ChmodStep] = []
    try:
        _apply(work, plan, begun)
        remove_plan(scratch, work.staging)
    except BaseException as error:
        # Another process may have given a folder the same mode as a step that was not begun.
        if conflicts := roll_back(work.real, work.staging, replace(plan, modes=tuple(begun))):
            raise RollbackFailedError(format_conflicts(conflicts)) from error
        remove_plan(scratch, work.staging)
        raise


def _conflicts(real: DirHandle, differences: Differences) -> list[ConcurrentChange]:
    """Return the paths that others have changed since the changes were listed, as the approval may have taken long."""
    replaced = {change.path for change in differences.changes if change.action == "deleted"}
    found = [
        ConcurrentChange(change.path)
        for change in differences.changes
        if not (change.action == "added" and change.path in replaced) and not _is_expected(real, change, differences)
    ]
    return found + _without_folder(real, differences)


def _is_expected(real: DirHandle, change: FileChange, differences: Differences) -> bool:
    expected = differences.expected.get(change.raw_path)
    now = read_state(real, change.raw_path, _limit(expected))
    if expected is None or now is None or expected.is_known:
        return now == expected
    return (now, now.changed_ns) == (expected, expected.changed_ns)


def _limit(expected: FileState | None) -> int:
    return MAX_BYTES if expected is None or expected.is_known else MAX_READ_BYTES


def _without_folder(real: DirHandle, differences: Differences) -> list[ConcurrentChange]:
    """Return the paths whose folders are not the same as when the changes were listed."""
    gone = set()
    for path, identity in differences.folders.items():
        now = read_state(real, path)
        if now is None or not now.is_folder or now.content != identity:
            gone.add(path.decode("utf-8", "surrogateescape"))
    return [
        ConcurrentChange(change.path, f"its folder {folder} was removed or replaced by another process")
        for change in differences.changes
        for folder in parents(change.path)
        if folder in gone
    ]


def _stage_all(work: _Commit, changes: tuple[FileChange, ...]) -> CommitPlan:
    """Create the new files in the staging folder and return the steps to carry out."""
    moves, modes = [], []
    numbered = list(enumerate(changes))
    # First innermost first, so that folders are empty when they are handled, and then outermost first.
    for number, change in reversed(numbered):
        if change.action == "deleted":
            moves.append(RenameStep(change.path, f"old.{number}"))
    inherited: dict[str, int] = {}
    for number, change in numbered:
        if change.action == "deleted":
            continue
        name = f"new.{number}"
        if change.kind == "directory" and change.action == "changed":
            modes.append(_mode_step(work, change))
            continue
        _stage(work, change, os.fsencode(name))
        staged = os.stat(name, dir_fd=work.staging, follow_symlinks=False)
        new = NewFile(staged.st_ino, state_at(work.staging, os.fsencode(name)))
        moves.append(RenameStep(change.path, name, new, replaces=change.action == "changed"))
        if change.kind == "directory":
            inherited[change.path] = _set_group_id(work.real, change, inherited)
            mode = change.mode & 0o777 | inherited[change.path]
            modes.append(ChmodStep(change.path, staged.st_ino, stat.S_IMODE(staged.st_mode), mode))
    # Modes are set last, and innermost first, because a folder's mode may deny access even to its owner.
    return CommitPlan(os.fstat(work.staging).st_ino, tuple(moves), tuple(reversed(modes)))


def _mode_step(work: _Commit, change: FileChange) -> ChmodStep:
    with work.real.folder(change.raw_path) as folder:
        inode = os.fstat(folder).st_ino
    old = work.differences.expected[change.raw_path].mode
    return ChmodStep(change.path, inode, old, change.mode & 0o777 | old & stat.S_ISGID)


def _set_group_id(real: DirHandle, change: FileChange, inherited: dict[str, int]) -> int:
    """Return the set-group-ID bit that a new folder inherits from its parent. Shared folders may rely on it."""
    parent = change.path.rpartition("/")[0]
    if parent in inherited:
        return inherited[parent]
    status = real.status_of(parent.encode("utf-8", "surrogateescape"))
    return 0 if status is None else status.st_mode & stat.S_ISGID


def _apply(work: _Commit, plan: CommitPlan, begun: list[ChmodStep]) -> None:
    for move in plan.moves:
        if move.new is None:
            _move_out(work, move)
        else:
            _move_in(work, move)
    _check(work, plan)
    for mode in plan.modes:
        begun.append(mode)
        _set_mode(work, mode)


def _stage(work: _Commit, change: FileChange, name: bytes) -> None:
    """Create a new file, link or folder with its final attributes in the staging folder, and sync it to disk."""
    if change.kind == "directory":
        os.mkdir(name, 0o700, dir_fd=work.staging)
        folder = os.open(name, FOLDER, dir_fd=work.staging)
        try:
            _set_owner(work, change, lambda uid, gid: os.fchown(folder, uid, gid))
            os.fchmod(folder, 0o700)
        finally:
            os.close(folder)
        return
    if change.kind == "symlink":
        os.symlink(work.view.read_link(change.raw_path), name, dir_fd=work.staging)
        _set_owner(work, change, lambda uid, gid: os.chown(name, uid, gid, dir_fd=work.staging, follow_symlinks=False))
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    target = os.open(name, flags, 0o600, dir_fd=work.staging)
    try:
        with work.view.file(change.raw_path) as source:
            copy_content(source, target, change.size_bytes)
            _copy_attributes(source, target)
        _copy_access_list(work, change, target)
        _set_owner(work, change, lambda uid, gid: os.fchown(target, uid, gid))
        os.fchmod(target, change.mode & 0o777)
        os.fsync(target)
    finally:
        os.close(target)


def _copy_attributes(source: int, target: int) -> None:
    """Copy the extended attributes that programs set for their own use, but not those that grant rights."""
    with contextlib.suppress(OSError):
        for name in os.listxattr(source):
            if name.startswith("user.") and not name.startswith("user.overlay."):
                os.setxattr(target, name, os.getxattr(source, name))


def _copy_access_list(work: _Commit, change: FileChange, target: int) -> None:
    """Copy the access control list of a changed file. Without it, the group would get the rights of the mask."""
    if change.action != "changed":
        return
    with contextlib.suppress(OSError), _parent(work.real, change) as (folder, name):
        # Use a path, because the caller may not be able to open the file.
        path = os.fsencode(f"/proc/self/fd/{folder}/") + name
        os.setxattr(target, _ACCESS_LIST, os.getxattr(path, _ACCESS_LIST, follow_symlinks=False))


def _set_owner(work: _Commit, change: FileChange, chown: Callable[[int, int], None]) -> None:
    """Make the owner of the workspace the owner of a file that a tool created."""
    old = work.differences.expected.get(change.raw_path)
    uid = work.mount.owner
    gid = old.gid if old is not None and old.uid == uid else work.mount.group
    if os.geteuid() == 0:
        chown(uid, gid)
    else:
        # The group may be one of the caller's. If it is not, the file keeps its group.
        with contextlib.suppress(OSError):
            chown(-1, gid)


def _move_out(work: _Commit, move: RenameStep) -> None:
    aside = os.fsencode(move.name)
    with _parent(work.real, move) as (folder, name):
        rename(folder, name, work.staging, aside, RENAME_NOREPLACE)


def _move_in(work: _Commit, move: RenameStep) -> None:
    flags = RENAME_EXCHANGE if move.replaces else RENAME_NOREPLACE
    with _parent(work.real, move) as (folder, name):
        rename(work.staging, os.fsencode(move.name), folder, name, flags)


def _set_mode(work: _Commit, mode: ChmodStep) -> None:
    with work.real.folder(mode.path.encode("utf-8", "surrogateescape")) as folder:
        status = os.fstat(folder)
        if status.st_ino != mode.inode or stat.S_IMODE(status.st_mode) not in {mode.old, mode.new}:
            raise ConflictError(ConcurrentChange(mode.path))
        os.fchmod(folder, mode.new)


def _check(work: _Commit, plan: CommitPlan) -> None:
    """Check that the files moved out are the ones listed before, and that all folders are still in place."""
    found = _without_folder(work.real, work.differences)
    for move in plan.moves:
        if move.new is None or move.replaces:
            expected, name = work.differences.expected.get(move.raw_path), os.fsencode(move.name)
            state = state_at(work.staging, name, _limit(expected))
            if state != expected or (state.is_folder and has_entries(work.staging, name)):
                found.append(ConcurrentChange(move.path))
    if found:
        raise ConflictError(*found)


@contextlib.contextmanager
def _parent(real: DirHandle, step: FileChange | RenameStep) -> Iterator[tuple[int, bytes]]:
    try:
        with real.parent(step.raw_path) as (folder, name):
            yield folder, name
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EEXIST, errno.ENOTEMPTY}:
            raise ConflictError(ConcurrentChange(step.path)) from error
        raise

"""Put a call's changes into the real files: each file is the old one or the new one at every moment.

Theory of operation. The new files are first copied into a staging folder in the workspace, which can fail for
want of room and then nothing has happened. Then every change is one rename: a new file to its place, never
over another; a changed one in exchange for the old; a deleted one into the staging folder. What came out is
compared with what was there when the changes were listed; if it is another file, or anything fails, all is
renamed back. At last the staging folder goes, with the old files. If toolc is killed meanwhile, the janitor
removes the folder: ``scratch_sweep`` knows its name from the journal.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.changes import Change
from toolc.plan import Mount
from toolc.runtime import scratch_sweep
from toolc.runtime.beneath import FOLDER, RENAME_EXCHANGE, RENAME_NOREPLACE, Root, rename, write_all
from toolc.runtime.transaction_diff import Differences

PREFIX: Final = ".toolc-"
_PIECE: Final = 1 << 20
_ACCESS_LIST: Final = "system.posix_acl_access"


class ConflictError(Exception):
    """A real file was changed at the last moment; ``str(error)`` is its path. All is as it was."""


class StuckError(Exception):
    """What was begun could not be undone; ``str(error)`` says where the old files are."""


@dataclass(frozen=True, slots=True)
class _Commit:
    real: Root
    made: Root
    mount: Mount
    staging: int
    expected: dict[str, os.stat_result]
    undo: contextlib.ExitStack
    stuck: list[str]


def commit(real: Root, made: Root, found: Differences, mount: Mount, scratch: Path) -> None:
    """Make the changes real, from the files in ``made``.

    Raises ``ConflictError`` and ``OSError``: then nothing is done. Raises ``StuckError`` where something is.
    """
    changes = found.changes
    for change in changes:
        _check_unchanged(real, change, found.before.get(change.path))
    name = f"{PREFIX}{secrets.token_hex(8)}"
    journal = {"workspace": mount.source, "device": real.status.st_dev, "inode": real.status.st_ino, "name": name}
    # Before the folder exists: a kill in between leaves a journal of nothing.
    (scratch / scratch_sweep.JOURNAL).write_text(json.dumps(journal), encoding="ascii")
    os.mkdir(name, 0o700, dir_fd=real.descriptor)
    staging = os.open(name, FOLDER, dir_fd=real.descriptor)
    stuck: list[str] = []
    try:
        # Whoever may write in the workspace could have put another folder there at once.
        if os.fstat(staging).st_uid != os.geteuid() or _holds_anything(staging, b"."):
            raise ConflictError(name)
        with contextlib.ExitStack() as undo:
            work = _Commit(real, made, mount, staging, found.before, undo, stuck)
            for number, change in enumerate(changes):
                if change.action != "deleted" and change.kind != "directory":
                    _stage(work, change, _new(number))
            _apply(work, changes)
            undo.pop_all()
    finally:
        os.close(staging)
        if stuck:
            (scratch / scratch_sweep.JOURNAL).unlink()
            raise StuckError(f"{', '.join(stuck)} could not be put back; the old files are in {name}")
        with contextlib.suppress(OSError):
            scratch_sweep.remove_staging(real.descriptor, name)


def _check_unchanged(real: Root, change: Change, was: os.stat_result | None) -> None:
    """That a path is as it was when the changes were listed: whoever was asked may have thought for long."""
    now = real.status_of(change.raw_path)
    if was is None or now is None:
        is_same = was is now
    else:
        is_same = _stamp(was) == _stamp(now) and (stat.S_ISDIR(was.st_mode) or was.st_ctime_ns == now.st_ctime_ns)
    if not is_same:
        raise ConflictError(change.shown_path)


def _apply(work: _Commit, changes: tuple[Change, ...]) -> None:
    numbered = list(enumerate(changes))
    # From the inside out, so that folders are empty when their turn comes; then from the outside in.
    for number, change in reversed(numbered):
        if change.action == "deleted":
            _take_out(work, change, _old(number))
    for number, change in numbered:
        if change.action == "added":
            _put_in(work, change, _new(number))
        elif change.action == "changed":
            _replace(work, change, _new(number))
    # Last, for a folder may be closed to its owner as well.
    for _, change in reversed(numbered):
        if change.kind == "directory" and change.action != "deleted":
            _set_mode(work, change)


def _stage(work: _Commit, change: Change, name: bytes) -> None:
    """Copy a new file or link into the staging folder, as it shall be."""
    if change.kind == "symlink":
        os.symlink(work.made.read_link(change.raw_path), name, dir_fd=work.staging)
        _give(work, change, lambda uid, gid: os.chown(name, uid, gid, dir_fd=work.staging, follow_symlinks=False))
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    target = os.open(name, flags, 0o600, dir_fd=work.staging)
    try:
        with work.made.file(change.raw_path) as source:
            _copy(source, target)
            _copy_attributes(source, target)
        _copy_access_list(work, change, target)
        _give(work, change, lambda uid, gid: os.fchown(target, uid, gid))
        os.fchmod(target, change.mode & 0o777)
    finally:
        os.close(target)


def _copy(source: int, target: int) -> None:
    while piece := os.read(source, _PIECE):
        write_all(target, piece)


def _copy_attributes(source: int, target: int) -> None:
    """The extended attributes that programs set for themselves; those that mean rights stay behind."""
    with contextlib.suppress(OSError):
        for name in os.listxattr(source):
            if name.startswith("user.") and not name.startswith("user.overlay."):
                os.setxattr(target, name, os.getxattr(source, name))


def _copy_access_list(work: _Commit, change: Change, target: int) -> None:
    """The list of a file that is changed: without it, its group would get the rights of the list's mask."""
    if change.path not in work.expected or change.action != "changed":
        return
    with contextlib.suppress(OSError), _parent(work.real, change) as (folder, name):
        # A name of a file that the caller may perhaps not open.
        path = os.fsencode(f"/proc/self/fd/{folder}/") + name
        os.setxattr(target, _ACCESS_LIST, os.getxattr(path, _ACCESS_LIST, follow_symlinks=False))


def _give(work: _Commit, change: Change, chown: Callable[[int, int], None]) -> None:
    """The workspace's owner has what a tool made, whoever had the file before."""
    old = work.expected.get(change.path)
    uid = work.mount.owner
    gid = old.st_gid if old is not None and old.st_uid == uid else work.mount.group
    if os.geteuid() == 0:
        chown(uid, gid)
    else:
        # A group of the caller's own, perhaps; else the file keeps the group that it has.
        with contextlib.suppress(OSError):
            chown(-1, gid)


def _take_out(work: _Commit, change: Change, aside: bytes) -> None:
    with _parent(work.real, change) as (folder, name):
        rename(folder, name, work.staging, aside, RENAME_NOREPLACE)
        work.undo.callback(_back, work, change, aside)
        _check(work, change, aside)
        if change.kind == "directory" and _holds_anything(work.staging, aside):
            raise ConflictError(change.shown_path)


def _put_in(work: _Commit, change: Change, new: bytes) -> None:
    with _parent(work.real, change) as (folder, name):
        try:
            if change.kind == "directory":
                os.mkdir(name, 0o700, dir_fd=folder)
                work.undo.callback(_remove_folder, work, change)
                with work.real.folder(change.raw_path) as made:
                    _give(work, change, lambda uid, gid: os.fchown(made, uid, gid))
            else:
                rename(work.staging, new, folder, name, RENAME_NOREPLACE)
                work.undo.callback(_out_again, work, change, new)
        except FileExistsError:
            raise ConflictError(change.shown_path) from None


def _replace(work: _Commit, change: Change, new: bytes) -> None:
    if change.kind == "directory":
        return
    with _parent(work.real, change) as (folder, name):
        try:
            rename(work.staging, new, folder, name, RENAME_EXCHANGE)
        except FileNotFoundError:
            raise ConflictError(change.shown_path) from None
        work.undo.callback(_exchange_again, work, change, new)
        _check(work, change, new)


def _set_mode(work: _Commit, change: Change) -> None:
    with work.real.folder(change.raw_path) as folder:
        old = os.fstat(folder).st_mode & 0o7777
        # A folder's own set-group-id bit, which a share may rely on, stays.
        os.fchmod(folder, change.mode & 0o777 | (old & stat.S_ISGID))
        work.undo.callback(_restore_mode, work, change, old)


def _check(work: _Commit, change: Change, taken: bytes) -> None:
    """That what came out is what was there when the changes were listed; a rename alone moves only its ctime."""
    was, found = work.expected.get(change.path), os.stat(taken, dir_fd=work.staging, follow_symlinks=False)
    if was is None or _stamp(was) != _stamp(found):
        raise ConflictError(change.shown_path)


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    # What is taken out of a folder moves the folder's own times.
    times = () if stat.S_ISDIR(status.st_mode) else (status.st_mtime_ns, status.st_size)
    return (status.st_dev, status.st_ino, status.st_mode, *times)


def _holds_anything(staging: int, name: bytes) -> bool:
    folder = os.open(name, FOLDER, dir_fd=staging)
    try:
        with os.scandir(folder) as found:
            return any(found)
    finally:
        os.close(folder)


@contextlib.contextmanager
def _parent(real: Root, change: Change) -> Iterator[tuple[int, bytes]]:
    parent, _, name = change.raw_path.rpartition(b"/")
    try:
        with real.folder(parent) as folder:
            yield folder, name
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EEXIST, errno.ENOTEMPTY}:
            raise ConflictError(change.shown_path) from error
        raise


def _back(work: _Commit, change: Change, aside: bytes) -> None:
    with _undoing(work, change) as (folder, name):
        rename(work.staging, aside, folder, name, RENAME_NOREPLACE)


def _remove_folder(work: _Commit, change: Change) -> None:
    with _undoing(work, change) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def _out_again(work: _Commit, change: Change, new: bytes) -> None:
    with _undoing(work, change) as (folder, name):
        rename(folder, name, work.staging, new, RENAME_NOREPLACE)


def _exchange_again(work: _Commit, change: Change, new: bytes) -> None:
    with _undoing(work, change) as (folder, name):
        rename(work.staging, new, folder, name, RENAME_EXCHANGE)


def _restore_mode(work: _Commit, change: Change, mode: int) -> None:
    with contextlib.suppress(OSError), work.real.folder(change.raw_path) as folder:
        os.fchmod(folder, mode)


@contextlib.contextmanager
def _undoing(work: _Commit, change: Change) -> Iterator[tuple[int, bytes]]:
    try:
        with _parent(work.real, change) as found:
            yield found
    except (OSError, ConflictError):
        # Somebody is changing the same files at this very moment; nothing of theirs, or of ours, is lost.
        work.stuck.append(change.shown_path)


def _new(number: int) -> bytes:
    return b"new.%d" % number


def _old(number: int) -> bytes:
    return b"old.%d" % number

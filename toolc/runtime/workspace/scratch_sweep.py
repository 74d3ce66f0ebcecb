"""Roll back the interrupted commits of one owner, then remove its scratch folders.

A tool wrote their contents, which may have any depth and mode. The janitor uses this module too, so it imports only the
standard library and modules that do the same.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.runtime.workspace.transaction.journal import NAMES
from toolc.runtime.workspace.transaction.recovery import Unfinished, recover

COPY: Final = "copy"
"""The name of the link in a scratch folder to the copy of a workspace."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep: whether it removed anything, and the commits that could not be rolled back."""

    removed: bool
    unfinished: tuple[Unfinished, ...] = ()


def sweep_owner(directory: str) -> bool:
    """Sweep an owner's ``directory``, as the janitor does. Return whether anything was removed."""
    return sweep(Path(directory)).removed


def sweep(directory: Path) -> SweepResult:
    """Remove every scratch folder in an owner's ``directory``, and the directory itself."""
    try:
        # Folders that an interrupted removal moved up come first. Otherwise they would block the next removal.
        scratches = sorted(directory.iterdir(), reverse=True)
    except OSError:
        return SweepResult(removed=False)
    unfinished = [each for scratch in scratches if (each := discard(scratch))]
    with contextlib.suppress(OSError):
        directory.rmdir()
    return SweepResult(len(unfinished) < len(scratches) or not directory.exists(), tuple(unfinished))


def roll_back_all(directory: Path) -> tuple[Unfinished, ...]:
    """Roll back the commits in an owner's ``directory``, without removing files. Return the unfinished commits."""
    try:
        scratches = sorted(directory.iterdir())
    except OSError:
        return ()
    # See ``discard``.
    return tuple(each for scratch in scratches if scratch.name.isdigit() and (each := recover(scratch)))


def discard(scratch: Path) -> Unfinished | None:
    """Remove one scratch folder and the staging folder of its commit in the workspace.

    If the commit cannot be rolled back, the journal is kept and the problem is returned.
    """
    # ``remove_tree`` gave any other name. A tool may have written a journal or a link there.
    unfinished = recover(scratch) if scratch.name.isdigit() else None
    if scratch.name.isdigit() and not _remove_copy(scratch / COPY):
        return unfinished
    if unfinished is None:
        remove_tree(scratch)
    else:
        for entry in [each for each in scratch.iterdir() if each.name not in NAMES]:
            remove_tree(entry)
    return unfinished


def _remove_copy(record: Path) -> bool:
    """Remove the copy of a workspace that a scratch folder records, then the record. Return whether all is removed."""
    if record.is_symlink():
        folder = record.readlink()
        for entry in _entries(folder) if folder.exists() else ():
            remove_tree(folder / entry.name)
        with contextlib.suppress(OSError):
            folder.rmdir()
        if folder.exists():
            return False  # another process is removing it too, and the next sweep removes the rest
        record.unlink(missing_ok=True)
    return True


def remove_tree(top: Path) -> None:
    """Remove a folder with any contents. Every subfolder is moved up first, so that no path becomes too long.

    Subfolders are moved next to ``top``, so that the next sweep finds those that cannot be removed. A sweep outlives
    its janitor, so two processes may do this concurrently. Neither moves a folder onto a folder of the other, and a
    folder that one has removed does not stop the other.
    """
    pending, number = [top], 0
    while pending:
        folder = pending.pop()
        if _is_removed(folder):
            continue
        for entry in _entries(folder):
            path = folder / entry.name
            number += 1
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    path.unlink()
                elif not _is_removed(path):
                    path.chmod(0o700)
                    pending.append(path.rename(top.with_name(f"{top.name}.{os.getpid()}.{number}")))
        with contextlib.suppress(OSError):
            folder.rmdir()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        with os.scandir(folder) as entries:
            return list(entries)
    return []


def _is_removed(folder: Path) -> bool:
    # The kernel leaves an empty folder of mode 0 that we do not own. Only this call removes it.
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True

"""Remove the scratch folders of one owner: ``python -I -S scratch_sweep.py DIRECTORY``, exit 0 if there was none.

A tool wrote what is in there, so it may be of any depth and mode. Where a commit was cut short, what it had
put aside in the workspace goes too. Run by its path by the janitor, so it imports only the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from pathlib import Path
from typing import Final

JOURNAL: Final = "journal.json"
"""The file of a scratch folder that says where a commit stages: workspace, its device and inode, and the name."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def sweep(directory: Path) -> bool:
    """Remove every scratch folder in an owner's ``directory``, and it; True if it was there."""
    try:
        found = sorted(directory.iterdir())
    except OSError:
        return False
    for scratch in found:
        discard(scratch)
    with contextlib.suppress(OSError):
        directory.rmdir()
    return True


def discard(scratch: Path) -> None:
    """Remove one scratch folder, after what its commit has left in the workspace."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        _remove_staging(json.loads((scratch / JOURNAL).read_text(encoding="ascii")))
    remove_tree(scratch)


def remove_tree(top: Path) -> None:
    """Remove a folder whatever is in it: each folder below is moved up first, so that no path gets long.

    Moved beside ``top``, so that one that cannot be removed is found by the next sweep.
    """
    waiting, number = [top], 0
    while waiting:
        folder = waiting.pop()
        if _is_removed(folder):
            continue
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
            with os.scandir(folder) as found:
                entries = list(found)
            for entry in entries:
                path = folder / entry.name
                if not entry.is_dir(follow_symlinks=False):
                    path.unlink()
                elif not _is_removed(path):
                    number += 1
                    path.chmod(0o700)
                    waiting.append(path.rename(top.with_name(f"{top.name}.{number}")))
            folder.rmdir()


def _is_removed(folder: Path) -> bool:
    # The kernel leaves an empty one of mode 0 that is not ours, and only so can it be removed.
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True


def _remove_staging(journal: dict[str, object]) -> None:
    """Empty and remove a staging folder, if the workspace is still the folder that the commit was in."""
    workspace = os.open(str(journal["workspace"]), _FOLDER)
    try:
        status = os.fstat(workspace)
        if [status.st_dev, status.st_ino] == [journal["device"], journal["inode"]]:
            remove_staging(workspace, str(journal["name"]))
    finally:
        os.close(workspace)


def remove_staging(workspace: int, name: str) -> None:
    """Remove the folder ``name`` of ours in the open folder ``workspace``: files, and folders that are empty."""
    staging = os.open(name, _FOLDER, dir_fd=workspace)
    try:
        if os.fstat(staging).st_uid != os.geteuid():
            return
        with os.scandir(staging) as found:
            names = [entry.name for entry in found]
        for each in names:
            if stat.S_ISDIR(os.stat(each, dir_fd=staging, follow_symlinks=False).st_mode):
                os.rmdir(each, dir_fd=staging)
            else:
                os.unlink(each, dir_fd=staging)
    finally:
        os.close(staging)
    os.rmdir(name, dir_fd=workspace)


if __name__ == "__main__":
    sys.exit(sweep(Path(sys.argv[1])))

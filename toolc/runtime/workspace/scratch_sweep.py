"""Remove the scratch folders of one owner, after what a commit that was cut short has begun is rolled back.

A tool wrote what is in there, so it may be of any depth and mode. The janitor runs ``main`` in a Python that
has the standard library and toolc's own folder, so this imports nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.runtime.workspace.transaction.journal import NAMES
from toolc.runtime.workspace.transaction.recovery import Unfinished, recover

_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from toolc.runtime.workspace.scratch_sweep import main; main(sys.argv[2])"
)


@dataclass(frozen=True, slots=True)
class Swept:
    """``found``: whether anything was there to remove. ``unfinished``: what had to stay."""

    found: bool
    unfinished: tuple[Unfinished, ...] = ()


def command(directory: Path) -> list[str]:
    """What the janitor is to run for an owner's ``directory``: exits with 0 if there was nothing to remove."""
    return [sys.executable, "-I", "-S", "-c", _PROGRAM, str(Path(__file__).parents[3]), str(directory)]


def main(directory: str) -> None:
    """What the janitor runs."""
    sys.exit(sweep(Path(directory)).found)


def sweep(directory: Path) -> Swept:
    """Remove every scratch folder in an owner's ``directory``, and it."""
    try:
        # What was moved up by a removal that was cut short comes first, or it would be in the way of the next.
        scratches = sorted(directory.iterdir(), reverse=True)
    except OSError:
        return Swept(found=False)
    unfinished = [each for scratch in scratches if (each := discard(scratch))]
    with contextlib.suppress(OSError):
        directory.rmdir()
    return Swept(len(unfinished) < len(scratches) or not directory.exists(), tuple(unfinished))


def roll_back(directory: Path) -> tuple[Unfinished, ...]:
    """Roll back the commits in an owner's ``directory``, and remove nothing yet; what had to be left unfinished."""
    try:
        scratches = sorted(directory.iterdir())
    except OSError:
        return ()
    # See ``discard``.
    return tuple(each for scratch in scratches if scratch.name.isdigit() and (each := recover(scratch)))


def discard(scratch: Path) -> Unfinished | None:
    """Remove one scratch folder, and what its commit has left in the workspace.

    Where that had to be left unfinished, the journal stays, and what it says is returned.
    """
    # What has another name was moved there by ``remove_tree``, and a tool may have written a journal in it.
    unfinished = recover(scratch) if scratch.name.isdigit() else None
    if unfinished is None:
        remove_tree(scratch)
    else:
        for entry in [each for each in scratch.iterdir() if each.name not in NAMES]:
            remove_tree(entry)
    return unfinished


def remove_tree(top: Path) -> None:
    """Remove a folder whatever is in it: each folder below is moved up first, so that no path gets long.

    Moved beside ``top``, so that one that cannot be removed is found by the next sweep. Two processes may do
    this at once (what a janitor has started outlives it): none moves a folder onto the other's, and what one
    has taken away does not keep the other from the rest.
    """
    waiting, number = [top], 0
    while waiting:
        folder = waiting.pop()
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
                    waiting.append(path.rename(top.with_name(f"{top.name}.{os.getpid()}.{number}")))
        with contextlib.suppress(OSError):
            folder.rmdir()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        with os.scandir(folder) as found:
            return list(found)
    return []


def _is_removed(folder: Path) -> bool:
    # The kernel leaves an empty one of mode 0 that is not ours, and only so can it be removed.
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True

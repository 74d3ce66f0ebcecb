"""Let an ordinary user access the files of this process below a closed home folder."""

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from project.paths import ROOT

import toolc

CLONE_NEWNS = 0x20000


def expose_python() -> None:
    """Let every user read the interpreter, its library and toolc, in this process only.

    A closed folder above any of them becomes an empty one that holds only these. Needs root.
    """
    needed = {Path(sys.prefix), Path(sys.base_prefix), Path(toolc.__file__).parents[1], ROOT}
    closed = {path: above for path in sorted(needed) if (above := _closed_above(path)) is not None}
    if not closed:
        return
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    _mount("--make-rprivate", "/")
    held = {path: Path(tempfile.mkdtemp(prefix="toolc-held-")) for path in closed}
    for path, holder in held.items():
        _mount("--rbind", path, holder)
    for above in sorted(set(closed.values())):
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", above)
    for path, holder in held.items():
        path.mkdir(parents=True, exist_ok=True)
        _mount("--rbind", holder, path)
        subprocess.run(["umount", "-l", holder], check=True)
        holder.rmdir()


def _closed_above(path: Path) -> Path | None:
    """Return the topmost folder in the path that other users cannot enter."""
    ways: Iterable[Path] = reversed((path, *path.parents))
    return next((way for way in ways if way.exists() and not way.stat().st_mode & 0o001), None)


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *words], check=True)

"""Writing a build: a whole folder at once, or nothing.

The folder is written beside its place under a passing name and then takes that place in one step (on
Linux the two folders are exchanged). What was there stays whole until then, whatever goes wrong. Only one
build at a time writes beside its place: each holds a lock on the folder above, which leaves no file behind.

A build lists its own files in ``.toolc-build``. A folder that holds anything else is not replaced.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolc.model.errors import UsageError

MANIFEST: Final = ".toolc-build"
"""The file in which a build lists its own files, one path a line, sorted."""

_HEADER: Final = "# Written by `toolc build`; the next build replaces this folder. These files are its own:\n"
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2


def write(out: Path, artifacts: Mapping[str, bytes]) -> None:
    """Make ``out`` a folder that holds exactly ``artifacts``, by path relative to it, and a list of them.

    Files of an earlier build that are not among them go. Raises ``UsageError``, with ``out`` as it was,
    where it holds files that no build wrote, or cannot be written.
    """
    try:
        place = Path(os.path.realpath(out))
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place.parent):
            _refuse_foreign(place, out)
            aside = Path(tempfile.mkdtemp(prefix=_aside_prefix(place), dir=place.parent))
            try:
                _fill(aside, artifacts)
                _take_place(aside, place)
            finally:
                _remove_asides(place)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in {errno.EBUSY, errno.EXDEV}:
            reason += " (is it a mount point? name a folder inside it)"
        elif error.errno in {errno.EEXIST, errno.ENOTDIR}:
            reason = "a file stands where a folder above it would be; name another with --out"
        raise UsageError(f"cannot write {out}: {reason}") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl  # not on Windows, where builds are not kept apart

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _refuse_foreign(place: Path, out: Path) -> None:
    if not place.exists():
        return
    if not place.is_dir():
        raise UsageError(f"cannot write {out}: it is not a folder; name another with --out")
    own = _listed(place / MANIFEST)
    found = sorted(path for path in _contents(place) if path not in own)
    if found:
        raise UsageError(
            f"{out} holds files that toolc did not write ({found[0]}), and a build replaces the whole folder; "
            "move them away, or name another folder with --out"
        )


def _listed(manifest: Path) -> frozenset[str]:
    try:
        text = manifest.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return frozenset()
    if not text.startswith(_HEADER):
        return frozenset()
    return frozenset(text.removeprefix(_HEADER).splitlines()) | {MANIFEST}


def _contents(folder: Path) -> Iterator[str]:
    """Every path in ``folder`` that is not a folder with something in it."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir()):
            yield path.relative_to(folder).as_posix()


def _fill(folder: Path, artifacts: Mapping[str, bytes]) -> None:
    listing = _HEADER + "".join(f"{path}\n" for path in sorted(artifacts))
    for name, data in {**artifacts, MANIFEST: listing.encode()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o644)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def _take_place(aside: Path, place: Path) -> None:
    if not place.exists():
        aside.rename(place)
        return
    if _exchange(aside, place):
        return
    # No exchange here (another system, an old file system): for a moment there is no folder in the place.
    old = Path(tempfile.mkdtemp(prefix=_aside_prefix(place), dir=place.parent))
    place.rename(old)
    try:
        aside.rename(place)
    except OSError:
        old.rename(place)
        raise


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where this system or file system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}:
        return False
    raise OSError(number, os.strerror(number))


def _aside_prefix(place: Path) -> str:
    return f".{place.name}.toolc-build-"


def _remove_asides(place: Path) -> None:
    """Remove what was put aside, by this build or by one that was killed: whoever holds the lock owns it."""
    for path in place.parent.glob(f"{_aside_prefix(place)}*"):
        shutil.rmtree(path, ignore_errors=True)

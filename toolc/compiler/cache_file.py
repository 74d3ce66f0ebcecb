"""The file that a cache is: whole, written by its owner alone, or no cache at all."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 64 * 1024 * 1024
"""The largest file that is kept."""

_KEEP_DAYS: Final = 30


def cache_folder() -> Path | None:
    """The user's folder for what toolc keeps; None where this system has no owners of files, or no such folder."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else Path.home() / ".cache") / "toolc"
    except (OSError, RuntimeError):
        return None


def digest(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read(place: Path) -> str:
    """The text that ``write`` put there; empty where it is not whole, or somebody else could have written it.

    Raises ``OSError`` and ``UnicodeError``.
    """
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
            return ""
        data = file.read(MAX_BYTES + 1)
    wanted, _, body = data.partition(b"\n")
    return body.decode() if wanted == hashlib.sha256(body).hexdigest().encode() else ""


def write(place: Path, text: str) -> None:
    """Put the file in its place in one step, readable to its owner alone, and sweep out what is long unused.

    Raises ``OSError`` and ``UnicodeError``.
    """
    body = text.encode()
    if len(body) > MAX_BYTES:
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = place.with_name(f"check-{os.getpid()}-{time.time_ns()}.new")  # tempfile takes long to import
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        aside.replace(place)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    oldest = time.time() - _KEEP_DAYS * 86400
    for each in place.parent.glob("check-*"):
        if each.lstat().st_mtime < oldest:
            each.unlink(missing_ok=True)

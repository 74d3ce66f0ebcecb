"""The file that a cache is: whole, written by its owner alone, or no cache at all."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    return digest_of_bytes(text.encode("utf-8", "surrogatepass"))


def digest_of_bytes(data: bytes) -> str:
    """The SHA-256 of what a file holds."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Kept:
    """The lines of a file: the ``first``, and the others, which are many and looked at only where somebody asks."""

    first: str = ""
    _rest: bytes = b""
    _digest: bytes = b""

    def others(self) -> list[str]:
        """All lines but the first; none where these are not as they were written."""
        return self._rest.decode().split("\n") if self._rest and _digest(self._rest) == self._digest else []


def digest_of_files(digests: Mapping[str, str]) -> str:
    """One digest of files with their names, of each file's own."""
    listed = "".join([f"{name}\0{found}" for name, found in digests.items()])
    return digest_of_bytes(listed.encode("utf-8", "surrogateescape"))


def read(place: Path) -> Kept:
    """What ``write`` put there; nothing where it is not whole, or somebody else could have written it.

    Raises ``OSError`` and ``UnicodeError``.
    """
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        is_ours = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022
        if not is_ours or state.st_size > 2 * MAX_BYTES:
            return Kept()
        of_first, _, of_rest = file.readline().rstrip(b"\n").partition(b" ")
        first = file.readline().rstrip(b"\n")
        rest = file.read()
    return Kept(first.decode(), rest, of_rest) if _digest(first) == of_first else Kept()


def _digest(data: bytes) -> bytes:
    return digest_of_bytes(data).encode()


def write(place: Path, first: str, others: Sequence[str]) -> None:
    """Put the file in its place in one step, readable to its owner alone, and sweep out what is long unused.

    Raises ``OSError`` and ``UnicodeError``.
    """
    line, rest = first.encode(), "\n".join(others).encode()
    if len(line) + len(rest) > MAX_BYTES:
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = place.with_name(f"check-{os.getpid()}-{time.time_ns()}.new")  # tempfile takes long to import
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines((b"%b %b\n%b\n" % (_digest(line), _digest(rest), line), rest))
        aside.replace(place)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    oldest = time.time() - _KEEP_DAYS * 86400
    for each in place.parent.glob("check-*"):
        if each.lstat().st_mtime < oldest:
            each.unlink(missing_ok=True)

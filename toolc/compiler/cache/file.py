"""The file of a cached answer: a digest and one JSON value, never code.

A file is used only if it is complete and only its owner could have written it.
"""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from toolc.compiler.project.files import digest_of_bytes
from toolc.model.atomic_files import replace_file

_MAX_BYTES: Final = 64 * 1024 * 1024

_MAX_AGE_DAYS: Final = 30
"""The maximum size of a cache file, in bytes, and the time to keep a file after it was written, in days.

An answer with a hundred findings for each of a thousand files fits. A folder that is not checked for a month is
probably gone.
"""

INVALID_CACHE: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""The errors that reading a value can raise if it was not written by toolc."""


def cache_folder() -> Path | None:
    """Return the cache folder of the user, or None if it does not exist or the system has no file owners."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else Path.home() / ".cache") / "toolc"
    except (OSError, RuntimeError):
        return None


def load(path: Path) -> Any:
    """Return the value that ``save`` wrote, or None if the file is missing, damaged or writable for other users."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            is_own = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022
            if not is_own or state.st_size > 2 * _MAX_BYTES:
                return None
            digest, answer = file.readline().rstrip(b"\n"), file.read()
        return json.loads(answer) if digest_of_bytes(answer).encode() == digest else None
    except INVALID_CACHE:
        return None


def save(path: Path, answer: object) -> None:
    """Replace the file atomically, and remove files that were written more than a month ago.

    ``answer`` is a JSON value. If the file cannot be written, the cache stays unchanged.
    """
    with suppress(OSError, UnicodeError):
        data = json.dumps(answer).encode()
        if len(data) <= _MAX_BYTES:
            _replace(path, b"%b\n%b" % (digest_of_bytes(data).encode(), data))


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replace_file(path, draft=path.with_name(f"check-{os.getpid()}-{time.time_ns()}.new"), mode=0o600) as file:
        file.write(data)
    oldest = time.time() - _MAX_AGE_DAYS * 86400
    for each in path.parent.glob("check-*"):
        if each.lstat().st_mtime < oldest:
            each.unlink(missing_ok=True)

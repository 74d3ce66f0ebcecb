"""Atomic replacement of a file. Readers find either all of its old content or all of its new content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EISDIR
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replace_file(path: Path, *, draft: Path | None = None, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` atomically at the end of the block. An exception removes the new file.

    ``draft`` is the path of the new file until then, on the same file system. The default is next to ``path``. ``mode``
    is reduced by the umask. Raises ``OSError``.
    """
    if not path.name:  # '/' or '.'
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    draft = draft or path.with_name(f".{path.name[:100]}.{os.urandom(8).hex()}")  # importing tempfile is slow
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise

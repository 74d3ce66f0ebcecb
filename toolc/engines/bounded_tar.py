"""A tar file of somebody else's, read by name: its headers are bounded, in size and number.

Packed or not: what a few kilobytes unpack to may be a name of a hundred gigabytes.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Final, cast

MAX_FILES: Final = 10_000
MAX_NAME: Final = 4096
MAX_WORDS: Final = 1000
"""How many extended header records one file may have."""

MAX_READ: Final = 16 * 1024 * 1024
"""How much may be asked for at once: content is read in smaller pieces, an honest header is smaller."""

_PACKED: Final = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))


class _Sparing:
    """A file that refuses to be read in pieces of more than ``MAX_READ``."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_READ:
            raise tarfile.ReadError("it has a header of many megabytes")
        return self._file.read(size)


@contextmanager
def open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """Open a tar file and read all its headers. Raises ``OSError``, ``ValueError`` and what its modules raise."""
    with path.open("rb") as packed, _unpacked(packed) as file, _opened(file) as tar:
        _read_headers(tar)
        yield tar


def _opened(file: IO[bytes]) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=cast("IO[bytes]", _Sparing(file)), mode="r:")
    except tarfile.ReadError:
        # tarfile's own words are about headers.
        raise ValueError("it is no tar file") from None


def _unpacked(packed: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    magic = packed.read(6)
    packed.seek(0)
    for beginning, unpack in _PACKED:
        if magic.startswith(beginning):
            return cast("AbstractContextManager[IO[bytes]]", unpack(packed))
    return nullcontext(packed)


def _read_headers(tar: tarfile.TarFile) -> None:
    number = 0
    while (member := tar.next()) is not None:
        number += 1
        if len(member.name) > MAX_NAME or len(member.linkname) > MAX_NAME or len(member.pax_headers) > MAX_WORDS:
            raise tarfile.ReadError("it has a file with a header that is too long")
        if number > MAX_FILES:
            raise tarfile.ReadError(f"it holds more than {MAX_FILES} files")

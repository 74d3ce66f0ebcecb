"""The lines of a client, with a maximum length."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO, Final

from toolc.dataclass import dataclass
from toolc.model.spec.sandbox import MIB

MAX_LINE: Final = 64 * MIB
"""The maximum length of a line, in bytes. It is the same as for messages to a guest."""


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line. If it was too long, ``is_whole`` is False, and ``data`` is its beginning."""

    data: bytes
    is_whole: bool = True


def read_lines(stream: BinaryIO) -> Iterator[InputLine]:
    """Yield the lines until the end of ``stream``. Empty lines are only logged."""
    while data := stream.readline(MAX_LINE):
        is_whole, rest = True, data
        while len(rest) == MAX_LINE and not rest.endswith(b"\n"):
            is_whole, rest = False, stream.readline(MAX_LINE)
        if data.isspace():
            logging.getLogger("toolc.serve").warning("ignored an empty line from the client")
        else:
            yield InputLine(data, is_whole)

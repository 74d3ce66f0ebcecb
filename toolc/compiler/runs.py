"""Whether a text has a long run of certain characters: a glance that costs a hundredth of a regular expression."""

from __future__ import annotations

import string
from typing import Final

ALPHANUMERIC: Final = string.ascii_letters + string.digits


def table(characters: str) -> bytes:
    """What ``has_run`` needs to know of some ASCII characters; those beyond ASCII always count."""
    wanted = frozenset(characters.encode("ascii"))
    return bytes(ord("a") if byte in wanted or byte >= 0x80 else ord(" ") for byte in range(256))


def has_run(text: str, of: bytes, length: int) -> bool:
    """Whether so many characters of a ``table`` stand in one run."""
    return b"a" * length in text.encode(errors="replace").translate(of)

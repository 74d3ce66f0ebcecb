"""Find long runs of characters of one set in a text, without a regular expression."""

from __future__ import annotations

import string
from typing import Final

ALPHANUMERIC: Final = string.ascii_letters + string.digits


def character_table(characters: str) -> bytes:
    """Return a table of ASCII characters for ``has_long_run``. Characters beyond ASCII always count."""
    members = frozenset(characters.encode("ascii"))
    return bytes(ord("a") if byte in members or byte >= 0x80 else ord(" ") for byte in range(256))


def has_long_run(text: str, of: bytes, length: int) -> bool:
    """Return whether ``text`` has ``length`` consecutive characters of the table ``of``."""
    return b"a" * length in text.encode(errors="replace").translate(of)

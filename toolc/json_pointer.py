"""JSON Pointers (RFC 6901), which lead to a place in a JSON value."""

from __future__ import annotations

import re
from typing import Final

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


def tokens(pointer: str) -> list[str]:
    """The names on the way, unescaped (section 3); none for the empty pointer."""
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def list_index(token: str) -> int | None:
    """Which item of a list ``token`` names (section 4), from 0; None where it names none that a list could have."""
    return int(token) if _INDEX.fullmatch(token) else None

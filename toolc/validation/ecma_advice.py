"""ECMA-262 syntax to suggest instead of the syntax of other languages, from ``pattern_advice.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

_DATA: Final = json.loads((Path(__file__).parent.parent / "data" / "pattern_advice.json").read_text(encoding="utf-8"))

PYTHON_ANCHORS: Final[dict[str, str]] = _DATA["python_anchors"]
"""Escape sequences for the start and the end of a text in Python and other languages."""

PYTHON_CONTROLS: Final[dict[str, int]] = _DATA["python_controls"]
"""Escape sequences for control characters that ECMA-262 does not have."""

ADVICE_ON_ESCAPES: Final[dict[str, str]] = _DATA["advice_on_escapes"]
"""The replacement for each escape sequence, by the character after the backslash."""

ADVICE_ON_GROUPS: Final[dict[str, str]] = _DATA["advice_on_groups"]
"""The replacement for each kind of group, by a pattern for the text after ``(?``. The first match applies."""

POSIX_CLASSES: Final[dict[str, str]] = _DATA["posix_classes"]
"""The replacement for each POSIX class, within a character class."""


def advice_on_property(value: str) -> str:
    """Return a hint that suggests a replacement for a Unicode property that cannot be translated."""
    if characters := _DATA["scripts"].get(value):
        return f"write the range of the characters, e.g. [{characters}]"
    other = r"write a general category, e.g. \p{L} for letters or \p{Nd} for digits, or list the characters"
    advice: str = _DATA["binary"].get(value, other)
    return advice

"""What to write in an ECMA-262 pattern instead of the syntax of other languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PYTHON_ANCHORS: Final[Mapping[str, str]] = {"A": "^", "Z": "$", "z": "$"}
"""Escape sequences that Python and others have for the start and the end of a text."""

PYTHON_CONTROLS: Final[Mapping[str, int]] = {"a": 0x07, "e": 0x1B}
"""Escape sequences for control characters that ECMA-262 does not have."""

ADVICE_ON_ESCAPES: Final[Mapping[str, str]] = {
    "h": r"write [ \t] for blanks",
    "H": r"write [^ \t] for any character except blanks",
    "R": r"write (?:\r\n|[\n\r]) for line ends",
    "Q": r"escape each character, e.g. \.", "E": r"escape each character, e.g. \.",
    "G": "use ^", "K": "use a lookbehind: (?<=...)", "X": r"use \P{M}\p{M}*", "N": r"use \u{...} or .",
    "c": r"write \c and a letter for a control character", "0": r"write \x00 for the character NUL",
    "x": r"write \x and two hexadecimal digits", "u": r"write \u and four hexadecimal digits, or \u{...}",
    "U": r"write \u{...}, e.g. \u{1F600}", "g": r"write \1, or \k<name>",
}  # fmt: skip
"""What to write instead of an escape sequence, by the character after the backslash."""

ADVICE_ON_GROUPS: Final[Mapping[str, str]] = {
    r"-?[a-zA-Z]*i": "write the letters of both cases, e.g. [Aa]",
    r"-?[a-zA-Z]*s": "write [^] for any character, including line ends",
    r"-?[a-zA-Z]*m": r"write (?:^|\n) for the start of a line, and (?=\n|$) for its end",
    r"-?[a-zA-Z]*x": "write the pattern without blanks and comments",
    r"-?[a-zA-Z]+[:)]": "remove the flags",
    "#": "remove the comment",
    r"\(": "write both cases with |",
    ">": "use a plain group: (?:...)",
    "P>": "ECMA-262 has no recursion; check nested text in the tool",
    "[&R+-]": "ECMA-262 has no recursion; check nested text in the tool",
    "'": "write (?<name>...)", "P?<": "write (?<name>...)", r"\|": "use a plain group: (?:...)",
    "": "write (?:...) for a group, or \\? for the character",
}  # fmt: skip
"""What to write instead of a group, by a pattern of what follows ``(?``. The first that matches applies."""

POSIX_CLASSES: Final[Mapping[str, str]] = {
    "alnum": "write A-Za-z0-9", "alpha": "write A-Za-z", "blank": r"write ' \t'", "cntrl": r"write \x00-\x1f\x7f",
    "digit": "write 0-9", "graph": "write !-~", "lower": "write a-z", "print": "write ' -~'",
    "punct": "write !-/:-@[-`{-~", "space": r"write \s", "upper": "write A-Z", "word": r"write \w",
    "xdigit": "write A-Fa-f0-9",
}  # fmt: skip
"""What to write instead of a class of POSIX, within a character class."""

_SCRIPTS: Final[Mapping[str, str]] = {
    "Latin": r"A-Za-z\u00c0-\u024f", "Greek": r"\u0370-\u03ff", "Cyrillic": r"\u0400-\u052f", "Han": r"\u3400-\u9fff",
    "Hiragana": r"\u3041-\u309f", "Katakana": r"\u30a0-\u30ff", "Hangul": r"\uac00-\ud7a3", "Arabic": r"\u0600-\u06ff",
    "Hebrew": r"\u0590-\u05ff", "Thai": r"\u0e00-\u0e7f", "Devanagari": r"\u0900-\u097f",
}  # fmt: skip
_BINARY: Final[Mapping[str, str]] = {
    "Alphabetic": r"write \p{L}", "Alpha": r"write \p{L}", "ID_Start": r"write [\p{L}\p{Nl}]",
    "ID_Continue": r"write \p{XID_Continue}", "Emoji": r"write a range, e.g. [\u{1F300}-\u{1FAFF}]",
}  # fmt: skip


def advice_on_property(value: str) -> str:
    """Return what to write instead of a Unicode property that cannot be translated."""
    if characters := _SCRIPTS.get(value):
        return f"write the range of the characters, e.g. [{characters}]"
    other = r"write a general category, e.g. \p{L} for letters or \p{Nd} for digits, or list the characters"
    return _BINARY.get(value, other)

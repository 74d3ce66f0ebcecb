"""What the text of a spec tells without being compiled: whether it may take in files, calls tools, and names.

Thousands of texts are asked on every comparison. So each pattern is tried only where a word is that it needs, and
those about ``name`` begin with it, since ``re`` then looks for it as fast as for a plain string.
"""

from __future__ import annotations

import re
from typing import Final

_REFERS: Final = re.compile(rb"\b(?:files?|build)\b[\"']?[ \t]*[:=]")
_CALLS: Final = re.compile(rb"\b(?:composite|agent|toolsets)\b")
_NAMED: Final = rb"name(?<!\wname)\b"
_NAME: Final = re.compile(
    rb"name(?:(?<=^name)|(?<=^[\"']name)|(?<=[ \t{,-]name)|(?<=[ \t{,-][\"']name))"
    rb"[\"']?[ \t]*[:=][ \t]*(?:[&!][^\s]+[ \t]+)*[\"']?([A-Za-z_][A-Za-z0-9_-]*)",
    re.MULTILINE,
)
"""More than the names of tools: one that is none only makes a review say that a text names it."""

_ODD: Final = (
    # A letter that is written as a number.
    ((b"\\",), re.compile(rb"\\[xuU]")),
    # A key and its value apart.
    ((b"?",), re.compile(rb"\n[ \t-]*\?(?=\s)|[\[{,][ \t]*\?\s[^,?()]*:")),
    # A key that is an alias, has an anchor or a tag.
    ((b"*", b"&", b"!"), re.compile(rb"[*&!][^\s,\]}]*[ \t]+:(?=\s)")),
    ((b"*", b"&", b"!"), re.compile(rb"\n[ \t]*[*&!]")),
    # A name in other lines, or elsewhere.
    ((b"name",), re.compile(_NAMED + rb"[\"']?[ \t]*[:=][ \t]*(?:[|>&*!]|[\"'][^\"'\n]*\n)")),
    (
        (b"name",),
        re.compile(
            _NAMED + rb"[\"']?[ \t]*:[ \t]*(?:#[^\n]*)?\r?\n[ \t]*[\"']?[\w-]+[\"']?[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)"
        ),
    ),
    # Other ends of lines.
    ((b"\r",), re.compile(rb"\r(?!\n)")),
    ((b"\x00",), re.compile(rb"\x00")),
)
"""Ways of writing a key or a name that the patterns above do not see, and that hardly anybody uses."""

_COLON: Final = re.compile(rb"\n[ \t]*:")
_APART: Final = re.compile(rb"\n[ \t]*:(?=\s)|\b(?:files?|build|name)\b[\"']?(?:[ \t]*(?:#[^\n]*)?\r?\n)+[ \t]*:")
"""A value whose line begins with the colon, or with more."""

_ENCODED: Final = re.compile(rb"\xff|\xfe|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Other encodings, and ends of lines that are no ASCII."""


def names(text: bytes) -> list[bytes]:
    """What may be the names of tools in a spec."""
    return _NAME.findall(text)


def is_odd(text: bytes) -> bool:
    """Whether keys or names are written in a way that is not looked into here."""
    begun = b"\n" + text  # each line has an end before it then
    if _COLON.search(begun) and _APART.search(begun):
        return True
    if not text.isascii() and _ENCODED.search(text):
        return True
    return any(any(word in text for word in words) and pattern.search(begun) for words, pattern in _ODD)


def speaks_of_tools(text: bytes) -> bool:
    """Whether a spec or a project file may name other tools."""
    words = (b"composite", b"agent", b"toolsets")
    return any(word in text for word in words) and _CALLS.search(text) is not None


def refers(text: bytes) -> bool:
    """Whether a spec that is not odd may take in files beside it."""
    return (b"file" in text or b"build" in text) and _REFERS.search(text) is not None


def speaks_of_files(text: bytes) -> bool:
    """Whether a spec may take in files beside it, however it is written."""
    return refers(text) or is_odd(text)

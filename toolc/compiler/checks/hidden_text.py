"""TC210: characters that a model reads and a reviewer does not see, and letters that pose as others.

Zero-width characters, bidirectional controls and the tag block (U+E0000) have carried hidden orders in tool
descriptions. What ordinary writing needs is let be: joiners inside emoji and in scripts that shape with
them, and the selector that makes a sign an emoji.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.edits import fix
from toolc.compiler.visible import Visible
from toolc.diagnostics import Diagnostic, Edit, Fix

NUMBER: Final = "TC210"

NEEDS: Final = frozenset({"name", "description"})


_HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_JOINERS: Final = frozenset("\u200c\u200d")
_EMOJI_STYLE: Final = frozenset("\ufe0e\ufe0f")
_KEYCAP_BASES: Final = frozenset("0123456789#*")
# Letters of Cyrillic and Greek that look like Latin ones; signs such as μ, Ω and Δ are used beside Latin letters.
_POSING: Final = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌοορνΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")  # noqa: RUF001  that is the point
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def first_hidden(text: str) -> str:
    """The first character of ``text`` that cannot be seen, as ``U+200B``; empty where there is none."""
    found = (match for match in _HIDDEN.finditer(text) if not _is_ordinary(text, match))
    return next((f"U+{ord(match[0][0]):04X}" for match in found), "")


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """The first hidden character, and the first disguised word, of each string that a model sees."""
    for each in tool.visible if not tool.words.isascii() else ():
        if not each.text.isascii():
            yield from _hidden(tool, each)
            yield from _lookalike(tool, each)


def _hidden(tool: LocatedTool, each: Visible) -> Iterator[Diagnostic]:
    for match in _HIDDEN.finditer(each.text):
        if _is_ordinary(each.text, match):
            continue
        first = match[0][0]
        name = unicodedata.name(first, "an unassigned character").lower()
        message = f"{each.what} has a character that cannot be seen: U+{ord(first):04X}, {name}"
        span = each.place(tool.source, match[0])
        yield Diagnostic(codes.HIDDEN_TEXT, message, span, "delete it, or type the text anew", _fix(tool, each))
        return


def _fix(tool: LocatedTool, each: Visible) -> Fix | None:
    """Delete all such characters of the string, where they are written as they are read."""
    written, start = tool.source.between(each.span), tool.source.offset(each.span.start)
    edits = [
        Edit(tool.source.span(start + match.start(), start + match.end()), "")
        for match in _HIDDEN.finditer(written)
        if not _is_ordinary(written, match)
    ]
    return fix("delete what cannot be seen", *edits) if edits else None


def _is_ordinary(text: str, match: re.Match[str]) -> bool:
    """Whether writing needs these characters where they stand."""
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    style, joiner = match[0][0], match[0][-1]
    emoji = unicodedata.category(before) in {"So", "Sk", "Sm", "Po"} or before in _KEYCAP_BASES
    if match[0] in _EMOJI_STYLE:
        return emoji
    if joiner not in _JOINERS or len(match[0]) > 2 or (len(match[0]) == 2 and style not in _EMOJI_STYLE):
        return False
    return (emoji and unicodedata.category(after) == "So") or (_is_shaping(before) and _is_shaping(after))


def _is_shaping(character: str) -> bool:
    """Whether a character is of a script that knows no capitals, such as Arabic or Devanagari."""
    return unicodedata.category(character) in {"Lo", "Mn", "Mc"}


def _lookalike(tool: LocatedTool, each: Visible) -> Iterator[Diagnostic]:
    for match in _WORD.finditer(each.text):
        word = match[0]
        posing = next((letter for letter in word if letter in _POSING), None)
        if posing and any(letter.isascii() for letter in word):
            name = unicodedata.name(posing).lower()
            message = f"the word '{word[:60]}' in {each.what} mixes scripts: '{posing}' is {name}"
            span = each.place(tool.source, word)
            yield Diagnostic(codes.LOOKALIKE, message, span, "type the word anew in one script")
            return

"""TC213: role tags, escape sequences, comments and encoded blobs in words for a model.

A model may take ``<system>`` for a message of that role, and a terminal or a rendered page hides an escape
sequence or a comment from the person who reviews it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.runs import ALPHANUMERIC, has_run, table
from toolc.compiler.visible import Visible
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC213"

NEEDS: Final = frozenset({"name", "description"})


# Compiled where there is something like it: start-up time.
_TAG: Final = (
    r"(?i)</?(?:system|assistant|important|critical|instructions?|developer|admin|hidden|secret_?instructions?"
    r"|system[-_ ](?:prompt|message|reminder)|tool[-_]?(?:calls?|results?|use)|function_calls?|antml:\w+)\b"
    r"[^<>\n]{0,80}>"
    r"|<\|[a-z_]{2,30}\|>|\[/?(?:INST|SYSTEM)\]|<</?SYS>>"
)
_BRACKET: Final = re.compile(r"\[/?(?:INST|SYSTEM)", re.IGNORECASE)
_PLACEHOLDER: Final = re.compile(r"<(?:system|assistant|developer|admin|instructions?)>", re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--")
_ESCAPE: Final = re.compile("\x1b|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_WRITTEN_ESCAPE: Final = re.compile(r"\\(?:u00|b|f)")
_ENCODED: Final = table(f"{ALPHANUMERIC}+/")
_BLOB: Final = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{80,}={0,2}")


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """What each string holds that is no plain text; data may hold tags and comments."""
    for each in tool.visible if _may_have(tool.words) else ():
        found = _found(each)
        if found:
            part, message = found
            hint = "take it out, and say what matters in plain words"
            yield Diagnostic(codes.MARKUP, f"{each.what} {message}", each.place(tool.source, part), hint)


def _may_have(words: str) -> bool:
    """Whether there can be a finding in a text of all strings, as JSON has them."""
    if "<" in words or not words.isprintable() or _BRACKET.search(words) or _WRITTEN_ESCAPE.search(words):
        return True
    return has_run(words, _ENCODED, 80)


def _found(each: Visible) -> tuple[str, str] | None:
    text = each.text
    if match := _ESCAPE.search(text):
        return match[0], f"has a control character: U+{ord(match[0]):04X}"
    if each.role != "prose":
        return None
    if ("<" in text or "[" in text) and (match := re.search(_TAG, text)) and not _stands_for_a_value(text, match):
        return match[0], f"has a tag that can pass for a message of another role: '{match[0]}'"
    if match := _COMMENT.search(text):
        return match[0], "has a comment, which is hidden where it is rendered"
    if len(text) >= 80 and (match := _BLOB.search(text)) and _is_random(match[0]):
        return match[0], f"has {len(match[0])} characters of encoded data, which nobody can review"
    return None


def _stands_for_a_value(text: str, match: re.Match[str]) -> bool:
    """Whether a tag is a blank to fill in, as in ``<system>-<name>``: never closed, and part of a word."""
    if not _PLACEHOLDER.fullmatch(match[0]) or f"</{match[0][1:]}".lower() in text.lower():
        return False
    around = text[match.start() - 1 : match.start()] + text[match.end() : match.end() + 1]
    return any(not character.isspace() and character not in ".!?" for character in around)


def _is_random(blob: str) -> bool:
    """Whether it has capitals, small letters and digits all through, as words and paths do not."""
    quarter = len(blob) // 4
    parts = [blob[at : at + quarter] for at in range(0, 4 * quarter, quarter)]
    mixed = [part for part in parts if re.search("[a-z]", part) and re.search("[A-Z]", part)]
    return len(mixed) == len(parts) and len(set(blob)) > 16 and bool(re.search("[0-9]", blob))

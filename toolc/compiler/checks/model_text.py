"""Checks of text that a model reads: TC210 (invisible), TC211 (instructions), TC213 (markup), TC214 (URLs)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.located_tool import LocatedTool, ModelText
from toolc.compiler.text_analysis.long_runs import ALPHANUMERIC, character_table, has_long_run
from toolc.data.instruction_phrases import find_instruction, may_contain_instruction
from toolc.document.edits import fix
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Edit, Fix
from toolc.model.text import lazy_re

_INVISIBLE: Final = lazy_re(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_JOINERS: Final = frozenset("\u200c\u200d")
_EMOJI_STYLE: Final = frozenset("\ufe0e\ufe0f")
_BRAILLE: Final = "\u2800"
_EMOJI_BASES: Final = frozenset("0123456789#*\u2139\u3030")  # of keycaps, and two that are not symbols in Unicode
# Cyrillic and Greek letters that look like Latin ones. Signs such as μ, Ω and Δ are used with Latin letters.
_LOOKALIKES: Final = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌοορνΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")  # noqa: RUF001  that is the point
_WORD: Final = lazy_re(r"[^\W\d_]{2,}")

# Compiled only if a text may match: start-up time.
_TAG: Final = (
    r"(?i)</?(?:system|assistant|important|critical|instructions?|developer|admin|hidden|secret_?instructions?"
    r"|system[-_ ](?:prompt|message|reminder)|tool[-_]?(?:calls?|results?|use)|function_calls?|antml:\w+)\b"
    r"[^<>\n]{0,80}>"
    r"|<\|[a-z_]{2,30}\|>|\[/?(?:INST|SYSTEM)\]|<</?SYS>>"
)
_BRACKET: Final = lazy_re(r"(?i)\[/?(?:INST|SYSTEM)")
_PLACEHOLDER: Final = lazy_re(r"(?i)<(?:system|assistant|developer|admin|instructions?)>")
_COMMENT: Final = lazy_re(r"<!--")
_ESCAPE: Final = lazy_re("\x1b|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_WRITTEN_ESCAPE: Final = lazy_re(r"\\(?:u00|b|f)")
_ENCODED: Final = character_table(f"{ALPHANUMERIC}+/")
_BLOB: Final = lazy_re(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{80,}={0,2}")
"""Matches encoded data. Shorter text, such as a digest in an example, is readable and hides no instructions."""

_URL: Final = lazy_re(r"(?i)\b(?:https?|ftp|wss?)://(?:[^\s/@]{1,100}@)?([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\])")
_EXAMPLE_DOMAINS: Final = frozenset(
    {"example.com", "example.net", "example.org", "example", "localhost", "test", "invalid"}
)


def first_invisible(text: str) -> str:
    """Return the first invisible character of ``text`` in the form ``U+200B``, or an empty string."""
    matches = (match for match in _INVISIBLE.finditer(text) if not _is_ordinary(text, match))
    return next((f"U+{ord(match[0][0]):04X}" for match in matches), "")


@tool_check("TC210", needs={"description", "name"})
def check_hidden_text(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report the first invisible character, and the first word of mixed scripts, of each string that a model reads.

    Zero-width characters, bidirectional controls and the tag block (U+E0000) have been used for hidden instructions
    in descriptions. Characters that ordinary text needs are allowed: joiners in emoji and in scripts that require
    them, and the selector that turns a character into an emoji.
    """
    for each in tool.model_texts if not tool.surface_text.isascii() else ():
        if not each.text.isascii():
            yield from _invisible_characters(tool, each)
            yield from _mixed_scripts(tool, each)


def _invisible_characters(tool: LocatedTool, each: ModelText) -> Iterator[Diagnostic]:
    for match in _INVISIBLE.finditer(each.text):
        if _is_ordinary(each.text, match):
            continue
        first = match[0][0]
        name = unicodedata.name(first, "an unassigned character").lower()
        message = f"{each.what} has an invisible character: U+{ord(first):04X}, {name}"
        span = each.span_of(tool.source, match[0])
        yield Diagnostic(codes.HIDDEN_TEXT, message, span, "delete it, or retype the text", _fix(tool, each))
        return


def _fix(tool: LocatedTool, each: ModelText) -> Fix | None:
    """Return a fix that deletes all invisible characters, if the string is written without escapes."""
    written, start = tool.source.between(each.span), tool.source.offset(each.span.start)
    edits = [
        Edit(tool.source.span(start + match.start(), start + match.end()), "")
        for match in _INVISIBLE.finditer(written)
        if not _is_ordinary(written, match)
    ]
    return fix("delete the invisible characters", *edits) if edits else None


def _is_ordinary(text: str, match: re.Match[str]) -> bool:
    """Return whether ordinary text needs these characters here."""
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    style, joiner = match[0][0], match[0][-1]
    emoji = unicodedata.category(before) in {"So", "Sk", "Sm", "Po"} or before in _EMOJI_BASES
    if match[0] in _EMOJI_STYLE:
        return emoji
    if set(match[0]) == {_BRAILLE}:  # a space between words in Braille
        return all("\u2801" <= each <= "\u28ff" for each in (before, after))
    if joiner not in _JOINERS or len(match[0]) > 2 or (len(match[0]) == 2 and style not in _EMOJI_STYLE):
        return False
    return (emoji and unicodedata.category(after) == "So") or (_is_shaping(before) and _is_shaping(after))


def _is_shaping(character: str) -> bool:
    """Return whether a character belongs to a script without capitals, such as Arabic or Devanagari."""
    return unicodedata.category(character) in {"Lo", "Mn", "Mc"}


def _mixed_scripts(tool: LocatedTool, each: ModelText) -> Iterator[Diagnostic]:
    for match in _WORD.finditer(each.text):
        word = match[0]
        lookalike = next((letter for letter in word if letter in _LOOKALIKES), None)
        if lookalike and any(letter.isascii() for letter in word):
            name = unicodedata.name(lookalike).lower()
            message = f"the word '{word[:60]}' in {each.what} mixes scripts: '{lookalike}' is {name}"
            span = each.span_of(tool.source, word)
            yield Diagnostic(codes.LOOKALIKE, message, span, "retype the word in one script")
            return


@tool_check("TC213", needs={"description", "name"})
def check_markup(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each part of a string that is not plain text. Names and data may contain tags and comments.

    A model can interpret ``<system>`` as a message of that role. A terminal or a rendered page hides escape sequences
    and comments from the reviewer.
    """
    for each in tool.model_texts if _may_contain_markup(tool.surface_text) else ():
        markup = _markup_in(each.text, is_prose=each.role == "prose")
        if markup:
            part, message = markup
            hint = "remove it, and describe what matters in plain text"
            yield Diagnostic(codes.MARKUP, f"{each.what} {message}", each.span_of(tool.source, part), hint)


def _may_contain_markup(words: str) -> bool:
    """Return whether a JSON text of all strings may contain a finding."""
    if "<" in words or not words.isprintable() or _BRACKET.search(words) or _WRITTEN_ESCAPE.search(words):
        return True
    return has_long_run(words, _ENCODED, 80)


def first_markup(text: str) -> str:
    """Return a message such as ``has a comment`` if ``text`` is not plain text, or an empty string."""
    markup = _markup_in(text, is_prose=True) if not text.isprintable() or "<" in text or "[" in text else None
    return markup[1] if markup else ""


def _markup_in(text: str, *, is_prose: bool) -> tuple[str, str] | None:
    """Return the first part that is not plain text, and a message about it."""
    if match := _ESCAPE.search(text):
        return match[0], f"has a control character: U+{ord(match[0]):04X}"
    if not is_prose:
        return None
    if ("<" in text or "[" in text) and (match := re.search(_TAG, text)) and not _is_placeholder(text, match):
        return match[0], f"has a tag that a model can interpret as a message of another role: '{match[0]}'"
    if match := _COMMENT.search(text):
        return match[0], "has a comment, which is invisible when rendered"
    if len(text) >= 80 and (match := _BLOB.search(text)) and _is_random(match[0]):
        return match[0], f"has {len(match[0])} characters of encoded data, which cannot be reviewed"
    return None


def _is_placeholder(text: str, match: re.Match[str]) -> bool:
    """Return whether a tag is a placeholder, as in ``<system>-<name>``. Such a tag is part of a word and not closed."""
    if not _PLACEHOLDER.fullmatch(match[0]) or f"</{match[0][1:]}".lower() in text.lower():
        return False
    around = text[match.start() - 1 : match.start()] + text[match.end() : match.end() + 1]
    return any(not character.isspace() and character not in ".!?" for character in around)


def _is_random(blob: str) -> bool:
    """Return whether upper-case and lower-case letters and digits occur throughout, unlike in words and paths."""
    quarter = len(blob) // 4
    parts = [blob[at : at + quarter] for at in range(0, 4 * quarter, quarter)]
    mixed = [part for part in parts if re.search("[a-z]", part) and re.search("[A-Z]", part)]
    return len(mixed) == len(parts) and len(set(blob)) > 16 and bool(re.search("[0-9]", blob))


@tool_check("TC211", needs={"description", "name"})
def check_instructions(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report the first instruction to the model in each string that it reads.

    Attacks have used these phrases. Descriptions do not need them: of 755 tools in a public catalog, 8 have one.
    """
    for each in tool.model_texts if may_contain_instruction(tool.surface_text) else ():
        match = find_instruction(each.text)
        if match:
            words = " ".join(match[0].split())
            message = f"{each.what} instructs the model: '{words[:80]}'"
            yield Diagnostic(
                codes.SUSPICIOUS_WORDS, message, each.span_of(tool.source, match[0]),
                "describe what the tool does; a model's behavior belongs in its own instructions",
            )  # fmt: skip


@tool_check("TC214", needs={"description", "name"})
def check_urls(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report the first URL in each text, except those of example hosts (RFC 2606).

    Off by default, because many URLs lead to documentation.
    """
    for each in tool.model_texts:
        if each.role != "prose" or "://" not in each.text:
            continue
        for match in _URL.finditer(each.text):
            host = match[1].lower().rstrip(".")
            if not _is_within(host, _EXAMPLE_DOMAINS.union(tool.hosts)):
                message = f"{each.what} contains a URL of '{host}'"
                hint = f"describe its content instead, or allow it with lint: {{hosts: [{host}]}} in toolc.yaml"
                yield Diagnostic(codes.FOREIGN_URL, message, each.span_of(tool.source, match[0]), hint)
                break


def _is_within(host: str, domains: frozenset[str]) -> bool:
    labels = host.split(".")
    return any(".".join(labels[index:]) in domains for index in range(len(labels)))

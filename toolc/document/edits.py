"""Create fixes for findings. If the right text is not certain, a function returns None, and the finding has no fix.

The text at a span may differ from the value that was read there, because it can be an escape sequence, a line of a
block, an alias, or a variable of the project. Each function therefore compares it with the text that it expects to
replace.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

from toolc.dataclass import dataclass
from toolc.document.nodes import Mapping, MappingEntry, Node
from toolc.model.diagnostics import Edit, Fix
from toolc.model.source import MAX_BEFORE, SourceText, Span
from toolc.model.text import lazy_re

_WORDS: Final = (  # compiled only for text that is not valid, to keep start-up fast
    r"""
      (?<! [^\s\[,{:=] ) " (?: [^"\\] | \\. )* (?: "|$ )   # quoted text hides a placeholder,
    | (?<! [^\s\[,{:=] ) ' (?: [^'] | '' )* (?: '|$ )
    | (?<! \S ) \# .*                                    # and so does a comment
    | (?<! [^\s,\[\]{}"'#] ) (?P<bare> [^\s,\[\]{}"'#]* \{\{ .*? \}\} (?: [^,\]\s] | [ \t]+ (?![,\]#\s]) )* )
    """
)
_REST: Final = r"(?:[^,\]\s]|[ \t]+(?![,\]#\s]))*"

_PLAIN: Final = lazy_re(r"[-+.~]?[0-9A-Za-z][-+0-9A-Za-z._]*")
_BARE: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_-]*")
_PROPERTY: Final = lazy_re(r"(?:^|[\s,\[{])[&!]\S*[ \t]+$")


@dataclass(frozen=True, slots=True)
class Unquoted:
    """An unquoted value with a placeholder, with its text and its first column in its line (from 0)."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The column after its last character (from 0)."""
        return self.start + len(self.text)

    @property
    def message(self) -> str:
        """The message of the finding."""
        if self._straight != self.text:
            return f"the curly quotes of {self.text} are not quotes in YAML and TOML"
        return f"{self.text} must be in quotes, because its braces would open a map"

    @property
    def hint(self) -> str:
        """The text to write instead, in YAML and in TOML."""
        return f"write {self.in_quotes}"

    @property
    def in_quotes(self) -> str:
        """The value in straight quotes."""
        return quoted(self._straight)

    @property
    def _straight(self) -> str:
        return self.text.strip("\u201c\u201d\u2018\u2019")


def unquoted(line: str, before: int) -> Unquoted | None:
    """Return the last unquoted value with a placeholder that starts before column ``before`` (from 0) of a line."""
    last = None
    # Without the text after the last placeholder, which the pattern would read again for each brace in it.
    for match in re.finditer(_WORDS, line[: line.rfind("}}") + 2], re.VERBOSE):
        if match["bare"] and match.start("bare") <= before:
            last = match
    if last is None:
        return None
    rest = re.compile(_REST).match(line, last.end())
    return Unquoted(line[last.start() : rest.end() if rest else last.end()], last.start())


def quoted(text: str) -> str:
    """Return ``text`` in quotes, of the kind that needs no escape sequences."""
    return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'


def is_toml(source: SourceText) -> bool:
    """Return whether a file is read as TOML."""
    return source.path.lower().endswith(".toml")


def text_at(source: SourceText, span: Span) -> str:
    """Return the text at ``span``, or an empty string if it has a tag, or an anchor that an alias may repeat."""
    before = source.before(span.start)
    return "" if not is_toml(source) and _PROPERTY.search(before) else source.between(span)


def fix(description: str, *edits: Edit | None, safe: bool = False) -> Fix | None:
    """Return a fix that consists of these edits, or None if one of them is None."""
    made = tuple(edit for edit in edits if edit is not None)
    return Fix(description, made, safe) if len(made) == len(edits) else None


def replace(source: SourceText, span: Span, was: str, text: str) -> Edit | None:
    """Return the edit that replaces the text at ``span`` with ``text``, if that text is exactly ``was``."""
    return Edit(span, text) if was and text_at(source, span) == was else None


def quote(source: SourceText, span: Span, value: Unquoted) -> Fix | None:
    """Return the fix that puts the placeholder at ``span`` in quotes."""
    # This is valid even with an anchor, because an alias cannot repeat a value that lacks its quotes.
    edit = Edit(span, value.in_quotes) if source.between(span) == value.text else None
    return fix("put it in quotes", edit)


def quote_plain(source: SourceText, span: Span) -> Fix | None:
    """Return the fix that puts the number or word at ``span`` in quotes, unchanged."""
    text = text_at(source, span)
    return fix("put it in quotes", Edit(span, f'"{text}"')) if _PLAIN.fullmatch(text) else None


def rename(source: SourceText, span: Span, was: str, name: str) -> Edit | None:
    """Return the edit that replaces the name ``was`` at ``span``, with or without quotes, with ``name``."""
    now = text_at(source, span)
    for quote in ('"', "'"):
        if now == f"{quote}{was}{quote}":
            return Edit(span, f"{quote}{name}{quote}")
    return replace(source, span, was, name if _BARE.fullmatch(name) else f'"{name}"')


def set_text(source: SourceText, span: Span, was: str, text: str) -> Edit | None:
    """Return the edit that replaces the value ``was`` at ``span`` with the word ``text``, in quotes for TOML."""
    plain = f'"{text}"' if is_toml(source) else text
    return replace(source, span, was, plain) or rename(source, span, was, text)


def replace_string(source: SourceText, span: Span, was: str, text: str) -> Edit | None:
    """Return the edit that replaces the string ``was`` at ``span``. It keeps its quotes, or gets single quotes."""
    written = text_at(source, span)
    quotes = _quotes(source, written, was)
    if quotes is None or not text.isprintable() or (quotes == "'" and "'" in text and is_toml(source)):
        return None
    quotes = quotes or "'"
    return Edit(span, quotes + "".join(_written(each, quotes, source) for each in text) + quotes)


def string_offsets(source: SourceText, span: Span, value: str) -> list[int]:
    """Return where each character of the string at ``span`` starts in its text, and where the last one ends.

    The list is empty if the string is not on one line, or has escape sequences for characters other than quotation
    marks and backslashes.
    """
    quotes = _quotes(source, source.between(span), value)
    if quotes is None:
        return []
    return list(accumulate((len(_written(each, quotes, source)) for each in value), initial=len(quotes)))


def _quotes(source: SourceText, written: str, value: str) -> str | None:
    """Return the quotation mark around ``value``, or an empty string. Return None if it is not written as expected."""
    for quotes in ("", "'", '"'):
        if written == quotes + "".join(_written(each, quotes, source) for each in value) + quotes:
            return quotes
    return None


def _written(character: str, quotes: str, source: SourceText) -> str:
    """Return the text of a character between ``quotes``."""
    if quotes == '"' and character in {'"', "\\"}:
        return f"\\{character}"
    return "''" if quotes == character == "'" and not is_toml(source) else character


def remove_entry(source: SourceText, entry: MappingEntry) -> Edit | None:
    """Return the edit that removes a key and its value. If possible, it removes the whole lines or the comma."""
    if entry.key_span.path != source.path or entry.value.span.path != source.path:
        return None
    start, end = source.offset(entry.key_span.start), source.offset(entry.value.span.end)
    text = source.text
    before = text[:start].rstrip(" \t")
    after = re.compile(r"[ \t]*").match(text, end)
    assert after
    if text[after.end() :].startswith(","):
        stop = re.compile(r",[ \t]*").match(text, after.end())
        assert stop
        return Edit(source.span(start, stop.end()), "")
    if before.endswith(","):
        return Edit(source.span(len(before) - 1, end), "")
    if not before or before.endswith("\n"):
        line = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\r\n|\Z)").match(text, end)
        return Edit(source.span(len(before), line.end()), "") if line else None
    return None


def insert_item(source: SourceText, span: Span, item: str) -> Edit | None:
    """Return the edit that adds a string to a list, before the item at ``span``."""
    if span.path != source.path:
        return None
    start = source.offset(span.start)
    line = source.before(span.start)
    place = source.span(start, start)
    if source.text[max(start - MAX_BEFORE, 0) : start].rstrip().endswith(("[", ",")):
        return Edit(place, f'"{item}", ')
    if re.fullmatch(r" *- +", line):
        return Edit(place, f'"{item}"\n{line}')
    return None


def insert_entry(source: SourceText, node: Node | None, entry: str) -> Edit | None:
    """Return the edit that adds ``entry`` to a map, before its first entry."""
    if is_toml(source) or not isinstance(node, Mapping) or not node.entries or node.span.path != source.path:
        return None
    if source.between(node.span).startswith("{"):
        at = source.offset(node.span.start) + 1
        return Edit(source.span(at, at), f"{entry}, ")
    return insert_line(source, node, entry)


def insert_line(source: SourceText, node: Mapping, line: str) -> Edit | None:
    """Return the edit that adds a line to a block map, before its key ``backend`` or its first key."""
    for entry in sorted(node.entries, key=lambda entry: entry.key != "backend"):
        start = entry.key_span.start
        before = source.line(start.line)[: start.column - 1]
        if entry.key_span.path == source.path and re.fullmatch(" *", before):
            return Edit(Span(source.path, start, start), f"{line}\n{before}")
    return None

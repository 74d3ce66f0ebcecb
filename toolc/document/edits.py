"""Making fixes. Each function gives None where it is not certain what to write; then a finding has no fix.

What stands at a span need not be what was read there: it may be an escape, a line of a block, an alias, or a
variable of the project. So each says what it means to replace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolc.document.nodes import MappingEntry
from toolc.model.diagnostics import Edit, Fix
from toolc.model.source import SourceText, Span

__all__ = [
    "fix",
    "insert_item",
    "is_toml",
    "quote_plain",
    "remove_entry",
    "replace",
    "written",
]

_WORDS: Final = (  # compiled where a text is not valid: start-up time
    r"""
      (?<! [^\s\[,{:=] ) " (?: [^"\\] | \\. )* (?: "|$ )   # quoted text hides a placeholder,
    | (?<! [^\s\[,{:=] ) ' (?: [^'] | '' )* (?: '|$ )
    | (?<! \S ) \# .*                                    # and so does a comment
    | (?<! [^\s,\[\]{}"'#] ) (?P<bare> [^\s,\[\]{}"'#]* \{\{ .*? \}\} (?: [^,\]\s] | [ \t]+ (?![,\]#\s]) )* )
    """
)
_REST: Final = r"(?:[^,\]\s]|[ \t]+(?![,\]#\s]))*"


@dataclass(frozen=True, slots=True)
class Unquoted:
    """A value with a placeholder and no quotes: its text, and its first column in its line (from 0)."""

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
        return f"{self.text} must be in quotes: without them its braces open a map"

    @property
    def hint(self) -> str:
        """What to write instead, in YAML and in TOML."""
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
    found = None
    # Without the text after the last placeholder, which the pattern would read again for each brace in it.
    for match in re.finditer(_WORDS, line[: line.rfind("}}") + 2], re.VERBOSE):
        if match["bare"] and match.start("bare") <= before:
            found = match
    if found is None:
        return None
    rest = re.compile(_REST).match(line, found.end())
    return Unquoted(line[found.start() : rest.end() if rest else found.end()], found.start())


def quoted(text: str) -> str:
    """Return ``text`` in the kind of quotes in which it needs no escape sequences."""
    return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'


_PLAIN: Final = re.compile(r"[-+.~]?[0-9A-Za-z][-+0-9A-Za-z._]*")
_BARE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PROPERTY: Final = re.compile(r"(?:^|[\s,\[{])[&!]\S*[ \t]+$")


def is_toml(source: SourceText) -> bool:
    """Whether a file is read as TOML."""
    return source.path.lower().endswith(".toml")


def written(source: SourceText, span: Span) -> str:
    """What is written at ``span``; empty where it has an anchor, and an alias may repeat it, or a tag."""
    before = source.line(span.start.line)[: span.start.column - 1]
    return "" if not is_toml(source) and _PROPERTY.search(before) else source.between(span)


def fix(description: str, *edits: Edit | None, safe: bool = False) -> Fix | None:
    """A fix that consists of these edits, if all of them could be made."""
    made = tuple(edit for edit in edits if edit is not None)
    return Fix(description, made, safe) if len(made) == len(edits) else None


def replace(source: SourceText, span: Span, was: str, text: str) -> Edit | None:
    """Put ``text`` where ``was`` is written, in just these characters, at ``span``."""
    return Edit(span, text) if was and written(source, span) == was else None


def quote(source: SourceText, span: Span, found: Unquoted) -> Fix | None:
    """Put a placeholder that stands at ``span`` in quotes."""
    # With an anchor too: without quotes it is nothing that an alias could repeat.
    edit = Edit(span, found.in_quotes) if source.between(span) == found.text else None
    return fix("put it in quotes", edit)


def quote_plain(source: SourceText, span: Span) -> Fix | None:
    """Put the number or the word that stands at ``span`` in quotes, as it is written."""
    text = written(source, span)
    return fix("put it in quotes", Edit(span, f'"{text}"')) if _PLAIN.fullmatch(text) else None


def rename(source: SourceText, span: Span, was: str, name: str) -> Edit | None:
    """Put the name ``name`` where ``was`` is written at ``span``, with or without quotes."""
    now = written(source, span)
    for quote in ('"', "'"):
        if now == f"{quote}{was}{quote}":
            return Edit(span, f"{quote}{name}{quote}")
    return replace(source, span, was, name if _BARE.fullmatch(name) else f'"{name}"')


def set_text(source: SourceText, span: Span, was: str, text: str) -> Edit | None:
    """Put the word ``text`` where the value ``was`` is written at ``span``; TOML wants it in quotes."""
    plain = f'"{text}"' if is_toml(source) else text
    return replace(source, span, was, plain) or rename(source, span, was, text)


def remove_entry(source: SourceText, entry: MappingEntry) -> Edit | None:
    """Take out a key and its value: with their lines where they have these to themselves, or with a comma."""
    if entry.key_span.path != source.path or entry.value.span.path != source.path:
        return None
    start, end = source.offset(entry.key_span.start), source.offset(entry.value.span.end)
    text = source.text
    before = text[:start].rstrip(" \t")
    after = re.compile(r"[ \t]*").match(text, end)
    assert after
    follows = text[after.end() :]
    if follows.startswith(","):
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
    """Put a string into a list, before the item that stands at ``span``."""
    if span.path != source.path:
        return None
    start = source.offset(span.start)
    line = source.line(span.start.line)[: span.start.column - 1]
    place = source.span(start, start)
    if source.text[:start].rstrip().endswith(("[", ",")):
        return Edit(place, f'"{item}", ')
    if re.fullmatch(r" *- +", line):
        return Edit(place, f'"{item}"\n{line}')
    return None

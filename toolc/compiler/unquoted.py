"""Placeholders without quotes, in text that is not valid because of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

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

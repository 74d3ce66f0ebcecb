"""Placeholders that somebody forgot to quote, in text that is not valid because of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_WORDS: Final = (  # compiled where a text is not valid: start-up time
    r"""
      (?<! [^\s\[,{:=] ) " (?: [^"\\] | \\. )* (?: "|$ )   # quoted text hides a placeholder,
    | (?<! [^\s\[,{:=] ) ' (?: [^'] | '' )* (?: '|$ )
    | (?<! \S ) \# .*                                    # and so does a comment
    | (?P<bare> [^\s,\[\]{}"'#]* \{\{ .*? \}\} (?: [^,\]\s] | [ \t]+ (?![,\]#\s]) )* )
    """
)


@dataclass(frozen=True, slots=True)
class Unquoted:
    """A value with a placeholder and no quotes: its text, and where it stands in its line (from 0)."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends in its line."""
        return self.start + len(self.text)

    @property
    def message(self) -> str:
        """What is wrong, in one sentence."""
        if self._straight != self.text:
            return f"the curly quotes of {self.text} are text, and quote nothing"
        return f"{self.text} must be in quotes: without them its braces open a map"

    @property
    def hint(self) -> str:
        """What to write instead, in both YAML and TOML."""
        return f"write {self.in_quotes}"

    @property
    def in_quotes(self) -> str:
        """What to write instead."""
        return quoted(self._straight)

    @property
    def _straight(self) -> str:
        return self.text.strip("\u201c\u201d\u2018\u2019")


def unquoted(line: str, before: int) -> Unquoted | None:
    """The last unquoted value with a placeholder that starts before column ``before`` (from 0) of a line."""
    found = [
        Unquoted(match["bare"], match.start("bare"))
        for match in re.finditer(_WORDS, line, re.VERBOSE)
        if match["bare"] and match.start("bare") <= before
    ]
    return found[-1] if found else None


def quoted(text: str) -> str:
    """``text`` in the quotes that need no escapes inside."""
    return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'

"""Hide credentials in findings: in their messages, and in the source lines that reporters print.

A file keeps its length, so that positions stay valid: each character of a credential becomes ``*``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolc.compiler.text_analysis.credentials import (
    credential_name,
    credentials_in,
    is_exempt,
    is_unexpanded,
    without_scheme,
)
from toolc.compiler.text_analysis.secret_patterns import find_secrets
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.source import SourceText

__all__ = ["Concealer", "conceal", "conceal_text", "secret_ranges"]

_MIN_WORD: Final = 4
"""The minimum length of a part of a credential that is hidden wherever it occurs in findings."""
_MIN_PREFIX: Final = 8
"""The minimum length of the beginning of a credential, in a message that was cut."""

_WORD: Final = re.compile(r"[^\s\"'`,;:(){}\[\]<>=&?@]+")
_ASSIGNED: Final = re.compile(
    r"""(?<![\w-])['"]?(?P<name>[A-Za-z][\w-]{0,60})['"]?[ \t]{0,8}[:=][ \t]{0,8}"""
    r"""(?P<value>"[^"\n]*"?|'[^'\n]*'?|[^\s,{}\[\]#|>&*"'][^\n,}\]#]*)"""
)
_UNREAD: Final = ("TC0", "TC104", "TC113")
"""The numbers of findings after which a file may not have been read as a spec, so that no check saw its values."""


@dataclass(frozen=True, slots=True)
class Concealer:
    """Hides words, which are sorted."""

    words: Sequence[str]

    @classmethod
    def of(cls, values: Iterable[str], min_length: int = _MIN_WORD) -> Concealer:
        """Return a concealer for all words in ``values`` that have at least ``min_length`` characters."""
        parts = {part for value in values for part in _WORD.findall(value)}
        return cls(sorted(part for part in parts if len(part) >= min_length))

    def text(self, text: str) -> str:
        """Return ``text`` with each hidden word replaced; a word that was cut is recognized by its beginning."""
        return _WORD.sub(lambda match: self._shown(match[0]), text) if self.words else text

    def _shown(self, word: str) -> str:
        bare = word.rstrip(".…")
        at = bisect_left(self.words, bare)
        known = self.words[at] if at < len(self.words) else ""
        is_hidden = known == bare or (len(bare) >= _MIN_PREFIX and known.startswith(bare))
        return "*" * len(bare) + word[len(bare) :] if is_hidden else word


def conceal(diagnostics: Diagnostics) -> Diagnostics:
    """Return the findings without any credential in messages, hints, fixes and the lines of their files."""
    found = diagnostics.sorted()
    paths = dict.fromkeys(each.span.path for each in found)
    sources = [source for path in paths if (source := diagnostics.source(path))]
    ranges = {source.path: [*_ranges(source, found)] for source in sources}
    concealer = Concealer.of(source.text[start:end] for source in sources for start, end in ranges[source.path])
    if not any(ranges.values()):
        return diagnostics

    def shown(finding: Diagnostic) -> Diagnostic:
        texts = [edit.text for edit in finding.fix.edits] if finding.fix else []
        fix = finding.fix if all(concealer.text(text) == text for text in texts) else None
        return replace(finding, message=concealer.text(finding.message), hint=concealer.text(finding.hint), fix=fix)

    concealed = diagnostics.map(shown)
    for source in sources:
        concealed.add_source(SourceText(source.path, concealer.text(_masked(source.text, ranges[source.path]))))
    return concealed


def conceal_text(text: str) -> str:
    """Return a text without the strings in it that look like secrets."""
    return _masked(text, [*secret_ranges(text)])


def _ranges(source: SourceText, found: Sequence[Diagnostic]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file's text that are never printed."""
    yield from secret_ranges(source.text)
    here = [each for each in found if each.span.path == source.path]
    for each in here:
        start, end = source.offset(each.span.start), source.offset(each.span.end)
        if each.code.number == codes.CREDENTIAL.number and not is_unexpanded(source.text[start:end]):
            yield start, end
    if any(each.is_error and each.code.number.startswith(_UNREAD) for each in here):
        yield from _assigned(source.text)


def secret_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text that look like secrets."""
    yield from ((secret.start, secret.end) for secret in find_secrets(text))
    yield from ((match.start, match.end) for match in credentials_in(text))


def _assigned(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values of names of credentials in a file that could not be parsed."""
    for match in _ASSIGNED.finditer(text):
        value = match["value"].strip("\"' \t")
        if credential_name(match["name"]) and not is_exempt(value) and "{{" not in without_scheme(value):
            yield match.span("value")


def _masked(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with the characters in ``ranges`` hidden, except white space."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(ranges):
        if end > at:
            pieces += [text[at : max(start, at)], re.sub(r"\S", "*", text[max(start, at) : end])]
            at = end
    return "".join([*pieces, text[at:]])

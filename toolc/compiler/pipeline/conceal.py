"""Hide credentials in findings: in their messages, and in the source lines that reporters print.

A file keeps its length, so that positions stay valid: each character of a credential becomes ``*``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

_ORDINARY: Final = re.compile("[A-Z]?[a-z]{3,11}|[A-Z]{4,8}")
"""A part of a credential that could be an ordinary word or name, which other findings need."""

_MIN_WORD: Final = 4
"""The minimum length of a part of a credential that is hidden wherever it occurs in findings.

A shorter part could be an ordinary word.
"""
_MIN_PREFIX: Final = 8
"""The minimum length of the beginning of a credential, in a message that was cut.

A shorter beginning could be that of an ordinary word.
"""

_WORD: Final = re.compile(r"[^\s\"'`,;:(){}\[\]<>=&?@]+")
_ASSIGNED: Final = re.compile(
    r"""(?<![\w-])['"]?(?P<name>[A-Za-z][\w-]{0,60})['"]?[ \t]{0,8}[:=][ \t]{0,8}"""
    r"""(?P<value>"[^"\n]*"?|'[^'\n]*'?|[^\s,{}\[\]#|>&*"'][^\n,}\]#]*)"""
)
_ABOUT_CREDENTIALS: Final = "TC6"
"""The prefix of the codes about secrets: their messages never contain a credential."""
_MAX_LINES: Final = 20
"""The maximum number of lines per finding that are searched for credentials. A message shows fewer lines."""
_UNREAD: Final = ("TC0", "TC104", "TC113")
"""The findings after which a file may not have been decoded as a spec, so that no check has inspected its values."""


@dataclass(frozen=True, slots=True)
class Concealer:
    """Hides words, which are sorted."""

    words: Sequence[str]

    @classmethod
    def of(cls, values: Iterable[str], min_length: int = _MIN_WORD) -> Concealer:
        """Return a concealer for all words in ``values`` that have at least ``min_length`` characters."""
        parts = {part for value in values for part in _WORD.findall(value)}
        return cls(sorted(part for part in parts if len(part) >= min_length))

    def without(self, pattern: re.Pattern[str]) -> Concealer:
        """Return a concealer for the words that ``pattern`` does not match."""
        return Concealer([word for word in self.words if not pattern.fullmatch(word)])

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
    """Return the findings without any credential in messages, hints, fixes and the lines of their files.

    A credential that is an ordinary word, such as ``admin``, is hidden only in its place and in findings about it.
    """
    found = diagnostics.sorted()
    paths = dict.fromkeys(each.span.path for each in found)
    sources = [source for path in paths if (source := diagnostics.source(path))]
    ranges = {source.path: [*_ranges(source, found)] for source in sources}
    if not any(ranges.values()):
        return diagnostics
    everywhere = Concealer.of(_values(sources, ranges)).without(_ORDINARY)
    everything = Concealer.of(_values(sources, ranges))
    unread = {each.span.path for each in found if _is_unread(each)}
    by_file = {source.path: Concealer.of(_values([source], ranges)) for source in sources if source.path in unread}
    by_line = {place: Concealer.of(values) for place, values in _by_line(sources, ranges).items()}

    def shown(finding: Diagnostic) -> Diagnostic:
        span = finding.span
        lines = range(span.start.line, min(span.end.line, span.start.line + _MAX_LINES) + 1)
        near = [by_line[span.path, line] for line in lines if (span.path, line) in by_line]
        near += [each for each in (everywhere, by_file.get(span.path)) if each]
        if finding.code.number.startswith(_ABOUT_CREDENTIALS):
            near = [everything]

        def text(text: str) -> str:
            for concealer in near:
                text = concealer.text(text)
            return text

        texts = [edit.text for edit in finding.fix.edits] if finding.fix else []
        fix = finding.fix if all(text(each) == each for each in texts) else None
        return replace(finding, message=text(finding.message), hint=text(finding.hint), fix=fix)

    concealed = diagnostics.map(shown)
    for source in sources:
        concealed.add_source(SourceText(source.path, everywhere.text(masked(source.text, ranges[source.path]))))
    return concealed


def _values(sources: Iterable[SourceText], ranges: Mapping[str, Sequence[tuple[int, int]]]) -> Iterator[str]:
    """Yield the credentials of some files."""
    yield from (source.text[start:end] for source in sources for start, end in ranges[source.path])


def _by_line(
    sources: Iterable[SourceText], ranges: Mapping[str, Sequence[tuple[int, int]]]
) -> Mapping[tuple[str, int], Sequence[str]]:
    """Return the credentials by the file and the lines where they are."""
    found: dict[tuple[str, int], list[str]] = {}
    for source in sources:
        for start, end in ranges[source.path]:
            span = source.span(start, end)
            for line in range(span.start.line, span.end.line + 1):
                found.setdefault((source.path, line), []).append(source.text[start:end])
    return found


def conceal_text(text: str) -> str:
    """Return a text without the strings in it that look like secrets."""
    return masked(text, [*secret_ranges(text)])


def _is_unread(finding: Diagnostic) -> bool:
    return finding.is_error and finding.code.number.startswith(_UNREAD)


def _ranges(source: SourceText, found: Sequence[Diagnostic]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file's text that must not be printed."""
    yield from secret_ranges(source.text)
    here = [each for each in found if each.span.path == source.path]
    for each in here:
        start, end = source.offset(each.span.start), source.offset(each.span.end)
        if each.code.number == codes.CREDENTIAL.number and not is_unexpanded(source.text[start:end]):
            yield start, end
    if any(map(_is_unread, here)):
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


def masked(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with the characters in ``ranges`` hidden, except white space."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(ranges):
        if end > at:
            pieces += [text[at : max(start, at)], re.sub(r"\S", "*", text[max(start, at) : end])]
            at = end
    return "".join([*pieces, text[at:]])

"""Suppress warnings with comments on a line, or alone above it: ``# toolc: ignore[TC204] reason``."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress as suppress_errors
from io import StringIO
from tokenize import COMMENT, TokenError, generate_tokens
from typing import Final, TypeAlias

from toolc.compiler.project.settings import invalid_code
from toolc.dataclass import dataclass
from toolc.document.edits import fix
from toolc.document.yaml.compose import scalars
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics, Edit, Fix, Severity
from toolc.model.source import Position, SourceText, Span
from toolc.model.text import lazy_re

_START: Final = r"(?:^|(?<=\s))#\s*toolc:\s*ignore\b"
_COMMENT: Final = lazy_re(rf"{_START}(?:\[(?P<codes>[^\]]{{0,1000}}+)\])?(?P<reason>(?:(?!{_START}).)*)")
_CODE: Final = lazy_re(r"[^\s,]+")
_FORM: Final = "# toolc: ignore[CODE] reason, with the code of the finding"

StringSpan: TypeAlias = tuple[Position, Position]


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment: its file and its span, from ``#`` to the end of the line."""

    source: SourceText
    span: Span


@dataclass(frozen=True, slots=True)
class Suppression:
    """One code of one comment: the code, its span, and the ``lines`` that it applies to."""

    number: str
    span: Span
    lines: frozenset[int]
    comment: Comment

    @property
    def warnings(self) -> tuple[Code, ...]:
        """The codes that it can suppress."""
        return tuple(code for code in codes.ALL if code.number == self.number and code.severity is not Severity.ERROR)


def suppress(
    diagnostics: Diagnostics,
    sources: Iterable[SourceText],
    is_checked: Callable[[Code, str], bool],
    is_valid: Callable[[Suppression], bool] = lambda _: True,
) -> Diagnostics:
    """Return the findings that no comment suppresses, and findings about the comments themselves.

    ``sources`` are the specs and project files that could be parsed. Python files that findings refer to are also
    searched for comments. ``is_checked(code, path)`` returns whether the absence of a finding is meaningful: if a code
    is turned off, or depends on other files, a comment that suppresses nothing may still be needed. A comment that is
    not ``is_valid`` has no effect.
    """
    about = Diagnostics()
    files = (*sources, *_python_files(diagnostics))
    comments = [each for source in files for each in suppressions(source, about) if is_valid(each)]
    covering: dict[tuple[str, int, str], list[Suppression]] = {}
    for each in comments:
        for line in each.lines:
            covering.setdefault((each.span.path, line, each.number), []).append(each)
    used: set[Suppression] = set()
    invalid: set[str] = set()

    def judge(finding: Diagnostic) -> Diagnostic | None:
        if finding.is_error:
            invalid.add(finding.span.path)
            return finding
        place = (finding.span.path, finding.span.start.line, finding.code.number)
        found_by = covering.get(place, []) if finding.times == 1 else []  # the other positions are unknown
        used.update(found_by)
        return None if found_by else finding

    left = diagnostics.map(judge)
    unused = [
        each
        for each in comments
        if each not in used
        and each.span.path not in invalid
        and any(is_checked(code, each.span.path) for code in each.warnings)
    ]
    per_comment = Counter(each.comment.span for each in unused)
    for each in unused:
        message = f"there is no {each.number} to suppress here"
        about.add(codes.UNUSED_SUPPRESSION, message, each.span, "remove it", _removal(each, per_comment))
    for finding in about.sorted():
        left.append(finding)
    return left


def _python_files(diagnostics: Diagnostics) -> Iterator[SourceText]:
    for path in sorted({finding.span.path for finding in diagnostics.sorted() if finding.span.path.endswith(".py")}):
        if source := diagnostics.source(path):
            yield source


def _removal(unused: Suppression, per_comment: Counter[Span]) -> Fix | None:
    """Return a fix that removes the code, or the comment if ``per_comment`` shows that all of its codes are unused."""
    source, span = unused.comment.source, unused.comment.span
    start, end = source.offset(span.start), source.offset(span.end)
    match = _COMMENT.match(source.text, start)
    if match is None or source.path.endswith(".py"):  # fixes only edit specs
        return None
    if len(_CODE.findall(match["codes"])) == per_comment[unused.comment.span]:
        before = source.line(span.start.line)[: span.start.column - 1].rstrip(" \t")
        line_end = source.offset(Position(span.end.line + 1, 1)) if not before else end
        first = start - (span.start.column - 1) + len(before)
        return fix("remove the comment", Edit(source.span(first, line_end), ""), safe=True)
    first, last = source.offset(unused.span.start), source.offset(unused.span.end)
    after = re.compile(r"[\s,]*").match(source.text, last, match.end("codes"))
    if after and after.end() < match.end("codes"):
        return fix("remove the code", Edit(source.span(first, after.end()), ""), safe=True)
    kept = source.text[match.start("codes") : first].rstrip(" \t,")
    return fix("remove the code", Edit(source.span(match.start("codes") + len(kept), last), ""), safe=True)


def suppressions(source: SourceText, about: Diagnostics) -> Iterator[Suppression]:
    """Yield the valid suppressions of a file. Problems with comments are added to ``about``."""
    comments = _comments(source)
    covered = _covered(source) if comments else []
    for line, match in comments:
        lines = frozenset({line, covered[line - 1]})
        whole = _span(source, line, match.start(), match.end())
        comment = Comment(source, whole)
        if match["codes"] is None or not match["codes"].strip():
            about.add(codes.NO_REASON, "this comment does not say which codes to ignore", whole, f"write {_FORM}")
            continue
        if not re.search(r"\w", match["reason"]):
            named = ", ".join(_CODE.findall(match["codes"]))[:60]
            hint = f"write # toolc: ignore[{named}] reason"
            about.add(codes.NO_REASON, "this comment does not say why", whole, hint)
        for code in _CODE.finditer(match["codes"]):
            at = match.start("codes")
            span = _span(source, line, at + code.start(), at + code.end())
            wrong = invalid_code(code[0], turns_off=code[0] not in codes.RETIRED)
            if wrong:
                about.add(codes.UNUSED_SUPPRESSION, wrong.message, span, wrong.hint)
            elif len(code[0]) < len("TC000"):
                message = f"{code[0]} is a prefix of several codes; list each of them"
                about.add(codes.UNUSED_SUPPRESSION, message, span, f"write {_FORM}")
            else:
                yield Suppression(code[0], span, lines, comment)


def _span(source: SourceText, line: int, start: int, end: int) -> Span:
    return Span(source.path, Position(line, start + 1), Position(line, end + 1))


def _covered(source: SourceText) -> list[int]:
    """Return for each line the line that a comment on it applies to: itself, or the next after a comment block."""
    covered: list[int] = []
    for number, line in reversed([*enumerate(source.lines, 1)]):
        alone = line.lstrip().startswith("#")
        covered.append((covered[-1] if covered else number + 1) if alone else number)
    return covered[::-1]


def _comments(source: SourceText) -> list[tuple[int, re.Match[str]]]:
    """Return each comment that looks like a suppression: its line and match. Text in strings does not count."""
    if "ignore" not in source.text:
        return []
    matches = [
        (number, match)
        for number, line in enumerate(source.lines, 1)
        if "ignore" in line
        for match in _COMMENT.finditer(line)
    ]
    if not matches:
        return []
    strings = sorted(_strings(source))
    return [each for each in matches if not _is_inside(Position(each[0], each[1].start() + 1), strings)]


def _is_inside(place: Position, strings: list[StringSpan]) -> bool:
    before = bisect_right(strings, place, key=lambda string: string[0])
    return before > 0 and place < strings[before - 1][1]


def _strings(source: SourceText) -> Iterator[StringSpan]:
    """Yield the spans of strings, in which ``#`` does not start a comment."""
    if source.path.endswith(".py"):
        yield from _python_tokens(source.text)
        return
    if not source.path.lower().endswith(".toml"):
        yield from scalars(source.text)
        return
    from toolc.document.toml.positions import leaves, scan  # lazy: +4 ms; most specs are YAML

    for start, end in leaves(scan(source.text)):
        span = source.span(start, end)
        yield span.start, span.end


def _python_tokens(text: str) -> Iterator[StringSpan]:
    """Yield the spans of Python tokens that are not comments, up to a syntax error, which another check reports."""
    with suppress_errors(TokenError, SyntaxError):
        for token in generate_tokens(StringIO(text).readline):
            if token.type != COMMENT:
                (line, column), (last, end) = token.start, token.end
                yield Position(line, column + 1), Position(last, end + 1)

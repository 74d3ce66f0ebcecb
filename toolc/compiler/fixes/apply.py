"""Apply the fixes of findings to spec files (``check --fix``), and compare the meaning before and after each fix.

A safe fix must not change any value or type in the file. An unsafe fix may change only the values it touches, must
remove its finding, and must not add an error. Other fixes are not applied.
"""

from __future__ import annotations

import json
import os
import re
import stat
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from toolc.compiler.pipeline.compile import FileResult, compile_text, find_specs
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import Settings
from toolc.compiler.text_analysis.credentials import conceal_text
from toolc.dataclass import dataclass, field
from toolc.document import nodes
from toolc.document.line_diff import unified_diff
from toolc.document.loader import MAX_BYTES
from toolc.model.atomic_files import replace_file
from toolc.model.diagnostics import Diagnostic, Diagnostics, Fix
from toolc.model.errors import UsageError
from toolc.model.source import BOM, Position, SourceText, Span

MAX_ROUNDS: Final = 10
"""The maximum number of times a file is checked again for findings that a fix reveals.

Existing fixes reveal one or two further findings.
"""

MAX_READ: Final = 2 * MAX_BYTES
"""The maximum number of bytes that are read again to fix one file. The next call continues.

With this limit, the largest file can be verified, and an edit costs no more than a few checks.
"""


MAX_COMPILATIONS: Final = 100
"""The maximum number of times one file is compiled to verify fixes. The next call continues.

The limit is reached only if many fixes have unintended effects and are tried one by one.
"""

_Found: TypeAlias = tuple[Diagnostic, Fix]


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Replace the contents ``before`` of the file at ``path`` with ``after``, keeping its mode and links to it.

    The replacement is atomic. If the file cannot be written or no longer contains ``before``, raises ``UsageError`` and
    leaves the file unchanged.
    """
    target = Path(os.path.realpath(path))
    try:
        if not os.access(target, os.W_OK):
            raise UsageError(f"cannot write {path}: it is read-only")
        known = target.stat()
        if not stat.S_ISREG(known.st_mode):
            raise UsageError(f"cannot write {path}: it is not a regular file")
        with replace_file(target, mode=0o600) as file:
            file.write(after)
            file.flush()
            with suppress(PermissionError):  # a file of another user in a shared folder changes its owner
                os.fchown(file.fileno(), known.st_uid, known.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(known.st_mode))
            os.fsync(file.fileno())
            if target.read_bytes() != before:
                raise UsageError(f"{path} changed while it was being fixed, so the fixes were not written; try again")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file before and after ``count`` fixes. ``changes`` lists the fixes that may change its meaning, with positions.

    ``shown`` is the text before and after the fixes, without credentials.
    """

    file: SpecFile
    before: bytes
    after: bytes
    count: int
    changes: tuple[str, ...]
    shown: tuple[str, str]

    def write(self) -> None:
        """Write the file. Raises ``UsageError`` if it cannot be written or has changed since it was read."""
        rewrite(self.file.path, self.before, self.after)

    def diff(self) -> str:
        """Return the change as a unified diff, without credentials."""
        old, new = map(_lines, self.shown)
        path = self.file.display_path.lstrip("/")
        lines = [f"--- a/{path}\n", f"+++ b/{path}\n", *unified_diff(old, new)] if old != new else []
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def apply_fixes(paths: Sequence[Path], settings: Settings, *, unsafe: bool) -> Iterator[FixedFile]:
    """Yield each spec at or under ``paths`` that fixes would change.

    ``unsafe`` includes fixes that change the meaning of a spec. Raises ``UsageError`` for a path that does not exist.
    """
    projects = Projects(Diagnostics())
    for file in find_specs(paths, projects):
        data = _read(file.path)
        if data is not None:
            fixed = _fix_file(data, file, projects, settings, unsafe=unsafe)
            if fixed.count:
                yield fixed


def _read(path: Path) -> bytes | None:
    """Return the contents of a file, or None if it cannot be read, is not UTF-8, or is too large to be a spec."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        data.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return data if len(data) <= MAX_BYTES else None


def _fix_file(before: bytes, file: SpecFile, projects: Projects, settings: Settings, *, unsafe: bool) -> FixedFile:
    first = compile_text(before, file, projects, settings)
    fixing = _Fixing(file, projects, settings, before, first, min(MAX_READ, MAX_COMPILATIONS * len(before)))
    for _ in range(MAX_ROUNDS):
        count = fixing.count
        fixing.apply(_separate(_fixable(fixing.current.diagnostics, file.display_path, unsafe=unsafe)))
        if fixing.count == count:
            break
    listed = tuple(text for _, text in sorted(fixing.changes, key=lambda each: each[0]))
    shown = _shown(before, file, first), _shown(fixing.data, file, fixing.current)
    return FixedFile(file, before, fixing.data, fixing.count, listed, shown)


@dataclass(slots=True)
class _Fixing:
    """A file while it is fixed. ``budget`` is the number of bytes that may still be compiled to verify fixes."""

    file: SpecFile
    projects: Projects
    settings: Settings
    data: bytes
    current: FileResult
    budget: int
    count: int = 0
    changes: list[tuple[Position, str]] = field(default_factory=list)

    def apply(self, fixes: Sequence[_Found]) -> None:
        """Apply the ``fixes`` that have only the intended effects. The fixes are sorted and do not overlap."""
        if not fixes or self.budget < 0:
            return
        changed = apply_fix(self.data, self.file.display_path, *(each for _, each in fixes))
        after = compile_text(changed, self.file, self.projects, self.settings)
        self.budget -= len(changed)
        if _are_good(fixes, self.current, after):
            self.data, self.current = changed, after
            self.count += len(fixes)
            self.changes += [
                (found.span.start, f"{found.span}: {found.code.number}: {each.description}")
                for found, each in fixes
                if not each.safe
            ]
        elif len(fixes) > 1:
            # Few fixes have unintended effects, and halving finds them fast. An edit does not move the text before it.
            middle = len(fixes) // 2
            self.apply(fixes[middle:])
            self.apply(fixes[:middle])


def _separate(fixes: Sequence[_Found]) -> list[_Found]:
    """Return fixes that do not overlap. Of two overlapping fixes, the one that starts later is kept."""
    kept: list[_Found] = []
    for found in reversed(fixes):
        if not kept or _edited_range(found[1])[1] <= _edited_range(kept[-1][1])[0]:
            kept.append(found)
    return kept[::-1]


def _shown(data: bytes, file: SpecFile, result: FileResult) -> str:
    """Return the text of a file without credentials."""
    text, source = data.decode("utf-8"), result.diagnostics.source(file.display_path)
    mark = BOM if text.startswith(BOM) else ""
    return mark + source.text if source else conceal_text(text)


def _fixable(diagnostics: Diagnostics, path: str, *, unsafe: bool) -> list[_Found]:
    """Return the findings with a fix for this file, sorted by the start of the fix."""
    fixable = [
        (finding, finding.fix)
        for finding in diagnostics.sorted()
        if finding.fix is not None
        and (finding.fix.safe or unsafe)
        and all(edit.span.path == path for edit in finding.fix.edits)
    ]
    return sorted(fixable, key=lambda each: _edited_range(each[1]))


def _edited_range(fix: Fix) -> tuple[Position, Position]:
    """Return the start and end of the range that a fix edits."""
    return min(edit.span.start for edit in fix.edits), max(edit.span.end for edit in fix.edits)


def apply_fix(data: bytes, path: str, *fixes: Fix) -> bytes:
    """Return the file after fixes that do not overlap. Line endings and all other text stay unchanged."""
    text = data.decode("utf-8")
    source = SourceText(path, text.removeprefix(BOM))
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    skipped = len(text) - len(source.text)
    parts: list[str] = []
    read = 0
    for edit in sorted((edit for each in fixes for edit in each.edits), key=lambda edit: edit.span.start):
        start, end = (source.offset(position) + skipped for position in (edit.span.start, edit.span.end))
        parts += [text[read:start], edit.text.replace("\n", end_of_line)]
        read = end
    return "".join([*parts, text[read:]]).encode("utf-8")


def _are_good(fixes: Sequence[_Found], before: FileResult, after: FileResult) -> bool:
    """Return whether fixes have only the intended effects."""
    left, known = _counts(after.diagnostics), _counts(before.diagnostics)
    fixed = Counter((found.code.number, found.message) for found, _ in fixes)
    if any(left[same] > known[same] - times for same, times in fixed.items()):
        return False
    unsafe = sorted(_edited_range(fix) for _, fix in fixes if not fix.safe)
    if before.document is None:
        # Text that could not be parsed has no meaning to compare.
        return len(unsafe) == len(fixes) and (after.document is not None or _errors(after) < _errors(before))
    if after.document is None or _errors(after) > _errors(before):
        return False
    old, new = before.document.root, after.document.root
    return _is_same_outside(old, new, unsafe) if unsafe else _is_same(old, new)


def _counts(diagnostics: Diagnostics) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for each in diagnostics.sorted():
        counts[each.code.number, each.message] += each.times
    return counts


def _errors(compiled: FileResult) -> int:
    return sum(each.times for each in compiled.diagnostics.sorted() if each.is_error)


def _is_same(old: nodes.Node, new: nodes.Node) -> bool:
    # Compared as JSON, because 1, 1.0 and True are equal in Python.
    return json.dumps(nodes.to_json(old)) == json.dumps(nodes.to_json(new))


def _is_same_outside(old: nodes.Node, new: nodes.Node, ranges: Sequence[tuple[Position, Position]]) -> bool:
    """Return whether two trees differ only in the innermost values that overlap one of the ranges in the old text.

    The ranges are sorted and do not overlap.
    """
    match old, new:
        case nodes.Mapping(), nodes.Mapping() if [each.key for each in old.entries] == [
            each.key for each in new.entries
        ]:
            pairs = [(one.value, other.value) for one, other in zip(old.entries, new.entries, strict=True)]
        case nodes.Sequence(), nodes.Sequence() if len(old.items) == len(new.items):
            pairs = [*zip(old.items, new.items, strict=True)]
        case _:
            return _is_same(old, new) or any(_overlaps(each, ranges) for each in _spans(old))
    return all(_is_same_outside(one, other, ranges) for one, other in pairs)


def _overlaps(span: Span, ranges: Sequence[tuple[Position, Position]]) -> bool:
    at = bisect_right(ranges, span.end, key=lambda each: each[0])
    return at > 0 and span.start <= ranges[at - 1][1]


def _spans(node: nodes.Node) -> Iterator[Span]:
    """Yield the spans of a node and its descendants. A TOML table itself consists only of its header."""
    yield node.span
    if isinstance(node, nodes.Mapping):
        for entry in node.entries:
            yield entry.key_span
            yield from _spans(entry.value)
    elif isinstance(node, nodes.Sequence):
        for item in node.items:
            yield from _spans(item)


def _lines(text: str) -> list[str]:
    # splitlines() also splits at characters that do not end a line in YAML and TOML.
    return re.findall(r"[^\n]*\n|[^\n]+", text)

"""Apply the fixes of findings to spec files (``check --fix``), and compare the meaning before and after each fix.

A safe fix must not change any value or type in the file. An unsafe fix may change only the values it touches, must
remove its finding, and must not add an error. Other fixes are not applied.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.compiler.pipeline.compile import FileResult, compile_text, find_specs
from toolc.compiler.pipeline.conceal import conceal_text
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import Settings
from toolc.document import nodes
from toolc.document.loader import MAX_BYTES
from toolc.model.diagnostics import Diagnostic, Diagnostics, Fix
from toolc.model.errors import UsageError
from toolc.model.source import BOM, Position, SourceText, Span

__all__ = ["apply_fixes"]

MAX_ROUNDS: Final = 10
"""The maximum number of times a file is checked again for findings revealed by a fix."""

MAX_READ: Final = 8 * MAX_BYTES
"""The maximum number of bytes read again to fix one file; the next call continues."""


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Replace the contents ``before`` of the file at ``path`` with ``after``, keeping its mode and links to it.

    The replacement is atomic. Raises ``UsageError``, and leave the file unchanged, if it cannot be written or no
    longer contains ``before``.
    """
    target = Path(os.path.realpath(path))
    try:
        if not os.access(target, os.W_OK):
            raise UsageError(f"cannot write {path}: it is read-only")
        known = target.stat()
        if not stat.S_ISREG(known.st_mode):
            raise UsageError(f"cannot write {path}: it is not a regular file")
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.toolc-", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(after)
                file.flush()
                with suppress(PermissionError):  # a file of another user in a shared folder changes its owner
                    os.fchown(descriptor, known.st_uid, known.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(known.st_mode))
                os.fsync(descriptor)
            if target.read_bytes() != before:
                raise UsageError(f"{path} changed while it was being fixed, so the fixes were not written; try again")
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file before and after ``count`` fixes; ``changes`` lists those that may change its meaning, with positions.

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
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
        )


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
    data, count, budget = before, 0, MAX_READ
    changes: list[tuple[Position, str]] = []
    current = first = compile_text(data, file, projects, settings)
    for _ in range(MAX_ROUNDS):
        applied = 0
        # From the end of the file, so that an edit does not move the others.
        end: Position | None = None
        for finding, fix in reversed(_fixable(current.diagnostics, file.display_path, unsafe=unsafe)):
            start, stop = _edited_range(fix)
            if budget < 0 or (end is not None and stop > end):
                continue
            changed = apply_fix(data, file.display_path, fix)
            after = compile_text(changed, file, projects, settings)
            budget -= len(changed)
            if _is_good(finding, fix, current, after):
                data, current, end, applied = changed, after, start, applied + 1
                if not fix.safe:
                    changes.append((finding.span.start, f"{finding.span}: {finding.code.number}: {fix.description}"))
        count += applied
        if not applied:
            break
    listed = tuple(text for _, text in sorted(changes, key=lambda each: each[0]))
    return FixedFile(file, before, data, count, listed, (_shown(before, file, first), _shown(data, file, current)))


def _shown(data: bytes, file: SpecFile, result: FileResult) -> str:
    """Return the text of a file without credentials."""
    text, source = data.decode("utf-8"), result.diagnostics.source(file.display_path)
    mark = BOM if text.startswith(BOM) else ""
    return mark + source.text if source else conceal_text(text)


def _fixable(diagnostics: Diagnostics, path: str, *, unsafe: bool) -> list[tuple[Diagnostic, Fix]]:
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


def apply_fix(data: bytes, path: str, fix: Fix) -> bytes:
    """Return the file after one fix; line endings and all other text stay unchanged."""
    text = data.decode("utf-8")
    source = SourceText(path, text.removeprefix(BOM))
    skipped = len(text) - len(source.text)
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    for edit in sorted(fix.edits, key=lambda edit: edit.span.start, reverse=True):
        start, end = (source.offset(position) + skipped for position in (edit.span.start, edit.span.end))
        text = text[:start] + edit.text.replace("\n", end_of_line) + text[end:]
    return text.encode("utf-8")


def _is_good(finding: Diagnostic, fix: Fix, before: FileResult, after: FileResult) -> bool:
    """Return whether a fix has only the intended effect."""
    same = finding.code.number, finding.message
    if _counts(after.diagnostics)[same] >= _counts(before.diagnostics)[same]:
        return False
    if before.document is None:
        # Text that did not parse cannot be compared; its meaning is known once it parses.
        return not fix.safe and (after.document is not None or _errors(after) < _errors(before))
    if after.document is None or _errors(after) > _errors(before):
        return False
    old, new = before.document.root, after.document.root
    return _is_same(old, new) if fix.safe else _is_same_outside(old, new, *_edited_range(fix))


def _counts(diagnostics: Diagnostics) -> Counter[tuple[str, str]]:
    return Counter((each.code.number, each.message) for each in diagnostics.sorted())


def _errors(compiled: FileResult) -> int:
    return sum(each.times for each in compiled.diagnostics.sorted() if each.is_error)


def _is_same(old: nodes.Node, new: nodes.Node) -> bool:
    # Compared as JSON, because 1, 1.0 and True are equal in Python.
    return json.dumps(nodes.to_json(old)) == json.dumps(nodes.to_json(new))


def _is_same_outside(old: nodes.Node, new: nodes.Node, start: Position, end: Position) -> bool:
    """Return whether two trees differ only in the innermost values that overlap the range in the old text."""
    match old, new:
        case nodes.Mapping(), nodes.Mapping() if [each.key for each in old.entries] == [
            each.key for each in new.entries
        ]:
            pairs = [(one.value, other.value) for one, other in zip(old.entries, new.entries, strict=True)]
        case nodes.Sequence(), nodes.Sequence() if len(old.items) == len(new.items):
            pairs = [*zip(old.items, new.items, strict=True)]
        case _:
            return _is_same(old, new) or any(each.start <= end and start <= each.end for each in _spans(old))
    return all(_is_same_outside(one, other, start, end) for one, other in pairs)


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

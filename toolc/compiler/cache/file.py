"""The file format of a cache: one JSON value per line. The first is the answer; the others are read on demand.

A cache file is used only if it is complete and only its owner could have written it. It contains JSON, never code.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolc.compiler.project.files import digest_of_bytes
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics, Edit, Fix, Severity
from toolc.model.files import replace_file
from toolc.model.source import Position, SourceText, Span

MAX_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a cache file, in bytes."""

_MAX_AGE_DAYS: Final = 30

INVALID_CACHE: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""The errors that reading a value can raise if toolc did not write it."""


def cache_folder() -> Path | None:
    """Return the cache folder of the user, or None if it does not exist or the system has no file owners."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else Path.home() / ".cache") / "toolc"
    except (OSError, RuntimeError):
        return None


def digest(text: str) -> str:
    """Return the SHA-256 of a text as hexadecimal digits."""
    return digest_of_bytes(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class CachedFile:
    """The content of a cache file: its ``answer`` as parsed JSON (None if missing) and its details."""

    answer: Any = None
    _details: bytes = b""
    _digest: bytes = b""

    def details(self) -> list[str]:
        """Return the details, one JSON text each; empty if they are damaged."""
        is_valid = self._details and _digest(self._details) == self._digest
        return self._details.decode().split("\n") if is_valid else []


def load(path: Path | None) -> CachedFile:
    """Return what ``save`` wrote; empty if the file is missing, damaged or writable for other users."""
    if path is None:
        return CachedFile()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            is_own = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022
            if not is_own or state.st_size > 2 * MAX_BYTES:
                return CachedFile()
            of_answer, _, of_details = file.readline().rstrip(b"\n").partition(b" ")
            answer = file.readline().rstrip(b"\n")
            details = file.read()
        return CachedFile(json.loads(answer), details, of_details) if _digest(answer) == of_answer else CachedFile()
    except INVALID_CACHE:
        return CachedFile()


def _digest(data: bytes) -> bytes:
    return digest_of_bytes(data).encode()


def save(path: Path, answer: object, details: Sequence[str] = ()) -> None:
    """Replace the cache file atomically, and remove files that were not used for a month.

    ``answer`` is a JSON value, and ``details`` are JSON texts as returned by ``to_json``. If the file cannot be
    written, the cache stays unchanged.
    """
    with suppress(OSError, UnicodeError):
        _write(path, json.dumps(answer).encode(), "\n".join(details).encode())


to_json: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
"""Return a value as JSON text without spaces and line breaks. The encoder is created once."""


def _write(path: Path, answer: bytes, details: bytes) -> None:
    if len(answer) + len(details) > MAX_BYTES:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replace_file(path, draft=path.with_name(f"check-{os.getpid()}-{time.time_ns()}.new"), mode=0o600) as file:
        file.writelines((b"%b %b\n%b\n" % (_digest(answer), _digest(details), answer), details))
    oldest = time.time() - _MAX_AGE_DAYS * 86400
    for each in path.parent.glob("check-*"):
        if each.lstat().st_mtime < oldest:
            each.unlink(missing_ok=True)


def findings_to_json(diagnostics: Diagnostics) -> list[dict[str, object]]:
    """Return every finding as JSON, in order."""
    return [
        {
            "code": [each.code.number, each.code.severity, each.code.name, each.code.enabled, each.code.slug],
            "message": each.message,
            "span": each.span,
            "hint": each.hint,
            "times": each.times,
            "fix": each.fix
            and [each.fix.description, [[edit.span, edit.text] for edit in each.fix.edits], each.fix.safe],
        }
        for each in diagnostics.sorted()
    ]


def sources_to_json(diagnostics: Diagnostics) -> dict[str, str]:
    """Return the text of each file that has a finding, because reporters show lines of it."""
    paths = dict.fromkeys(each.span.path for each in diagnostics.sorted())
    return {path: source.text for path in paths if (source := diagnostics.source(path))}


def diagnostics_from_json(findings: Any, sources: Any) -> Diagnostics:
    """Return findings and the texts they refer to. Raises one of ``INVALID_CACHE``."""
    diagnostics = Diagnostics()
    for path, text in sources.items():
        diagnostics.add_source(SourceText(path, text))
    for each in findings:
        number, severity, name, enabled, slug = each["code"]
        code = Code(number, Severity(severity), name, enabled, slug)
        diagnostic = Diagnostic(
            code, each["message"], span(each["span"]), each["hint"], _fix(each["fix"]), int(each["times"])
        )
        diagnostics.append(diagnostic)
    return diagnostics


def span(value: Any) -> Span:
    """Return a span that is stored as nested lists. Raises one of ``INVALID_CACHE``."""
    path, start, end = value
    return Span(path, Position(*start), Position(*end))


def _fix(value: Any) -> Fix | None:
    if value is None:
        return None
    description, edits, safe = value
    return Fix(description, tuple(Edit(span(stored), text) for stored, text in edits), safe)

"""What came of each file by itself, kept by its content: of many files of which one changed, one is compiled.

Of a tool only an outline is kept, which is all that the checks of all tools together look at: its name, its
aliases and its description. Tools that call others, and those that they call, are compiled anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from toolc.compiler.cache import NOT_OURS
from toolc.compiler.cache_file import digest
from toolc.compiler.cache_json import diagnostics_from_json, findings_to_json
from toolc.compiler.cache_lines import from_line, to_line
from toolc.compiler.checks import check_together
from toolc.compiler.checks.compositions import calls
from toolc.compiler.compile_file import FileCompiler, Piece
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.find import Found
from toolc.compiler.load import read
from toolc.compiler.workers import chunks, spread
from toolc.diagnostics import Diagnostic, Diagnostics
from toolc.source import BOM

_TOGETHER: Final = "together"
"""The key of the line about all tools together."""


@dataclass(slots=True)
class KeptPieces:
    """Gathers pieces: those of ``known`` whose file has not changed, and for the others what is compiled.

    ``known`` are lines of an earlier run, by their keys; ``lines`` are those to keep after this one. ``outlines``
    is a digest of all that is known of the tools, empty where some were compiled for others to be compared with.
    """

    known: dict[str, str]
    lines: list[str] = field(default_factory=list)
    outlines: str = ""

    def gather(self, files: Sequence[Found], compiler: FileCompiler) -> list[Piece]:
        """The piece of each file."""
        for found in files:
            compiler.projects.of_file(found.path)
        if compiler.projects.diagnostics.has_errors:  # what a project says is not known then
            return [compiler.compile(found) for found in files]
        context = digest(json.dumps([[source.path, source.text] for source in compiler.projects.sources]))
        inputs = [_read(found, context) for found in files]
        known = [self._recall(each) for each in inputs]
        unknown = [each for each, piece in zip(inputs, known, strict=True) if piece is None]
        made = iter(_compile(unknown, compiler))
        pieces = [piece or next(made) for piece in known]
        kept = [(each.key, line) for each, (_, line) in zip(inputs, pieces, strict=True) if line]
        self.lines = [f"{key} {line}" for key, line in kept]
        self.outlines = digest("\n".join(line for _, line in kept)) if len(kept) == len(files) else ""
        return _compile_called([piece for piece, _ in pieces], compiler)

    def together(self, tools: Sequence[LocatedTool]) -> tuple[Diagnostic, ...]:
        """What is wrong with all tools together, which is what it was while their outlines are what they were."""
        found = self._recall_together()
        if found is None:
            found = Diagnostics()
            for each in check_together(tools):
                found.add(each.code, each.message, each.span, each.hint, each.fix)
        if self.outlines:
            self.lines.append(f"{_TOGETHER} {json.dumps([self.outlines, findings_to_json(found)])}")
        return found.sorted()

    def _recall_together(self) -> Diagnostics | None:
        try:
            outlines, findings = json.loads(self.known[_TOGETHER])
            return diagnostics_from_json(findings, {}) if outlines == self.outlines else None
        except NOT_OURS:
            return None

    def _recall(self, read: _Read) -> _Made | None:
        line = self.known.get(read.key, "")
        piece = read.piece(line)
        return None if piece is None else (piece, line)


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was read: its bytes, and what was wrong with that. Without a ``key`` it is no text."""

    found: Found
    data: bytes | None
    key: str
    diagnostics: Diagnostics

    def piece(self, line: str) -> Piece | None:
        """The piece that a line tells of."""
        text = _text(self.data) if line else None
        return None if text is None else from_line(line, self.found, text)


_Made: TypeAlias = tuple[Piece, str]
"""A piece, and the line to keep of it; empty where that cannot be kept."""


def _read(found: Found, context: str) -> _Read:
    diagnostics = Diagnostics()
    data = read(found.path, found.shown, diagnostics)
    key = "" if data is None or _text(data) is None else _key(found, data, context)
    return _Read(found, data, key, diagnostics)


def _compile(files: Sequence[_Read], compiler: FileCompiler) -> Iterator[_Made]:
    """What comes of each file; where there are many, of several at a time."""

    def work(files: Sequence[_Read]) -> list[_Made]:
        return [_made(each, compiler) for each in files]

    def unpack(files: Sequence[_Read], lines: list[str]) -> list[_Made]:
        recalled = [each.piece(line) for each, line in zip(files, lines, strict=True)]
        return [
            (piece, line) if piece else _made(each, compiler)
            for each, piece, line in zip(files, recalled, lines, strict=True)
        ]

    return chain.from_iterable(spread(work, chunks(files), lambda made: [line for _, line in made], unpack))


def _made(read: _Read, compiler: FileCompiler) -> _Made:
    document = compiler.parse(read.found, read.data, read.diagnostics)
    piece = compiler.compile_document(read.found, document, read.diagnostics)
    return piece, to_line(piece) if read.key else ""


def known_lines(lines: Iterable[str]) -> dict[str, str]:
    """The lines of an earlier run, by their keys."""
    return {key: rest for key, _, rest in (line.partition(" ") for line in lines)}


def _compile_called(pieces: Sequence[Piece], compiler: FileCompiler) -> list[Piece]:
    """``pieces`` with those compiled anew that are called by others, whose arguments are compared with them."""
    called = {name for piece in pieces for tool in piece.tools for name, _ in calls(tool)}
    return [compiler.compile(piece.found) if _is_called(piece, called) else piece for piece in pieces]


def _is_called(piece: Piece, called: set[str]) -> bool:
    return not called.isdisjoint(name for tool in piece.tools for name in (tool.spec.name, *tool.spec.aliases))


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError:
        return None


def _key(found: Found, data: bytes, context: str) -> str:
    about = f"{context} {found.folder is None} {found.shown}\0".encode("utf-8", "surrogateescape")
    return hashlib.sha256(about + data).hexdigest()

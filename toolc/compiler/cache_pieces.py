"""What came of each file by itself, kept by its content: of many files of which one changed, one is compiled.

Of a tool only an outline is kept, which is all that the checks of all tools together look at: its name, its
aliases and its description. Tools that call others, and those that they call, are compiled anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from toolc.compiler.cache_answers import Question
from toolc.compiler.cache_file import digest, digest_of_bytes
from toolc.compiler.cache_json import NOT_OURS, diagnostics_from_json, findings_to_json
from toolc.compiler.cache_lines import brief_line, from_line, in_outline, to_line
from toolc.compiler.checks import check_together
from toolc.compiler.checks.call_graph import tool_references
from toolc.compiler.compile_file import FileCompiler, Piece
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.find import Found
from toolc.compiler.finished import Finished, Form
from toolc.compiler.load import MAX_BYTES, read
from toolc.diagnostics import Diagnostic, Diagnostics
from toolc.source import BOM

TOGETHER: Final = "together"
"""The key of the line about all tools together."""

CONTEXT: Final = "context"
"""The key of the line that says what else than files the others are about."""


@dataclass(slots=True)
class KeptPieces:
    """Gathers pieces: those of ``known`` whose file has not changed, and for the others what is compiled.

    ``question`` has the files as they were when it was asked; ``is_of_contents`` says whether no other was read.
    ``known`` are lines of an earlier run, by their keys; ``lines`` are those to keep after this one. ``outlines``
    is a digest of all that is known of the tools, empty where some were compiled for others to be compared with.
    ``facts`` are what else has to be known of this run so that the next one can be about an edit alone.

    For a build ``form`` says what one looks like, and ``finished`` are the tools of the last build, by name: a
    piece is known only where its tools are among them. After the run it has those of this one's tools that could
    be finished by themselves, and of all others ``compile_specs`` gives the whole.
    """

    known: dict[str, str]
    question: Question
    form: Form | None = None
    finished: Mapping[str, Finished] = field(default_factory=dict)
    is_of_contents: bool = False
    lines: list[str] = field(default_factory=list)
    outlines: str = ""
    facts: dict[str, object] = field(default_factory=dict)

    def gather(self, files: Sequence[Found], compiler: FileCompiler) -> list[Piece]:
        """The piece of each file."""
        for found in files:
            compiler.projects.of_file(found.path)
        if compiler.projects.diagnostics.has_errors:  # what a project says is not known then
            self.finished = {}
            return [compiler.compile(found) for found in files]
        context = digest(json.dumps([[source.path, source.text] for source in compiler.projects.sources]))
        if self.known.get(CONTEXT) != context:
            self.known = {}
        inputs = [_read(found, self.question) for found in files]
        self.is_of_contents = all(str(found.path) in self.question.contents for found in files)
        known = [self._recall(each) for each in inputs]
        unknown = [each for each, piece in zip(inputs, known, strict=True) if piece is None]
        made = iter(_compile(unknown, _Maker(compiler, self.form)))
        pieces = [piece or next(made) for piece in known]
        self.finished = {name: text for each in pieces for name, text in each.finished.items()}
        kept = [(each.key, made.line) for each, made in zip(inputs, pieces, strict=True) if made.line]
        self.lines = [to_keep(CONTEXT, context), *(to_keep(key, line) for key, line in kept)]
        self.outlines = digest("\n".join(line for _, line in kept)) if len(kept) == len(files) else ""
        whole = [made.piece for made in pieces]
        called = {name for piece in whole for tool in piece.tools for name, _ in tool_references(tool)}
        unkept = [(each, made) for each, made in zip(inputs, pieces, strict=True) if not made.line]
        self.facts = {
            "called": sorted(called),
            "unkept": {
                str(each.found.path): [digest_of_bytes(each.data or b""), brief_line(made.piece)]
                for each, made in unkept
            },
        }
        return [
            each.compiled(compiler) if _is_called(piece, called) else piece
            for each, piece in zip(inputs, whole, strict=True)
        ]

    def together(self, tools: Sequence[LocatedTool]) -> tuple[Diagnostic, ...]:
        """What is wrong with all tools together, which is what it was while their outlines are what they were."""
        found = self._recall_together()
        if found is None:
            found = Diagnostics()
            for each in check_together(tools):
                found.add(each.code, each.message, each.span, each.hint, each.fix)
        if self.outlines:
            self.lines.append(to_keep(TOGETHER, json.dumps([self.outlines, findings_to_json(found)])))
        return found.sorted()

    def _recall_together(self) -> Diagnostics | None:
        try:
            outlines, findings = json.loads(self.known[TOGETHER])
            return diagnostics_from_json(findings, {}) if outlines == self.outlines else None
        except NOT_OURS:
            return None

    def _recall(self, read: _Read) -> _Made | None:
        line = self.known.get(read.key, "")
        piece = read.piece(line)
        names = [tool.spec.name for tool in piece.tools] if piece and self.form else []
        if piece is None or any(name not in self.finished for name in names):
            return None
        return _Made(piece, line, {name: self.finished[name] for name in names})


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

    def compiled(self, compiler: FileCompiler) -> Piece:
        """The piece that the compiler makes of it."""
        document = compiler.parse(self.found, self.data, self.diagnostics)
        return compiler.compile_document(self.found, document, self.diagnostics)


@dataclass(frozen=True, slots=True)
class _Made:
    """A piece, the line to keep of it, which is empty where that cannot be kept, and its tools in a build."""

    piece: Piece
    line: str
    finished: Mapping[str, Finished]


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes what can be known of a file; for a build, tools that are declared with others are not kept."""

    compiler: FileCompiler
    form: Form | None

    def make(self, read: _Read) -> _Made:
        piece = read.compiled(self.compiler)
        specs = [tool.spec for tool in piece.tools]
        line = to_line(piece) if read.key else ""
        if self.form is None or piece.diagnostics.has_errors:
            return _Made(in_outline(piece) if line else piece, line, {})
        if any(map(self.form.is_joint, specs)):
            return _Made(piece, "", {})
        finished = dict(zip([spec.name for spec in specs], self.form.finish(specs, specs), strict=True))
        return _Made(in_outline(piece) if line else piece, line, finished)


def _read(found: Found, question: Question) -> _Read:
    diagnostics, name = Diagnostics(), str(found.path)
    data, digest = question.contents.get(name), question.digests.get(name)
    if data is None or len(data) > MAX_BYTES:  # which is what reading it reports
        data, digest = read(found.path, found.shown, diagnostics), None
    if data is None or _text(data) is None:
        return _Read(found, data, "", diagnostics)
    key = key_of(found.shown, digest or digest_of_bytes(data), is_named=found.folder is None)
    return _Read(found, data, key, diagnostics)


def _compile(files: Sequence[_Read], maker: _Maker) -> Iterator[_Made]:
    """What comes of each file; where there are many, of several at a time."""
    if len(files) <= 1:
        return map(maker.make, files)
    from toolc.compiler.workers import chunks, spread  # start-up time: one file is shared out to nobody

    def work(files: Sequence[_Read]) -> list[_Made]:
        return [maker.make(each) for each in files]

    def pack(made: list[_Made]) -> list[_Packed]:
        return [(each.line, each.finished) for each in made]

    def unpack(files: Sequence[_Read], packed: list[_Packed]) -> list[_Made]:
        recalled = [each.piece(line) for each, (line, _) in zip(files, packed, strict=True)]
        return [
            _Made(piece, line, finished) if piece else maker.make(each)
            for each, piece, (line, finished) in zip(files, recalled, packed, strict=True)
        ]

    made: list[list[_Made]] = spread(work, chunks(files), pack, unpack)
    return chain.from_iterable(made)


_Packed: TypeAlias = tuple[str, Mapping[str, Finished]]
"""A piece as it travels: its line, and its tools in a build."""


def to_keep(key: str, said: str) -> str:
    """The line that says something under a key."""
    return f"{key}\t{said}"


def known_lines(lines: Iterable[str]) -> dict[str, str]:
    """What the lines of an earlier run say, by their keys."""
    return {key: said for key, _, said in [line.partition("\t") for line in lines]}


def _is_called(piece: Piece, called: set[str]) -> bool:
    return not called.isdisjoint(name for tool in piece.tools for name in (tool.spec.name, *tool.spec.aliases))


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError:
        return None


def key_of(shown: str, digest: str, *, is_named: bool) -> str:
    """The key of the line about a file that findings call ``shown``, of which the bytes have this ``digest``."""
    return f"{digest} {is_named:d} {shown!r}"

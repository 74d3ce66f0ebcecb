"""Compiling many files on all processors, for a build: the specs travel whole, of their documents an outline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from toolc.compiler.cache_lines import from_line, to_line
from toolc.compiler.compile import gather
from toolc.compiler.compile_file import FileCompiler, Piece
from toolc.compiler.find import Found
from toolc.compiler.workers import are_many, chunks, spread
from toolc.spec import ToolSpec


@dataclass(frozen=True, slots=True)
class _Packed:
    """A piece as it travels: its line, the text that it is of, and its tools."""

    line: str
    text: str
    specs: tuple[ToolSpec, ...]


def gather_many(files: Sequence[Found], compiler: FileCompiler) -> Sequence[Piece]:
    """The piece of each file; where they come from a copy of this process, ``compile_specs`` needs no more."""
    for found in files:
        compiler.projects.of_file(found.path)
    if compiler.projects.diagnostics.has_errors or not are_many(files):
        return gather(files, compiler)

    def work(files: Sequence[Found]) -> list[Piece]:
        return [compiler.compile(found) for found in files]

    def unpack(files: Sequence[Found], packed: list[_Packed | None]) -> list[Piece]:
        unpacked = [_unpack(found, each) for found, each in zip(files, packed, strict=True)]
        return [piece or compiler.compile(found) for found, piece in zip(files, unpacked, strict=True)]

    pieces = spread(work, chunks(files), lambda made: [_pack(each) for each in made], unpack)
    return [*chain.from_iterable(pieces)]


def _pack(piece: Piece) -> _Packed | None:
    line = to_line(piece)
    if not line or piece.source is None:
        return None
    return _Packed(line, piece.source.text, tuple(tool.spec for tool in piece.tools))


def _unpack(found: Found, packed: _Packed | None) -> Piece | None:
    piece = packed and from_line(packed.line, found, packed.text)
    if not packed or not piece:
        return None
    tools = [replace(tool, spec=spec) for tool, spec in zip(piece.tools, packed.specs, strict=True)]
    return replace(piece, tools=tuple(tools))

"""What came of each file by itself, kept by its content: of many files of which one changed, one is compiled.

Of a tool only an outline is kept, which is all that the checks of all tools together look at: its name, its
aliases and its description. Tools that call others, and those that they call, are compiled anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolc.compiler.cache_file import digest
from toolc.compiler.cache_json import diagnostics_from_json, findings_to_json, sources_to_json, span
from toolc.compiler.checks.compositions import calls
from toolc.compiler.compile_file import FileCompiler, Piece, folder_of
from toolc.compiler.decode_shell import NO_COMMAND
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Entry, Mapping, Node, Scalar
from toolc.compiler.document import Sequence as SequenceNode
from toolc.compiler.files import digest_of_answer
from toolc.compiler.find import Found
from toolc.compiler.load import read
from toolc.compiler.parameters import NO_PARAMETERS
from toolc.diagnostics import Diagnostics
from toolc.source import BOM, SourceText
from toolc.spec import ToolSpec

_KEYS: Final = ("name", "description", "aliases")


@dataclass(frozen=True, slots=True)
class KeptPieces:
    """Gathers pieces: those of ``known`` whose file has not changed, and for the others what is compiled.

    ``known`` are lines of an earlier run, by their keys; ``lines`` are those to keep after this one.
    """

    known: dict[str, str]
    lines: list[str] = field(default_factory=list)

    def gather(self, files: Sequence[Found], compiler: FileCompiler) -> list[Piece]:
        """The piece of each file."""
        for found in files:
            compiler.projects.of(found.path)
        if compiler.projects.diagnostics.has_errors:  # what a project says is not known then
            return [compiler.compile(found) for found in files]
        context = digest(json.dumps([[source.path, source.text] for source in compiler.projects.sources]))
        pieces = [self._piece(found, compiler, context) for found in files]
        called = {name for piece in pieces for tool in piece.tools for name, _ in calls(tool)}
        return [compiler.compile(piece.found) if _is_called(piece, called) else piece for piece in pieces]

    def _piece(self, found: Found, compiler: FileCompiler, context: str) -> Piece:
        diagnostics = Diagnostics()
        data = read(found.path, found.shown, diagnostics)
        text = _text(data) if data is not None else None
        if data is None or text is None:
            return compiler.compile_document(found, compiler.parse(found, data, diagnostics), diagnostics)
        key = _key(found, data, context)
        piece = _recall(self.known.get(key), found, text)
        if piece is not None:
            self.lines.append(f"{key} {self.known[key]}")
            return piece
        piece = compiler.compile_document(found, compiler.parse(found, data, diagnostics), diagnostics)
        if not any(any(calls(tool)) for tool in piece.tools):
            self.lines.append(f"{key} {json.dumps(_to_json(piece))}")
        return piece


def known_lines(lines: Iterable[str]) -> dict[str, str]:
    """The lines of an earlier run, by their keys."""
    return {key: rest for key, _, rest in (line.partition(" ") for line in lines)}


def _is_called(piece: Piece, called: set[str]) -> bool:
    return not called.isdisjoint(name for tool in piece.tools for name in (tool.spec.name, *tool.spec.aliases))


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError:
        return None


def _key(found: Found, data: bytes, context: str) -> str:
    about = f"{context} {found.folder is None} {found.shown}\0".encode("utf-8", "surrogateescape")
    return hashlib.sha256(about + data).hexdigest()


def _to_json(piece: Piece) -> dict[str, object]:
    sources = sources_to_json(piece.diagnostics)
    return {
        "parsed": piece.source is not None,
        "asked": [[method, asked, answer] for (method, asked), answer in (piece.folder.log or {}).items()],
        "findings": findings_to_json(piece.diagnostics),
        "sources": {path: text for path, text in sources.items() if path != piece.found.shown},
        "tools": [_outline(tool) for tool in piece.tools],
    }


def _outline(tool: LocatedTool) -> dict[str, object]:
    spec = tool.spec
    return {
        "name": spec.name,
        "description": spec.description,
        "aliases": spec.aliases,
        "damaged": sorted(tool.damaged),
        "spans": [tool.span(), *(tool.span(key) if tool.node.get(key) else None for key in _KEYS)],
        "alias_spans": [tool.span("aliases", index) for index in range(len(spec.aliases))],
    }


def _recall(line: str | None, found: Found, text: str) -> Piece | None:
    """What a line says; None where there is none, or the file's folder does not answer as it did."""
    if line is None:
        return None
    try:
        kept = json.loads(line)
        folder, source = folder_of(found), SourceText(found.shown, text)
        for method, asked, answer in kept["asked"]:
            if digest_of_answer(folder, method, asked) != answer:
                return None
            assert folder.log is not None
            folder.log[method, asked] = answer
        diagnostics = diagnostics_from_json(kept["findings"], {**kept["sources"], found.shown: text})
        return Piece(
            found=found,
            source=source if kept["parsed"] else None,
            tools=tuple(_tool(each, source) for each in kept["tools"]),
            diagnostics=diagnostics,
            folder=folder,
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _tool(kept: Any, source: SourceText) -> LocatedTool:
    """A tool that is where it was, and of which no more is known than its outline says."""
    spec = ToolSpec(
        name=kept["name"],
        description=kept["description"],
        aliases=tuple(kept["aliases"]),
        parameters=NO_PARAMETERS,
        backend=NO_COMMAND,
    )
    whole, *places = kept["spans"]
    node = Mapping(tuple(_entries(kept, places)), span(whole))
    return LocatedTool(spec=spec, node=node, path=source.path, source=source, damaged=frozenset(kept["damaged"]))


def _entries(kept: Any, places: Any) -> Iterator[Entry]:
    for key, place in zip(_KEYS, places, strict=True):
        if place is not None:
            value: Node = Scalar(None, span(place))
            if key == "aliases":
                value = SequenceNode(tuple(Scalar(None, span(each)) for each in kept["alias_spans"]), span(place))
            yield Entry(key, span(place), value)

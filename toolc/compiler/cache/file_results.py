"""Cached results of single files: after an edit, only the files that changed are compiled.

Tools that call others, and the tools that they call, are always compiled: their checks need more than an outline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from toolc.compiler.cache.file import INVALID_CACHE, diagnostics_from_json, digest, findings_to_json, to_json
from toolc.compiler.cache.parallel import FileOutline, chunked, outline_of, parallel_map, piece_of, without_nodes
from toolc.compiler.cache.validity import CacheKey
from toolc.compiler.checks import check_all_tools, internal_error
from toolc.compiler.checks.call_graph import tool_references
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import SpecFile
from toolc.compiler.project.files import digest_of_bytes
from toolc.document.loader import MAX_BYTES, read
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.source import BOM

if TYPE_CHECKING:
    from toolc.compiler.build_output import RenderedTool


Render: TypeAlias = "Callable[[Sequence[LocatedTool]], Mapping[str, RenderedTool] | None]"
"""Returns the given tools by name, rendered; None if the texts of one depend on other tools."""

_Packed: TypeAlias = "tuple[FileOutline | None, Mapping[str, RenderedTool]]"
"""The data that a worker process sends for one file."""


class _Stored(NamedTuple):
    """The key of a file and its outline; ``text`` has both as JSON if already known."""

    key: str
    outline: FileOutline
    text: str = ""


@dataclass(slots=True)
class PieceCache:
    """Compiles the files that changed since an earlier run, and restores the others.

    - ``key``: the current files.
    - ``details``: the details that the earlier run stored; empty if there was none.
    - ``is_complete``: after ``gather``, whether the files are still those of ``key``.
    - ``rendered``: None for a check. For a build, the tools of the last build by name: a file is restored only if
      all its tools are among them. After ``gather``, the tools of this build that do not depend on others;
      ``compile_specs`` returns complete specs of all other tools.
    - ``render``: None for a check. For a build, renders the tools of one file.
    """

    key: CacheKey
    details: Sequence[str]
    rendered: Mapping[str, RenderedTool] | None = None
    render: Render | None = None
    is_complete: bool = False
    _context: str = ""
    _outlines: dict[str, _Stored] = field(default_factory=dict)
    _findings: Any = None
    """The findings about all tools together, as JSON; None if unknown."""
    _can_store_findings: bool = False

    def gather(self, files: Sequence[SpecFile], compiler: FileCompiler) -> list[Piece]:
        """Return the result of each file, in order."""
        for file in files:
            if file.folder is None:  # ``find_specs`` has looked up the project of each other file
                compiler.projects.of_file(file.path)
        if compiler.projects.diagnostics.has_errors:  # the project's settings are unknown then
            self.rendered = None if self.rendered is None else {}
            return [compiler.compile(file) for file in files]
        self._context = digest(json.dumps([[source.path, source.text] for source in compiler.projects.sources]))
        stored = self._stored()
        inputs = [_read_input(file, self.key) for file in files]
        self.is_complete = all(str(file.path) in self.key.contents for file in files)
        restored = [self._restore(each, stored) for each in inputs]
        changed = [each for each, result in zip(inputs, restored, strict=True) if result is None]
        compiled = _compile(changed, _Compiler(compiler, self.render))
        results = [result or next(compiled) for result in restored]
        if self.rendered is not None:
            self.rendered = {name: each for result in results for name, each in result.rendered.items()}
        self._outlines = {
            each.file.display_path: stored[each.file.display_path] if is_restored else _Stored(each.key, result.outline)
            for each, result, is_restored in zip(inputs, results, restored, strict=True)
            if result.outline is not None
        }
        self._can_store_findings = len(self._outlines) == len(files)
        if not (self._can_store_findings and self._outlines_are_unchanged(stored, changed)):
            self._findings = None
        callers = [tool for each in results if each.outline is None for tool in each.piece.tools]
        called = {name for tool in callers for name, _ in tool_references(tool)}
        return [
            each.compile(compiler) if result.outline and _has_tool(result.piece, called) else result.piece
            for each, result in zip(inputs, results, strict=True)
        ]

    def together(self, tools: Sequence[LocatedTool]) -> tuple[Diagnostic, ...]:
        """Return the findings about all tools together; those of the last run if all outlines are the same."""
        try:
            diagnostics = diagnostics_from_json(self._findings, {})
        except INVALID_CACHE:  # None is invalid too
            diagnostics = Diagnostics()
            for each in check_all_tools(tools):
                diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
        self._findings = findings_to_json(diagnostics) if self._can_store_findings else None
        return diagnostics.sorted()

    def to_details(self) -> list[str]:
        """Return the details to store, as JSON texts: one for all files, and one per file."""
        files = [each.text or to_json([path, each.key, each.outline]) for path, each in self._outlines.items()]
        return [to_json([self._context, self._findings]), *files]

    def _stored(self) -> dict[str, _Stored]:
        """Return the outlines stored with the same project files, by the path of their file in findings."""
        try:
            if not self.details:
                return {}
            first, *texts = self.details
            context, findings = json.loads(first)
            if context != self._context:
                return {}
            self._findings = findings
            files = json.loads(f"[{','.join(texts)}]")  # in one step because there may be thousands
            return {
                path: _Stored(key, FileOutline(*outline), text)
                for text, (path, key, outline) in zip(texts, files, strict=True)
            }
        except INVALID_CACHE:
            return {}

    def _restore(self, entry: _Input, stored: Mapping[str, _Stored]) -> _Result | None:
        """Return the result of a file that did not change, or None if it changed."""
        known = stored.get(entry.file.display_path)
        if known is None or entry.text is None or entry.key != known.key:
            return None
        piece = piece_of(known.outline, entry.file, entry.text)
        if piece is None:
            return None
        if self.rendered is None:
            return _Result(piece, known.outline, {})
        names = [tool.spec.name for tool in piece.tools]
        if any(name not in self.rendered for name in names):
            return None
        return _Result(piece, known.outline, {name: self.rendered[name] for name in names})

    def _outlines_are_unchanged(self, stored: Mapping[str, _Stored], changed: Sequence[_Input]) -> bool:
        """Return whether the set of files is unchanged and the changed files have the same tool outlines."""
        if stored.keys() != self._outlines.keys():
            return False
        names = [each.file.display_path for each in changed]
        return all(
            json.loads(json.dumps(self._outlines[name].outline.tools)) == stored[name].outline.tools for name in names
        )


class _Input(NamedTuple):
    """A file as it was read. ``text`` is None if it is not UTF-8; ``key`` is empty if its result is not stored."""

    file: SpecFile
    data: bytes | None
    text: str | None
    key: str
    diagnostics: Diagnostics

    def compile(self, compiler: FileCompiler) -> Piece:
        """Compile the file."""
        return compiler.compile_bytes(self.file, self.data, self.diagnostics)[1]


class _Result(NamedTuple):
    """The result of one file: the piece, its outline if it can be stored, and its tools in a build by name."""

    piece: Piece
    outline: FileOutline | None
    rendered: Mapping[str, RenderedTool]


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles files; for a build, ``render`` renders their tools."""

    compiler: FileCompiler
    render: Render | None

    def compile(self, entry: _Input) -> _Result:
        """Return the result of one file. In a build, a file whose tools depend on others has no outline."""
        piece = entry.compile(self.compiler)
        outline = outline_of(piece) if entry.key else None
        rendered: Mapping[str, RenderedTool] = {}
        if self.render and not piece.diagnostics.has_errors:
            try:
                texts = self.render(piece.tools)
            except Exception as error:  # noqa: BLE001  a bug that one file causes must not hide the findings of others
                piece.diagnostics.append(internal_error(piece.tools[0].span("name"), error))
                return _Result(piece, None, {})
            if texts is None:
                return _Result(piece, None, {})
            rendered = texts
        return _Result(without_nodes(piece, outline) if outline else piece, outline, rendered)

    def compile_all(self, files: Sequence[_Input]) -> list[_Result]:
        """Return the result of each file."""
        return [self.compile(each) for each in files]

    def unpack(self, files: Sequence[_Input], packed: list[_Packed]) -> list[_Result]:
        """Return the results of another process; compile the files here whose results it could not send."""
        results = []
        for entry, (outline, rendered) in zip(files, packed, strict=True):
            piece = piece_of(outline, entry.file, entry.text) if outline and entry.text is not None else None
            results.append(_Result(piece, outline, rendered) if piece else self.compile(entry))
        return results


def _compile(files: Sequence[_Input], compiler: _Compiler) -> Iterator[_Result]:
    """Yield the result of each file. Many files are compiled in several processes."""
    if len(files) <= 1:
        return map(compiler.compile, files)

    def pack(results: list[_Result]) -> list[_Packed]:
        return [(each.outline, each.rendered) for each in results]

    results: list[list[_Result]] = parallel_map(compiler.compile_all, chunked(files), pack, compiler.unpack)
    return chain.from_iterable(results)


def _read_input(file: SpecFile, key: CacheKey) -> _Input:
    diagnostics, name = Diagnostics(), str(file.path)
    data, known_digest = key.contents.get(name), key.digests.get(name)
    if data is None or len(data) > MAX_BYTES:  # ``read`` reports this
        data, known_digest = read(file.path, file.display_path, diagnostics), None
    text = None
    if data is not None:
        try:
            text = data.decode("utf-8").removeprefix(BOM)
        except UnicodeDecodeError:
            return _Input(file, data, None, "", diagnostics)
    file_key = "" if data is None else f"{known_digest or digest_of_bytes(data)} {file.folder is None:d}"
    return _Input(file, data, text, file_key, diagnostics)


def _has_tool(piece: Piece, names: set[str]) -> bool:
    return not names.isdisjoint(name for tool in piece.tools for name in (tool.spec.name, *tool.spec.aliases))

"""``builtin:`` of a project file: tools that come with toolc, compiled along with the project's own.

They are what ``Registry.builtin()`` has: no project's defaults, variables or settings change them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from toolc.compiler.compile_file import FileCompiler, Piece
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.find import find
from toolc.compiler.find_project import Projects
from toolc.compiler.project import Member
from toolc.compiler.settings import NO_SETTINGS
from toolc.data.paths import packaged_path
from toolc.document.map_reader import listed, suggestion
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics


class Brought(NamedTuple):
    """What a project's ``builtin`` comes to: the files that were compiled, the tools among them, the findings."""

    pieces: tuple[Piece, ...]
    tools: tuple[LocatedTool, ...]
    findings: tuple[Diagnostic, ...]


def bring(members: Sequence[Member], own: Sequence[LocatedTool]) -> Brought:
    """The tools of these names; ``own`` are the project's. Raises ``UsageError`` where toolc is not whole."""
    taken = {name for tool in own for name in (tool.spec.name, *tool.spec.aliases)}
    pieces = tuple(_pieces(sorted({member.name for member in members})))
    known = {tool.spec.name: tool for piece in pieces for tool in piece.tools}
    tools = {member.name: known[member.name] for member in members if member.name in known}
    clear = [tool for tool in tools.values() if taken.isdisjoint((tool.spec.name, *tool.spec.aliases))]
    return Brought(
        pieces=pieces,
        tools=tuple(replace(tool, comes_with_toolc=True) for tool in clear),
        findings=tuple(_findings(members, tools.keys(), {tool.spec.name for tool in clear})),
    )


def builtin_names() -> list[str]:
    """The names of all of them, sorted."""
    return sorted(tool.spec.name for piece in _pieces([""]) for tool in piece.tools)


def _pieces(names: Sequence[str]) -> Iterator[Piece]:
    """What comes of each file in which one of these names stands."""
    folder = packaged_path("specs")
    compiler = FileCompiler(Projects(Diagnostics()), NO_SETTINGS)
    for found in find([folder]):
        if compiler.projects.of_file(found.path).excludes(found.path):
            continue
        data = found.path.read_bytes()
        if any(name.encode() in data for name in names):
            # Not by its path, which differs from machine to machine: a review names it.
            shown = f"toolc:{folder.name}/{found.path.relative_to(folder).as_posix()}"
            piece = compiler.compile(replace(found, shown=shown), data)
            # Asked of the folder, so that an answer which is kept holds while the file is what it was.
            piece.folder.read(found.path.name)
            yield piece


def _findings(members: Sequence[Member], there: Collection[str], clear: Collection[str]) -> Iterator[Diagnostic]:
    for member in members:
        if member.name not in there:
            names = builtin_names()
            hint = suggestion(member.name, names) or f"there are {listed(names)}"
            yield Diagnostic(codes.DANGLING, f"no tool '{member.name[:80]}' comes with toolc", member.span, hint)
        elif member.name not in clear:
            message = f"'{member.name}' is taken: a tool of this project has that name, or one of its aliases"
            yield Diagnostic(codes.DUPLICATE_NAME, message, member.span, "leave it out here, or rename that tool")

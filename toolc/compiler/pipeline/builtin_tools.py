"""Compile the built-in tools of a project, without its defaults and settings, and check names in toolsets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import Projects
from toolc.compiler.project.project import Member
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.compiler.project.tool_names import builtin_files, builtin_names, names_below
from toolc.data.paths import packaged_path
from toolc.document.suggestions import quote_names, suggestion
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics

_MAX_NAMED: Final = 10
"""The maximum number of tools that a message names, so that it stays on a few lines."""


class BuiltinTools(NamedTuple):
    """The tools and the findings that a project's ``builtin`` leads to."""

    tools: tuple[LocatedTool, ...]
    findings: tuple[Diagnostic, ...]


def load_builtin_tools(members: Sequence[Member], local: Sequence[LocatedTool]) -> BuiltinTools:
    """Compile the built-in tools ``members``. ``local`` are the project's own tools. Raises ``UsageError``."""
    taken = {name for tool in local for name in (tool.spec.name, *tool.spec.aliases)}
    pieces = _pieces(sorted({member.name for member in members}))
    known = {tool.spec.name: tool for piece in pieces for tool in piece.tools}
    tools = {member.name: known[member.name] for member in members if member.name in known}
    clear = [tool for tool in tools.values() if taken.isdisjoint((tool.spec.name, *tool.spec.aliases))]
    return BuiltinTools(
        tools=tuple(replace(tool, comes_with_toolc=True) for tool in clear),
        findings=tuple(_findings(members, tools.keys(), {tool.spec.name for tool in clear})),
    )


def _pieces(names: Sequence[str]) -> Iterator[Piece]:
    """Compile each built-in spec file that contains one of these names."""
    folder = packaged_path("specs")
    compiler = FileCompiler(Projects(Diagnostics()), NO_SETTINGS)
    for file in builtin_files(compiler.projects):
        data = file.path.read_bytes()
        if any(name.encode() in data for name in names):
            # Reviews show this path, so it must not depend on where toolc is installed.
            display_path = f"toolc:{folder.name}/{file.path.relative_to(folder).as_posix()}"
            yield compiler.compile(replace(file, display_path=display_path), data)


def _findings(members: Sequence[Member], existing: Collection[str], clear: Collection[str]) -> Iterator[Diagnostic]:
    for member in members:
        if member.name not in existing:
            names = builtin_names()
            hint = suggestion(member.name, names) or f"the built-in tools are {quote_names(names)}"
            yield Diagnostic(codes.DANGLING, f"there is no built-in tool '{member.name[:80]}'", member.span, hint)
        elif member.name not in clear:
            message = f"a tool of this project already has the name or alias '{member.name}'"
            yield Diagnostic(
                codes.DUPLICATE_NAME, message, member.span, "remove it from this list, or rename that tool"
            )


def check_toolsets(paths: Sequence[Path], projects: Projects, tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Yield a finding for each toolset member that is not a tool.

    If only single files are compiled, nothing is checked, because that would require reading all other files.
    """
    if not any(path.is_dir() for path in paths):
        return
    compiled = {name for tool in tools for name in (tool.spec.name, *tool.spec.aliases)}
    for project in projects.loaded:
        members = [member for each in project.toolsets.values() for member in each]
        if all(member.name in compiled for member in members):
            continue
        known = compiled | {*names_below(project, projects)}
        for member in members:
            if member.name not in known:
                names = sorted(known - {""})
                more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
                hint = suggestion(member.name, known) or f"the tools are {quote_names(names[:_MAX_NAMED])}{more}"
                yield Diagnostic(codes.DANGLING, f"there is no tool '{member.name}'", member.span, hint)

"""``toolsets:`` of a project file: does every name in one belong to a tool of the project?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from toolc.compiler.cache_file import digest_of_bytes, digest_of_files
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.find import find
from toolc.compiler.find_project import Projects
from toolc.compiler.project import Project
from toolc.document.loader import load_data, read
from toolc.document.map_reader import listed, suggestion
from toolc.document.nodes import Mapping, Node, Scalar
from toolc.document.nodes import Sequence as SequenceNode
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics

_MAX_NAMED: Final = 10


def check_toolsets(paths: Sequence[Path], projects: Projects, tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each name in a toolset that no tool has.

    Where single files are compiled nothing is said: to know, one would have to read all others.
    """
    if not any(path.is_dir() for path in paths):
        return
    compiled = {name for tool in tools for name in (tool.spec.name, *tool.spec.aliases)}
    for project in projects.found:
        members = [member for each in project.toolsets.values() for member in each]
        if all(member.name in compiled for member in members):
            continue
        known = compiled | {*_names_below(project, projects)}
        for member in members:
            if member.name not in known:
                hint = suggestion(member.name, known) or _existing(sorted(known - {""}))
                yield Diagnostic(codes.DANGLING, f"there is no tool '{member.name}'", member.span, hint)


def _existing(names: list[str]) -> str:
    more = len(names) - _MAX_NAMED
    return f"the tools are {listed(names[:_MAX_NAMED])}" + (f" and {more} more" if more > 0 else "")


def _names_below(project: Project, projects: Projects) -> Iterator[str]:
    """The names of all tools of a project, also of those that are not compiled."""
    read_files = {found: read(found.path, found.shown, Diagnostics()) or b"" for found in find([project.folder])}
    projects.below[project.folder] = digest_of_files(
        {
            name: digest_of_bytes(data)
            for name, data in sorted((str(each.path), data) for each, data in read_files.items())
        }
    )
    for found, data in read_files.items():
        if projects.of(found.path) is project and not project.excludes(found.path):
            document = load_data(data, found.path, found.shown, Diagnostics())
            root = document.root if document and document.root.get("toolc") else None
            several = root.get("tools") if root else None
            for tool in several.items if isinstance(several, SequenceNode) else (root,):
                yield from _name_of(tool)


def _name_of(tool: Node | None) -> Iterator[str]:
    for key in ("name", "aliases"):
        node = tool.get(key) if isinstance(tool, Mapping) else None
        for each in node.items if isinstance(node, SequenceNode) else (node,):
            if isinstance(each, Scalar) and isinstance(each.value, str):
                yield each.value

"""Read the names of tools from spec files without compiling them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from toolc.compiler.project.discovery import Projects, SpecFile, find
from toolc.compiler.project.project import Project
from toolc.data.paths import packaged_path
from toolc.document.loader import load_data, read
from toolc.document.nodes import Mapping, Node, Scalar, Sequence
from toolc.model.diagnostics import Diagnostics


def builtin_files(projects: Projects) -> Iterator[SpecFile]:
    """Yield the spec files of the built-in tools."""
    for file in find([packaged_path("specs")]):
        if not projects.of_file(file.path).excludes(file.path):
            yield file


@cache
def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in tools, sorted."""
    files = builtin_files(Projects(Diagnostics()))
    return tuple(sorted(name for file in files for name in _names(file, file.path.read_bytes(), "name")))


def names_below(project: Project, projects: Projects) -> Iterator[str]:
    """Yield the names and aliases of all tools of a project."""
    projects.reads_other_specs = True
    for file in find([project.folder]):
        data = read(file.path, file.display_path, Diagnostics()) or b""
        if projects.of(file.path).folder == project.folder and not project.excludes(file.path):
            yield from _names(file, data, "name", "aliases")


def _names(file: SpecFile, data: bytes, *keys: str) -> Iterator[str]:
    document = load_data(data, file.path, file.display_path, Diagnostics())
    root = document.root if document and document.root.get("toolc") else None
    several = root.get("tools") if root else None
    for tool in several.items if isinstance(several, Sequence) else (root,):
        for key in keys:
            yield from _strings(tool.get(key) if isinstance(tool, Mapping) else None)


def _strings(node: Node | None) -> Iterator[str]:
    for each in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(each, Scalar) and isinstance(each.value, str):
            yield each.value

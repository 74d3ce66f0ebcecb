"""One state of the specs in a review: its tools, projects and findings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.baseline import nearest
from toolc.compiler.project.project import Project
from toolc.dataclass import dataclass, field
from toolc.model.call_graph import tools_by_name
from toolc.model.diagnostics import Diagnostics
from toolc.model.json_schema import JsonObject
from toolc.model.registry import tool_to_json
from toolc.model.registry_io import Digests, digests
from toolc.model.source import Position, SourceText, Span
from toolc.model.spec.tool import ToolSpec


def inside(path: str, prefix: str) -> str:
    """Return a path relative to the repository, without the folder that a commit's files were written to.

    A project file is named by its path from the current folder.
    """
    absolute = os.path.abspath(path) if prefix and path.startswith("..") else path  # noqa: PTH100  links stay links
    return absolute.removeprefix(prefix) if prefix and absolute.startswith(prefix) else path


def placed(span: Span, prefix: str) -> Span:
    """Return a span with the path that the repository uses for its file. ``prefix`` is as in ``inside``."""
    return Span(inside(span.path, prefix), Position(*span.start), Position(*span.end))


@dataclass(frozen=True)
class Reviewed:
    """A tool in one state. ``located`` is None if it comes from a registry file, which has no spec and no lines."""

    spec: ToolSpec
    located: LocatedTool | None = None
    prefix: str = ""

    @property
    def path(self) -> str:
        """The path of its file in the repository, or ``""`` for a registry file."""
        return self.located.path.removeprefix(self.prefix) if self.located else ""

    @cached_property
    def stored(self) -> JsonObject:
        """The tool in the format of a registry."""
        return tool_to_json(self.spec)

    def span(self, *route: str | int) -> Span | None:
        """Return the position of the value at ``route``, or of its nearest existing parent, or None without a spec.

        A tool's mappings include project defaults, so the position may be in the project file.
        """
        return placed(self.located.span(*route), self.prefix) if self.located else None

    @cached_property
    def source(self) -> SourceText | None:
        """Return the text of its file, with the path that the repository uses, or None without a spec."""
        return SourceText(self.path, self.located.source.text) if self.located else None


@dataclass(frozen=True)
class State:
    """All tools of one state, by name. ``label`` is the user's name for the state.

    ``diagnostics`` are the findings about its specs. If there are errors, ``tools`` are those that could be read.
    ``projects`` are the project files that apply. ``top`` is the folder that corresponds to the same folder of the
    other state. ``unused_projects`` are the project files in the compared folders that no compiled spec belongs to.
    ``built_toolsets`` are the toolsets of a registry file, which has no project files.
    """

    label: str
    tools: Mapping[str, Reviewed]
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    projects: tuple[Project, ...] = ()
    prefix: str = ""
    top: Path = Path()
    unused_projects: tuple[Project, ...] = ()
    built_toolsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def projects_by_place(self) -> Mapping[str, Project]:
        """The project files, by folder, relative to the top of the state."""
        used = {self._place(project): project for project in self.projects if project.vars.where}
        return {**used, **self.unused_by_place}

    @cached_property
    def unused_by_place(self) -> Mapping[str, Project]:
        """The project files that no compiled spec belongs to, as in ``projects_by_place``."""
        return {self._place(project): project for project in self.unused_projects if project.vars.where}

    def _place(self, project: Project) -> str:
        return os.path.relpath(project.folder.resolve(), self.top.resolve())

    def project_at(self, place: str) -> Project | None:
        """Return the project that applies to a folder of ``projects_by_place``, or None if there is none."""
        return nearest(self.projects_by_place, place)

    def place_of(self, tool: LocatedTool) -> str:
        """Return the folder of a tool's file, named as in ``projects_by_place``."""
        return os.path.relpath(Path(tool.path).parent.resolve(), self.top.resolve())

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folders of the tools' files, named as in ``projects_by_place``, sorted."""
        top = self.top.resolve()
        named = {os.path.dirname(tool.located.path) for tool in self.tools.values() if tool.located}  # noqa: PTH120
        return tuple(sorted(os.path.relpath(Path(each).resolve(), top) for each in named))

    @cached_property
    def by_name(self) -> Mapping[str, ToolSpec]:
        """The tools by their names and aliases, as callers name them."""
        return tools_by_name(tool.spec for tool in self.tools.values())

    @cached_property
    def toolsets(self) -> Mapping[str, Mapping[str, Span | None]]:
        """The names of the tools (no aliases) in each toolset, with their positions (None in a registry file)."""
        built = ((name, member, None) for name, members in self.built_toolsets.items() for member in members)
        declared = (
            (name, member.name, placed(member.span, self.prefix))
            for project in self.projects
            for name, members in project.toolsets.items()
            for member in members
        )
        found: dict[str, dict[str, Span | None]] = {}
        for name, member, span in (*built, *declared):
            if tool := self.by_name.get(member):
                found.setdefault(name, {})[tool.name] = span
        return found

    def digests(self, name: str) -> Digests:
        """Return the digests of the tool's surface, which a model sees, and of its effect."""
        return digests(self.tools[name].spec, self.by_name)

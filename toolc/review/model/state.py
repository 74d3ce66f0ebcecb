"""One side of a review: the tools as they were, or are, or would be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.project import Project
from toolc.model.call_graph import by_name
from toolc.model.diagnostics import Diagnostics
from toolc.model.json_schema import JsonObject
from toolc.model.registry import tool_to_json
from toolc.model.registry_file import digests
from toolc.model.source import Position, SourceText, Span
from toolc.model.spec.tool import ToolSpec
from toolc.review.model.change import Route

__all__ = [
    "State",
]


def inside(path: str, prefix: str) -> str:
    """A path as the repository has it: without the folder that a commit's files were written to.

    Project files are called by their way from the current folder.
    """
    absolute = os.path.abspath(path) if prefix and path.startswith("..") else path  # noqa: PTH100  links stay links
    return absolute.removeprefix(prefix) if prefix and absolute.startswith(prefix) else path


def placed(span: Span, prefix: str) -> Span:
    """A place in a file, as the repository names the file; ``prefix`` as ``inside`` has it."""
    return Span(inside(span.path, prefix), Position(*span.start), Position(*span.end))


@dataclass(frozen=True)
class Reviewed:
    """A tool on one side. ``located`` is None where it comes from a registry file: no spec, no lines."""

    spec: ToolSpec
    located: LocatedTool | None = None
    prefix: str = ""

    @property
    def path(self) -> str:
        """The file it is from, as the repository names it; empty for a registry file."""
        return self.located.path.removeprefix(self.prefix) if self.located else ""

    @cached_property
    def stored(self) -> JsonObject:
        """The tool as a registry stores it."""
        return tool_to_json(self.spec)

    def span(self, *route: str | int) -> Span | None:
        """Where the value at ``route`` stands, or what of the way there exists; None without a spec.

        A tool's maps hold what defaults brought in, so this may be in the project file.
        """
        return self.shown(self.located.span(*route)) if self.located else None

    @cached_property
    def source(self) -> SourceText | None:
        """The text of its file, under the name that the repository has for it; None without a spec."""
        return SourceText(self.path, self.located.source.text) if self.located else None

    def shown(self, span: Span) -> Span:
        """A place in one of the files of this side, as the repository names it."""
        return placed(span, self.prefix)

    def line(self, route: Route) -> str:
        """The line of the spec at ``route``, without the blanks around it; empty without a spec."""
        if self.located is None:
            return ""
        span = self.located.span(*route)
        source = self.located.source
        return source.line(span.start.line).strip() if span.path == source.path else ""


@dataclass(frozen=True)
class State:
    """All tools of one side, by name. ``label`` is what the user called it.

    ``diagnostics`` say what is wrong with its specs: with errors among them, ``tools`` are those that could be
    read. ``projects`` are the project files that hold for them. ``names`` are those of all tools there are, also of
    those that were not read since they are the same on both sides. ``top`` is the folder that both sides have.
    ``compiled`` are the files that were compiled of a narrowed state, with the names and aliases of their tools.
    ``built_toolsets`` are those that a registry file has, which has no project files.
    """

    label: str
    tools: Mapping[str, Reviewed]
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    projects: tuple[Project, ...] = ()
    prefix: str = ""
    names: frozenset[str] = frozenset()
    top: Path = Path()
    compiled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    built_toolsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def projects_by_place(self) -> Mapping[str, Project]:
        """The project files that there are, by their folders as both sides have them."""
        top = self.top.resolve()
        return {
            os.path.relpath(project.folder.resolve(), top): project
            for project in self.projects
            if project.vars.where
        }

    def project_at(self, place: str) -> Project | None:
        """The project that holds in a folder, as ``projects_by_place`` calls folders; None where there is none."""
        folders = (PurePosixPath(place), *PurePosixPath(place).parents)
        return next((found for each in folders if (found := self.projects_by_place.get(str(each)))), None)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folders that the tools' files are in, as ``projects_by_place`` calls them, sorted."""
        top = self.top.resolve()
        named = {os.path.dirname(tool.located.path) for tool in self.tools.values() if tool.located}  # noqa: PTH120
        return tuple(sorted(os.path.relpath(Path(each).resolve(), top) for each in named))

    @cached_property
    def by_name(self) -> Mapping[str, ToolSpec]:
        """The tools by their names and aliases, as those that call them do."""
        return by_name(tool.spec for tool in self.tools.values())

    @cached_property
    def toolsets(self) -> Mapping[str, Mapping[str, Span | None]]:
        """The names of the tools in each toolset, whatever names it calls them by, with the place that says so.

        The place is None in a registry file.
        """
        built = ((name, member, None) for name, members in self.built_toolsets.items() for member in members)
        said = (
            (name, member.name, placed(member.span, self.prefix))
            for project in self.projects
            for name, members in project.toolsets.items()
            for member in members
        )
        found: dict[str, dict[str, Span | None]] = {}
        for name, member, span in (*built, *said):
            if tool := self.by_name.get(member):
                found.setdefault(name, {})[tool.name] = span
        return found

    def surface_digest(self, name: str) -> str:
        """What a model sees of the tool, as one digest."""
        return digests(self.tools[name].spec, self.by_name).surface

    def effect_digest(self, name: str) -> str:
        """What a call of the tool does, as one digest."""
        return digests(self.tools[name].spec, self.by_name).effect

"""The compiler on one screen: files, documents, tools, checks, registry."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, TypeAlias

from toolc.compiler.checks import check_together
from toolc.compiler.checks.base import TOOL_SET_CHECKS
from toolc.compiler.checks.secrets import check_text_for_secrets
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.builtin_tools import check_toolsets
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import PROJECT_FILES, Projects, SpecFile, find
from toolc.compiler.project.files import SpecFolder, case_conflicts
from toolc.compiler.project.project import Project
from toolc.compiler.project.settings import NO_SETTINGS, Settings, apply, severity_of
from toolc.compiler.project.suppressions import suppress
from toolc.document.nodes import Document
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics
from toolc.model.errors import SpecError, UsageError
from toolc.model.source import SourceText
from toolc.model.spec.tool import ToolSpec

if TYPE_CHECKING:
    from toolc.model.registry import RegistryFile

__all__ = [
    "Compilation",
    "compile_specs",
    "gather",
    "gc_paused",
]


@contextmanager
def gc_paused() -> Iterator[None]:
    """Run without the collector, which would look at every living object again and again: a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _count_as_old()
            gc.enable()


def _count_as_old() -> None:
    """Take what was made for what has lived long: the collector's next step would look at all of it."""
    if not gc.get_freeze_count():  # else somebody froze what unfreezing would give back
        gc.freeze()
        gc.unfreeze()


_ABOUT_SEVERAL: Final = frozenset(check.number for check in TOOL_SET_CHECKS)
"""Numbers of findings that other files take part in: a comment's use shows only where all are compiled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What came of compiling some specs: the tools, and every finding.

    ``tools`` are sorted by name; where ``diagnostics`` hold an error they are those that could be read.
    ``paths`` says for each tool's name which file it is from, as findings call it; ``located`` are the tools
    with their places, and ``projects`` the project files that hold for them. ``folders`` say what the tools
    asked of them, and ``looked_for`` are those in which a project file could have been; ``below`` is what
    ``Projects`` has there.
    """

    tools: tuple[ToolSpec, ...]
    diagnostics: Diagnostics
    paths: Mapping[str, str]
    located: tuple[LocatedTool, ...]
    projects: tuple[Project, ...]
    folders: tuple[SpecFolder, ...]
    looked_for: tuple[Path, ...]
    below: Mapping[Path, str]

    @property
    def out(self) -> Path | None:
        """The folder that the projects say a build writes. Raises ``UsageError`` where they name several."""
        named = sorted({project.out for project in self.projects if project.out is not None})
        if len(named) > 1:
            raise UsageError(f"the projects of these specs name several folders to write: {named[0]}, {named[1]}")
        return named[0] if named else None

    @property
    def own(self) -> tuple[LocatedTool, ...]:
        """Those of ``located`` that stand in the specs, and do not come with toolc by a project's ``builtin``."""
        return tuple(tool for tool in self.located if not tool.comes_with_toolc)

    @property
    def toolsets(self) -> dict[str, tuple[str, ...]]:
        """The project files' toolsets: of each its tools that were compiled; several of one name are one."""
        compiled = {name for tool in self.tools for name in (tool.name, *tool.aliases)}
        found: dict[str, tuple[str, ...]] = {}
        for project in self.projects:
            for name, members in project.toolsets.items():
                here = (member.name for member in members if member.name in compiled)
                found[name] = (*found.get(name, ()), *here)
        return found

    def refuse_errors(self) -> None:
        """Raise ``SpecError`` where there is an error."""
        if self.diagnostics.has_errors:
            found = self.diagnostics.sorted()
            errors = [each for each in found if each.is_error]
            times = sum(each.times for each in errors)
            count = "1 error" if times == 1 else f"{times} errors"
            lines = [f"{each.span}: {each.code.number} {each.message}" for each in errors]
            raise SpecError("\n".join([f"{count} in the specs:", *lines]), found)

    def registry(self) -> RegistryFile:
        """The tools with their digests, and the toolsets. Raises ``SpecError`` where there is an error."""
        self.refuse_errors()
        from toolc.model.call_graph import by_name  # start-up time: a check registers nothing
        from toolc.model.registry import RegistryFile
        from toolc.model.registry_file import register  # as above

        others = by_name(self.tools)
        return RegistryFile(tuple(register(tool, others) for tool in self.tools), self.toolsets)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file by itself: its document, None where it did not parse, and every finding."""

    document: Document | None
    diagnostics: Diagnostics


Gather: TypeAlias = Callable[[Sequence[SpecFile], FileCompiler], Sequence[Piece]]
"""Makes, or remembers, what comes of each file by itself."""


Together: TypeAlias = Callable[[Sequence[LocatedTool]], Iterable[Diagnostic]]
"""Finds, or remembers, what is wrong with all tools together."""


def gather(files: Sequence[SpecFile], compiler: FileCompiler) -> Sequence[Piece]:
    """Compile each file."""
    return [compiler.compile(found) for found in files]


@gc_paused()
def compile_specs(
    paths: Sequence[Path],
    settings: Settings = NO_SETTINGS,
    gather: Gather = gather,
    together: Together = check_together,
    allow_empty: frozenset[Path] = frozenset(),
) -> Compilation:
    """Compile every spec at or under ``paths``. Problems of the specs are findings, none of them raised.

    ``settings`` come after those of the specs' project files. Raises ``UsageError`` where a path does not
    exist, or there are no specs and it is none of ``allow_empty``.
    """
    diagnostics = Diagnostics()
    projects = Projects(diagnostics)
    pieces = gather(find_specs(paths, projects), FileCompiler(projects, settings))
    specs = [piece for piece in pieces if piece.source is not None]
    for piece in pieces:
        diagnostics.extend(piece.diagnostics)
    if not diagnostics.has_errors:
        _refuse_empty(
            [path for path in paths if path not in allow_empty], [piece.found.real for piece in specs], projects
        )
    own = [tool for piece in pieces for tool in piece.tools]
    brought, tools, of_names = _brought(projects, own)
    located = [*own, *tools]
    of_several = [
        *_clashes(own, diagnostics),
        *together(located),
        *of_names,
        *check_toolsets(paths, projects, located),
        *_against_policies(located, settings),
        *(each for source in projects.sources for each in check_text_for_secrets(source)),
    ]
    for each in of_several:
        diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
    sources = [*(piece.source for piece in specs if piece.source), *projects.sources]
    good = sorted((tool for tool in located if not tool.damaged), key=lambda tool: (tool.spec.name, tool.path))
    return Compilation(
        tools=tuple(tool.spec for tool in good),
        diagnostics=_reported(diagnostics, sources, projects, settings),
        paths={tool.spec.name: tool.path for tool in good},
        located=tuple(good),
        projects=projects.found,
        folders=tuple(piece.folder for piece in (*specs, *brought)),
        looked_for=projects.looked_for,
        below=projects.below,
    )


def compile_text(data: bytes, found: SpecFile, projects: Projects, settings: Settings) -> FileResult:
    """What the file ``found`` would be by itself if it held ``data``: other files have no part in it."""
    compiler, diagnostics = FileCompiler(projects, settings), Diagnostics()
    document = compiler.parse(found, data, diagnostics)
    piece = compiler.compile_document(found, document, diagnostics)
    return FileResult(document, reported(piece, compiler))


def reported(piece: Piece, compiler: FileCompiler) -> Diagnostics:
    """What is reported of a piece where no other file has a part in it."""
    sources = (piece.source,) if piece.source else ()
    return _reported(piece.diagnostics, sources, compiler.projects, compiler.settings)


def _reported(
    diagnostics: Diagnostics, sources: Sequence[SourceText], projects: Projects, settings: Settings
) -> Diagnostics:
    """The findings without those that a comment or the settings take away."""

    def layers_of(path: str) -> tuple[Settings, ...]:
        return (projects.of(Path(path)).lint, settings)

    def tells(code: Code, path: str) -> bool:
        return code.number not in _ABOUT_SEVERAL and severity_of(code, layers_of(path)) is not None

    return apply(suppress(diagnostics, sources, tells), layers_of).map(_without_foreign_fix)


def _without_foreign_fix(found: Diagnostic) -> Diagnostic:
    """A finding without its fix where that would edit a project file: other specs depend on it too."""
    is_shared = found.fix is not None and PurePosixPath(found.span.path).name in PROJECT_FILES
    return replace(found, fix=None) if is_shared else found


def _against_policies(located: Sequence[LocatedTool], settings: Settings) -> Iterable[Diagnostic]:
    if not settings.policies and not any(tool.policies for tool in located):
        return ()
    from toolc.compiler.pipeline.compile_file import check_callers  # start-up time: few projects have a policy

    return check_callers(located, settings.policies)


def find_specs(paths: Sequence[Path], projects: Projects) -> tuple[SpecFile, ...]:
    """The files at or under ``paths``; what a folder holds and its project excludes is passed over."""
    return tuple(
        found
        for found in find(paths)
        if found.folder is None or not projects.of_file(found.path).excludes(found.path)
    )


def _brought(
    projects: Projects, own: Sequence[LocatedTool]
) -> tuple[tuple[Piece, ...], tuple[LocatedTool, ...], tuple[Diagnostic, ...]]:
    """The tools of toolc's own that the project files name, with their files and what is wrong with the names."""
    members = [member for project in projects.found for member in project.builtin]
    if not members:
        return (), (), ()
    from toolc.compiler.pipeline.builtin_tools import load_builtin_tools  # start-up time: few projects name one

    return load_builtin_tools(members, own)


def _clashes(tools: Sequence[LocatedTool], diagnostics: Diagnostics) -> Iterator[Diagnostic]:
    for first, second in case_conflicts(sorted({tool.path for tool in tools})):
        source = diagnostics.source(second) or SourceText(second, "")
        message = f"{second} is {first} where letter case does not count"
        yield Diagnostic(codes.LETTER_CASE, message, source.whole_file(), "rename one")


def _refuse_empty(paths: Sequence[Path], specs: Sequence[str], projects: Projects) -> None:
    files = frozenset(specs)
    for path in paths:
        real = os.path.realpath(path)
        if real not in files and not any(spec.startswith(f"{real.rstrip(os.sep)}{os.sep}") for spec in specs):
            if excluding := _excluding(path, projects):
                raise UsageError(
                    f"{path}: no specs here, since 'exclude' in {excluding} passes over what there is; "
                    "name a file, which is taken all the same, or change 'exclude'"
                )
            raise UsageError(
                f"{path}: no specs here; a spec is a YAML or TOML file that starts with 'toolc: 1' "
                "('toolc = 1' in TOML)"
            )


def _excluding(path: Path, projects: Projects) -> str | None:
    """The project file that excludes what is in the folder at ``path``; None where none does."""
    for found in find([path]):
        project = projects.of_file(found.path)
        if found.folder is not None and project.excludes(found.path):
            shown = Path(os.path.relpath(project.folder))
            return next((shown / name).as_posix() for name in PROJECT_FILES if (shown / name).is_file())
    return None

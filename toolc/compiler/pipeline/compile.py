"""Compile specs: find files, decode tools, run checks, and collect the result."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, TypeAlias

from toolc.compiler.checks import check_all_tools
from toolc.compiler.checks.check_registry import TOOL_SET_CHECKS
from toolc.compiler.checks.secrets import check_text_for_secrets
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.builtin_tools import BuiltinTools, check_toolsets, load_builtin_tools
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece, check_callers
from toolc.compiler.pipeline.gc_pause import gc_paused
from toolc.compiler.pipeline.token_budgets import check_token_budgets
from toolc.compiler.project.discovery import Projects, SpecFile, find
from toolc.compiler.project.files import PROJECT_FILES, SpecFolder, case_conflicts
from toolc.compiler.project.project import Project
from toolc.compiler.project.settings import NO_SETTINGS, Settings, apply, severity_of
from toolc.compiler.project.suppressions import Suppression, suppress
from toolc.compiler.text_analysis.credentials import conceal
from toolc.dataclass import dataclass, replace
from toolc.document.nodes import Document
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics
from toolc.model.errors import SpecError, UsageError
from toolc.model.source import SourceText
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import count_noun

if TYPE_CHECKING:
    from toolc.compiler.project.baseline import Baseline
    from toolc.model.registry import RegistryFile
    from toolc.model.spec.sandbox import Lifetime

_TOOL_SET_NUMBERS: Final = frozenset(check.number for check in TOOL_SET_CHECKS)
"""Findings that need all files. Their suppressions are reported as unused only if every file is compiled."""

Gather: TypeAlias = Callable[[Sequence[SpecFile], FileCompiler], Sequence[Piece]]
"""Compiles each file alone, in one or in several processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """The result of compiling specs: the tools and every finding.

    - ``tools``: the tools, sorted by name. If ``diagnostics`` has errors, these are only the tools that could be read.
    - ``paths``: the file of each tool, by tool name, with the path used in findings.
    - ``located``: the tools with their positions.
    - ``projects``: the project files that apply to them.
    - ``folders``: the folders of the specs, with a log of the files that the tools requested.
    - ``files``: the files that may be specs, under the names that the caller passed.
    - ``project_folders``: the value of ``Projects.searched``.
    - ``reads_other_specs``: the value of ``Projects.reads_other_specs``.
    """

    tools: tuple[ToolSpec, ...]
    diagnostics: Diagnostics
    paths: Mapping[str, str]
    located: tuple[LocatedTool, ...]
    projects: tuple[Project, ...]
    folders: tuple[SpecFolder, ...]
    files: tuple[str, ...]
    project_folders: Mapping[Path, str]
    reads_other_specs: bool

    @property
    def out(self) -> Path | None:
        """The output folder that the projects set for builds. Raises ``UsageError`` if they differ."""
        named = sorted({project.out for project in self.projects if project.out is not None})
        if len(named) > 1:
            raise UsageError(
                f"the projects of these specs set different output folders, {named[0]} and {named[1]}; use --out"
            )
        return named[0] if named else None

    @property
    def local(self) -> tuple[LocatedTool, ...]:
        """The tools of ``located`` that are defined in the specs, without built-in tools."""
        return tuple(tool for tool in self.located if not tool.comes_with_toolc)

    @property
    def toolsets(self) -> dict[str, tuple[str, ...]]:
        """The toolsets of the project files, with compiled tools only. Toolsets with the same name are merged."""
        compiled = {name for tool in self.tools for name in (tool.name, *tool.aliases)}
        toolsets: dict[str, tuple[str, ...]] = {}
        for project in self.projects:
            for name, members in project.toolsets.items():
                here = (member.name for member in members if member.name in compiled)
                toolsets[name] = (*toolsets.get(name, ()), *here)
        return toolsets

    @property
    def lifetimes(self) -> dict[str, list[tuple[str, tuple[Lifetime, ...]]]]:
        """The lifetimes that policies of project files allow, for each tool: a sandbox may stay open for a caller."""
        found = {
            tool.spec.name: [(each.path, each.lifetime) for each in tool.policies if each.lifetime is not None]
            for tool in self.located
        }
        return {name: policies for name, policies in found.items() if policies}

    def raise_errors(self) -> None:
        """Raise ``SpecError`` if there is an error."""
        if self.diagnostics.has_errors:
            findings = self.diagnostics.sorted()
            errors = [each for each in findings if each.is_error]
            count = count_noun(sum(each.times for each in errors), "error")
            lines = [f"{each.span}: {each.code.number} {each.message}" for each in errors]
            raise SpecError("\n".join([f"{count} in the specs:", *lines]), findings)

    def registry(self) -> RegistryFile:
        """Return the tools with their digests, and the toolsets. Raises ``SpecError`` if there is an error."""
        from toolc.model.registry_io import registry_of  # lazy: +17 ms; a check does not need it

        self.raise_errors()
        return registry_of(self.tools, self.toolsets)


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of compiling one file alone: its document (None if it could not be parsed) and every finding."""

    document: Document | None
    diagnostics: Diagnostics


def gather(files: Sequence[SpecFile], compiler: FileCompiler) -> Sequence[Piece]:
    """Compile each file."""
    return [compiler.compile(file) for file in files]


@gc_paused()
def compile_specs(
    paths: Sequence[Path],
    settings: Settings = NO_SETTINGS,
    gather: Gather = gather,
    allow_empty: frozenset[Path] = frozenset(),
    baseline: Baseline | None = None,
) -> Compilation:
    """Compile every spec at or under ``paths``. Problems in specs are reported as findings.

    ``settings`` apply after the settings of the project files. ``baseline`` has settings that the project files cannot
    relax. Raises ``UsageError`` if a path does not exist, or if a path contains no specs and is not in ``allow_empty``.
    """
    diagnostics = Diagnostics()
    projects = Projects(diagnostics, baseline)
    pieces = gather(find_specs(paths, projects), FileCompiler(projects, settings))
    specs = [piece for piece in pieces if piece.source is not None]
    for piece in pieces:
        diagnostics.extend(piece.diagnostics)
    if not diagnostics.has_errors:
        required = [path for path in paths if path not in allow_empty]
        _check_not_empty(required, [piece.file.real for piece in specs], projects)
    local = [tool for piece in pieces for tool in piece.tools]
    members = [member for project in projects.loaded for member in project.builtin]
    builtin = load_builtin_tools(members, local) if members else BuiltinTools((), ())
    located = [*local, *builtin.tools]
    of_several = [
        *_case_conflicts(specs, diagnostics),
        *check_all_tools(located),
        *builtin.findings,
        *check_toolsets(paths, projects, located),
        *check_token_budgets(projects, located),
        *check_callers(located, settings.policies),
        *(each for source in projects.sources for each in check_text_for_secrets(source)),
    ]
    for each in of_several:
        diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
    sources = [*(piece.source for piece in specs if piece.source), *projects.sources]
    good = sorted((tool for tool in located if not tool.damaged), key=lambda tool: (tool.spec.name, tool.path))
    return Compilation(
        tools=tuple(tool.spec for tool in good),
        diagnostics=_reported(diagnostics, sources, projects, settings, local),
        paths={tool.spec.name: tool.path for tool in good},
        located=tuple(good),
        projects=projects.loaded,
        folders=tuple(piece.folder for piece in specs),
        files=tuple(str(piece.file.path) for piece in pieces),
        project_folders=projects.searched,
        reads_other_specs=projects.reads_other_specs,
    )


def compile_text(data: bytes, file: SpecFile, projects: Projects, settings: Settings) -> FileResult:
    """Return the result of compiling ``file`` alone as if it contained ``data``."""
    compiler, diagnostics = FileCompiler(projects, settings), Diagnostics()
    document, piece = compiler.compile_bytes(file, data, diagnostics)
    sources = (piece.source,) if piece.source else ()
    return FileResult(document, _reported(piece.diagnostics, sources, projects, settings))


def _reported(
    diagnostics: Diagnostics,
    sources: Sequence[SourceText],
    projects: Projects,
    settings: Settings,
    tools: Sequence[LocatedTool] = (),
) -> Diagnostics:
    """Return the findings that no comment suppresses and no setting turns off, without credentials."""
    baseline = projects.baseline

    def layers_of(path: str) -> tuple[Settings, ...]:
        return (projects.of(Path(path)).lint, settings)

    def is_complete(code: Code, path: str) -> bool:
        return code.number not in _TOOL_SET_NUMBERS and severity_of(code, layers_of(path)) is not None

    def is_in_base(comment: Suppression) -> bool:
        return baseline is None or baseline.has_comment(comment, tools)

    left = suppress(diagnostics, sources, is_complete, is_in_base)
    return conceal(apply(left, layers_of).map(_without_foreign_fix))


def _without_foreign_fix(finding: Diagnostic) -> Diagnostic:
    """Remove the fix of a finding if it would edit a project file, because other specs depend on that file."""
    is_shared = finding.fix is not None and PurePosixPath(finding.span.path).name in PROJECT_FILES
    return replace(finding, fix=None) if is_shared else finding


def find_specs(paths: Sequence[Path], projects: Projects) -> tuple[SpecFile, ...]:
    """Return the spec files at or under ``paths``, without files in folders that their project excludes."""
    return tuple(
        each for each in find(paths) if each.folder is None or not projects.of_file(each.path).excludes(each.path)
    )


def _case_conflicts(pieces: Sequence[Piece], diagnostics: Diagnostics) -> Iterator[Diagnostic]:
    """Report names that differ only in letter case or Unicode form, if one of them is used."""
    tools = [(piece, tool) for piece in pieces for tool in piece.tools]
    found = dict.fromkeys(case_conflicts(sorted({tool.path for _, tool in tools})))
    reported = {frozenset(pair) for pair in found}
    used = defaultdict[tuple[SpecFolder, str], set[str]](set)  # by folder, so that each is read once
    for piece, tool in tools:
        programs, others = tool.spec.backend.programs, getattr(tool.spec.backend, "files", ())
        files = sorted({str(PurePosixPath(file.path)) for file in (*programs, *others)})
        for path in (tool.path.rpartition("/")[2], *files):
            inside, _, name = path.rpartition("/")
            used[piece.folder, inside] |= {name, *PROJECT_FILES}
        # Twins that one tool names are reported at its key 'files'.
        reported |= {frozenset(map(piece.folder.display_path_of, pair)) for pair in case_conflicts(files)}
    for (folder, inside), names in used.items():
        for pair in folder.case_twins(inside):
            shown = [folder.display_path_of(f"{inside}/{name}" if inside else name) for name in pair]
            if not names.isdisjoint(pair) and frozenset(shown) not in reported:
                found[shown[0], shown[1]] = None
    for first, second in found:
        source = diagnostics.source(second) or SourceText(second, "")
        message = f"{second} and {first} differ only in letter case"
        yield Diagnostic(codes.LETTER_CASE, message, source.whole_file(), "rename one")


def _check_not_empty(paths: Sequence[Path], specs: Sequence[str], projects: Projects) -> None:
    files = frozenset(specs)
    for path in paths:
        real = os.path.realpath(path)
        if real not in files and not any(spec.startswith(f"{real.rstrip(os.sep)}{os.sep}") for spec in specs):
            if excluding := _excluding(path, projects):
                raise UsageError(
                    f"{path}: no specs found, because 'exclude' in {excluding} excludes all files; "
                    "pass a file to compile it anyway, or change 'exclude'"
                )
            raise UsageError(
                f"{path}: no specs found; a spec is a YAML or TOML file that starts with 'toolc: 1' "
                "('toolc = 1' in TOML)"
            )


def _excluding(path: Path, projects: Projects) -> str | None:
    """Return the path of the project file that excludes a file in the folder ``path``, or None."""
    for file in find([path]):
        project = projects.of_file(file.path)
        if file.folder is not None and project.excludes(file.path):
            folder = Path(os.path.relpath(project.folder))
            return next((folder / name).as_posix() for name in PROJECT_FILES if (folder / name).is_file())
    return None

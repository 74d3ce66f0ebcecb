"""The compiler on one screen: files, documents, tools, checks, registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from toolc.compiler import codes
from toolc.compiler.checks import check_tools
from toolc.compiler.decode import decode
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Document
from toolc.compiler.files import Folder
from toolc.compiler.find import Found, find
from toolc.compiler.load import load
from toolc.compiler.reader import Findings
from toolc.diagnostics import Diagnostics
from toolc.digest import digests
from toolc.errors import SpecError, UsageError
from toolc.registry import RegisteredTool, RegistryFile
from toolc.spec import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What came of compiling some specs: the tools, and every finding.

    ``tools`` are sorted by name; where ``diagnostics`` hold an error they are those that could be read.
    ``paths`` says for each tool's name which file it is from, as findings call it.
    """

    tools: tuple[ToolSpec, ...]
    diagnostics: Diagnostics
    paths: Mapping[str, str]

    def registry(self) -> RegistryFile:
        """The tools with their digests. Raises ``SpecError`` where there is an error."""
        if self.diagnostics.has_errors:
            found = self.diagnostics.sorted()
            errors = [each for each in found if each.is_error]
            count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
            lines = [f"{each.span}: {each.code.number} {each.message}" for each in errors]
            raise SpecError("\n".join([f"{count} in the specs:", *lines]), found)
        return RegistryFile(tuple(_register(tool) for tool in self.tools))


def compile_specs(paths: Sequence[Path]) -> Compilation:
    """Compile every spec at or under ``paths``. Problems of the specs are findings, none of them raised.

    Raises ``UsageError`` where a path does not exist or there are no specs.
    """
    diagnostics = Diagnostics()
    located: list[LocatedTool] = []
    specs: list[Path] = []
    for found in find(paths, diagnostics):
        if document := _load(found, diagnostics):
            located += decode(document, _folder(found), Findings(document.source, diagnostics))
            specs.append(found.path.resolve())
    if not diagnostics.has_errors:
        _refuse_empty(paths, specs)
    for each in check_tools(located):
        diagnostics.add(each.code, each.message, each.span, each.hint)
    good = sorted((tool for tool in located if not tool.damaged), key=lambda tool: (tool.spec.name, tool.path))
    return Compilation(
        tools=tuple(tool.spec for tool in good),
        diagnostics=diagnostics,
        paths={tool.spec.name: tool.path for tool in good},
    )


def _load(found: Found, diagnostics: Diagnostics) -> Document | None:
    document = load(found.path, found.shown, diagnostics)
    # A file that the user named is a spec, or wrong; one that lies in a folder may be something else.
    if document is None or found.folder is None or document.root.entry("toolc"):
        return document
    message = f"{found.shown} is not a spec: it has no key 'toolc'"
    diagnostics.add(codes.NOT_A_SPEC, message, document.source.whole_file(), "a spec file starts with 'toolc: 1'")
    return None


def _folder(found: Found) -> Folder:
    shown = PurePosixPath(found.shown).parent.as_posix()
    return Folder(found.path.parent, "" if shown == "." else shown)


def _refuse_empty(paths: Sequence[Path], specs: Sequence[Path]) -> None:
    for path in paths:
        if not any(spec.is_relative_to(path.resolve()) for spec in specs):
            raise UsageError(
                f"{path}: no specs here; a spec is a YAML or TOML file that starts with 'toolc: 1' "
                "('toolc = 1' in TOML)"
            )


def _register(tool: ToolSpec) -> RegisteredTool:
    found = digests(tool)
    return RegisteredTool(spec=tool, surface_digest=found.surface, effect_digest=found.effect)

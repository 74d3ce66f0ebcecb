"""Compile one file alone: parse it, decode its tools, and run the checks that need no other file."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolc.compiler.checks import check_each, internal_error
from toolc.compiler.checks.check_registry import TOOL_CHECKS, ToolCheck
from toolc.compiler.checks.credentials import public_values
from toolc.compiler.checks.secrets import check_text_for_secrets
from toolc.compiler.decode.tool import decode
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.files import SpecFolder
from toolc.compiler.project.network import written_entry
from toolc.compiler.project.project import Project
from toolc.compiler.project.settings import Settings, numbers_on
from toolc.compiler.project.work_limits import time_limit, unfinished_work
from toolc.dataclass import dataclass, field, replace
from toolc.document.loader import MAX_BYTES, load_data, read
from toolc.document.map_reader import Findings
from toolc.document.nodes import Document
from toolc.document.nodes import Sequence as SequenceNode
from toolc.document.suggestions import looks_like_spec
from toolc.model import codes
from toolc.model.call_graph import NO_TOOLS, ToolLookup, called_tools, tools_by_name
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics, step_budget
from toolc.model.source import SourceText, Span

if TYPE_CHECKING:
    from toolc.model.spec.policy import Policy, PolicyKey
    from toolc.policy.rules import Violation

CODES: Final[Mapping[PolicyKey, Code]] = {
    "limits": codes.POLICY_LIMITS,
    "hosts": codes.POLICY_HOSTS,
    "images": codes.POLICY_IMAGES,
    "require": codes.POLICY_REQUIRE,
    "backends": codes.POLICY_BACKENDS,
    "expose": codes.POLICY_EXPOSE,
    "workspace": codes.POLICY_WORKSPACE,
    "isolation": codes.POLICY_ISOLATION,
    "lifetime": codes.POLICY_LIFETIME,
}
"""The finding code of each policy rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The result of compiling one file. ``source`` is its text, or None if it could not be parsed.

    ``folder`` logs which files the tools requested from the folder of the spec.
    """

    file: SpecFile
    source: SourceText | None
    tools: tuple[LocatedTool, ...]
    diagnostics: Diagnostics
    folder: SpecFolder


@dataclass(frozen=True, slots=True)
class FileCompiler:
    """Compiles single files, independently of other specs. Checks that are turned off do not run."""

    projects: Projects
    settings: Settings
    _running: dict[int, tuple[ToolCheck, ...]] = field(default_factory=dict)

    def compile(self, file: SpecFile, data: bytes | None = None) -> Piece:
        """Compile a file. ``data`` is its contents if they have already been read."""
        diagnostics = Diagnostics()
        if data is None or len(data) > MAX_BYTES:  # read() reports files that are too large
            data = read(file.path, file.display_path, diagnostics)
        return self.compile_bytes(file, data, diagnostics)[1]

    def compile_bytes(
        self, file: SpecFile, data: bytes | None, diagnostics: Diagnostics
    ) -> tuple[Document | None, Piece]:
        """Return the document and the piece of a file that contains ``data``, in limited time.

        ``diagnostics`` contains the findings so far. The document is None if ``data`` is not a spec or cannot be read.
        """
        with time_limit(file.display_path):
            document = self.parse(file, data, diagnostics)
            return document, self.compile_document(file, document, diagnostics)

    def parse(self, file: SpecFile, data: bytes | None, diagnostics: Diagnostics) -> Document | None:
        """Parse ``data`` as the contents of ``file``. Return None if it is not a spec or cannot be read."""
        document = load_data(data, file.path, file.display_path, diagnostics) if data is not None else None
        # A file named by the user must be a spec; a file found in a folder may be something else.
        if document is None or file.folder is None or document.root.entry("toolc") or looks_like_spec(document.root):
            return document
        message = f"{file.display_path} is not a spec: it has no key 'toolc'"
        diagnostics.add(codes.NOT_A_SPEC, message, document.source.whole_file(), "a spec file starts with 'toolc: 1'")
        return None

    def compile_document(self, file: SpecFile, document: Document | None, diagnostics: Diagnostics) -> Piece:
        """Return the piece of a parsed file. ``diagnostics`` contains the findings so far."""
        folder = folder_of(file)
        if document is None:
            return Piece(file=file, source=None, tools=(), diagnostics=diagnostics, folder=folder)
        source = document.source
        with step_budget(len(source.text)) as budget:
            tools = self._decode_and_check(file, document, folder, diagnostics)
        if budget.unfinished:
            diagnostics.append(unfinished_work(budget, source.whole_file()))
        diagnostics = _without_repetitions(diagnostics, tools)
        return Piece(file=file, source=source, tools=tools, diagnostics=diagnostics, folder=folder)

    def _decode_and_check(
        self, file: SpecFile, document: Document, folder: SpecFolder, diagnostics: Diagnostics
    ) -> tuple[LocatedTool, ...]:
        """Return the tools of ``document``, and add every finding to ``diagnostics``."""
        project = self.projects.of_file(file.path)
        for source in self.projects.sources:
            diagnostics.add_source(source)
        try:
            tools = decode(document, folder, Findings(document.source, diagnostics), project)
            tools = tuple(_with_policies(tool, self.settings.policies) for tool in tools)
        except Exception as error:  # noqa: BLE001  a bug that one file causes must not hide the findings of others
            diagnostics.append(internal_error(document.source.whole_file(), error))
            tools = ()
        of_policies = check_alone(tools, self.settings.policies)
        for each in (*check_each(tools, self._checks(project)), *check_text_for_secrets(document.source), *of_policies):
            diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
        return tools

    def _checks(self, project: Project) -> tuple[ToolCheck, ...]:
        """Return the checks that run for files of ``project``."""
        if id(project) not in self._running:
            numbers = numbers_on((project.lint, self.settings))
            self._running[id(project)] = tuple(each for each in TOOL_CHECKS if each.number in numbers)
        return self._running[id(project)]


def _without_repetitions(diagnostics: Diagnostics, tools: Sequence[LocatedTool]) -> Diagnostics:
    """Remove findings about ambiguous values and secrets that another finding reports, or that are declared public."""
    found = diagnostics.sorted()
    wrong = {each.span for each in found if each.code is codes.BAD_VALUE}
    literal: dict[int, list[Span]] = {}
    for each in found:
        if each.code is codes.CREDENTIAL:
            literal.setdefault(each.span.start.line, []).append(each.span)
    if any(each.code is codes.SECRET for each in found):
        for span in (span for tool in tools for span in public_values(tool)):
            literal.setdefault(span.start.line, []).append(span)

    def is_repeated(each: Diagnostic) -> bool:
        if each.code in {codes.SECRET, codes.MISPLACED_SECRET}:
            others = literal.get(each.span.start.line, ())
            return any(each.span.start < other.end and other.start < each.span.end for other in others)
        return each.code is codes.YAML_DISAGREEMENT and each.span in wrong

    return diagnostics.map(lambda each: None if is_repeated(each) else each) if wrong or literal else diagnostics


def folder_of(file: SpecFile) -> SpecFolder:
    """Return the folder of a spec, with an empty log."""
    path, display_path = _folder(os.path.dirname(file.path), posixpath.dirname(file.display_path))  # noqa: PTH120  see below
    return SpecFolder(path, display_path, log={})


@lru_cache(maxsize=64)
def _folder(path: str, display_path: str) -> tuple[Path, str]:
    """Cache the ``Path`` of each folder, because creating one for each of thousands of files is slow."""
    return Path(path), display_path


def _with_policies(tool: LocatedTool, more: Sequence[Policy]) -> LocatedTool:
    """Return ``tool`` with what policies decide about its calls, so that its registry contains it."""
    if all(each.arguments.json_text for each in (*tool.policies, *more)):
        return tool
    return replace(tool, spec=replace(tool.spec, json_text=False))


def check_alone(tools: Sequence[LocatedTool], more: Sequence[Policy]) -> Iterator[Diagnostic]:
    """Yield policy violations of tools that call no other tools. ``more`` are policies besides the project's."""
    for tool in tools:
        if (tool.policies or more) and not called_tools(tool.spec):
            yield from _findings(tool, NO_TOOLS, more)


def check_callers(tools: Sequence[LocatedTool], more: Sequence[Policy]) -> Iterator[Diagnostic]:
    """Yield policy violations of tools that call other tools. The permissions of the called tools count as well."""
    callers = [tool for tool in tools if (tool.policies or more) and called_tools(tool.spec)]
    if callers:
        known = tools_by_name(tool.spec for tool in tools)
        for tool in callers:
            yield from _findings(tool, known, more)


def _findings(tool: LocatedTool, tools: ToolLookup, more: Sequence[Policy]) -> Iterator[Diagnostic]:
    if tool.damaged:  # unreadable parts are unknown here, and are already reported as errors
        return
    policies = (*tool.policies, *more)
    if not policies:
        return
    from toolc.policy.rules import violations  # lazy: +18 ms; few projects have a policy

    for each in violations(tool.spec, tools, policies):
        yield Diagnostic(CODES[each.key], f"'{tool.spec.name}': {each.message}", _span(tool, each), each.hint)


def _span(tool: LocatedTool, each: Violation) -> Span:
    """Return the span of the violating value, or of the nearest key above it, or of the tool's name."""
    node = tool.node_at(*each.route) if each.destination else None
    for item in node.items if isinstance(node, SequenceNode) else ():
        if written_entry(item) == each.destination:
            return item.span
    route = each.route
    if tool.node_at(*route) is not None:
        return tool.span(*route)
    while route and tool.node_at(*route) is None:
        route = route[:-1]
    keys = [step for step in route if isinstance(step, str)]
    return tool.key_span(*keys) if keys else tool.span("name")

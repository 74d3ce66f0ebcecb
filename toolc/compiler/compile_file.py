"""One file by itself: from its bytes to its tools and to all that is wrong with it alone."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from toolc.compiler.checks import check_each
from toolc.compiler.checks.base import TOOL_CHECKS, ToolCheck
from toolc.compiler.checks.secrets import check_text_for_secrets
from toolc.compiler.decode import decode
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.files import Folder
from toolc.compiler.find import Found
from toolc.compiler.find_project import Projects
from toolc.compiler.project import Project
from toolc.compiler.settings import Settings, numbers_on
from toolc.document.loader import MAX_BYTES, load_data, read
from toolc.document.map_reader import Findings
from toolc.document.nodes import Document
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.source import SourceText


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What came of one file: the text of a spec that parsed (else None), its tools, and every finding.

    ``folder`` says what the tools asked of the folder that the file is in.
    """

    found: Found
    source: SourceText | None
    tools: tuple[LocatedTool, ...]
    diagnostics: Diagnostics
    folder: Folder


@dataclass(frozen=True, slots=True)
class FileCompiler:
    """Compiles files one by one; no other spec has a part in what comes of one.

    A check whose findings the project and ``settings`` would drop does not run.
    """

    projects: Projects
    settings: Settings
    _running: dict[int, tuple[ToolCheck, ...]] = field(default_factory=dict)

    def compile(self, found: Found, data: bytes | None = None) -> Piece:
        """The piece of the file as it is; ``data`` is what it holds, where it has been read."""
        diagnostics = Diagnostics()
        if data is None or len(data) > MAX_BYTES:  # which is what reading it reports
            data = read(found.path, found.shown, diagnostics)
        return self.compile_document(found, self.parse(found, data, diagnostics), diagnostics)

    def parse(self, found: Found, data: bytes | None, diagnostics: Diagnostics) -> Document | None:
        """The spec that the file would be if it held ``data``; None where it would be none, or cannot be read."""
        document = load_data(data, found.path, found.shown, diagnostics) if data is not None else None
        # A file that the user named is a spec, or wrong; one that lies in a folder may be something else.
        if document is None or found.folder is None or document.root.entry("toolc"):
            return document
        message = f"{found.shown} is not a spec: it has no key 'toolc'"
        diagnostics.add(
            codes.NOT_A_SPEC, message, document.source.whole_file(), "a spec file starts with 'toolc: 1'"
        )
        return None

    def compile_document(self, found: Found, document: Document | None, diagnostics: Diagnostics) -> Piece:
        """The piece of a file that was parsed; ``diagnostics`` hold what was found so far."""
        folder = folder_of(found)
        if document is None:
            return Piece(found=found, source=None, tools=(), diagnostics=diagnostics, folder=folder)
        project = self.projects.of_file(found.path)
        for source in self.projects.sources:
            diagnostics.add_source(source)
        tools = decode(document, folder, Findings(document.source, diagnostics), project)
        of_policies = self._against_policies(tools)
        for each in (
            *check_each(tools, self._checks(project)),
            *check_text_for_secrets(document.source),
            *of_policies,
        ):
            diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
        told = _told_once(diagnostics)
        return Piece(found=found, source=document.source, tools=tools, diagnostics=told, folder=folder)

    def _against_policies(self, tools: Sequence[LocatedTool]) -> Iterable[Diagnostic]:
        if not self.settings.policies and not any(tool.policies for tool in tools):
            return ()
        from toolc.compiler.policies import check_alone  # start-up time: few projects have a policy

        return check_alone(tools, self.settings.policies)

    def _checks(self, project: Project) -> tuple[ToolCheck, ...]:
        """Those that run for a file of a project."""
        if id(project) not in self._running:
            numbers = numbers_on((project.lint, self.settings))
            self._running[id(project)] = tuple(each for each in TOOL_CHECKS if each.number in numbers)
        return self._running[id(project)]


def _told_once(diagnostics: Diagnostics) -> Diagnostics:
    """The findings without doubts about what a value is that would be wrong here whatever it is."""
    wrong = {each.span for each in diagnostics.sorted() if each.code is codes.BAD_VALUE}
    if not wrong:
        return diagnostics
    return diagnostics.map(
        lambda each: None if each.code is codes.YAML_DISAGREEMENT and each.span in wrong else each
    )


def folder_of(found: Found) -> Folder:
    """The folder that a spec's files are looked for in, with nothing asked of it so far."""
    path, shown = _folder(os.path.dirname(found.path), posixpath.dirname(found.shown))  # noqa: PTH120  see below
    return Folder(path, shown, log={})


@lru_cache(maxsize=64)
def _folder(path: str, shown: str) -> tuple[Path, str]:
    """A ``Path`` for each of thousands of files would take longer than to look into the file."""
    return Path(path), shown

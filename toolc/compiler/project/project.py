"""Decode the project file, ``toolc.yaml`` or ``toolc.toml``: settings shared by all specs below it."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from collections.abc import Mapping as AnyMapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from toolc.compiler.project.files import FileError, relative_path
from toolc.compiler.project.settings import Settings, TokenBudget, invalid_code
from toolc.compiler.project.variables import ProjectVariables, check_defaults, decode_variables
from toolc.dataclass import dataclass, field
from toolc.document.declared import read_keys
from toolc.document.map_reader import Findings, Reader, choice, list_of, map_of, map_parser, mapping, text
from toolc.document.nodes import Document, Mapping, Node
from toolc.model import codes
from toolc.model.diagnostics import Severity
from toolc.model.source import Span
from toolc.model.spec.project import LintKeys, ProjectKeys, ReviewSettings, TokenBudgets

if TYPE_CHECKING:
    from toolc.model.spec.policy import Policy

_RESERVED: Final = ("providers",)
_SEVERITIES: Final = ("error", "warning", "off")


@dataclass(frozen=True, slots=True)
class Member:
    """The name of a tool in a list, and its position."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The settings of a project file. ``folder`` contains it, and paths in it are relative to that folder.

    - ``defaults``: a map with default values for every tool of the project.
    - ``builtin``: the built-in tools that are compiled with the project.
    - ``out``: the output folder of a build.
    - ``policies``: its policy and those of project files further up, which it cannot relax.
    - ``base_exclude``: in a review, whether the base excludes a file; a file is excluded only if both sides exclude it.
    - ``review``: who may change what a review accepts; None without the key.
    - ``root``: the map of the file, with the positions of all settings.
    """

    folder: Path = Path()
    defaults: Mapping | None = None
    vars: ProjectVariables = field(default_factory=ProjectVariables)
    toolsets: AnyMapping[str, tuple[Member, ...]] = field(default_factory=dict)
    builtin: tuple[Member, ...] = ()
    lint: Settings = field(default_factory=Settings)
    exclude: tuple[str, ...] = ()
    out: Path | None = None
    policies: tuple[Policy, ...] = ()
    review: ReviewSettings | None = None
    root: Mapping | None = field(default=None, compare=False)
    base_exclude: Callable[[Path], bool] | None = field(default=None, compare=False)

    def excludes(self, path: Path) -> bool:
        """Return whether ``exclude:`` matches the file at ``path`` or a folder that contains it."""
        if not self.exclude:
            return False
        parts = path.resolve().relative_to(self.folder.resolve()).parts
        is_excluded = any(_matches(pattern, parts) for pattern in self.exclude)
        return is_excluded and (self.base_exclude is None or self.base_exclude(path))


NO_PROJECT: Final = Project()
"""The settings of specs without a project file."""


def decode_project(document: Document, folder: Path, findings: Findings) -> Project:
    """Decode a project file. Problems are added to ``findings``, and settings with errors are left out."""
    reader = Reader(document.root, "the project file", findings)
    _report_reserved(reader)
    found = read_keys(
        reader, ProjectKeys, defaults=mapping, vars=decode_variables, toolsets=map_of(_members), builtin=_members,
        lint=_lint, exclude=list_of(_path), out=_path, policy=decode_project_policy,
    )  # fmt: skip
    reader.close()
    if defaults := found.get("defaults"):
        found["defaults"] = check_defaults(defaults, findings)
    found["out"] = folder / found["out"] if "out" in found else None
    policies = (found.pop("policy"),) if "policy" in found else ()
    unset = {"vars": ProjectVariables(where=document.source.path)}
    return Project(**unset | found, folder=folder, policies=policies, root=document.root)


def _report_reserved(reader: Reader) -> None:
    for key in _RESERVED:
        entry = reader.node.entry(key)
        reader.get(key)
        if entry:
            message = f"'{key}' in a project file has no effect: this version of toolc does not read it yet"
            reader.findings.add(codes.PROJECT_FILE, message, entry.key_span)
    if entry := reader.node.entry("toolc"):
        reader.get("toolc")
        name = PurePosixPath(entry.key_span.path).name
        hint = f"{name} is the name of the project file; rename the spec"
        reader.findings.add(codes.UNKNOWN_KEY, "the project file has no key 'toolc'", entry.key_span, hint)


def _path(node: Node, what: str, findings: Findings) -> str | None:
    """Decode a path, or a pattern of paths, below the project's folder."""
    name = text(node, what, findings)
    if name is None:
        return None
    try:
        return relative_path(name)
    except FileError as problem:
        message = str(problem).replace("the spec's folder", "the project's folder")
        findings.add(codes.BAD_VALUE, message, node.span, "name it relative to the project file")
        return None


def _members(node: Node, what: str, findings: Findings) -> tuple[Member, ...] | None:
    members = list_of(_member)(node, what, findings)
    _report_duplicates(members or (), findings)
    return members


def _report_duplicates(members: tuple[Member, ...], findings: Findings) -> None:
    first: dict[str, Member] = {}
    for member in members:
        if first.setdefault(member.name, member) is not member:
            line = first[member.name].span.start.line
            message = f"this list already contains '{member.name}' on line {line}"
            findings.add(codes.BAD_VALUE, message, member.span, "remove one of the two")


def _member(node: Node, what: str, findings: Findings) -> Member | None:
    name = text(node, what, findings)
    return Member(name, node.span) if name is not None else None


@map_parser("lint")
def _lint(reader: Reader) -> Settings | None:
    found = read_keys(
        reader, LintKeys, select=list_of(partial(_code, turns_off=False)),
        ignore=list_of(partial(_code, turns_off=True)), severity=_severities, max_tokens=_max_tokens,
    )  # fmt: skip
    return Settings(**found)


@map_parser()
def _max_tokens(reader: Reader) -> dict[str, TokenBudget]:
    found, written = read_keys(reader, TokenBudgets), reader.node.by_key
    return {scope: TokenBudget(tokens, written[scope].value.span) for scope, tokens in found.items()}


def _code(node: Node, what: str, findings: Findings, *, turns_off: bool) -> str | None:
    code = text(node, what, findings)
    return code if code is not None and _check_code(code, node.span, findings, turns_off=turns_off) else None


def _severities(node: Node, what: str, findings: Findings) -> dict[str, Severity | None] | None:
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    severities: dict[str, Severity | None] = {}
    for entry in map_node.entries:
        severity = choice(_SEVERITIES)(entry.value, f"severity.{entry.key}", findings)
        if severity and _check_code(entry.key, entry.key_span, findings, turns_off=severity != "error"):
            severities[entry.key] = None if severity == "off" else Severity(severity)
    return severities


def _check_code(code: str, span: Span, findings: Findings, *, turns_off: bool) -> bool:
    problem = invalid_code(code, turns_off=turns_off)
    if problem is None:
        return True
    findings.add(codes.DANGLING if problem.unknown else codes.BAD_VALUE, problem.message, span, problem.hint)
    return False


def _matches(pattern: str, parts: tuple[str, ...]) -> bool:
    """Return whether a pattern matches a path or a folder above it. Without a ``/``, it matches at any depth."""
    steps = pattern.split("/")
    ends = {0}  # the possible numbers of parts that the steps so far match
    for step in ["**", *steps] if len(steps) == 1 else steps:
        if step == "**":
            ends = set(range(min(ends), len(parts)))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatch.fnmatchcase(parts[end], step)}
        if not ends:
            return False
    return True


def decode_project_policy(node: Node, what: str, findings: Findings) -> Policy | None:
    """Decode ``policy``, the rules for all tools of a project."""
    from toolc.compiler.project.policy import decode_policy  # lazy: +19 ms; few projects have a policy

    return decode_policy(node, what, findings)

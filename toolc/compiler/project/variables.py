"""Replace ``{{ vars.NAME }}`` with the project's constants, and merge ``defaults``, before decoding a tool.

The inserted text is plain text: neither alone nor with the text around it can it contain ``{{``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as AnyMapping
from itertools import pairwise
from typing import Final, TypeAlias

from toolc.compiler.schema.parameters import is_full_schema
from toolc.dataclass import dataclass, field
from toolc.document.map_reader import Findings, mapping, mismatch
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.document.suggestions import suggestion
from toolc.model import codes
from toolc.model.diagnostics import spend
from toolc.model.names import IDENTIFIER
from toolc.model.source import SourceText, Span
from toolc.model.spec.code_backends import PythonBackend, ShellBackend
from toolc.model.spec.http_backend import AuthKeys, BodyKeys, Pagination
from toolc.model.template import as_text
from toolc.model.text import lazy_re

_REFERENCE: Final = lazy_re(r"\{\{\s*vars\b(?:\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*\}\}|[^{}]{0,200}\}\}|)")
_CODE: Final = frozenset({("backend", "shell", "script"), ("backend", "python", "code")})
_ESCAPE: Final = lazy_re(r"\\[xuU\s]")
"""An escape that could spell a letter of ``vars``, or join two parts of that word."""
_MAX_REPORTED: Final = 20
"""The maximum number of findings about one unknown variable, which usually have the same cause."""

Route: TypeAlias = tuple[str, ...]

IDENTITY: Final = ("name", "label", "description", "version", "owner", "tags", "deprecated", "aliases")
"""The keys that identify a tool. They cannot have defaults."""

_CHOICES: Final[AnyMapping[Route, tuple[str, ...]]] = {
    ("backend", "shell"): ShellBackend.one_of,
    ("backend", "python"): PythonBackend.one_of,
    ("backend", "http"): ("url", "url_from_argument"),
    ("backend", "http", "body"): BodyKeys.one_of,
    ("backend", "http", "auth"): AuthKeys.one_of,
    ("backend", "http", "pagination"): Pagination.one_of,
    ("sandbox",): ("image", "build"),
}
"""Keys that exclude each other. If a tool has one of them, none of them is taken from the defaults."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One entry of ``vars:``: its value and position. If ``is_known`` is false, the value is a placeholder."""

    value: bool | int | float | str
    span: Span
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class ProjectVariables:
    """The project's variables by name. ``where`` is the path of the file that declares them, or empty.

    ``are_known`` is false if that file could not be read. Unknown names are not reported then.
    """

    by_name: AnyMapping[str, Variable] = field(default_factory=dict)
    where: str = ""
    are_known: bool = True


def decode_variables(node: Node, what: str, findings: Findings) -> ProjectVariables | None:
    """Decode ``vars:`` of a project file."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    return ProjectVariables({entry.key: _variable(entry, findings) for entry in map_node.entries}, node.span.path)


def _variable(entry: MappingEntry, findings: Findings) -> Variable:
    """Decode one variable. An invalid one gets ``is_known=False``, so that it causes no further findings."""
    node = entry.value
    placeholder = Variable(f"vars.{entry.key}", node.span, is_known=False)
    if not IDENTIFIER.fullmatch(entry.key):
        message = f"'{entry.key[:80]}' cannot be a variable's name"
        findings.add(codes.NAME, message, entry.key_span, "use letters, digits and _")
    if not isinstance(node, Scalar) or node.value is None:
        mismatch(node, f"vars.{entry.key}", "text, a number, true or false", findings)
        return placeholder
    if isinstance(node.value, str) and "{{" in node.value:
        message = f"vars.{entry.key} is a constant and cannot contain a placeholder"
        findings.add(codes.TEMPLATE, message, findings.locate(node.span, "{{"), "write the text itself")
        return placeholder
    return Variable(node.value, node.span)


def may_name_variables(source: SourceText) -> bool:
    """Return whether a file may refer to a variable. Most do not, and searching all strings is slow."""
    return "vars" in source.text or _ESCAPE.search(source.text) is not None


def replace_variables(tool: Mapping, variables: ProjectVariables, findings: Findings) -> Mapping:
    """Return the tool's map with references to variables replaced in all strings except code."""
    return _Replacer(variables, findings).mapping(tool, ())


@dataclass(frozen=True, slots=True)
class _Replacer:
    variables: ProjectVariables
    findings: Findings

    def mapping(self, node: Mapping, route: Route) -> Mapping:
        """Return the map with references replaced, or the same object if nothing changes."""
        entries = tuple(self._entry(entry, (*route, entry.key)) for entry in node.entries)
        same = all(old is new for old, new in zip(node.entries, entries, strict=True))
        return node if same else Mapping.of(entries, node)

    def _entry(self, entry: MappingEntry, route: Route) -> MappingEntry:
        if "{{" in entry.key and (match := _REFERENCE.search(entry.key)):
            message = "a key cannot contain a variable"
            self.findings.add(codes.TEMPLATE, message, self.findings.locate(entry.key_span, match[0]))
        value = self._node(entry.value, route)
        return entry if value is entry.value else MappingEntry(entry.key, entry.key_span, value)

    def _node(self, node: Node, route: Route) -> Node:
        match node:
            case Mapping():
                return self.mapping(node, route)
            case Sequence():
                items = tuple(self._node(item, (*route, "")) for item in node.items)
                same = all(old is new for old, new in zip(node.items, items, strict=True))
                return node if same else Sequence(items, node.span)
            case Scalar(value=str() as text) if "{{" in text and route not in _CODE:
                return self._scalar(node, text)
            case _:
                return node

    def _scalar(self, node: Scalar, text: str) -> Scalar:
        matches = [*_REFERENCE.finditer(text)]
        if not matches:
            return node
        references = [
            self._variable(match, node.span, is_reported=index < _MAX_REPORTED) for index, match in enumerate(matches)
        ]
        if not all(each.is_known for each in references):
            self.findings.mute(node.span)  # the resulting text is unknown
        inserted = sum(len(each.value) for each in references if isinstance(each.value, str))
        if not spend(inserted // 8, "the insertion of variables"):
            self.findings.mute(node.span)
            return node
        spans = tuple(dict.fromkeys(each.span for each in references))
        if matches[0].span() == (0, len(text)):
            value = references[0].value
            return Scalar(value, node.span, text=None if isinstance(value, str) else as_text(value), vars=spans)
        pieces, at = list[str](), 0
        for match, variable in zip(matches, references, strict=True):
            pieces += [text[at : match.start()], as_text(variable.value)]
            at = match.end()
        pieces = [piece for piece in (*pieces, text[at:]) if piece]
        if any(left[-1] == right[0] == "{" for left, right in pairwise(pieces)):
            message = "the brace of a variable's value and the adjacent brace would start a placeholder"
            self.findings.add(codes.TEMPLATE, message, node.span, "write the text itself, without a variable")
        return Scalar("".join(pieces), node.span, vars=spans)

    def _variable(self, match: re.Match[str], span: Span, *, is_reported: bool) -> Variable:
        name, known = match["name"], self.variables.by_name
        if name in known:
            return known[name]
        if is_reported and (self.variables.are_known or name is None):
            occurrence = match.string.count(match[0], 0, match.start())
            self._report(name, match[0], self.findings.locate(span, match[0], occurrence))
        return Variable(f"vars.{name or ''}", span, is_known=False)

    def _report(self, name: str | None, written: str, place: Span) -> None:
        if name is None:
            message = f"'{' '.join(written.split())[:60]}' is not a valid reference to a variable"
            self.findings.add(codes.TEMPLATE, message, place, "write {{ vars.NAME }}, with no filter and no key")
        else:
            hint = suggestion(name, self.variables.by_name, f"the variables of {self.variables.where} are")
            hint = hint or self._declaration_hint()
            self.findings.add(codes.DANGLING, f"there is no variable '{name}'", place, hint)

    def _declaration_hint(self) -> str:
        if not self.variables.where:
            return "declare variables under 'vars:' in a project file, toolc.yaml, above the specs"
        return f"declare it under 'vars:' in {self.variables.where}"


def check_defaults(defaults: Mapping, findings: Findings) -> Mapping:
    """Return ``defaults:`` without the keys that cannot have defaults, and report these keys."""
    kept: list[MappingEntry] = []
    for entry in defaults.entries:
        if entry.key in IDENTITY:
            message = f"'{entry.key}' identifies a tool and cannot have a default"
            findings.add(codes.BAD_VALUE, message, entry.key_span, f"write '{entry.key}' in each tool")
        else:
            kept.append(entry)
    return Mapping.of(kept, defaults)


def merge_defaults(defaults: Mapping, tool: Mapping) -> Mapping:
    """Return the tool with missing values added from ``defaults``. Every node keeps its position."""
    return _merge(defaults, tool, ())


def _merge(default: Mapping, value: Mapping, route: tuple[str, ...]) -> Mapping:
    choice = _CHOICES.get(route, ())
    left_out = {*value.by_key, *(choice if any(key in value.by_key for key in choice) else ())}
    entries = (
        MappingEntry(entry.key, entry.key_span, _merge_value(default.get(entry.key), entry.value, (*route, entry.key)))
        for entry in value.entries
    )
    added = (entry for entry in default.entries if entry.key not in left_out)
    return Mapping.of((*entries, *added), value)


def _merge_value(default: Node | None, value: Node, route: tuple[str, ...]) -> Node:
    if not isinstance(default, Mapping) or not isinstance(value, Mapping):
        return value
    if route == ("backend",) and {entry.key for entry in value.entries} - {entry.key for entry in default.entries}:
        return value
    if route == ("parameters",) and is_full_schema(default) != is_full_schema(value):
        return value
    return _merge(default, value, route)

"""One tool of a spec: from its map to a ``ToolSpec``, with the map kept for the checks to point into."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar, get_args

from toolc.compiler import codes
from toolc.compiler.decode_cases import decode_examples, decode_tests
from toolc.compiler.decode_python import decode_python
from toolc.compiler.decode_sandbox import decode_sandbox
from toolc.compiler.decode_shell import NO_COMMAND, decode_shell
from toolc.compiler.document import Mapping, Node, Scalar, Sequence
from toolc.compiler.files import Folder
from toolc.compiler.parameters import NO_PARAMETERS, declared_parameters, decode_parameters
from toolc.compiler.reader import (
    Findings,
    Reader,
    boolean,
    choice,
    first_line,
    list_of,
    listed,
    mapping,
    string,
    text,
    unsupported,
)
from toolc.schema import Schema
from toolc.source import Span
from toolc.spec import Annotations, Backend, Result, ResultFormat, Sandbox, ToolSpec

T = TypeVar("T")

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_NAME_RULE: Final = "a name is 1 to 64 of A-Z a-z 0-9 _ - and does not start with a digit or '-'"
_BACKENDS: Final = ("shell", "python")
_LATER_BACKENDS: Final = ("http", "plugin", "composite", "agent")
_VARS: Final = re.compile(r"\{\{\s*vars\b[^}]*\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedTool:
    """A tool and where it was written.

    ``node`` is its map, defaults merged in; ``path`` is the file as findings call it. What could not be
    read stands in ``spec`` as its default, and the top-level key it is under is one of ``damaged``.
    """

    spec: ToolSpec
    node: Mapping
    path: str
    damaged: frozenset[str]

    def span(self, *route: str | int) -> Span:
        """Where the value at ``route`` (keys and indices from the tool's map) stands, as far as it exists."""
        node: Node = self.node
        for step in route:
            inner: Node | None = None
            if isinstance(node, Mapping) and isinstance(step, str):
                inner = node.get(step)
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                inner = node.items[step]
            if inner is None:
                break
            node = inner
        return node.span if isinstance(node, Scalar) else first_line(node.span)

    def key_span(self, *route: str) -> Span:
        """Where the last key of ``route`` stands, or what holds it where there is no such key."""
        node: Node | None = self.node
        for step in route[:-1]:
            node = node.get(step) if isinstance(node, Mapping) else None
        entry = node.entry(route[-1]) if isinstance(node, Mapping) else None
        return entry.key_span if entry else self.span(*route)


class _Sections:
    """Reads the top-level keys of a tool and remembers which of them were wrong."""

    def __init__(self, node: Mapping, findings: Findings) -> None:
        self.reader = Reader(node, "the tool", findings)
        self.findings = findings
        self.damaged: set[str] = set()

    def read(self, key: str, parse: Callable[[Node, str, Findings], T | None], default: T) -> T:
        errors = self.findings.errors
        value = self.reader.default(key, parse, default)
        if self.findings.errors > errors:
            self.damaged.add(key)
        return value

    def required(self, key: str, parse: Callable[[Node, str, Findings], T | None]) -> T | None:
        errors = self.findings.errors
        value = self.reader.required(key, parse)
        if self.findings.errors > errors:
            self.damaged.add(key)
        return value


def decode_tool(node: Mapping, findings: Findings, folder: Folder) -> LocatedTool:
    """Decode one tool, as far as it can be read; every problem is in ``findings``."""
    sections = _Sections(node, findings)
    sections.reader.unsupported("retry", "confirm", "providers")
    _refuse_vars(node, findings)
    name = sections.required("name", _name) or ""
    parameters = sections.read("parameters", decode_parameters, NO_PARAMETERS)
    damaged = "parameters" in sections.damaged
    checked = None if damaged else parameters
    declared = declared_parameters(node.get("parameters"), findings) if damaged else parameters
    backend = partial(_decode_backend, folder=folder, parameters=declared, tool_name=name)
    sandbox = sections.read("sandbox", decode_sandbox, Sandbox())
    workspace = "rw" if "sandbox" in sections.damaged else sandbox.workspace
    spec = ToolSpec(
        name=name,
        description=sections.read("description", string, ""),
        parameters=parameters,
        backend=sections.required("backend", backend) or NO_COMMAND,
        label=sections.read("label", _text_or_none, None),
        annotations=sections.read("annotations", _annotations, Annotations()),
        aliases=sections.read("aliases", list_of(_name), ()),
        deprecated=sections.read("deprecated", _text_or_none, None),
        examples=sections.read("examples", partial(decode_examples, parameters=checked), ()),
        result=sections.read("result", _result, Result()),
        sandbox=sandbox,
        version=sections.read("version", _text_or_none, None),
        owner=sections.read("owner", _text_or_none, None),
        tags=sections.read("tags", list_of(text), ()),
        tests=sections.read("tests", partial(decode_tests, parameters=checked, workspace=workspace), ()),
    )
    sections.reader.close()
    return LocatedTool(spec=spec, node=node, path=findings.source.path, damaged=frozenset(sections.damaged))


def _text_or_none(node: Node, what: str, findings: Findings) -> str | None:
    return text(node, what, findings)


def _name(node: Node, what: str, findings: Findings) -> str | None:
    name = string(node, what, findings)
    if name is not None and not _NAME.fullmatch(name):
        findings.add(
            codes.NAME, f"{what} cannot be {name[:100]!r}: some providers refuse it", node.span, _NAME_RULE
        )
        return None
    return name


def _decode_backend(
    node: Node, what: str, findings: Findings, *, folder: Folder, parameters: Schema | None, tool_name: str
) -> Backend | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'backend'", findings)
    reader.unsupported(*_LATER_BACKENDS)
    kinds = [entry for entry in found.entries if entry.key in _BACKENDS + _LATER_BACKENDS]
    if len(kinds) > 1:
        message = f"a tool has one backend, and this one has both '{kinds[0].key}' and '{kinds[1].key}'"
        findings.add(codes.ONE_BACKEND, message, kinds[1].key_span, "keep one, or make two tools")
    elif not kinds and not found.entries:
        hint = f"add one of {listed(_BACKENDS)}"
        findings.add(
            codes.ONE_BACKEND, "a tool has one backend, and this one has none", first_line(found.span), hint
        )
    shell = reader.optional("shell", partial(decode_shell, folder=folder, parameters=parameters))
    python = reader.optional(
        "python", partial(decode_python, folder=folder, parameters=parameters, tool_name=tool_name)
    )
    reader.close()
    return shell or python


def _annotations(node: Node, what: str, findings: Findings) -> Annotations | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'annotations'", findings)
    annotations = Annotations(
        read_only=reader.optional("read_only", boolean),
        destructive=reader.optional("destructive", boolean),
        idempotent=reader.optional("idempotent", boolean),
        open_world=reader.optional("open_world", boolean),
    )
    reader.close()
    return annotations


def _result(node: Node, what: str, findings: Findings) -> Result | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'result'", findings)
    reader.unsupported("files", "select", "template", "schema")
    result = Result(format=reader.default("format", choice(get_args(ResultFormat)), "text"))
    reader.close()
    return result


def _refuse_vars(node: Node, findings: Findings, *, key: str = "") -> None:
    """Refuse ``{{ vars.x }}`` in any string but code: a build would otherwise show it to a model as it stands."""
    match node:
        case Mapping():
            for entry in node.entries:
                _refuse_vars(entry.value, findings, key=entry.key)
        case Sequence():
            for item in node.items:
                _refuse_vars(item, findings, key=key)
        case Scalar(value=str() as value) if key not in {"script", "code"}:
            for match in _VARS.finditer(value):
                unsupported("{{ vars.… }}", findings.locate(node.span, match[0]), findings)
        case _:
            pass

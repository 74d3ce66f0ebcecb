"""One tool of a spec: from its map to a ``ToolSpec``, with the map kept for the checks to point into."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeVar

from toolc.compiler.agreement import check_agreement
from toolc.compiler.decode_backend import decode_backend
from toolc.compiler.decode_cases import decode_examples, decode_tests
from toolc.compiler.decode_providers import decode_providers
from toolc.compiler.decode_result import decode_result, decode_result_schema
from toolc.compiler.decode_retry import decode_retry
from toolc.compiler.decode_sandbox import decode_sandbox
from toolc.compiler.decode_shell import NO_COMMAND
from toolc.compiler.files import Folder
from toolc.compiler.parameters import NO_PARAMETERS, declared_parameters, decode_parameters
from toolc.compiler.visible import SURFACE_KEYS, Visible, visible, words
from toolc.compiler.wording import wording
from toolc.document.map_reader import Findings, Parse, Reader, boolean, first_line, list_of, mapping, string, text
from toolc.document.nodes import Mapping, Node, Scalar, Sequence
from toolc.document.suggestions import alias_of
from toolc.model import codes
from toolc.model.source import SourceText, Span
from toolc.model.spec.sandbox import SandboxSpec
from toolc.model.spec.tool import Annotations, ResultSpec, ToolSpec

if TYPE_CHECKING:
    from toolc.policy.policy import Policy

T = TypeVar("T")

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SANDBOX: Final = SandboxSpec()
_ANNOTATIONS: Final = Annotations()
_RESULT: Final = ResultSpec()
_NAME_RULE: Final = "a name is 1 to 64 of A-Z a-z 0-9 _ - and does not start with a digit or '-'"


@dataclass(frozen=True, kw_only=True)
class LocatedTool:
    """A tool and where it was written.

    ``node`` is its map, defaults merged in; ``path`` is the file as findings call it, ``source`` its text.
    What could not be read stands in ``spec`` as its default, and the top-level key it is under is one of
    ``damaged``. ``defaults`` are the maps that were merged in, the project's before the file's; ``hosts`` those
    that the project lets descriptions name, ``policies`` those of project files that hold for it.
    ``known_wording`` is the ``wording`` where that is known. ``comes_with_toolc`` is true of one that a project's
    ``builtin`` brought, which is compared with no other.
    """

    spec: ToolSpec
    node: Mapping
    path: str
    source: SourceText
    damaged: frozenset[str]
    defaults: tuple[Mapping, ...] = ()
    hosts: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()
    known_wording: str | None = None
    comes_with_toolc: bool = False

    @cached_property
    def wording(self) -> str:
        """What the description is compared with others by."""
        return wording(self.spec.description) if self.known_wording is None else self.known_wording

    @cached_property
    def visible(self) -> tuple[Visible, ...]:
        """Every string that a model sees, in the order of the file. Several checks look through them."""
        return visible(self.node)

    @cached_property
    def words(self) -> str:
        """One text in which the strings of ``visible`` stand, as JSON where all of them could be read."""
        if SURFACE_KEYS.isdisjoint(self.damaged):
            return words(self.spec)
        return "\n".join(each.text for each in self.visible)

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

    def node_at(self, *route: str | int) -> Node | None:
        """The node at ``route`` (keys and indices from the tool's map), None where there is none."""
        node: Node | None = self.node
        for step in route:
            if isinstance(node, Mapping) and isinstance(step, str):
                node = node.get(step)
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node

    def key_span(self, *route: str) -> Span:
        """Where the last key of ``route`` stands, or what holds it where there is no such key."""
        node: Node | None = self.node
        for step in route[:-1]:
            node = node.get(step) if isinstance(node, Mapping) else None
        entry = node.entry(route[-1]) if isinstance(node, Mapping) else None
        return entry.key_span if entry else self.span(*route)


class _Sections(Reader):
    """Reads the top-level keys of a tool and remembers which of them were wrong."""

    __slots__ = ("damaged",)

    def __init__(self, node: Mapping, findings: Findings) -> None:
        super().__init__(node, "the tool", findings)
        self.damaged: set[str] = set()

    def default(self, key: str, parse: Parse[T], default: T) -> T:
        """The value of ``key``; ``default`` where it is absent or wrong."""
        self._known.add(key)
        entry = self._by_key.get(key)
        if entry is None:
            return default
        errors = self.findings.errors
        value = parse(entry.value, f"'{key}'", self.findings)
        if self.findings.errors > errors:
            self.damaged.add(key)
        return default if value is None else value

    def required(self, key: str, parse: Parse[T]) -> T | None:
        """The value of ``key``, whose absence is a finding."""
        errors = self.findings.errors
        value = super().required(key, parse)
        if self.findings.errors > errors:
            self.damaged.add(key)
        return value


def decode_tool(
    node: Mapping,
    findings: Findings,
    folder: Folder,
    defaults: tuple[Mapping, ...] = (),
    hosts: tuple[str, ...] = (),
) -> LocatedTool:
    """Decode one tool, as far as it can be read; every problem is in ``findings``.

    ``defaults`` and ``hosts`` are kept for the checks, see ``LocatedTool``.
    """
    sections = _Sections(node, findings)
    name = sections.required("name", _name) or ""
    parameters = sections.default("parameters", decode_parameters, NO_PARAMETERS)
    damaged = "parameters" in sections.damaged or alias_of(node, "parameters")
    checked = None if damaged else parameters
    declared = declared_parameters(node.get("parameters"), findings) if damaged else parameters
    backend = partial(decode_backend, folder=folder, parameters=declared, tool_name=name)
    in_folder = partial(decode_sandbox, folder=folder, is_plugin=_is_plugin(node))
    sandbox = sections.default("sandbox", in_folder, _SANDBOX)
    workspace = "rw" if "sandbox" in sections.damaged or _calls_others(node) else sandbox.workspace
    spec = ToolSpec(
        name=name,
        description=sections.default("description", string, ""),
        parameters=parameters,
        backend=sections.required("backend", backend) or NO_COMMAND,
        label=sections.default("label", _text_or_none, None),
        annotations=sections.default("annotations", _annotations, _ANNOTATIONS),
        aliases=sections.default("aliases", _names, ()),
        deprecated=sections.default("deprecated", _text_or_none, None),
        examples=sections.default("examples", partial(decode_examples, parameters=checked), ()),
        result_schema=sections.default("result", decode_result_schema, None),
        providers=sections.default("providers", decode_providers, ()),
        result=sections.default("result", partial(decode_result, parameters=declared), _RESULT),
        sandbox=sandbox,
        retry=sections.default("retry", decode_retry, None),
        confirm=sections.default("confirm", boolean, False),
        version=sections.default("version", _text_or_none, None),
        owner=sections.default("owner", _text_or_none, None),
        tags=sections.default("tags", _texts, ()),
        tests=sections.default("tests", partial(decode_tests, parameters=checked, workspace=workspace), ()),
    )
    sections.close()
    source = findings.source
    tool = LocatedTool(
        spec=spec,
        node=node,
        path=source.path,
        source=source,
        damaged=frozenset(sections.damaged),
        defaults=defaults,
        hosts=hosts,
    )
    check_agreement(tool, findings)
    return tool


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


_names: Final = list_of(_name)
_texts: Final = list_of(text)


def _is_plugin(node: Mapping) -> bool:
    backend = node.get("backend")
    return isinstance(backend, Mapping) and backend.entry("plugin") is not None


def _calls_others(node: Mapping) -> bool:
    """Whether the workspace is that of the tools that this one calls."""
    backend = node.get("backend")
    return isinstance(backend, Mapping) and any(backend.entry(kind) for kind in ("composite", "agent"))


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

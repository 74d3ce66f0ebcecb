"""Composites and sub-agents defined in Python, with the same rules and findings as in a spec.

The values are converted to a document, as if they came from a spec file. The position of each value is the line of the
program that passed it.
"""

import linecache
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import currentframe
from pathlib import Path
from typing import Final

from toolc.compiler.checks import check_each
from toolc.compiler.checks.call_graph import tool_references
from toolc.compiler.checks.step_types import StepArguments
from toolc.compiler.decode.tool import decode_tool
from toolc.compiler.project.files import SpecFolder
from toolc.dataclass import dataclass
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import MappingEntry, Node, Scalar
from toolc.document.nodes import Sequence as SequenceNode
from toolc.document.suggestions import suggestion
from toolc.functions.tools import ComposedTool, Traits, check_traits
from toolc.model import codes
from toolc.model.call_graph import MAX_DEPTH, call_depth, find_cycle, tools_by_name
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.errors import SpecError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.source import Position, SourceText, Span
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import count_noun
from toolc.runtime import argument_checks

_HINTS: Final = ("read_only", "destructive", "idempotent", "open_world")
_PLAIN: Final = ("label", "aliases", "tags", "examples", "confirm")


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A line of a program, by its file and its number, which starts at 1."""

    path: str
    line: int

    @classmethod
    def of_caller(cls) -> "SourceLocation":
        """Return the line that called the calling function."""
        here = currentframe()
        caller = here.f_back.f_back if here and here.f_back else None
        return cls(caller.f_code.co_filename, caller.f_lineno) if caller else cls("<unknown>", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedStep:
    """The arguments of ``step`` and the line that called it. They are decoded together with their composite."""

    location: SourceLocation
    id: str
    tool: str
    args: Mapping[str, object]
    condition: str | None
    continue_on_error: bool
    timeout: float | None

    def to_spec(self) -> dict[str, object]:
        """Return the step as a spec represents it."""
        step: dict[str, object] = {"id": self.id, "tool": self.tool, "args": self.args}
        if self.condition is not None:
            step["if"] = self.condition
        if self.continue_on_error is not False:
            step["continue_on_error"] = self.continue_on_error
        if self.timeout is not None:
            step["timeout"] = f"{max(1, round(self.timeout * 1000))}ms"
        return step


def step(
    id: str,  # noqa: A002  the key in a spec
    tool: str,
    args: Mapping[str, object] | None = None,
    *,
    condition: str | None = None,
    continue_on_error: bool = False,
    timeout: float | None = None,
) -> DefinedStep:
    """Return a step for ``define(...).composite``, which calls the tool with the name or alias ``tool``.

    Each string in ``args`` is a template that can use the composite's parameters and the previous steps
    (``"{{ word }}"``, ``"{{ steps.find.outputs }}"``). ``condition`` is the key ``if`` of a spec. ``timeout`` is in
    seconds. Raises ``UsageError`` if ``timeout`` is invalid. The other arguments are checked with the composite.
    """
    if timeout is not None:
        argument_checks.seconds("step: a timeout", timeout)
    return DefinedStep(
        location=SourceLocation.of_caller(),
        id=id,
        tool=tool,
        args={} if args is None else args,
        condition=condition,
        continue_on_error=continue_on_error,
        timeout=timeout,
    )


def compose(
    interface: JsonObject, backend: Mapping[str, object], traits: Traits, secrets: object, location: SourceLocation
) -> ComposedTool:
    """Return the tool with this ``backend``, as in a spec.

    ``interface`` has its name, description and parameters. ``secrets`` is the value of ``sandbox.secrets``, or None.
    Raises ``UsageError`` for a value that is not JSON, and ``SpecError`` if the same spec would have errors.
    """
    name = str(interface["name"])
    check_traits(name, traits)
    options: dict[str, object] = {key: value for key, value in traits.items() if value is not None}
    sandbox: dict[str, object] = {} if secrets is None else {"secrets": secrets}
    if "timeout" in traits:
        sandbox["limits"] = {"timeout": f"{max(1, round(traits['timeout'] * 1000))}ms"}
    spec: dict[str, object] = {
        **interface,
        **{key: options[key] for key in _PLAIN if key in options},
        "annotations": {key: options[key] for key in _HINTS if key in options},
        "backend": backend,
        **({"sandbox": sandbox} if sandbox else {}),
        **({"result": {"schema": options["result_schema"]}} if "result_schema" in options else {}),
    }
    source = SourceText(location.path, "".join(linecache.getlines(location.path)))
    diagnostics = Diagnostics()
    node = _Nodes(name, source).node(spec, location)
    assert isinstance(node, MappingNode)
    tool = decode_tool(node, Findings(source, diagnostics), SpecFolder(Path(), ""))
    for each in check_each([tool]):
        diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
    _raise_errors(name, diagnostics.sorted())
    return ComposedTool(tool.spec, tool)


def _raise_errors(name: str, findings: Sequence[Diagnostic]) -> None:
    """Raise ``SpecError`` if the findings about the tool ``name`` contain an error."""
    errors = [each for each in findings if each.is_error]
    if errors:
        lines = (f"{each.span}: {each.code.number} {each.message}{_hint(each)}" for each in errors)
        title = f"{count_noun(len(errors), 'error')} in the tool {name!r}:"
        raise SpecError("\n".join([title, *lines]), tuple(findings))


def _hint(finding: Diagnostic) -> str:
    """Return the hint of a finding. Hints about quotes in spec files do not apply to programs."""
    return f"; {finding.hint}" if finding.hint and "quotes" not in finding.hint else ""


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Converts the values that define the tool ``name`` to nodes. ``source`` is the file that defines the tool."""

    name: str
    source: SourceText

    def node(self, value: object, location: SourceLocation, what: str = "", depth: int = 0) -> Node:
        """Return the node of a value. Raises ``UsageError`` if it is not JSON. ``what`` describes it in the message."""
        span = self._span(location)
        if depth > argument_checks.MAX_DEPTH:
            raise UsageError(f"tool {self.name!r}: {what} is nested too deeply, or contains itself")
        if isinstance(value, DefinedStep):
            return self.node(value.to_spec(), value.location, what, depth + 1)
        if isinstance(value, Mapping):
            return MappingNode.of(self._entries(value, location, what, depth), span)
        if isinstance(value, list | tuple):
            items = (self.node(each, location, f"{what}[{at}]", depth + 1) for at, each in enumerate(value))
            return SequenceNode(tuple(items), span)
        argument_checks.json_value(f"tool {self.name!r}: {what}", value)
        assert value is None or isinstance(value, bool | int | float | str)
        return Scalar(value, span)

    def _entries(
        self, value: Mapping[object, object], location: SourceLocation, what: str, depth: int
    ) -> Iterator[MappingEntry]:
        span = self._span(location)
        for key, each in value.items():
            name = argument_checks.text(f"tool {self.name!r}: a key of {what or 'it'}", key)
            yield MappingEntry(name, span, self.node(each, location, f"{what}.{name}".lstrip("."), depth + 1))

    def _span(self, location: SourceLocation) -> Span:
        """Return the span of a line without surrounding whitespace. If it cannot be read, return its start."""
        line = self.source.line(location.line) if location.path == self.source.path else ""
        start = len(line) - len(line.lstrip()) + 1
        end = max(start, len(line.rstrip())) + 1
        return Span(location.path, Position(location.line, start), Position(location.line, end))


def check_calls(new: Iterable[object], tools: Iterable[ToolSpec]) -> None:
    """Raise ``SpecError`` if a composed tool of ``new`` cannot call a tool that it needs. ``tools`` has all of them."""
    known = tools_by_name(tools)
    for tool in new:
        if isinstance(tool, ComposedTool):
            _raise_errors(tool.name, [*_findings(tool, known)])


def _findings(tool: ComposedTool, known: Mapping[str, ToolSpec]) -> Iterator[Diagnostic]:
    for name, span in tool_references(tool.located):
        if name not in known:
            hint = suggestion(name, known) or "add that tool to the registry first, or in the same call of add"
            yield Diagnostic(codes.DANGLING, f"there is no tool {name[:80]!r} in this registry", span, hint)
    span = tool.located.key_span("backend")
    if names := find_cycle(tool.spec, known):
        yield Diagnostic(
            codes.RECURSIVE_CALL, f"this tool would call itself: {' -> '.join(names)}", span, "break the cycle"
        )
    elif (deep := call_depth(tool.spec, known)) > MAX_DEPTH:
        message = f"calls are nested {deep} levels deep; the maximum is {MAX_DEPTH}"
        yield Diagnostic(
            codes.CALL_DEPTH, message, span, "reduce the nesting: call the tool that does the work directly"
        )
    backend = tool.spec.backend
    if backend.tag == "composite":
        for index, step in enumerate(backend.steps):
            if step.tool in known:
                yield from StepArguments(tool.located, backend, index, known, known).findings()

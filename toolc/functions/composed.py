"""Composites and sub-agents that a program defines: what a spec says, said in Python, and read by the same rules.

The values become a document as a spec's text does, each with the line of the program that gave it. So what is wrong
has the code, the words and the place that it would have in a spec.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import currentframe
from pathlib import Path
from typing import Final

from toolc.compiler.checks import check_each
from toolc.compiler.checks.call_graph import tool_references
from toolc.compiler.checks.step_types import StepArguments
from toolc.compiler.decode.tool import decode_tool
from toolc.compiler.project.files import SpecFolder
from toolc.document.map_reader import Findings, suggestion
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import MappingEntry, Node, Scalar
from toolc.document.nodes import Sequence as SequenceNode
from toolc.functions.tool import ComposedTool, Traits, check_traits
from toolc.model import argument_checks, codes
from toolc.model.call_graph import MAX_DEPTH, by_name, circle, depth
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.errors import SpecError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.source import Position, SourceText, Span
from toolc.model.spec.tool import ToolSpec

__all__ = ["check_calls", "step"]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A line of a program: its file, and the number of the line, from 1."""

    path: str
    line: int

    @classmethod
    def of_caller(cls) -> SourceLocation:
        """Where the function that asks was called from."""
        here = currentframe()
        caller = here.f_back.f_back if here and here.f_back else None
        return cls(caller.f_code.co_filename, caller.f_lineno) if caller else cls("<unknown>", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedStep:
    """What ``step`` was given, and ``place``, where that was. Nothing of it is read until its composite is."""

    place: SourceLocation
    id: str
    tool: str
    args: Mapping[str, object]
    condition: str | None
    continue_on_error: bool
    timeout: float | None

    def said(self) -> dict[str, object]:
        """The step as a spec says it."""
        step: dict[str, object] = {"id": self.id, "tool": self.tool, "args": self.args}
        if self.condition is not None:
            step["if"] = self.condition
        if self.continue_on_error is not False:
            step["continue_on_error"] = self.continue_on_error
        if self.timeout is not None:
            step["timeout"] = f"{max(1, round(self.timeout * 1000))}ms"
        return step


def step(
    id: str,  # noqa: A002  the word in a spec
    tool: str,
    args: Mapping[str, object] | None = None,
    *,
    condition: str | None = None,
    continue_on_error: bool = False,
    timeout: float | None = None,
) -> DefinedStep:
    """One step for ``define(...).composite``: a call of the tool of this name (or alias), under the name ``id``.

    ``args`` are its arguments: each text is a template of the composite's parameters and of steps before
    (``"{{ word }}"``, ``"{{ steps.find.outputs }}"``). ``condition`` is what a spec calls ``if``; ``timeout`` is in
    seconds. Raises ``UsageError`` for a timeout that is none; all else is read with the composite.
    """
    if timeout is not None:
        argument_checks.seconds("step: a timeout", timeout)
    return DefinedStep(
        place=SourceLocation.of_caller(),
        id=id,
        tool=tool,
        args={} if args is None else args,
        condition=condition,
        continue_on_error=continue_on_error,
        timeout=timeout,
    )


_HINTS: Final = ("read_only", "destructive", "idempotent", "open_world")
_PLAIN: Final = ("label", "aliases", "tags", "examples", "confirm")


def compose(
    about: JsonObject, backend: Mapping[str, object], traits: Traits, secrets: object, place: SourceLocation
) -> ComposedTool:
    """Make the tool of this ``backend`` (a kind, and its keys); ``about`` is its name, description and parameters.

    ``secrets`` are those of ``sandbox.secrets``, None for none. Raises ``UsageError`` for what is no JSON, and
    ``SpecError`` with all that a check of the same spec would call an error.
    """
    name = str(about["name"])
    check_traits(name, traits)
    given: dict[str, object] = {key: value for key, value in traits.items() if value is not None}
    sandbox: dict[str, object] = {} if secrets is None else {"secrets": secrets}
    if "timeout" in traits:
        sandbox["limits"] = {"timeout": f"{max(1, round(traits['timeout'] * 1000))}ms"}
    said: dict[str, object] = {
        **about,
        **{key: given[key] for key in _PLAIN if key in given},
        "annotations": {key: given[key] for key in _HINTS if key in given},
        "backend": backend,
        **({"sandbox": sandbox} if sandbox else {}),
        **({"result": {"schema": given["result_schema"]}} if "result_schema" in given else {}),
    }
    source = SourceText(place.path, "".join(linecache.getlines(place.path)))
    diagnostics = Diagnostics()
    node = _Nodes(name, source).node(said, place)
    assert isinstance(node, MappingNode)
    tool = decode_tool(node, Findings(source, diagnostics), SpecFolder(Path(), ""))
    for each in check_each([tool]):
        diagnostics.add(each.code, each.message, each.span, each.hint, each.fix)
    refuse(name, diagnostics.sorted())
    return ComposedTool(tool.spec, tool)


def refuse(name: str, found: Sequence[Diagnostic]) -> None:
    """Raise ``SpecError`` where one of ``found`` is an error of the tool ``name``."""
    errors = [each for each in found if each.is_error]
    if errors:
        lines = (f"{each.span}: {each.code.number} {each.message}{_hint(each)}" for each in errors)
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise SpecError("\n".join([f"{count} in the tool {name!r}:", *lines]), tuple(found))


def _hint(found: Diagnostic) -> str:
    """What to do. How a value is put in quotes in a spec's text says nothing of a program."""
    return f"; {found.hint}" if found.hint and "quotes" not in found.hint else ""


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Makes nodes of values that a program gave for the tool ``name``; ``source`` is where it was defined."""

    name: str
    source: SourceText

    def node(self, value: object, place: SourceLocation, what: str = "", depth: int = 0) -> Node:
        """The node of a value that stands at ``place``. Raises ``UsageError`` for what is no JSON."""
        span = self._span(place)
        if depth > argument_checks.MAX_DEPTH:
            raise UsageError(f"tool {self.name!r}: {what} is nested too deep, or holds itself")
        if isinstance(value, DefinedStep):
            return self.node(value.said(), value.place, what, depth + 1)
        if isinstance(value, Mapping):
            return MappingNode.of(self._entries(value, place, what, depth), span)
        if isinstance(value, list | tuple):
            items = (self.node(each, place, f"{what}[{at}]", depth + 1) for at, each in enumerate(value))
            return SequenceNode(tuple(items), span)
        argument_checks.json_value(f"tool {self.name!r}: {what}", value)
        assert value is None or isinstance(value, bool | int | float | str)
        return Scalar(value, span)

    def _entries(
        self, value: Mapping[object, object], place: SourceLocation, what: str, depth: int
    ) -> Iterator[MappingEntry]:
        span = self._span(place)
        for key, each in value.items():
            name = argument_checks.text(f"tool {self.name!r}: a key of {what or 'it'}", key)
            yield MappingEntry(name, span, self.node(each, place, f"{what}.{name}".lstrip("."), depth + 1))

    def _span(self, place: SourceLocation) -> Span:
        """The line of the program, without the blanks around it; its beginning where it cannot be read."""
        line = self.source.line(place.line) if place.path == self.source.path else ""
        start = len(line) - len(line.lstrip()) + 1
        return Span(place.path, Position(place.line, start), Position(place.line, max(start, len(line.rstrip())) + 1))


_NOT_THERE: Final = "add that tool to the registry first, or in the same call of add"


def check_calls(new: Iterable[ComposedTool], tools: Iterable[ToolSpec]) -> None:
    """Raise ``SpecError`` where one of ``new`` cannot do its work with ``tools``, of which it is one."""
    known = by_name(tools)
    for tool in new:
        refuse(tool.name, [*_findings(tool, known)])


def _findings(tool: ComposedTool, known: Mapping[str, ToolSpec]) -> Iterator[Diagnostic]:
    missing = [(name, span) for name, span in tool_references(tool.located) if name not in known]
    for name, span in missing:
        yield Diagnostic(
            codes.DANGLING, f"there is no tool {name[:80]!r} here", span, suggestion(name, known) or _NOT_THERE
        )
    span = tool.located.key_span("backend")
    if names := circle(tool.spec, known):
        yield Diagnostic(codes.CALL_CIRCLE, f"it would call itself: {' -> '.join(names)}", span, "break the circle")
    elif (deep := depth(tool.spec, known)) > MAX_DEPTH:
        message = f"calls stand {deep} deep in each other here, and {MAX_DEPTH} is the most"
        yield Diagnostic(codes.CALL_DEPTH, message, span, "let it call what does the work more directly")
    backend = tool.spec.backend
    if backend.tag == "composite":
        for index, step in enumerate(backend.steps):
            if step.tool in known:
                yield from StepArguments(tool.located, backend, index, known, known).findings()

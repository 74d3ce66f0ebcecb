"""Whether what a program's composites and sub-agents call is there, and takes what they pass on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from toolc.compiler.checks.call_graph import tool_references
from toolc.compiler.checks.step_types import StepArguments
from toolc.document.map_reader import suggestion
from toolc.functions.composed import refuse
from toolc.functions.tool import ComposedTool
from toolc.model import codes
from toolc.model.call_graph import MAX_DEPTH, by_name, circle, depth
from toolc.model.diagnostics import Diagnostic
from toolc.model.spec.tool import ToolSpec

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

"""TC107: tools that call tools that call tools, deeper than a call may go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.calls import MAX_DEPTH, by_name, called, circle, depth
from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC107"


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each tool from which calls stand too deep in each other."""
    callers = [tool for tool in tools if called(tool.spec)]
    if not callers:
        return
    known = by_name(tool.spec for tool in tools)
    for tool in callers:
        # A circle has no depth, and a page of its own.
        deep = 0 if circle(tool.spec, known) else depth(tool.spec, known)
        if deep > MAX_DEPTH:
            message = f"calls stand {deep} deep in each other here, and {MAX_DEPTH} is the most"
            hint = "let it call what does the work more directly"
            yield Diagnostic(codes.CALL_DEPTH, message, tool.key_span("backend"), hint)

"""TC412: a step of a composite whose arguments its tool would refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.calls import by_name
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC412"


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each argument that is missing, unknown, or of a type that the called tool does not take."""
    if not any(tool.spec.backend.tag == "composite" for tool in tools):
        return
    from toolc.compiler.step_findings import StepArguments  # start-up time: few specs have steps

    known = by_name(tool.spec for tool in tools if "parameters" not in tool.damaged)
    giving = by_name(tool.spec for tool in tools if tool.damaged.isdisjoint({"backend", "result"}))
    for tool in tools:
        backend = tool.spec.backend
        if backend.tag == "composite" and "parameters" not in tool.damaged:
            for index, step in enumerate(backend.steps):
                if step.tool and step.tool in known:
                    yield from StepArguments(tool, backend, index, known, giving).findings()

"""Checks of the calls between tools: TC105 and TC106 (unknown tools and recursion), TC107 (depth)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as AnyMapping

from toolc.compiler.checks.check_registry import tool_set_check
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.tool_names import builtin_names
from toolc.document.nodes import Mapping, Node, Scalar
from toolc.document.nodes import Sequence as SequenceNode
from toolc.document.suggestions import suggestion
from toolc.model import codes
from toolc.model.call_graph import MAX_DEPTH, call_depths, called_tools, find_cycles
from toolc.model.diagnostics import Diagnostic
from toolc.model.source import Span


@tool_set_check("TC106")
def check_call_cycles(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Report each call of an unknown tool, and each cycle of calls. This check needs all tools."""
    if not any(map(_may_call, tools)):
        return
    known = {name: tool for tool in tools for name in (tool.spec.name, *tool.spec.aliases)}
    cyclic = find_cycles({tool.spec.name: frozenset(_targets(tool, known)) for tool in tools})
    for tool in tools:
        for name, span in tool_references(tool):
            callee = known.get(name)
            if callee is None:
                yield _unknown_tool(name, span, known)
            elif tool.spec.name in cyclic and callee.spec.name in cyclic[tool.spec.name]:
                message = f"'{tool.spec.name}' calls itself through '{name}'"
                yield Diagnostic(codes.RECURSIVE_CALL, message, span, "remove one of these calls")


def tool_references(tool: LocatedTool) -> Iterator[tuple[str, Span]]:
    """Yield the name and position of each tool that ``tool`` calls, even if other parts of its backend are invalid."""
    if not _may_call(tool):
        return
    steps = tool.node_at("backend", "composite", "steps")
    named = tool.node_at("backend", "agent", "tools")
    for node in (*(step.get("tool") for step in _items(steps) if isinstance(step, Mapping)), *_items(named)):
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
            yield node.value, node.span


def _may_call(tool: LocatedTool) -> bool:
    return tool.spec.backend.tag in {"composite", "agent"} or "backend" in tool.damaged


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.items if isinstance(node, SequenceNode) else ()


def _targets(tool: LocatedTool, known: AnyMapping[str, LocatedTool]) -> Iterator[str]:
    for name, _ in tool_references(tool):
        if name in known:
            yield known[name].spec.name


def _unknown_tool(name: str, span: Span, known: AnyMapping[str, LocatedTool]) -> Diagnostic:
    together = "name a tool of the compiled specs; if it is in another file, compile the folder"
    builtin = f"this is a built-in tool; add builtin: [{name}] to toolc.yaml" if name in builtin_names() else ""
    hint = suggestion(name, known) or builtin or together
    return Diagnostic(codes.DANGLING, f"there is no tool '{name[:80]}'", span, hint)


@tool_set_check("TC107")
def check_call_depth(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Report each tool whose calls are nested too deeply."""
    callers = [tool for tool in tools if called_tools(tool.spec)]
    if not callers:
        return
    depths = call_depths(tool.spec for tool in tools)
    for tool in callers:
        deep = depths.get(tool.spec.name, 0)  # cycles have no depth and are reported by another check
        if deep > MAX_DEPTH:
            message = f"calls are nested {deep} levels deep here; the maximum is {MAX_DEPTH}"
            hint = "call the tools that do the work directly"
            yield Diagnostic(codes.CALL_DEPTH, message, tool.key_span("backend"), hint)

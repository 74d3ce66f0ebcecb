"""What a policy says against a tool, as findings about the place in the spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolc.compiler.decode_tool import LocatedTool
from toolc.document.nodes import Scalar
from toolc.document.nodes import Sequence as SequenceNode
from toolc.model import codes
from toolc.model.call_graph import NO_TOOLS, ToolLookup, by_name, called
from toolc.model.destinations import HostError, parse_destination
from toolc.model.diagnostics import Code, Diagnostic
from toolc.model.source import Span
from toolc.policy.policy import Key, Policy
from toolc.policy.rules import Violation, violations

CODES: Final[Mapping[Key, Code]] = {
    "limits": codes.POLICY_LIMITS,
    "hosts": codes.POLICY_HOSTS,
    "images": codes.POLICY_IMAGES,
    "require": codes.POLICY_REQUIRE,
    "backends": codes.POLICY_BACKENDS,
    "expose": codes.POLICY_EXPOSE,
    "workspace": codes.POLICY_WORKSPACE,
    "isolation": codes.POLICY_ISOLATION,
    "lifetime": codes.POLICY_LIFETIME,
}
"""The number of each rule."""


def check_alone(tools: Sequence[LocatedTool], more: Sequence[Policy]) -> Iterator[Diagnostic]:
    """What the policies of their projects, and ``more``, have against tools that call no others."""
    for tool in tools:
        if not called(tool.spec):
            yield from _findings(tool, NO_TOOLS, more)


def check_callers(tools: Sequence[LocatedTool], more: Sequence[Policy]) -> Iterator[Diagnostic]:
    """The same against tools that call others, with all that these may do."""
    callers = [tool for tool in tools if (tool.policies or more) and called(tool.spec)]
    if callers:
        known = by_name(tool.spec for tool in tools)
        for tool in callers:
            yield from _findings(tool, known, more)


def _findings(tool: LocatedTool, tools: ToolLookup, more: Sequence[Policy]) -> Iterator[Diagnostic]:
    if tool.damaged:  # nothing is known of a part that could not be read, and that it could not is an error
        return
    for each in violations(tool.spec, tools, (*tool.policies, *more)):
        yield Diagnostic(CODES[each.key], f"'{tool.spec.name}': {each.message}", _place(tool, each), each.hint)


def _place(tool: LocatedTool, each: Violation) -> Span:
    node = tool.node_at(*each.route) if each.destination else None
    for item in node.items if isinstance(node, SequenceNode) else ():
        try:
            if isinstance(item, Scalar) and parse_destination(str(item.value)) == each.destination:
                return item.span
        except HostError:
            continue
    return _nearest(tool, each.route)


def _nearest(tool: LocatedTool, route: tuple[str | int, ...]) -> Span:
    """The value at ``route``; where it is not written, the key that it would stand under, else the tool's name."""
    if tool.node_at(*route) is not None:
        return tool.span(*route)
    while route and tool.node_at(*route) is None:
        route = route[:-1]
    keys = [step for step in route if isinstance(step, str)]
    return tool.key_span(*keys) if keys else tool.span("name")

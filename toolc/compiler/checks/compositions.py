"""TC106: a composite or an agent that ends up calling itself; TC105 where it calls a tool that does not exist.

Only here are all tools known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Sequence as SequenceNode
from toolc.compiler.document import to_json
from toolc.compiler.reader import suggestion
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic
from toolc.source import Span


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each call of a tool that is not there, and each circle of calls."""
    if not any(tool.spec.backend.tag in {"composite", "agent"} for tool in tools):
        return
    known = {name: tool for tool in tools for name in (tool.spec.name, *tool.spec.aliases)}
    targets = {tool.spec.name: frozenset(_targets(tool, known)) for tool in tools}
    circular = _in_circles(targets)
    for tool in tools:
        for name, span in calls(tool):
            called = known.get(name)
            if called is None:
                yield _unknown(name, span, known)
            elif tool.spec.name in circular and called.spec.name in circular[tool.spec.name]:
                message = f"'{tool.spec.name}' would call itself by way of '{name}'"
                yield Diagnostic(codes.CALL_CIRCLE, message, span, "break the circle")


def calls(tool: LocatedTool) -> Iterator[tuple[str, Span]]:
    """The name of each tool that ``tool`` calls, as far as it can be read, and where it stands."""
    backend = tool.spec.backend
    if backend.tag == "composite":
        for index, step in enumerate(backend.steps):
            if step.tool:
                yield step.tool, tool.span("backend", "composite", "steps", index, "tool")
    elif backend.tag == "agent":
        node = tool.node_at("backend", "agent", "tools")
        for item in node.items if isinstance(node, SequenceNode) else ():
            yield str(to_json(item)), item.span


def _targets(tool: LocatedTool, known: Mapping[str, LocatedTool]) -> Iterator[str]:
    for name, _ in calls(tool):
        if name in known:
            yield known[name].spec.name


def _in_circles(calls: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """For each tool in a circle of calls, the tools of the same circle (Tarjan's components, without recursion)."""
    order, low, stack, on_stack = dict[str, int](), dict[str, int](), list[str](), set[str]()
    circles: dict[str, frozenset[str]] = {}
    for start in sorted(calls):
        work = [(start, iter(sorted(calls[start])))] if start not in order else []
        while work:
            name, following = work[-1]
            if name not in order:
                order[name] = low[name] = len(order)
                stack.append(name)
                on_stack.add(name)
            for each in following:
                if each not in order:
                    work.append((each, iter(sorted(calls.get(each, ())))))
                    break
                if each in on_stack:
                    low[name] = min(low[name], order[each])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    circle = _popped(stack, on_stack, name)
                    if len(circle) > 1 or name in calls.get(name, ()):
                        circles |= dict.fromkeys(circle, circle)
    return circles


def _popped(stack: list[str], on_stack: set[str], until: str) -> frozenset[str]:
    at = stack.index(until)
    found = frozenset(stack[at:])
    del stack[at:]
    on_stack -= found
    return found


def _unknown(name: str, span: Span, known: Mapping[str, LocatedTool]) -> Diagnostic:
    hint = suggestion(name, known) or "name a tool of the specs that are compiled together"
    return Diagnostic(codes.DANGLING, f"there is no tool '{name[:80]}'", span, hint)


RULE: Final = Rule(
    codes=(codes.CALL_CIRCLE,),
    explanation="""\
A composite calls other tools, and an agent may. Where such a call leads back to the tool it started
from, a run would never end, or end at a limit after much work. Take one of the calls out of the
circle, or make what is common to both a tool of its own.
""",
    bad="""\
toolc: 1
tools:
  - name: greet_all
    description: Greet the whole team, one after the other.
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: first, tool: greet_half}
  - name: greet_half
    description: Say hello to those who sit on the left side.
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: rest, tool: greet_all}
""",
    good="""\
toolc: 1
tools:
  - name: greet_all
    description: Greet the whole team, one after the other.
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: first, tool: greet_half}
  - name: greet_half
    description: Say hello to those who sit on the left side.
    backend:
      shell:
        argv: [echo, hello]
""",
)

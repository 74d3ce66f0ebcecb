"""The tools that a tool calls: the steps of a composite, or the tools of an agent. No tool runs to find them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol

from toolc.model.spec.tool import ToolSpec

MAX_DEPTH: Final = 8
"""The maximum depth of nested calls. A tool that does not call others has depth 1.

Real composites have two or three levels. While the innermost call runs, each level keeps a thread waiting.
"""

NO_TOOLS: Final[Mapping[str, ToolSpec]] = {}


class ToolLookup(Protocol):
    """Finds tools by name or alias, such as a registry or a mapping."""

    def get(self, name: str, /) -> ToolSpec | None:
        """Return the tool with this name or alias, or None."""


def tools_by_name(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """Return a dict of ``tools`` by name and alias."""
    listed = [*tools]
    aliases = {alias: tool for tool in listed for alias in tool.aliases}
    return aliases | {tool.name: tool for tool in listed}


def called_tools(tool: ToolSpec) -> tuple[str, ...]:
    """Return the names by which ``tool`` calls other tools, in the order of its spec, without duplicates."""
    return tuple(dict.fromkeys(name for _, name in tool.backend.calls))


def reachable_tools(tool: ToolSpec, tools: ToolLookup) -> dict[str, ToolSpec | None]:
    """Return all tools that ``tool`` may call directly or indirectly, by name.

    The value is None for a name that is not in ``tools``. ``tool`` itself is included only if it can call itself.
    """
    reachable: dict[str, ToolSpec | None] = {}
    waiting = [*called_tools(tool)]
    while waiting:
        name = waiting.pop()
        each = tools.get(name)
        key = each.name if each else name
        if key not in reachable:
            reachable[key] = each
            waiting += called_tools(each) if each else ()
    return dict(sorted(reachable.items()))


def find_cycle(tool: ToolSpec, tools: ToolLookup) -> tuple[str, ...]:
    """Return the names on the path of a recursive call from ``tool``, or an empty tuple if there is none."""
    path = [tool.name]
    left = [_calls_of(tool, tools)]
    done: set[str] = set()
    while path:
        each = next(left[-1], None)
        if each is None:
            done.add(path.pop())
            left.pop()
        elif each.name in path:
            return (*path[path.index(each.name) :], each.name)
        elif each.name not in done:
            path.append(each.name)
            left.append(_calls_of(each, tools))
    return ()


def call_depths(tools: Iterable[ToolSpec]) -> dict[str, int]:
    """Return the depth of nested calls of each tool by name. Tools with recursive calls are left out."""
    by_name = {tool.name: tool for tool in tools}
    lookup = tools_by_name(by_name.values())
    calls = {name: {each.name for each in _calls_of(tool, lookup)} for name, tool in by_name.items()}
    callers: dict[str, list[str]] = {name: [] for name in calls}
    for name, called in calls.items():
        for each in called:
            callers[each].append(name)
    unknown = {name: len(called) for name, called in calls.items()}
    depths: dict[str, int] = {}
    ready = [name for name, count in unknown.items() if not count]
    while ready:
        name = ready.pop()
        depths[name] = 1 + max((depths[each] for each in calls[name]), default=0)
        for caller in callers[name]:
            unknown[caller] -= 1
            if not unknown[caller]:
                ready.append(caller)
    return depths


def call_depth(tool: ToolSpec, tools: ToolLookup) -> int:
    """Return the depth of nested calls in a call of ``tool``, which must not be recursive."""
    depths: dict[str, int] = {}

    def of(each: ToolSpec) -> int:
        if each.name not in depths:
            depths[each.name] = 1 + max(map(of, _calls_of(each, tools)), default=0)
        return depths[each.name]

    return of(tool)


def _calls_of(tool: ToolSpec, tools: ToolLookup) -> Iterator[ToolSpec]:
    return (each for each in map(tools.get, called_tools(tool)) if each is not None)


def find_cycles(graph: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the nodes of the cycle for each node of a graph that is in one (Tarjan's algorithm, iterative)."""
    order, low, stack, on_stack = dict[str, int](), dict[str, int](), list[str](), set[str]()
    cycles: dict[str, frozenset[str]] = {}
    for start in sorted(graph):
        work = [(start, iter(sorted(graph[start])))] if start not in order else []
        while work:
            name, following = work[-1]
            if name not in order:
                order[name] = low[name] = len(order)
                stack.append(name)
                on_stack.add(name)
            for each in following:
                if each not in order:
                    work.append((each, iter(sorted(graph.get(each, ())))))
                    break
                if each in on_stack:
                    low[name] = min(low[name], order[each])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    cycle = _pop_cycle(stack, on_stack, name)
                    if len(cycle) > 1 or name in graph.get(name, ()):
                        cycles |= dict.fromkeys(cycle, cycle)
    return cycles


def _pop_cycle(stack: list[str], on_stack: set[str], until: str) -> frozenset[str]:
    at = len(stack) - 1
    while stack[at] != until:
        at -= 1
    cycle = frozenset(stack[at:])
    del stack[at:]
    on_stack -= cycle
    return cycle

"""Which tools a tool calls: the steps of a composite, the tools of a sub-agent. Nothing here runs anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol

from toolc.model.spec.tool import ToolSpec

__all__ = [
    "MAX_DEPTH",
    "NO_TOOLS",
    "ToolLookup",
    "by_name",
    "called",
    "circle",
    "depth",
    "reachable",
]

MAX_DEPTH: Final = 8
"""How deep calls may nest: a tool that calls no other is one deep."""


class ToolLookup(Protocol):
    """Finds tools by name or alias, as a registry and a map of them do."""

    def get(self, name: str, /) -> ToolSpec | None:
        """The tool of this name or alias, or None."""


NO_TOOLS: Final[Mapping[str, ToolSpec]] = {}


def by_name(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """``tools`` by their names and aliases."""
    listed = [*tools]
    aliases = {alias: tool for tool in listed for alias in tool.aliases}
    return aliases | {tool.name: tool for tool in listed}


def called(tool: ToolSpec) -> tuple[str, ...]:
    """The names that ``tool`` calls other tools by, each once, in the order of its spec."""
    backend = tool.backend
    if backend.tag == "composite":
        return tuple(dict.fromkeys(step.tool for step in backend.steps))
    return tuple(dict.fromkeys(backend.tools)) if backend.tag == "agent" else ()


def reachable(tool: ToolSpec, tools: ToolLookup) -> dict[str, ToolSpec | None]:
    """All that ``tool`` may call, directly or not, by name; None for a name that ``tools`` does not have.

    ``tool`` itself is among them only where it is in a circle.
    """
    found: dict[str, ToolSpec | None] = {}
    waiting = [*called(tool)]
    while waiting:
        name = waiting.pop()
        each = tools.get(name)
        key = each.name if each else name
        if key not in found:
            found[key] = each
            waiting += called(each) if each else ()
    return dict(sorted(found.items()))


def circle(tool: ToolSpec, tools: ToolLookup) -> tuple[str, ...]:
    """The names by which a call of ``tool`` comes back to a tool that it has called; empty where none does."""
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


def depth(tool: ToolSpec, tools: ToolLookup) -> int:
    """How many calls stand within each other where ``tool`` is called; it must not be in a circle."""
    found: dict[str, int] = {}

    def of(each: ToolSpec) -> int:
        if each.name not in found:
            found[each.name] = 1 + max(map(of, _calls_of(each, tools)), default=0)
        return found[each.name]

    return of(tool)


def _calls_of(tool: ToolSpec, tools: ToolLookup) -> Iterator[ToolSpec]:
    return (each for each in map(tools.get, called(tool)) if each is not None)

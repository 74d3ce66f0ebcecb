"""Whether what a tool calls is what was reviewed with it: registries are put together, and changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolc.model.call_graph import circle
from toolc.model.errors import RegistryError, UsageError
from toolc.model.registry import RegisteredTool
from toolc.model.registry_file import digests
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.tool import ToolSpec


def check_calls(tool: RegisteredTool, find: Callable[[str], RegisteredTool]) -> None:
    """Raise ``RegistryError`` where ``tool`` would call other tools than those it was registered with, or itself.

    ``find`` finds them, and raises ``UsageError`` where there is none of a name.
    """
    found = Found(find)
    if names := circle(tool.spec, found):
        raise RegistryError(
            f"tool {tool.spec.name!r} would call itself: {' -> '.join(names)}; take one of them out of the circle"
        )
    if not tool.is_of_this_program and digests(tool.spec, found).effect != tool.effect_digest:
        others = ", ".join(sorted(found.names())) or "none"
        lost = ", ".join(sorted(found.lost()))
        others += f"; not here, or functions of this program: {lost}" if lost else ""
        raise RegistryError(
            f"tool {tool.spec.name!r} calls tools of this registry that are not those it was reviewed with "
            f"(here they are: {others}); build them together, or take the others out of the registry"
        )


class Found:
    """Tools as ``toolc.model.call_graph`` looks for them, by a function that raises ``UsageError``; remembers its answers."""

    def __init__(self, find: Callable[[str], RegisteredTool]) -> None:
        self._find = find
        self._specs: dict[str, ToolSpec | None] = {}

    def get(self, name: str, /) -> ToolSpec | None:
        """The tool of this name or alias, or None, also for a function of the host's process: none is reviewed."""
        if name not in self._specs:
            try:
                spec = self._find(name).spec
                self._specs[name] = None if isinstance(spec.backend, HostFunction) else spec
            except UsageError:
                self._specs[name] = None
        return self._specs[name]

    def names(self) -> Iterator[str]:
        """The names that were found."""
        return (name for name, spec in self._specs.items() if spec)

    def lost(self) -> Iterator[str]:
        """The names that were not."""
        return (name for name, spec in self._specs.items() if not spec)

"""Whether what a tool calls is what was reviewed with it: registries are put together, and changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from toolc.backends import BACKEND_KINDS
from toolc.model.call_graph import circle
from toolc.model.errors import RegistryError, UsageError
from toolc.model.registry import RegisteredTool
from toolc.model.registry_file import digests
from toolc.model.spec.code_backends import HostFunction, PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.composite.composite import COMPOSED

__all__ = [
    "DenyList",
    "unsupported_features",
]


class DenyList:
    """Names and tags that are denied, changeable at any time and from any thread.

    A call looks here before anything of it starts; what has started is left alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Replaced, never changed: to read them takes no lock.
        self._names: frozenset[str] = frozenset()
        self._tags: frozenset[str] = frozenset()

    def deny(self, names: Iterable[str], tags: Iterable[str]) -> None:
        """Refuse the tools of these names, and all that have one of these tags.

        Raises ``UsageError`` for tags that are no list of texts; then nothing has changed.
        """
        with self._lock:
            names, tags = frozenset(names), _tags(tags)
            self._names |= names
            self._tags |= tags

    def allow(self, names: Iterable[str], tags: Iterable[str]) -> None:
        """Take these names and tags off the list; what is not on it is no mistake. Raises what ``deny`` raises."""
        with self._lock:
            names, tags = frozenset(names), _tags(tags)
            self._names -= names
            self._tags -= tags

    def reason(self, tool: ToolSpec) -> str | None:
        """Why ``tool`` is refused, in words for a model; None where it is not."""
        if not self._names.isdisjoint((tool.name, *tool.aliases)):
            return f"the tool {tool.name!r} is denied here; do without it"
        tag = next((tag for tag in tool.tags if tag in self._tags), None)
        if tag is None:
            return None
        return f"the tool {tool.name!r} is denied here, as all tools that are tagged {tag!r}; do without it"


def _tags(given: object) -> frozenset[str]:
    """The tags. Raises ``UsageError`` for a text alone, which letter by letter would deny nothing."""
    tags = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(tag, str) for tag in tags):
        raise UsageError(f"tags are a list of texts, and not {given!r:.60}; write e.g. tags=['danger']")
    return frozenset(tags)


def check_calls(tool: RegisteredTool, find: Callable[[str], RegisteredTool]) -> None:
    """Raise ``RegistryError`` where ``tool`` would call other tools than those it was registered with, or itself.

    ``find`` finds them, and raises ``UsageError`` where there is none of a name.
    """
    found = ReviewedTools(find)
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


class ReviewedTools:
    """Tools as ``toolc.model.call_graph`` looks for them, by a function that raises ``UsageError``; remembers its
    answers.
    """

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


SERVED: Final = frozenset({PluginBackend.tag, PythonBackend.tag, ShellBackend.tag})
"""The kinds of backend that can have a sandbox for several calls."""


def unsupported_features(tool: ToolSpec) -> str | None:
    """Why this version cannot call ``tool``, fit to show to a user; None where it can."""
    features = tuple(_features(tool))
    if not features:
        return None
    return f"tool {tool.name!r}: this version of toolc compiles {', '.join(features)} but does not run it yet"


def _features(tool: ToolSpec) -> Iterator[str]:
    backend = tool.backend
    if backend.tag not in BACKEND_KINDS and backend.tag not in COMPOSED:
        yield f"'backend.{backend.tag}'"
    if tool.sandbox.lifetime == "session" and backend.tag not in SERVED:
        yield f"'sandbox.lifetime: session' of 'backend.{backend.tag}'"

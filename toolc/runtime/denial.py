"""The tools that an executor refuses to call, whatever its registry holds."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from toolc.spec import ToolSpec


class Denials:
    """Names and tags that are denied, changeable at any time and from any thread.

    A call looks here before anything of it starts; what has started is left alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Replaced, never changed: to read them takes no lock.
        self._names: frozenset[str] = frozenset()
        self._tags: frozenset[str] = frozenset()

    def deny(self, names: Iterable[str], tags: Iterable[str]) -> None:
        """Refuse the tools of these names, and all that have one of these tags."""
        with self._lock:
            self._names |= frozenset(names)
            self._tags |= frozenset(tags)

    def allow(self, names: Iterable[str], tags: Iterable[str]) -> None:
        """Take these names and tags off the list; what is not on it is no mistake."""
        with self._lock:
            self._names -= frozenset(names)
            self._tags -= frozenset(tags)

    def reason(self, tool: ToolSpec) -> str | None:
        """Why ``tool`` is refused, in words for a model; None where it is not."""
        if not self._names.isdisjoint((tool.name, *tool.aliases)):
            return f"the tool {tool.name!r} is denied here; do without it"
        tag = next((tag for tag in tool.tags if tag in self._tags), None)
        if tag is None:
            return None
        return f"the tool {tool.name!r} is denied here, as all tools that are tagged {tag!r}; do without it"

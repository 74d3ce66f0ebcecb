"""The tools that an executor refuses to call, whatever its registry holds."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from toolc.model.errors import UsageError
from toolc.model.spec.tool import ToolSpec


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

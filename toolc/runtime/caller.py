"""Calls that make calls: what such a call is given, and how it makes others.

A composite or a sub-agent has no sandbox of its own. It is given a ``CallContext``, and a ``Caller`` for tools
of the same registry, each of which runs as any call does.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from toolc.model.call import BoundCall
from toolc.model.events import Event, Listener
from toolc.model.json_schema import JsonValue
from toolc.model.result import ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.secrets.redaction import CallSecrets

__all__ = [
    "no_caller",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """The call that is under way.

    ``tell`` is ``nobody`` where nobody listens. ``deadline`` is when it must be over, in seconds of
    ``time.monotonic``; ``math.inf`` where only the tool's own limit counts. ``depth`` is 0 for a call that stands
    in no other. ``secrets`` are those of its tool, whose values may leave for their hosts and nowhere else.
    """

    call_id: str
    tell: Listener
    cancellation: Cancellation
    deadline: float
    depth: int = 0
    secrets: CallSecrets = field(default_factory=CallSecrets)


class Caller(Protocol):
    """Calls tools of one registry, for calls of that registry."""

    def call(
        self, name: str, arguments: JsonValue, context: CallContext, *, step: str, timeout_ms: int | None = None
    ) -> ToolResult:
        """Call the tool ``name`` (or alias) as the part ``step`` of the call ``context``, from any thread.

        Its call id is ``CALL_ID.STEP``, and its events say whose part it is. It shares the cancellation, and is
        over at the earliest of its tool's own limit, ``timeout_ms`` and ``context.deadline``. To give several
        parts a cancellation of their own, hand on a context with ``context.cancellation.child()``. Deny-lists,
        confirmation and retries hold for it as for any call. A tool that does not exist is a ``not_found``
        result, calls that stand deeper in each other than ``toolc.model.call_graph.MAX_DEPTH`` an ``execution``
        one.
        Raises what ``Executor.run`` raises beside that.
        """

    def tools(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """The tools of these names (or aliases) that ``call`` would call now: not those that are denied."""


Kind_contra = TypeVar("Kind_contra", contravariant=True)


class ComposedBackend(Protocol[Kind_contra]):
    """How one kind of backend runs whose calls make calls. See ``toolc.runtime.composite.composite``."""

    def run(self, backend: Kind_contra, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """The result of ``call``; ``details`` here are only those that this backend knows of.

        ``context.deadline`` has the tool's own limit in it. Raises what ``caller.call`` raises, once nothing of
        the call runs any more.
        """


def no_caller(_: Event) -> None:
    """The listener of a call that nobody listens to."""


def as_part(context: CallContext) -> Listener:
    """Tells ``context.tell`` of a call that is part of ``context``. That one's own parts have a parent already."""
    if context.tell is no_caller:
        return no_caller

    def tell(event: Event) -> None:
        context.tell(event if event.parent_call_id else replace(event, parent_call_id=context.call_id))

    return tell


def one_at_a_time(tell: Listener) -> Listener:
    """``tell`` for calls on several threads: it is told of one event after the other."""
    lock = threading.Lock()

    def locked(event: Event) -> None:
        with lock:
            tell(event)

    return locked

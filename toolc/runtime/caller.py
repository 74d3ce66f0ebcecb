"""Interfaces for backends whose calls make further calls.

A composite or a sub-agent has no sandbox. It receives a ``CallContext`` and a ``Caller`` for tools of the same
registry. Each of these tools runs like any other call.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Protocol, TypeVar

from toolc.dataclass import dataclass, field, replace
from toolc.model.call import BoundCall, Claims
from toolc.model.events import Event, Listener
from toolc.model.json_schema import JsonValue
from toolc.model.result import ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.secrets.redaction import CallSecrets

T = TypeVar("T")
Kind_contra = TypeVar("Kind_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """The state of a running call.

    ``on_event`` is ``ignore_event`` if there is no listener. ``deadline`` is when the call must end, in seconds of
    ``time.monotonic``, or ``math.inf`` if only the tool's own limit applies. ``depth`` is 0 for a call that is not
    nested in another. ``secrets`` are the secrets of the call's tool. Their values may be sent only to their hosts.
    ``claims`` are those of the caller, which all parts of the call share.
    """

    call_id: str
    on_event: Listener
    cancellation: Cancellation
    deadline: float = math.inf
    depth: int = 0
    secrets: CallSecrets = field(default_factory=CallSecrets)
    claims: Claims = field(default_factory=dict)


class Caller(Protocol):
    """Calls tools of one registry on behalf of a call of that registry."""

    def call(
        self, name: str, arguments: JsonValue, context: CallContext, *, step: str, timeout_ms: int | None = None
    ) -> ToolResult:
        """Call the tool ``name`` (or alias) as the part ``step`` of the call ``context``, from any thread.

        The call id is ``CALL_ID.STEP``, and its events name the parent call. The call shares the parent's cancellation,
        and ends at the earliest of its tool's own limit, ``timeout_ms`` and ``context.deadline``. To cancel several
        parts together, pass a context with ``context.cancellation.child()``. Deny-lists, confirmation and retries
        apply as for any call. An unknown tool gives a ``not_found`` result. A call nested deeper than
        ``toolc.model.call_graph.MAX_DEPTH`` gives an ``execution`` error. Otherwise raises the same errors as
        ``Executor.run``.
        """

    def tools(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """Return the tools with these names (or aliases) that may be called now, without denied tools."""


class ComposedBackend(Protocol[Kind_contra]):
    """Runs a kind of backend whose calls make further calls. See ``toolc.runtime.composite.composite``."""

    def run(self, backend: Kind_contra, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """Return the result of ``call``. Its ``details`` have only the entries of this backend.

        ``context.deadline`` already includes the tool's own limit. If ``caller.call`` raises an error, it is raised
        again after all parts of the call have ended.
        """


def ignore_event(_: Event) -> None:
    """Ignore an event. This is the listener of a call if its caller has set none."""


def as_part(context: CallContext) -> Listener:
    """Return a listener that passes events of a part of ``context`` to ``context.on_event``.

    Sets ``parent_call_id``, except on events of deeper parts, which already have one.
    """
    if context.on_event is ignore_event:
        return ignore_event

    def on_event(event: Event) -> None:
        context.on_event(event if event.parent_call_id else replace(event, parent_call_id=context.call_id))

    return on_event


def one_at_a_time(on_event: Listener) -> Listener:
    """Wrap ``on_event`` for calls on several threads, so that it receives one event at a time."""
    if on_event is ignore_event:
        return ignore_event
    lock = threading.Lock()

    def locked(event: Event) -> None:
        with lock:
            on_event(event)

    return locked


def run_in_threads(
    make: Callable[[int], T], numbers: Sequence[int], max_threads: int, cancellation: Cancellation
) -> list[T]:
    """Return the result of ``make`` for each number, in order. ``make`` is called on several threads.

    After an exception, ``cancellation`` is set and no further call begins. Once all calls have ended, raises the first
    exception.

    The threads are daemons, so a call that does not end does not keep the program alive. If Ctrl-C arrives while a
    thread starts, that thread may still make a call, so this waits for calls rather than for threads.
    """
    waiting, ended = deque(numbers), list[int]()
    results = dict[int, T]()
    failures = list[BaseException]()
    changed = threading.Condition()

    def fail(error: BaseException) -> None:
        failures.append(error)
        cancellation.cancel()

    def run(number: int) -> None:
        try:
            if not failures:
                results[number] = make(number)
        except BaseException as error:  # noqa: BLE001  raised again on the caller's thread
            fail(error)
        with changed:
            ended.append(number)
            changed.notify()

    def work() -> None:
        with suppress(IndexError):  # no number is left
            while True:
                run(waiting.popleft())

    def wait() -> None:
        with changed:
            changed.wait_for(lambda: len(ended) == len(numbers))

    if len(numbers) == 1:
        work()
    else:
        try:
            for _ in range(min(max_threads, len(numbers))):  # two threads cannot run in the same context
                threading.Thread(target=copy_context().run, args=(work,), name="toolc call", daemon=True).start()
            wait()
        except BaseException as error:  # noqa: BLE001  raised below
            fail(error)
            work()  # no thread may have started; makes no call
            wait()
    if failures:
        raise failures[0]
    return [results[number] for number in numbers]

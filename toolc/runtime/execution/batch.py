"""Run several calls in parallel, sequentially, or in groups. Results keep the order of the calls.

A call that fails or cannot be made does not affect the others. If a call raised an exception, it is raised with all
results after the last call has ended.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias, get_args

from toolc.dataclass import dataclass, replace
from toolc.model.call import ToolCall
from toolc.model.errors import UsageError
from toolc.model.result import BatchError, ToolResult
from toolc.runtime import argument_checks
from toolc.runtime.caller import run_in_threads
from toolc.runtime.cancellation import Cancellation

Mode: TypeAlias = Literal["parallel", "sequential", "batched"]
"""Whether calls run in parallel up to a limit, one after the other, or in groups, one group after the other."""

Steer: TypeAlias = Callable[[Sequence[ToolResult]], str | None]
"""Receives the results so far. Returns a reason to skip the remaining calls, or None to continue."""

MAX_PARALLEL: Final = 32
"""The upper bound of the default number of calls in parallel, however many processors there are.

It is the same as in ``concurrent.futures.ThreadPoolExecutor``.
"""

Make: TypeAlias = Callable[[ToolCall], ToolResult]
"""Makes one call, on any thread. An exception affects this call only."""

Skip: TypeAlias = Callable[[ToolCall, str], ToolResult]
"""Returns the result of a call that is skipped for this reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order in which a batch runs.

    ``size`` is how many calls run in parallel, or form a group. The default is the number of processors plus four,
    because most calls spend their time waiting. Raises ``UsageError`` if the values contradict each other.
    """

    mode: Mode = "parallel"
    size: int | None = None
    steer: Steer | None = None

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise UsageError(f"there is no mode {self.mode!r}; choose one of: parallel, sequential, batched")
        if self.mode == "batched" and self.size is None:
            raise UsageError("mode 'batched' needs a size; to run all calls in parallel, use mode='parallel'")
        if self.mode == "sequential" and self.size is not None:
            raise UsageError("mode 'sequential' takes no size, because one call runs at a time")
        if self.size is not None and (type(self.size) is not int or self.size < 1):
            raise UsageError(f"the batch size must be at least 1, not {self.size!r}")
        if self.mode == "parallel" and self.steer is not None:
            raise UsageError("calls that run in parallel cannot be steered; use mode 'sequential' or 'batched'")

    @property
    def max_parallel(self) -> int:
        """How many calls run in parallel."""
        return self.size or min(MAX_PARALLEL, processors() + 4)

    def groups(self, count: int) -> Iterator[range]:
        """Yield the indices of the calls of each group."""
        size = {"parallel": count, "sequential": 1, "batched": self.size or 1}[self.mode]
        return (range(start, min(start + size, count)) for start in range(0, count, max(1, size)))


def run_batch(
    calls: Sequence[ToolCall], make: Make, order: Order, cancellation: Cancellation, skip: Skip
) -> list[ToolResult]:
    """Return the results of ``calls``, in their order. If interrupted, sets ``cancellation``.

    If calls could not be made, raises ``BatchError``, which has all results.
    """
    batch = _Batch(calls, make)
    for group in order.groups(len(calls)):
        reason = _skip_reason(order, batch) if group.start else None
        if reason is not None:
            batch.skip(reason, skip)
            break
        batch.run(group, order.max_parallel, cancellation)
    return batch.results()


def _skip_reason(order: Order, batch: "_Batch") -> str | Exception | None:
    """Return a reason to skip the remaining calls, or None to continue.

    An exception of the callback is returned, so that the results so far are not lost.
    """
    try:
        reason = order.steer(batch.so_far) if order.steer else None
    except Exception as error:  # noqa: BLE001  an error of the caller's function is the outcome of the other calls
        return error
    return str(reason) if reason else None


def with_ids(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Return ``calls`` with unique ids.

    Some servers send no ids, or the same id for all calls. A call without an id gets one. A duplicate id gets a
    numeric suffix. Raises ``UsageError`` for anything that is not a call.
    """
    if not isinstance(calls, Iterable):
        raise UsageError(f"a batch must be a list of ToolCall(name=..., arguments=...), not {calls!r:.60}")
    calls = [_tool_call(call) for call in calls]
    given = {call.call_id for call in calls}
    used: set[str] = set()
    unique = []
    for call in calls:
        call_id = call.call_id or new_call_id()
        number = 1
        while call_id in used or (number > 1 and call_id in given):
            number += 1
            call_id = f"{call.call_id}~{number}"
        used.add(call_id)
        unique.append(call if call_id == call.call_id else replace(call, call_id=call_id))
    return unique


def _tool_call(given: object) -> ToolCall:
    if isinstance(given, ToolCall):
        argument_checks.call_id(given.call_id)
        return given
    raise UsageError(f"a batch must contain ToolCall(name=..., arguments=...), not {type(given).__name__}")


def new_call_id() -> str:
    """Return a new random call id."""
    return f"call_{os.urandom(8).hex()}"


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Batch:
    """The outcome of each call so far, which is a result or an exception."""

    def __init__(self, calls: Sequence[ToolCall], make: Make) -> None:
        self._calls = calls
        self._make = make
        self._outcomes: list[ToolResult | Exception | None] = [None] * len(calls)

    @property
    def so_far(self) -> list[ToolResult]:
        """The results so far, in the order of the calls."""
        return [each for each in self._outcomes if isinstance(each, ToolResult)]

    def run(self, group: range, max_parallel: int, cancellation: Cancellation) -> None:
        """Make the calls of ``group`` and wait for all of them.

        An exception that ends the program, such as ``KeyboardInterrupt``, cancels the running calls and is then raised
        again. No further calls start.
        """
        run_in_threads(self._make_one, group, max_parallel, cancellation)

    def _make_one(self, index: int) -> None:
        try:
            self._outcomes[index] = self._make(self._calls[index])
        except Exception as error:  # noqa: BLE001  raised again with the results, see ``results``
            self._outcomes[index] = error

    def skip(self, reason: str | Exception, skip: Skip) -> None:
        """Set the outcome of each call that has not been made to the result of ``skip``, or to the exception."""
        for index, outcome in enumerate(self._outcomes):
            if outcome is None:
                self._outcomes[index] = skip(self._calls[index], reason) if isinstance(reason, str) else reason

    def results(self) -> list[ToolResult]:
        """Return all results. Raises ``BatchError`` if a call has none."""
        raised = [each for each in self._outcomes if isinstance(each, Exception)]
        if raised:
            lines = [
                f"- {call.call_id} ({call.name}): {outcome}"
                for call, outcome in zip(self._calls, self._outcomes, strict=True)
                if isinstance(outcome, Exception)
            ]
            outcomes = tuple(each for each in self._outcomes if isinstance(each, ToolResult | Exception))
            raise BatchError(lines, outcomes) from raised[0]
        return self.so_far

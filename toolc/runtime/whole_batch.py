"""A batch of calls as one call: it tells of all of them, ends with all results, and is cancelled as a whole."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from time import monotonic

from toolc.model.call import ToolCall
from toolc.model.events import BatchEnd, BatchEvent, Listener
from toolc.model.result import ToolResult
from toolc.runtime import async_calls, streaming
from toolc.runtime.batch import Order, run_batch
from toolc.runtime.caller import CallContext, nobody, one_at_a_time
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.executor import Calls, unheard
from toolc.sandbox.selection import in_use


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBatch:
    """Calls to be made in this order, each with an id of its own; ``timeout`` is in seconds, for all together."""

    calls: Sequence[ToolCall]
    order: Order
    timeout: float | None
    made: Calls

    def run(self, tell: Listener, cancellation: Cancellation) -> list[ToolResult]:
        """All results, in the order of the calls. Raises ``BatchError`` where calls could not be made."""
        deadline = math.inf if self.timeout is None else monotonic() + self.timeout
        tell = tell if tell is nobody else one_at_a_time(tell)
        with in_use(), cancellation.child() as own:

            def context(call: ToolCall) -> CallContext:
                return CallContext(call_id=call.call_id, tell=tell, cancellation=own, deadline=deadline)

            def make(call: ToolCall) -> ToolResult:
                return self.made.named(call, context(call))

            def skip(call: ToolCall, reason: str) -> ToolResult:
                return unheard(call, context(call), "cancelled", f"the call was skipped: {reason}")

            return run_batch(self.calls, make, self.order, own, skip)

    def events(self) -> Generator[BatchEvent, None, None]:
        """All calls' events, and at last a ``BatchEnd``. Raises what ``run`` raises."""
        results = yield from streaming.events(self.run)
        yield BatchEnd(results=tuple(results))

    async def aevents(self) -> AsyncGenerator[BatchEvent, None]:
        """``events`` for ``asyncio``."""
        async with async_calls.AsyncCall(self.run, listens=True) as running:
            async for event in running:
                yield event
            results = running.result()
        yield BatchEnd(results=tuple(results))

"""``python cancelled_calls.py ENGINE ISOLATION CALLS THREADS FILE``: cancel batches of calls at random.

Half of them are cancelled by a token, half by a task of ``asyncio``. The output is that of ``many_calls.py``.
"""

import asyncio
import random

from many_calls import Arguments, growth, report

from toolc.client.executor import Executor
from toolc.model.call import ToolCall
from toolc.model.events import Event
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation

BATCH = 100
"""The maximum number of calls of a batch."""


def right(result: ToolResult) -> bool:
    """Return whether a call succeeded or was cancelled."""
    return result.text == "hello\n" or (result.error is not None and result.error.kind == "cancelled")


def by_token(executor: Executor, calls: list[ToolCall], size: int, after: int) -> bool:
    """Cancel the token of a batch at event number ``after``; return whether every result is right."""
    with Cancellation() as token:
        events: list[Event] = []

        def listen(event: Event) -> None:
            events.append(event)
            if len(events) == after:
                token.cancel()

        results = executor.run_batch(calls, size=size, on_event=listen, cancellation=token)
    return all(map(right, results)) and len(results) == len(calls)


def by_task(executor: Executor, calls: list[ToolCall], size: int, seconds: float) -> bool:
    """Cancel the task of a batch after ``seconds``; return whether it was cancelled or every result is right."""

    async def main() -> bool:
        try:
            async with asyncio.timeout(seconds):
                return all(map(right, await executor.arun_batch(calls, size=size)))
        except TimeoutError:
            return True

    return asyncio.run(main())


def main() -> None:
    given = Arguments.parse()
    count, threads = given.calls, given.threads
    chance = random.Random(count)
    with given.executor() as executor:
        first = [ToolCall(name="hello", arguments={})] * threads
        found = [each.text == "hello\n" for each in executor.run_batch(first, size=threads)]
        found.append(by_task(executor, first, threads, 60))

        def batches() -> None:
            left = count
            while left:
                batch = [ToolCall(name="hello", arguments={})] * min(left, BATCH)
                left -= len(batch)
                half = len(batch) // 2
                found.append(by_token(executor, batch[:half], threads, chance.randrange(1, 3 * half + 2)))
                found.append(by_task(executor, batch[half:], threads, chance.uniform(0.05, 2)))

        grown = growth(executor, batches)
    report(grown, right=all(found), calls=count)


if __name__ == "__main__":
    main()

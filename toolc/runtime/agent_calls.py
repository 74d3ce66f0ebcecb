"""The calls of one answer of a model: made at once, and each answered, whatever comes of it.

What a model does wrong is told to it as the result of the call, so that it can mend it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Final

from toolc.backends.content import parse_json
from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult, failure
from toolc.providers.base import CallMessage
from toolc.runtime.caller import CallContext, Caller, one_at_a_time
from toolc.runtime.cancellation import Cancellation

MAX_CALLS: Final = 64
"""How many calls of one answer are made."""

MAX_AT_ONCE: Final = 8
"""How many of them run at the same time."""


def answered(
    calls: Sequence[ToolCall],
    names: frozenset[str],
    context: CallContext,
    caller: Caller,
    *,
    turn: int,
    parallel: bool,
) -> list[CallMessage]:
    """What came of each of ``calls``, in their order; only tools of ``names`` are called.

    ``turn`` is the number of the answer that they stand in, and the first part of their ids; ``parallel`` says
    whether they may run at once. Raises what ``caller.call`` raises, once none of them runs any more.
    """
    with context.cancellation.child() as own:
        context = replace(context, cancellation=own, tell=one_at_a_time(context.tell))

        def make(number: int) -> ToolResult:
            if number > MAX_CALLS:
                return failure(
                    "rate_limit", f"only the first {MAX_CALLS} calls of an answer are made; make this anew"
                )
            return _made(calls[number - 1], names, f"{turn}.{number}", context, caller)

        numbers = range(1, len(calls) + 1)
        results = _at_once(make, numbers, own) if parallel and len(calls) > 1 else [*map(make, numbers)]
    return [CallMessage(call, result) for call, result in zip(calls, results, strict=True)]


def _at_once(
    make: Callable[[int], ToolResult], numbers: Sequence[int], cancellation: Cancellation
) -> list[ToolResult]:
    with ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="toolc agent") as pool:
        try:
            # Also what begins them: Ctrl-C comes while a thread starts, too.
            futures = [pool.submit(make, number) for number in numbers]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for each in done:
                each.result()
        except BaseException:
            cancellation.cancel()
            pool.shutdown(cancel_futures=True)
            raise
    return [each.result() for each in futures]


def _made(call: ToolCall, names: frozenset[str], step: str, context: CallContext, caller: Caller) -> ToolResult:
    if call.name not in names:
        known = f"there are: {', '.join(sorted(names))}" if names else "there is none"
        return failure("not_found", f"there is no tool {call.name[:100]!r}; {known}")
    arguments = _object(call.arguments)
    if isinstance(arguments, str):
        return failure("invalid_args", f"the arguments of {call.name} {arguments}; write one JSON object")
    return caller.call(call.name, arguments, context, step=step)


def _object(arguments: JsonValue) -> JsonObject | str:
    """The arguments, or what is wrong with them. What a model wrote that is no JSON is still its text."""
    if isinstance(arguments, dict):
        return arguments
    if isinstance(arguments, str):
        try:
            parse_json(arguments.encode("utf-8", "replace"))
        except ValueError as error:
            return f"are not JSON ({error})"
    return "are no JSON object"

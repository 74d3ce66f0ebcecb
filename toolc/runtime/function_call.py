"""A call of a function in the host's process: no sandbox, but contained as far as a process can contain itself.

The function runs on a thread of its own, an async one in an event loop of its own. Whatever it raises is an
error result. Python cannot end a thread: where the time is up or the call is cancelled, the caller gets its
result at once, an async function is cancelled at its next ``await``, and a plain one runs on until it looks at
``ctx.cancelled``; what it still says or returns goes nowhere.
"""

from __future__ import annotations

import traceback
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Final

from toolc.backends.python import Python
from toolc.guest import answer
from toolc.guest.context import ToolError, dump
from toolc.model.call import BoundCall
from toolc.model.result import Audio, Capture, Image, Outcome, Resource, Text, ToolResult
from toolc.model.spec.code_backends import HostFunction, PythonBackend
from toolc.runtime.caller import CallContext, Caller
from toolc.runtime.function_thread import Raised, RunningFunction
from toolc.runtime.oversized import sized
from toolc.runtime.own_blocks import shown

ENGINE: Final = "host process"
"""What ``details.engine`` says of such a call."""


class Function:
    """The backend kind ``function``."""

    def run(self, backend: HostFunction, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """The function's result, or an error result; raises only what a listener raises."""
        with RunningFunction(backend, call) as running:
            if running.wait(context):
                result = _result(running.value, call)
                result = sized(result, call.tool.sandbox.limits.output_bytes)
                return replace(result, details=result.details | {"engine": ENGINE})
        seconds = context.deadline - running.began
        result = _left(seconds, is_cancelled=context.cancellation.is_cancelled)
        return replace(result, details={"engine": ENGINE, "still_running": running.is_alive})


def _left(seconds: float, *, is_cancelled: bool) -> ToolResult:
    """The result of a call that is waited for no longer."""
    if is_cancelled:
        return ToolResult.failure("the call was cancelled before it was done", kind="cancelled")
    message = f"the call was not done after {seconds:.3g} s, and nobody waits for it any more; ask for less at once"
    return ToolResult.failure(message, kind="timeout")


def _result(value: object, call: BoundCall) -> ToolResult:
    """What a function returned or raised, read as a sandboxed one's answer is."""
    raised = value.error if isinstance(value, Raised) else None
    try:
        if isinstance(value, ToolResult):
            return _checked(value)
        reply = answer.failure(raised) if raised else answer.success(_plain(shown(value)))
    except Exception as error:  # noqa: BLE001  a value that draws itself may raise anything
        reply, raised = answer.failure(error), error
    outcome = Outcome(ending="exited", reply=Capture(reply, total_bytes=len(reply)))
    backend = PythonBackend(entry="", function=call.tool.name, files=())
    result = Python().read(backend, call.tool.result, outcome)
    if raised is None:
        return result
    # The first frame is toolc's own.
    trace = raised.__traceback__ and raised.__traceback__.tb_next
    told = "".join(traceback.format_exception(type(raised), raised, trace))
    return replace(result, details=result.details | {"traceback": told[-answer.MAX_TRACEBACK :]})


def _checked(result: ToolResult) -> ToolResult:
    """A result that the function made itself. Raises ``ToolError`` for what no caller could read."""
    dump(result.data, "the data of the ToolResult")
    dump(result.details, "the details of the ToolResult")
    content: tuple[object, ...] = result.content
    for block in content:
        if not isinstance(block, Text | Image | Audio | Resource):
            words = f"the content of the ToolResult holds a {type(block).__name__}; "
            raise ToolError("serialization", words + "use Text, Image, Audio or Resource")
    return result


def _plain(value: object) -> object:
    """``value`` with enums and lists of dataclasses in it as plain data; what else there is, ``answer`` knows."""
    if isinstance(value, Enum):
        return _plain(value.value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value

"""The backend ``function``: run a Python function of the host process on a separate thread.

Progress reports and text are passed to the listener while the function runs.
"""

from __future__ import annotations

import asyncio
import base64
import contextvars
import inspect
import logging
import select
import socket
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from types import AsyncGeneratorType, GeneratorType
from typing import Final, Self, TypeAlias, cast

from toolc.backends.content import MalformedError, read_content
from toolc.backends.python import Python
from toolc.dataclass import dataclass, replace
from toolc.guest import answer
from toolc.guest.answer import GeneratorOutput
from toolc.guest.context import Context, Result, ToolError, Updates, dump, to_data
from toolc.guest.context import Resource as GuestResource
from toolc.guest.context import content_of as blocks_of
from toolc.model.call import BoundCall
from toolc.model.events import ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Capture, Content, Image, Outcome, Resource, Text, ToolResult
from toolc.model.spec.code_backends import HostFunction, PythonBackend
from toolc.model.text import valid_unicode
from toolc.runtime.caller import CallContext, Caller
from toolc.runtime.output.progress import LiveText, ProgressReporter, UpdateSink, update_event
from toolc.runtime.output.truncation import truncate_result
from toolc.runtime.secrets.redaction import Redactor

NO_PIPE: Final = -1
"""The descriptor for reports that stay in this process, which need no pipe."""

GRACE_SECONDS: Final = 0.2
"""How many seconds a cancelled async function has to clean up before its caller continues.

Closing a connection takes less time, and the caller may already have waited for the whole timeout.
"""

_Report: TypeAlias = tuple[float | None, str, tuple[Content, ...]] | str
"""A progress report with content, or a piece of text that a generator yielded."""

ENGINE: Final = "host process"
"""The value of ``details.engine`` for calls of host functions."""


def to_guest_value(value: object) -> object:
    """Convert toolc's content blocks in ``value``, single or in lists and results, to the form that a guest writes."""
    match value:
        case Result():
            return Result(to_guest_value(value.content), value.structured, value.details)
        case list() | tuple():
            return [_block(each) for each in value]
        case _:
            return _block(value)


class HostUpdates(Updates):
    """Passes a function's reports to sinks until its call has ended. Later reports are dropped."""

    def __init__(self, text: Callable[[str], None], update: UpdateSink) -> None:
        super().__init__(NO_PIPE)
        self._text = text
        self._update = update

    def text(self, words: str) -> None:
        """Pass on a piece of text."""
        self._text(words)

    def blocks(self, blocks: list[dict[str, object]], percent: float | None = None, message: str = "") -> None:
        """Pass on content blocks, checked as in a result, with the progress in percent. Raises ``ToolError``."""
        try:
            content = read_content(cast("JsonValue", blocks))
        except MalformedError as error:
            raise ToolError("serialization", f"the content of a report is invalid: {error}") from None
        self._update(percent, message, content)


class FunctionContext(Context):
    """The ``ctx`` object of a host function."""

    def __init__(self, call_id: str, updates: HostUpdates, has_ended: Callable[[], bool]) -> None:
        super().__init__(call_id, NO_PIPE, updates)
        self._has_ended = has_ended

    @property
    def cancelled(self) -> bool:
        """Whether the call was cancelled or timed out. If so, its result is not used."""
        return self._has_ended()

    def progress(self, percent: float | None, message: str = "", content: object = None) -> None:
        """Report progress: 0 to 100 percent, or None if unknown, and a short message.

        ``content`` is shown immediately. It takes the same types as ``result``, or toolc's own blocks.
        """
        blocks = [] if content is None else blocks_of(to_guest_value(content))
        percent = None if percent is None else min(100.0, max(0.0, float(percent)))
        self._updates.blocks(blocks, percent, str(message)[:1000])

    def log(self, text: object) -> None:
        """Write a line for the author of the tool to the logger ``toolc.function``. The model does not see it."""
        logging.getLogger("toolc.function").info("%s: %s", self.call_id, text)


@dataclass(frozen=True, slots=True)
class CapturedException:
    """Wraps an exception that a function raised, to distinguish it from a returned value."""

    error: BaseException


class RunningFunction:
    """One call on its thread. ``value`` is the function's return value, or a ``CapturedException``.

    After the end of the ``with`` block, further reports of the function are dropped.
    """

    def __init__(self, backend: HostFunction, call: BoundCall) -> None:
        self.value: object = None
        self.began = monotonic()
        self._pending: SimpleQueue[_Report | None] = SimpleQueue()
        self._ended = False
        self._cancel: Callable[[], object] | None = None
        self._receiver, self._sender = socket.socketpair()
        self._sender.settimeout(0)
        self._updates = HostUpdates(self._put_text, self._report)
        self._context = FunctionContext(call.call_id, self._updates, lambda: self._ended)
        # Limit reports before they are queued, because the listener may be slower than the function.
        limit = call.tool.sandbox.limits.output_bytes
        self._text = LiveText(limit)
        self._reports = ProgressReporter(limit, Redactor(), lambda *report: self._put(report))
        self._lock = Lock()
        self._name, self._call_id = call.tool.name, call.call_id
        run = contextvars.copy_context().run
        self._thread = Thread(target=run, args=(self._run, backend, call), name=f"toolc {self._name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        if self._cancel:
            with suppress(RuntimeError):  # its loop has ended
                self._cancel()
            self._thread.join(GRACE_SECONDS)
        self._receiver.close()
        self._sender.close()

    @property
    def is_alive(self) -> bool:
        """Whether the function is still running although its call has ended."""
        return self._thread.is_alive()

    def wait(self, context: CallContext) -> bool:
        """Pass on reports while the function runs. Return False if the call was cancelled or timed out."""
        poll = select.poll()
        for each in (context.cancellation, self._receiver):
            poll.register(each, select.POLLIN)
        while not context.cancellation.is_cancelled and (left := context.deadline - monotonic()) > 0:
            # Wait an hour at a time, because poll(2) refuses a timeout of more than 23 days.
            ready = {descriptor for descriptor, _ in poll.poll(min(left, 3600) * 1000)}
            if self._receiver.fileno() in ready:
                self._receiver.recv(4096)
            while not self._pending.empty() and monotonic() < context.deadline:
                if (report := self._pending.get_nowait()) is None:
                    return True
                context.on_event(self._update(report))
        return False

    def _update(self, report: _Report) -> ToolUpdate:
        if isinstance(report, str):
            return ToolUpdate(name=self._name, call_id=self._call_id, stream="content", text=report)
        return update_event(self._name, self._call_id, *report)

    def _put_text(self, text: str) -> None:
        # A function whose call has ended may continue to write.
        with self._lock:
            if not self._ended and (allowed := self._text.add(valid_unicode(text).encode())):
                self._put(allowed)

    def _report(self, percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        with self._lock:
            if not self._ended:
                self._reports.report(percent, message, content)

    def _put(self, report: _Report | None) -> None:
        self._pending.put(report)
        # A full socket wakes the reader anyway, and a closed one has no reader.
        with suppress(OSError):
            self._sender.send(b"\0")

    def _run(self, backend: HostFunction, call: BoundCall) -> None:
        try:
            arguments: dict[str, object] = {
                name: load(value) if (load := backend.loads.get(name)) else value
                for name, value in call.arguments.items()
            }
            if backend.context:
                arguments[backend.context] = self._context
            self.value = self._run_to_end(backend.function(**arguments))
        except BaseException as error:  # noqa: BLE001  every exception of a tool is its result
            self.value = CapturedException(error)
        with self._lock:
            self._reports.finish()
        self._put(None)

    def _run_to_end(self, value: object) -> object:
        """Await a coroutine, or run a generator until the generator or the call ends."""
        yields = _HostGeneratorOutput(self._context, self._updates)
        if isinstance(value, GeneratorType):
            return self._run_generator(value, yields)
        if isinstance(value, AsyncGeneratorType):
            value = _run_async_generator(value, yields)
        return asyncio.run(self._await(value)) if inspect.isawaitable(value) else value

    def _run_generator(self, generator: GeneratorType[object, None, object], yields: GeneratorOutput) -> object:
        while not self._ended:
            try:
                yields.add(next(generator))
            except StopIteration as stop:
                return yields.result() if stop.value is None else stop.value
        generator.close()
        return None

    async def _await(self, value: Awaitable[object]) -> object:
        task, loop = asyncio.ensure_future(value), asyncio.get_running_loop()
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._ended:
            task.cancel()
        return await task


class HostFunctionBackend:
    """The backend kind ``function``."""

    def run(self, backend: HostFunction, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """Return the function's result, or an error result. Raises only the exceptions of a listener."""
        with RunningFunction(backend, call) as running:
            if running.wait(context):
                result = _function_result(running.value, call)
                result = truncate_result(result, call.tool.sandbox.limits.output_bytes)
                return replace(result, details=result.details | {"engine": ENGINE})
        seconds = context.deadline - running.began
        result = _interrupted_result(seconds, is_cancelled=context.cancellation.is_cancelled)
        return replace(result, details={"engine": ENGINE, "still_running": running.is_alive})


def _block(value: object) -> object:
    match value:
        case Text():
            return {"type": "text", "text": value.text}
        case Image() | Audio():
            kind = "image" if isinstance(value, Image) else "audio"
            return {"type": kind, "mimeType": value.mime_type, "data": base64.b64encode(value.data).decode()}
        case Resource():
            return GuestResource(value.data, value.mime_type, value.name)
        case _:
            return value


async def _run_async_generator(generator: AsyncGeneratorType[object, None], yields: GeneratorOutput) -> object:
    async for item in generator:
        yields.add(item)
    return yields.result()


class _HostGeneratorOutput(GeneratorOutput):
    """Like its base class, but also accepts toolc's own content blocks."""

    def add(self, item: object) -> None:
        match item:
            case Text():
                super().add(item.text)
            case Image() | Audio() | Resource():
                super().add(to_guest_value(item))
            case _:
                super().add(item)


def _interrupted_result(seconds: float, *, is_cancelled: bool) -> ToolResult:
    """Return the result of a call that was cancelled or timed out."""
    if is_cancelled:
        return ToolResult.failure("the call was cancelled before it finished", kind="cancelled")
    message = f"the call did not finish within {seconds:.3g} s, and its result is discarded; request less work per call"
    return ToolResult.failure(message, kind="timeout")


def _function_result(value: object, call: BoundCall) -> ToolResult:
    """Return the result for a returned value or an exception, as for a sandboxed Python tool."""
    raised = value.error if isinstance(value, CapturedException) else None
    try:
        if isinstance(value, ToolResult):
            return _checked(value)
        reply = answer.failure(raised) if raised else answer.success(to_guest_value(value))
    except Exception as error:  # noqa: BLE001  the methods of a value may raise anything
        reply, raised = answer.failure(error), error
    outcome = Outcome(ending="exited", reply=Capture(reply, total_bytes=len(reply)))
    backend = PythonBackend(entry="", function=call.tool.name, files=())
    result = Python().read(backend, call.tool.result, outcome)
    if raised is None:
        return result
    # Skip the first frame, which is toolc's own.
    trace = raised.__traceback__ and raised.__traceback__.tb_next
    lines = "".join(traceback.format_exception(type(raised), raised, trace))
    return replace(result, details=result.details | {"traceback": lines[-answer.MAX_TRACEBACK :]})


def _checked(result: ToolResult) -> ToolResult:
    """Return the function's ``ToolResult`` with its data as JSON. Raises ``ToolError`` if the data has no JSON form."""
    name = "of the ToolResult"
    data = (cast("JsonValue", to_data(result.data, f"the data {name}")),)
    details = cast("JsonObject", to_data(result.details, f"the details {name}"))
    content: tuple[object, ...] = result.content
    for block in content:
        if not isinstance(block, Text | Image | Audio | Resource):
            message = f"the content of the ToolResult contains a {type(block).__name__}"
            raise ToolError("serialization", f"{message}; use Text, Image, Audio or Resource")
    if result.structured is None:
        return replace(result, details=details)
    words = () if data[0] == result.data else (Text(dump(data[0])),)
    return replace(result, content=result.content or words, structured=data, details=details)

"""A function on a thread of its own, and what it says while somebody waits for it."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import select
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from types import AsyncGeneratorType, GeneratorType
from typing import Final, Self, TypeAlias

from toolc.guest.answer import GeneratorOutput
from toolc.model.call import BoundCall
from toolc.model.events import ToolUpdate
from toolc.model.result import Audio, Content, Image, Resource, Text
from toolc.model.spec.code_backends import HostFunction
from toolc.runtime.caller import CallContext
from toolc.runtime.function_context import FunctionContext, HostUpdates
from toolc.runtime.heard import update
from toolc.runtime.live_output import LiveText
from toolc.runtime.own_blocks import shown
from toolc.runtime.redaction import Redactor
from toolc.runtime.reports import Reports

GRACE_SECONDS: Final = 0.2
"""How long an async function has, once cancelled, to clean up before its caller goes on."""

_Said: TypeAlias = tuple[float | None, str, tuple[Content, ...]] | str
"""A report of progress and what there is to show, or a piece of text that a generator yielded."""


@dataclass(frozen=True, slots=True)
class Raised:
    """What a function raised, which is no value of its own."""

    error: BaseException


class RunningFunction:
    """One call on its thread; ``value`` is what came of it. Closed, nothing of it is heard any more."""

    def __init__(self, backend: HostFunction, call: BoundCall) -> None:
        self.value: object = None
        self.began = monotonic()
        self._said: SimpleQueue[_Said | None] = SimpleQueue()
        self._over = False
        self._cancel: Callable[[], object] | None = None
        self._receiver, self._sender = socket.socketpair()
        self._sender.settimeout(0)
        self._updates = HostUpdates(self._say, self._report)
        self._context = FunctionContext(call.call_id, self._updates, lambda: self._over)
        # Bounded before they wait for a listener, who may be slower than the function.
        limit = call.tool.sandbox.limits.output_bytes
        self._text = LiveText(limit)
        self._reports = Reports(limit, Redactor(), lambda *said: self._put(said))
        self._saying = Lock()
        self._name, self._call_id = call.tool.name, call.call_id
        run = contextvars.copy_context().run
        self._thread = Thread(target=run, args=(self._run, backend, call), name=f"toolc {self._name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        if self._cancel:
            with suppress(RuntimeError):  # its loop has ended
                self._cancel()
            self._thread.join(GRACE_SECONDS)
        self._receiver.close()
        self._sender.close()

    @property
    def is_alive(self) -> bool:
        """Whether the function runs on though its call is over."""
        return self._thread.is_alive()

    def wait(self, context: CallContext) -> bool:
        """Pass reports on until the function is done: True; or the call is cancelled or its time is up: False."""
        poll = select.poll()
        for each in (context.cancellation, self._receiver):
            poll.register(each, select.POLLIN)
        while not context.cancellation.is_cancelled and (left := context.deadline - monotonic()) > 0:
            ready = {descriptor for descriptor, _ in poll.poll(min(left, 3600) * 1000)}
            if self._receiver.fileno() in ready:
                self._receiver.recv(4096)
            while not self._said.empty() and monotonic() < context.deadline:
                if (said := self._said.get_nowait()) is None:
                    return True
                context.tell(self._update(said))
        return False

    def _update(self, said: _Said) -> ToolUpdate:
        if isinstance(said, str):
            return ToolUpdate(name=self._name, call_id=self._call_id, stream="content", text=said)
        return update(self._name, self._call_id, *said)

    def _say(self, words: str) -> None:
        # One that is left to itself may go on for ever.
        with self._saying:
            if not self._over and (text := self._text.add(words.encode("utf-8", "replace"))):
                self._put(text)

    def _report(self, percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        with self._saying:
            if not self._over:
                self._reports.take(percent, message, content)

    def _put(self, said: _Said | None) -> None:
        self._said.put(said)
        # Full, it wakes the reader anyway; closed, nobody reads.
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
            self.value = self._completed(backend.function(**arguments))
        except BaseException as error:  # noqa: BLE001  whatever a tool raises is its result
            self.value = Raised(error)
        with self._saying:
            self._reports.finish()
        self._put(None)

    def _completed(self, value: object) -> object:
        """Wait for a coroutine, or run a generator to its end, as far as anybody waits for it."""
        yields = _Yields(self._context, self._updates)
        if isinstance(value, GeneratorType):
            return self._generated(value, yields)
        if isinstance(value, AsyncGeneratorType):
            value = _generated_async(value, yields)
        return asyncio.run(self._awaited(value)) if inspect.isawaitable(value) else value

    def _generated(self, generator: GeneratorType[object, None, object], yields: GeneratorOutput) -> object:
        while not self._over:
            try:
                yields.take(next(generator))
            except StopIteration as stop:
                return yields.result() if stop.value is None else stop.value
        generator.close()
        return None

    async def _awaited(self, value: Awaitable[object]) -> object:
        task, loop = asyncio.ensure_future(value), asyncio.get_running_loop()
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._over:
            task.cancel()
        return await task


async def _generated_async(generator: AsyncGeneratorType[object, None], yields: GeneratorOutput) -> object:
    async for item in generator:
        yields.take(item)
    return yields.result()


class _Yields(GeneratorOutput):
    """Takes toolc's own blocks too."""

    def take(self, item: object) -> None:
        match item:
            case Text():
                super().take(item.text)
            case Image() | Audio() | Resource():
                super().take(shown(item))
            case _:
                super().take(item)

"""A call's progress for an MCP client: each number higher than the one before, and never in the call's way.

Of a call that makes others, a client hears which of them begin and what they report: in words, for how much of the
whole each of them is nobody knows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeAlias

import anyio
import anyio.from_thread
import anyio.lowlevel

from toolc.model.events import Event, ToolStart, ToolUpdate

WHOLE: Final = 100.0

STEP: Final = 0.001
"""How far a report without a percentage, or with a lower one, moves on: the protocol wants every number higher."""

Send: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends one notification: progress, total, message."""


class ProgressRelay:
    """Hands reports from the threads of a call to a client. A client that reads slowly gets the latest only.

    It is made where the client is served, on the event loop.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._latest: ToolUpdate | None = None
        self._arrived = anyio.Event()
        self._sending = anyio.Lock()
        self._reached = 0.0
        self._loop = anyio.lowlevel.current_token()

    def hear(self, event: Event) -> None:
        """Take an event, on any thread but the loop's; never waits for the client."""
        if (report := _report(event)) is not None:
            anyio.from_thread.run_sync(self._put, report, token=self._loop)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._arrived.wait()
            await self.flush()

    async def flush(self) -> None:
        """Send what has not been sent, after what is being sent."""
        async with self._sending:
            latest, self._latest = self._latest, None
            self._arrived = anyio.Event()
            if latest is not None:
                number = self._next(latest.percent)
                total = None if latest.percent is None else WHOLE
                await self._send(number, total, latest.message or None)

    def _put(self, update: ToolUpdate) -> None:
        self._latest = update
        self._arrived.set()

    def _next(self, percent: float | None) -> float:
        # Rounded before it is compared: what is sent must be higher, not only what was reported.
        self._reached = max(round(percent or 0.0, 3), round(self._reached + STEP, 3))
        return self._reached


def _report(event: Event) -> ToolUpdate | None:
    """What a client hears of an event: of its own call how far that is, of a part of it what it is doing."""
    if isinstance(event, ToolUpdate) and event.stream is None:
        if event.parent_call_id is None:
            return event
        words = event.message or (f"{event.percent:g} %" if event.percent is not None else "")
        return replace(event, percent=None, message=f"{event.name}: {words}")
    if isinstance(event, ToolStart) and event.parent_call_id is not None:
        return ToolUpdate(name=event.name, call_id=event.call_id, message=event.name)
    return None

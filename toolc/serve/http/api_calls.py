"""Calls over ``/api/v1``: run one, follow its events, and read its result later."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from functools import partial
from time import monotonic
from typing import Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskStatus

from toolc.client.serialization import event_to_json, result_to_json
from toolc.model.events import Event
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.serve.http.gate import ServedUser
from toolc.serve.served_client import Failed, Reservation, RunningCall, ServedClient

MAX_EVENTS: Final = 1000
"""The maximum number of events of a call that are kept for a client that follows it."""

MAX_FINISHED: Final = 100
"""The maximum number of finished calls of a client that are kept."""

FINISHED_SECONDS: Final = 600.0
"""How long a finished call is kept, in seconds."""


class ApiCall:
    """A call, its newest events, and its result. Use it on the thread of the event loop."""

    def __init__(self, running: RunningCall) -> None:
        self.running = running
        self.outcome: ToolResult | Failed | None = None
        self.ended = 0.0
        self._events: deque[tuple[int, JsonObject]] = deque(maxlen=MAX_EVENTS)
        self._number = 0
        self._changed = anyio.Event()

    def to_json(self) -> JsonObject:
        """Return the state of the call, with its result if there is one."""
        call = self.running
        about: JsonObject = {"id": call.call_id, "tool": call.tool, "started": call.started}
        match self.outcome:
            case None:
                return about | {"status": "running"}
            case ToolResult() as result:
                return about | {"status": "ended", "result": result_to_json(result)}
            case _, message:
                return about | {"status": "failed", "problem": message}

    async def run(self, arguments: JsonObject, *, task_status: TaskStatus[ApiCall] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run the call until it ends. Cancelling this task cancels the call."""
        task_status.started(self)
        loop = anyio.lowlevel.current_token()

        def on_event(event: Event) -> None:
            anyio.from_thread.run_sync(self._add, event_to_json(event), token=loop)

        outcome = await self.running.on_thread(partial(self.running.run, arguments, on_event))
        self.ended, self.outcome = monotonic(), outcome
        self._wake()

    async def events(self, after: int) -> AsyncIterator[tuple[int, JsonObject]]:
        """Yield the events after this number until the call has ended."""
        while True:
            changed = self._changed
            for number, event in [each for each in self._events if each[0] > after]:
                after = number
                yield number, event
            if self.outcome is not None and after >= self._number:
                return
            await changed.wait()

    def _add(self, event: JsonObject) -> None:
        self._number += 1
        self._events.append((self._number, event))
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class ApiCalls:
    """The calls that clients follow by their ids."""

    def __init__(self) -> None:
        self._calls: dict[str, ApiCall] = {}

    async def run(self, user: ServedUser, tool: str, arguments: JsonObject, reservation: Reservation) -> ApiCall:
        """Run a call to its end."""
        with user.client.calling(tool, reservation, user.caller.claims) as running:
            call = ApiCall(running)
            await call.run(arguments)
        return call

    async def start(
        self,
        user: ServedUser,
        tool: str,
        arguments: JsonObject,
        reservation: Reservation,
        *,
        task_status: TaskStatus[ApiCall],
    ) -> None:
        """Run a call that its client follows by its id."""
        with user.client.calling(tool, reservation, user.caller.claims) as running:
            call = ApiCall(running)
            self._calls[running.call_id] = call
            self._forget(user.client)
            await call.run(arguments, task_status=task_status)

    def find(self, client: ServedClient, call_id: str) -> ApiCall | None:
        """Return a call of this client."""
        call = self._calls.get(call_id)
        return call if call and call.running.owner.key == client.key else None

    def _forget(self, client: ServedClient) -> None:
        """Drop old finished calls, and the oldest ones of this client above the maximum."""
        finished = {each: call for each, call in self._calls.items() if call.outcome is not None}
        own = [each for each, call in finished.items() if call.running.owner.key == client.key]
        old = [each for each, call in finished.items() if call.ended < monotonic() - FINISHED_SECONDS]
        for each in {*old, *own[: max(0, len(own) - MAX_FINISHED)]}:
            del self._calls[each]

"""Asks the person behind an MCP client whether a tool that says ``confirm: true`` may be called (elicitation).

Up to protocol 2025-11-25 the server asks while the call waits, one question at a time: a person can read no more,
and an answer must never be taken for that to another. Later versions have no request from server to
client: the call ends with a question, nothing of it having started, and comes again with the answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

import anyio.lowlevel
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from toolc.model.call import Allow, BoundCall, Deny
from toolc.model.events import Event, ToolStart, ToolUpdate

ANSWERS_LATER: Final = "2026-07-28"
"""The first protocol version in which a question ends the call."""

MOST_SHOWN: Final = 4000
"""How much of a call's arguments is shown, in characters."""

_FORM: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""Nothing is to be filled in: the answer is to accept or to decline."""


class UnansweredError(Exception):
    """The call needs an answer first; ``result`` asks for it."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("the call waits for an answer")
        self.result = result


class Person:
    """Whoever sits at the client that made one request. ``gone`` is set when the request is no more.

    ``asking`` is held by whoever asks this client.
    """

    def __init__(
        self,
        context: ServerRequestContext[dict[str, Any]],
        params: CallToolRequestParams,
        call_id: str,
        asking: anyio.Lock,
    ) -> None:
        self.gone = anyio.Event()
        self._asking = asking
        self._context = context
        self._answers = params.input_responses or {}
        self._loop = anyio.lowlevel.current_token()
        self.call_id = call_id

    @property
    def can_be_asked(self) -> bool:
        """Whether the client offers to ask."""
        wanted = ClientCapabilities(elicitation=ElicitationCapability())
        return self._context.session.check_client_capability(wanted)

    def confirm(self, call: BoundCall) -> Allow | Deny:
        """The answer for ``call``, on its thread. Raises ``UnansweredError``."""
        if self._context.protocol_version < ANSWERS_LATER:
            return _read(anyio.from_thread.run(self._ask, _question(call), token=self._loop))
        if call.call_id != self.call_id:
            return Deny("it is a part of another call, and this client can be asked before a call begins only")
        key = _key(call)
        if key in self._answers:
            return _read(self._answers[key])
        form = ElicitRequestFormParams(message=_question(call), requested_schema=_FORM)
        raise UnansweredError(InputRequiredResult(input_requests={key: ElicitRequest(params=form)}))

    async def _ask(self, message: str) -> object:
        """The client's answer; None where there is none."""
        answers: list[ElicitResult] = []
        session = self._context.session

        async def ask() -> None:
            async with self._asking:
                with suppress(MCPError):  # a client that cannot ask after all
                    answers.append(await session.elicit_form(message, _FORM, self._context.request_id))
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await self.gone.wait()
            tasks.cancel_scope.cancel()
        return answers[0] if answers else None


def _key(call: BoundCall) -> str:
    """What a question is known by: the answer to one is none to another, should the arguments change."""
    asked = json.dumps([call.tool.name, call.arguments], sort_keys=True)
    return f"confirm {hashlib.sha256(asked.encode()).hexdigest()}"


def _question(call: BoundCall) -> str:
    shown = json.dumps(call.arguments, indent=2, ensure_ascii=False)
    cut = f"\n[{len(shown) - MOST_SHOWN} characters more]" if len(shown) > MOST_SHOWN else ""
    return f"Run the tool {call.tool.name} with these arguments?\n{shown[:MOST_SHOWN]}{cut}"


def _read(answer: object) -> Allow | Deny:
    """Whatever is not a plain yes is a no."""
    if isinstance(answer, ElicitResult) and answer.action == "accept":
        return Allow()
    return Deny()


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

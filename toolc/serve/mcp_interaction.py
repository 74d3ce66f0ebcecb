"""Ask the user of an MCP client for confirmation (elicitation), and send progress to the client.

Up to protocol version 2025-11-25, the server asks during the call, one question at a time, so that it cannot confuse
the responses to several questions. Later versions have no requests from server to client. Instead, the call ends with a
question before anything starts, and the client repeats the call with the response.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

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
from toolc.model.json_schema import JsonObject, map_under

ENDS_WITH_QUESTION: Final = "2026-07-28"
"""The first protocol version in which a question ends the call."""

MAX_ARGUMENTS: Final = 4000
"""The maximum length of a call's arguments in a question, in characters. A user cannot review more."""

_FIELD_KEYS: Final = frozenset(
    {"type", "title", "description", "default", "enum", "minLength", "maxLength", "minimum", "maximum"}
)
"""What a field of a form can have from the schema of a parameter."""

MAX_LOG_LINES: Final = 1000
"""The maximum number of log messages that wait for a client."""

TOTAL: Final = 100.0
"""The total of a progress notification, because progress is in percent."""

STEP: Final = 0.001
"""The increment for a report without a higher percentage, because the protocol requires every number to increase."""

Send: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends a notification with progress, total and message."""


class InputRequiredError(Exception):
    """The call needs a response from the user first. ``result`` asks for it."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("the call needs the user's confirmation")
        self.result = result


class ClientConfirmation:
    """Asks the user of the client that made a request. ``closed`` must be set when the request ends.

    All requests of a client share ``lock``, so that only one asks at a time. ``is_answer`` is True if the request
    repeats a call with the first answer to the question that ended it.
    """

    def __init__(
        self,
        context: ServerRequestContext[dict[str, Any]],
        params: CallToolRequestParams,
        lock: anyio.Lock,
        call_id: str,
        *,
        is_answer: bool = False,
    ) -> None:
        self.closed = anyio.Event()
        self.call_id = call_id
        self._lock = lock
        self._context = context
        self._responses = (params.input_responses or {}) if is_answer else {}
        self._loop = anyio.lowlevel.current_token()

    @property
    def is_supported(self) -> bool:
        """Whether the client can ask its user."""
        required = ClientCapabilities(elicitation=ElicitationCapability())
        return self._context.session.check_client_capability(required)

    def confirm(self, call: BoundCall) -> Allow | Deny:
        """Return the user's decision. Runs on the thread of the call. Raises ``InputRequiredError``."""
        if self._context.protocol_version < ENDS_WITH_QUESTION:
            return decision_of(anyio.from_thread.run(self._ask, call, token=self._loop), call)
        if call.call_id != self.call_id:
            return Deny("it is part of another call, but this client can be asked only before a call starts")
        # A response is only valid for the call with these arguments.
        subject = json.dumps([call.tool.name, call.arguments], sort_keys=True)
        key = f"confirm {hashlib.sha256(subject.encode()).hexdigest()}"
        if key in self._responses:
            return decision_of(self._responses[key], call)
        raise InputRequiredError(InputRequiredResult(input_requests={key: ElicitRequest(params=form_of(call))}))

    async def _ask(self, call: BoundCall) -> object:
        """Return the client's response, or None if it does not respond."""
        responses: list[ElicitResult] = []
        session, form, request_id = self._context.session, form_of(call), self._context.request_id

        async def ask() -> None:
            async with self._lock:
                with suppress(MCPError):  # the client cannot ask after all
                    responses.append(await session.elicit_form(form.message, form.requested_schema, request_id))
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await self.closed.wait()
            tasks.cancel_scope.cancel()
        return responses[0] if responses else None


class ProgressRelay:
    """Forwards reports from the threads of a call to a client. A slow client receives only the latest report.

    Create it on the event loop that serves the client.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._latest: ToolUpdate | None = None
        self._arrived = anyio.Event()
        self._sending = anyio.Lock()
        self._reached = 0.0
        self._loop = anyio.lowlevel.current_token()

    def on_event(self, event: Event) -> None:
        """Queue an event without waiting for the client. Do not call it on the thread of the event loop."""
        if (report := progress_report(event)) is not None:
            anyio.from_thread.run_sync(self._put, report, token=self._loop)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._arrived.wait()
            await self.flush()

    async def flush(self) -> None:
        """Send the latest report unless it has already been sent."""
        async with self._sending:
            latest, self._latest = self._latest, None
            self._arrived = anyio.Event()
            if latest is not None:
                # Round before comparing, as the number that is sent must increase.
                self._reached = max(round(latest.percent or 0.0, 3), round(self._reached + STEP, 3))
                total = None if latest.percent is None else TOTAL
                await self._send(self._reached, total, latest.message or None)

    def _put(self, update: ToolUpdate) -> None:
        self._latest = update
        self._arrived.set()


class LogRelay:
    """Sends the stderr of tools to a client as log messages, line by line. A slow client receives the newest lines.

    Create it on the event loop that serves the client. ``send`` gets a line and the name of its tool.
    """

    def __init__(self, send: Callable[[str, str], Awaitable[None]]) -> None:
        self._send = send
        self._lines: deque[tuple[str, str]] = deque(maxlen=MAX_LOG_LINES)
        self._arrived = anyio.Event()
        self._loop = anyio.lowlevel.current_token()

    def on_event(self, event: Event) -> None:
        """Queue an event without waiting for the client. Do not call it on the thread of the event loop."""
        if isinstance(event, ToolUpdate) and event.stream == "stderr":
            self._lines.extend((line, event.name) for line in event.text.splitlines())
            anyio.from_thread.run_sync(self._arrived.set, token=self._loop)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived = anyio.Event()
            await self.flush()

    async def flush(self) -> None:
        """Send the remaining lines."""
        while self._lines:
            await self._send(*self._lines.popleft())


def question_text(tool: str, arguments: JsonObject) -> str:
    """Return the question that asks whether a call may run."""
    text = json.dumps(arguments, indent=2, ensure_ascii=False)
    rest = f"\n[{len(text) - MAX_ARGUMENTS} characters more]" if len(text) > MAX_ARGUMENTS else ""
    return f"Run the tool {tool} with these arguments?\n{text[:MAX_ARGUMENTS]}{rest}"


def form_of(call: BoundCall) -> ElicitRequestFormParams:
    """Return the form of the question, which an MCP server may have defined."""
    message = call.question or question_text(call.tool.name, call.sent)
    form: JsonObject = {"type": "object", "properties": cast("JsonObject", _fields(call))}
    return ElicitRequestFormParams(
        message=message, requested_schema=call.tool.parameters.value if call.question else form
    )


def decision_of(response: object, call: BoundCall) -> Allow | Deny:
    """Return ``Allow`` only for an explicit acceptance, with the values of the form."""
    if not isinstance(response, ElicitResult) or response.action != "accept":
        return Deny()
    content = cast("JsonObject", response.content or {})
    if call.question:
        return Allow(content)
    values = {name: content[name] for name in _fields(call) if content.get(name) not in (None, call.sent.get(name))}
    return Allow(call.sent | values) if values else Allow()


def _fields(call: BoundCall) -> dict[str, JsonObject]:
    """Return the parameters that the model left at their defaults, as fields that the user can fill in."""
    return {
        name: {key: each for key, each in schema.items() if key in _FIELD_KEYS}
        for name, schema in map_under(call.tool.parameters.value, "properties").items()
        if isinstance(schema, dict)
        and schema.get("type") in ("string", "integer", "number", "boolean")
        and call.sent.get(name) == schema.get("default")
    }


def progress_report(event: Event) -> ToolUpdate | None:
    """Return the progress of the client's own call, or of a call that is part of it. None for other events."""
    if isinstance(event, ToolUpdate) and event.stream is None:
        if event.parent_call_id is None:
            return event
        text = event.message or (f"{event.percent:g} %" if event.percent is not None else "")
        return replace(event, percent=None, message=f"{event.name}: {text}")
    if isinstance(event, ToolStart) and event.parent_call_id is not None:
        return ToolUpdate(name=event.name, call_id=event.call_id, message=event.name)
    return None

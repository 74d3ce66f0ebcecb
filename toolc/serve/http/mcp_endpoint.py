"""``/mcp``: streamable HTTP in both revisions. The SDK serves it. This module adds quotas and resumable streams.

The SDK names a stream by the id of its request, which two sessions may share. Each event here therefore has its
session, and a client can resume only streams of its own session.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import ContextVar
from itertools import count
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolRequestParams, JSONRPCMessage, JSONRPCRequest, SubscriptionsListenRequestParams
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from toolc.dataclass import dataclass
from toolc.model.call import Claims
from toolc.serve.http.gate import BODY, MAX_BODY, ServedUser
from toolc.serve.http.host import HttpHost
from toolc.serve.http.problems import retry_later
from toolc.serve.mcp import make_shared_server
from toolc.serve.mcp_call import Context
from toolc.serve.mcp_interaction import ENDS_WITH_QUESTION
from toolc.serve.served_client import QuotaError, Reservation, ServedClient
from toolc.version import __version__

MAX_SESSIONS: Final = 4096
"""The maximum number of open sessions of all clients. A session that is not used ends after 30 minutes."""

MAX_CLIENT_SESSIONS: Final = 1024
"""The maximum number of open sessions of a client. One client cannot use up those of all."""

MAX_EVENT_BYTES: Final = 32 * 2**20
"""The maximum size of the events of a client that are kept to resume streams, in bytes. The oldest are dropped."""

EVENT_BYTES: Final = 1024
"""What keeping an event needs in addition to its message, in bytes."""

RETRY_MS: Final = 1000
"""When a client should resume a stream, in milliseconds."""

RESERVATION: Final = "toolc.reservation"
"""The key of the right to make a call in the scope of a request."""

_SESSION_HEADER: Final = b"mcp-session-id"


class McpEndpoint:
    """The ASGI application of ``/mcp``."""

    def __init__(self, host: HttpHost) -> None:
        self.server: Server[dict[str, Any]] = make_shared_server(
            client_of, lambda: host.tools, version=__version__, reservation_of=_reservation_of, claims_of=_claims_of,
            tools_change=True, options=host.mcp,
        )  # fmt: skip
        bus = InMemorySubscriptionBus()
        # Each subscription is an open request, whose number is limited for each client.
        listen = ListenHandler(bus, max_subscriptions=sys.maxsize)
        self.server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)
        self.server.middleware.append(_remember)
        self._events = SessionEvents()

        async def changed() -> None:
            await bus.publish(ToolsListChanged())
            for name in self._manager.open_sessions():
                if (session := self._events.sessions.get(name)) and session.server:
                    await session.server.send_tool_list_changed()

        host.on_changed.append(changed)
        self._manager = _SessionManager(
            self.server,
            event_store=self._events,
            retry_interval=RETRY_MS,
            max_request_body_size=MAX_BODY,
            max_sessions=MAX_SESSIONS,
            # The gate has checked Host and Origin, on this route and on all others.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    def run(self) -> AbstractAsyncContextManager[None]:
        """Return the context manager in which requests can be served."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. A session or a call is refused before it starts if the client has used up its quota."""
        client: ServedClient = scope["user"].client
        headers = Headers(scope=scope)
        name = headers.get("mcp-session-id", "")
        reservation = None
        try:
            if not name and headers.get("mcp-protocol-version") != ENDS_WITH_QUESTION:  # may open a session
                self._events.forget_except(self._manager.open_sessions())
                if len(self._manager.open_sessions(client.name)) >= MAX_CLIENT_SESSIONS:
                    raise QuotaError(f"this client has {MAX_CLIENT_SESSIONS} open sessions, the maximum", 60)
            if b'"tools/call"' in scope[BODY]:
                reservation = scope[RESERVATION] = client.reserve()
        except QuotaError as error:
            await _record_refusal(scope["user"], scope[BODY])
            refusal = retry_later(503 if client.calls.is_closing else 429, str(error), error.seconds)
            await refusal(scope, receive, send)
            return
        try:
            send = self._events.enter(client.name, name, send)
            await self._manager.handle_request(scope, receive, send)
        finally:
            if reservation and not reservation.is_taken:
                reservation.release()


async def _record_refusal(user: ServedUser, body: bytes) -> None:
    """Record the call of a refused request. Other requests are not recorded."""
    with suppress(ValueError):
        request = JSONRPCRequest.model_validate_json(body)
        if request.method == "tools/call":
            params = CallToolRequestParams.model_validate(request.params)
            await user.client.record_refusal(params.name, params.arguments, "quota", user.caller.claims)


class _SessionManager(StreamableHTTPSessionManager):
    """Counts the open sessions of each client. The SDK limits only their total."""

    def open_sessions(self, client: str | None = None) -> set[str]:
        """Return the sessions of a client, or of all clients."""
        return {name for name, owner in self._session_owners.items() if client in {None, owner["client_id"]}}


async def _remember(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Remember the session of a client of revision 2025-11-25, in order to notify it when the tools change."""
    session = _CURRENT.get()
    if session.server is None and ctx.protocol_version < ENDS_WITH_QUESTION:
        session.server = ctx.session
    return await call_next(ctx)


def client_of(context: Context) -> ServedClient:
    """Return the client that made a request."""
    return _user(context).client


def _claims_of(context: Context) -> Claims:
    return _user(context).caller.claims


def _user(context: Context) -> ServedUser:
    user = context.request.scope["user"] if context.request else None
    assert isinstance(user, ServedUser)
    return user


def _reservation_of(context: Context) -> Reservation | None:
    found = context.request.scope.get(RESERVATION) if context.request else None
    return found if isinstance(found, Reservation) else None


class _Session:
    """A session of revision 2025-11-25. ``server`` sends messages to its client, after the first request."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.server: ServerSession | None = None


_CURRENT: ContextVar[_Session] = ContextVar("session")


@dataclass(frozen=True, slots=True)
class _Event:
    """A numbered event of a stream. The message of the first event is None."""

    number: int
    session: _Session
    stream: str
    message: JSONRPCMessage | None
    size: int


class SessionEvents(EventStore):
    """The sessions, and the newest events of each client.

    The tasks of a session inherit the context, and therefore the ``_Session``, of the request that opened it.
    """

    def __init__(self) -> None:
        self.sessions: dict[str, _Session] = {}
        self._events: dict[str, deque[_Event]] = {}
        self._bytes: Counter[str] = Counter()
        self._numbers = count(1)

    def forget_except(self, names: Collection[str]) -> None:
        """Forget all sessions except these, because they have ended."""
        self.sessions = {name: session for name, session in self.sessions.items() if name in names}

    def enter(self, client: str, name: str, send: Send) -> Send:
        """Use the session that a request of a client names, or the one that it opens."""
        session = self.sessions.get(name) or _Session(client)
        _CURRENT.set(session)

        async def opening(message: Message) -> None:
            if message["type"] == "http.response.start" and not name:
                for key, value in message.get("headers", ()):
                    if key.lower() == _SESSION_HEADER:
                        self.sessions[value.decode("latin-1")] = session
            await send(message)

        return opening

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Store an event, and return its id."""
        session = _CURRENT.get()
        size = EVENT_BYTES + (len(message.model_dump_json()) if message else 0)
        event = _Event(next(self._numbers), session, stream_id, message, size)
        events = self._events.setdefault(session.client, deque())
        events.append(event)
        self._bytes[session.client] += size
        while self._bytes[session.client] > MAX_EVENT_BYTES:
            self._bytes[session.client] -= events.popleft().size
        return str(event.number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send the events that follow this one in its stream. Return the stream, or None if the event is unknown."""
        session = _CURRENT.get()
        events = [each for each in self._events.get(session.client, ()) if each.session is session]
        last = next((each for each in events if str(each.number) == last_event_id), None)
        if last is None:
            return None
        for each in events:
            if each.stream == last.stream and each.number > last.number and each.message is not None:
                await send_callback(EventMessage(each.message, str(each.number)))
        return last.stream

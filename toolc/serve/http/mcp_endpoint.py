"""``/mcp``: streamable HTTP in both revisions. The SDK serves it. This module adds quotas, and streams to resume.

The SDK names a stream by the id of its request, which two sessions may share. So the events of each session are kept
apart here, and a client can only resume streams of its own session.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from contextlib import AbstractAsyncContextManager
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
from mcp.types import JSONRPCMessage, SubscriptionsListenRequestParams
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from toolc.serve.http.gate import BODY, MAX_BODY, ServedUser
from toolc.serve.http.host import HttpHost
from toolc.serve.http.problems import retry_later
from toolc.serve.mcp import Context, make_shared_server
from toolc.serve.mcp_interaction import ENDS_WITH_QUESTION
from toolc.serve.served_client import QuotaError, Reservation, ServedClient
from toolc.version import __version__

MAX_SESSIONS: Final = 1000
"""The maximum number of sessions of all clients whose events are kept. The oldest is forgotten first."""

MAX_EVENTS: Final = 256
"""The maximum number of events of a session that are kept for a client that resumes a stream."""

RETRY_MS: Final = 1000
"""When a client should resume a stream, in milliseconds."""

RESERVATION: Final = "toolc.reservation"
"""The key of the right to make a call in the scope of a request."""

_SESSION_HEADER: Final = b"mcp-session-id"


class McpEndpoint:
    """The ASGI application of ``/mcp``."""

    def __init__(self, host: HttpHost) -> None:
        self.server: Server[dict[str, Any]] = make_shared_server(
            client_of, lambda: host.tools, version=__version__, reservation_of=_reservation_of, tools_change=True
        )
        bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(bus, max_subscriptions=MAX_SESSIONS)
        self.server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        self.server.middleware.append(self._remember)
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()
        self._events = SessionEvents()

        async def changed() -> None:
            await bus.publish(ToolsListChanged())
            for session in list(self._sessions.values()):
                await session.send_tool_list_changed()

        host.on_changed.append(changed)
        self._manager = StreamableHTTPSessionManager(
            self.server,
            event_store=self._events,
            retry_interval=RETRY_MS,
            max_request_body_size=MAX_BODY,
            max_sessions=MAX_SESSIONS,
            # The gate has checked Host and Origin, on this route and on all others.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    async def _remember(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Remember the session of a client of revision 2025-11-25, to notify it when the tools change."""
        name = ctx.request.headers.get("mcp-session-id") if ctx.request else None
        if name and ctx.protocol_version < ENDS_WITH_QUESTION:
            self._sessions[name] = ctx.session
            self._sessions.move_to_end(name)
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return await call_next(ctx)

    def run(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which requests can be served."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. A call is refused before it starts if the client has used up its quota."""
        client = scope["user"].client
        reservation = None
        if b'"tools/call"' in scope[BODY]:
            try:
                reservation = scope[RESERVATION] = client.reserve()
            except QuotaError as error:
                refusal: Response = retry_later(503 if client.calls.is_closing else 429, str(error), error.seconds)
                await refusal(scope, receive, send)
                return
        try:
            await self._manager.handle_request(scope, receive, self._events.entered(scope, send))
        finally:
            if reservation and not reservation.is_taken:
                reservation.release()


def client_of(context: Context) -> ServedClient:
    """Return the client that made a request."""
    user = context.request.scope["user"] if context.request else None
    assert isinstance(user, ServedUser)
    return user.client


def _reservation_of(context: Context) -> Reservation | None:
    found = context.request.scope.get(RESERVATION) if context.request else None
    return found if isinstance(found, Reservation) else None


class _Session:
    """The events of a session by their number, each with its stream. A message is None where a stream begins."""

    def __init__(self) -> None:
        self.events: deque[tuple[int, str, JSONRPCMessage | None]] = deque(maxlen=MAX_EVENTS)
        self.numbers = count(1)


_CURRENT: ContextVar[_Session] = ContextVar("session")


class SessionEvents(EventStore):
    """The newest events of each session.

    The tasks of a session inherit the context of the request that opened it, and so its ``_Session``.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def entered(self, scope: Scope, send: Send) -> Send:
        """Use the events of the session that a request names, or of the session that it opens."""
        name = next((value.decode("latin-1") for key, value in scope["headers"] if key == _SESSION_HEADER), None)
        session = self._sessions.get(name or "") or _Session()
        _CURRENT.set(session)

        async def opening(message: Message) -> None:
            if message["type"] == "http.response.start" and name is None:
                for key, value in message.get("headers", ()):
                    if key.lower() == _SESSION_HEADER:
                        self._sessions[value.decode("latin-1")] = session
                        while len(self._sessions) > MAX_SESSIONS:
                            self._sessions.popitem(last=False)
            await send(message)

        return opening

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event, and return its id."""
        session = _CURRENT.get()
        number = next(session.numbers)
        session.events.append((number, stream_id, message))
        return str(number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send the later events of the stream with this event. Return the stream, or None if it is not known."""
        events = list(_CURRENT.get().events)
        stream = next((stream for number, stream, _ in events if str(number) == last_event_id), None)
        if stream is None:
            return None
        for number, each, message in events:
            if each == stream and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream

"""Connect to an MCP server at a URL over streamable HTTP. Its messages arrive in the responses to requests.

Requests go through the egress broker like those of HTTP tools. Each request has its own thread, because a response may
stay open while the server asks a question. A response that ends early is resumed if its events have ids.
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Final

import anyio
import httpx2
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from toolc.backends.http import JSON_TYPE, merge_headers
from toolc.backends.plugin_protocol import encode_line
from toolc.dataclass import dataclass, replace
from toolc.guest import frames
from toolc.guest.http.response_parser import Head, ResponseError, open_stream, read_body, read_head
from toolc.model.http_plan import NamedValue, PlainBody
from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall, Plan
from toolc.model.result import Capture, ConnectionAttempt, Outcome
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.http_backend import Method
from toolc.model.text import printable, shorten
from toolc.runtime.cancellation import Cancellation, Deadline, InterruptedWaitError
from toolc.runtime.egress.broker import Broker
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.egress.transport import ConnectionRequest, RefusedError
from toolc.runtime.http.broker import HttpBroker
from toolc.runtime.http.exchange import Exchange
from toolc.runtime.sessions.mcp_client import LOOP, Messages
from toolc.runtime.sessions.mcp_connection import OnAttempt
from toolc.runtime.sessions.mcp_lines import MAX_LINE, TOO_LONG, MessageReader, ServerError, session_message

MAX_RESUMES: Final = 20
"""How often the response to one request may end early."""

MAX_WAIT_SECONDS: Final = 5.0
"""The longest wait before a response is resumed, in seconds. A server may ask for any."""

CLOSE_SECONDS: Final = 1.0
"""How long the end of a session may take, in seconds."""

_QUEUED: Final = 16
"""How many messages wait for the event loop. The server waits if there are more."""

MAX_UNASKED: Final = 8
"""How many notifications, and answers to questions of the server, are sent at the same time."""

_KINDS: Final[Mapping[int, ErrorKind]] = {
    401: "authentication", 403: "authentication", 404: "not_found", 407: "authentication", 429: "rate_limit",
}  # fmt: skip
"""The kind of error for a status. Any other is ``network``."""

_VERSION: Final = "mcp-protocol-version"
_SESSION: Final = "mcp-session-id"
_VISIBLE: Final = re.compile(r"[\x21-\x7e]{1,1024}")
_STATELESS: Final = "2026"
"""The beginning of revisions in which a client ends a request by closing its connection, and sends no notification."""


class UnreachableError(Exception):
    """The server could not be reached, or refused a request."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


class ExpiredError(UnreachableError):
    """The server no longer knows the session."""


@dataclass(slots=True)
class _Answer:
    """The state of one request: whether its answer has arrived, and the event from which its response can resume."""

    request_id: object = None
    is_complete: bool = False
    event_id: str = ""
    wait_seconds: float = 1.0


class HttpConnection:
    """A connection to the server at the endpoint of a plan. See ``McpConnection``."""

    def __init__(self, plan: Plan, egress: Egress) -> None:
        assert isinstance(plan.invocation, McpCall)
        assert plan.invocation.endpoint is not None
        self._endpoint, self._secrets = plan.invocation.endpoint, plan.invocation.secrets
        self._allow = plan.allow
        self._redactor = egress.redactor
        self._on_attempt: OnAttempt = egress.on_attempt
        self._stop = Cancellation()
        self._deadline = Deadline(self._stop, math.inf)
        self._room = asyncio.Semaphore(MAX_UNASKED)
        self._reader, self._lock = MessageReader(), threading.Lock()
        self._threads: list[threading.Thread] = []
        self._brokers: list[Broker] = []
        self._session_id = self._version = ""
        self._failure: Exception | None = None
        self.details: JsonObject = {}  # there is no sandbox
        self._received, self._incoming = anyio.create_memory_object_stream[SessionMessage](_QUEUED)

    @property
    def has_ended(self) -> bool:
        """Whether a request has failed."""
        return self._failure is not None

    @property
    def has_expired(self) -> bool:
        """Whether the server no longer knows the session."""
        return isinstance(self._failure, ExpiredError)

    async def messages(self) -> Messages:
        """Yield the messages of the server until a request fails."""
        async with self._incoming:
            async for message in self._incoming:
                yield message

    async def send(self, item: SessionMessage) -> None:
        """Send a message. Unless it is a request, wait until the server has accepted it."""
        message = item.message
        if isinstance(message, JSONRPCRequest):
            self._reader.allow_answer()
            self._start(item, message.id)
        elif not (isinstance(message, JSONRPCNotification) and self._version.startswith(_STATELESS)):
            async with self._room:
                await asyncio.wrap_future(self._start(item, None))

    def begin_call(self, on_attempt: OnAttempt) -> None:
        """Forget the network connections of earlier calls."""
        self._on_attempt = on_attempt
        self._brokers.clear()

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the connections of the call."""
        return tuple(attempt for each in [*self._brokers] for attempt in each.attempts())

    def log(self) -> Capture:
        """Return an empty log, because the server keeps its own."""
        return Capture()

    def end(self) -> Outcome | None:
        """Return the reason why a request failed."""
        match self._failure:
            case None:
                return None
            case UnreachableError() as error:
                return Outcome(ending="unreachable", kind=error.kind, reason=printable(str(error)))
            case ServerError() as error:
                return Outcome(ending="broken", reason=printable(str(error)))
            case error:
                raise error

    def close(self) -> None:
        """End the session in the server, and close all connections."""
        until = monotonic() + CLOSE_SECONDS
        self._on_attempt = lambda _: None  # the call is over
        self._stop.cancel()
        if self._session_id and not self.has_ended:
            with Cancellation() as cancellation:
                self._deadline = Deadline(cancellation, until)
                self._run("DELETE", {_VERSION: self._version}, None, _Answer(), Future())
        LOOP.submit(self._received.aclose())
        for thread in self._threads:
            thread.join(CLOSE_SECONDS)  # each notices at once that it must stop
        if not any(thread.is_alive() for thread in self._threads):
            self._stop.close()

    def _start(self, item: SessionMessage, request_id: object) -> Future[None]:
        """Send a message on a thread. The future is done when its response has ended."""
        metadata = item.metadata
        headers = (metadata.headers if isinstance(metadata, ClientMessageMetadata) else None) or {}
        self._version = headers.get(_VERSION, self._version)
        if self._version:
            headers = {_VERSION: self._version} | headers
        body = encode_line(item.message.model_dump(by_alias=True, exclude_unset=True)).decode()
        done: Future[None] = Future()
        values = ("POST", headers, body, _Answer(request_id), done)
        thread = threading.Thread(target=self._run, args=values, name="toolc mcp request", daemon=True)
        thread.start()
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        return done

    def _run(
        self, method: Method, headers: Mapping[str, str], body: str | None, answer: _Answer, done: Future[None]
    ) -> None:
        try:
            self._deadline.check()
            self._exchange(method, headers, body, answer)
            for _ in range(MAX_RESUMES):
                if answer.is_complete or not answer.event_id:
                    break
                self._deadline.sleep(answer.wait_seconds)
                self._exchange("GET", {**headers, "Last-Event-ID": answer.event_id}, None, answer)
            if answer.request_id is not None and not answer.is_complete:
                raise ServerError("it ended its response without an answer")
        except InterruptedWaitError:
            pass  # the connection was closed
        except RefusedError as error:
            self._fail(UnreachableError(error.kind, str(error)))
        except (OSError, ResponseError) as error:
            self._fail(UnreachableError("network", str(error)))
        except httpx2.SSEError:
            self._fail(ServerError(TOO_LONG))
        except Exception as error:  # noqa: BLE001  raised by ``end`` on the thread of the call
            self._fail(error)
        finally:
            done.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        LOOP.submit(self._received.aclose())

    def _exchange(self, method: Method, headers: Mapping[str, str], body: str | None, answer: _Answer) -> None:
        """Send one request, with an access token if the spec requires one, and read the response."""
        own = {"Accept": f"{JSON_TYPE}, text/event-stream", "Accept-Encoding": "identity", **headers}
        own |= {_SESSION: self._session_id} if self._session_id else {}
        fields = tuple(NamedValue(name, (value,)) for name, value in own.items())
        call = replace(
            self._endpoint,
            method=method,
            headers=merge_headers(self._endpoint.headers, fields),
            body=PlainBody(content_type=JSON_TYPE, pieces=(body,)) if body is not None else None,
        )
        broker = HttpBroker(
            call, values={secret.name: value for secret, value in self._secrets},
            declared=tuple(secret for secret, _ in self._secrets), redactor=self._redactor,
            read_file=_no_file, wrap=lambda inner: inner,
        )  # fmt: skip
        if broker.needs_token:
            self._request_token(broker)
        with self._response(broker.connection_request(b"{}"), method) as (head, pieces):
            if head.status != 401 or call.token is None:
                self._read(head, pieces, answer)
                return
        self._request_token(broker)
        with self._response(broker.connection_request(b"{}"), method) as (head, pieces):
            self._read(head, pieces, answer)

    def _request_token(self, broker: HttpBroker) -> None:
        reason = ""
        for payload in (b'{"token": true}', b'{"token": true, "in_form": true}'):
            with self._response(broker.connection_request(payload), "POST") as (head, pieces):
                if head.status == 200:
                    return
                reason = f"HTTP {head.status} {b''.join(pieces).decode('ascii', 'replace')}".rstrip()
            if head.status not in {400, 401}:
                break
        raise UnreachableError("authentication", f"the token server returned no access token ({reason})")

    @contextmanager
    def _response(self, request: ConnectionRequest, method: str) -> Iterator[tuple[Head, Iterator[bytes]]]:
        """Send a request through the broker. Yield the head of its response, and the pieces of its body."""
        received = bytearray()

        def on_attempt(attempt: ConnectionAttempt) -> None:
            exchange.notify(attempt)
            self._on_attempt(attempt)

        egress = Egress(
            on_attempt=on_attempt, requests=lambda _: request, redactor=self._redactor, idle_seconds=math.inf
        )
        broker = Broker(self._allow, received, egress)
        self._brokers.append(broker)
        exchange = Exchange(broker, received, frames.FIRST_CONNECTION, request, self._deadline)
        try:
            exchange.begin()
            stream = open_stream(exchange.read_into)
            head = read_head(stream)
            yield head, read_body(stream, head, method)
        finally:
            exchange.end()
            broker.close()

    def _read(self, head: Head, pieces: Iterator[bytes], answer: _Answer) -> None:
        """Pass on the messages of a response until the answer has arrived."""
        media_type = head.fields.get("content-type", "").partition(";")[0].strip().lower()
        if 300 <= head.status < 400:
            target = shorten(head.fields.get("location", "another URL").partition("?")[0], 200)
            raise UnreachableError("network", f"it redirects to {target}; if that is the server, write this URL")
        if head.fields.get("content-encoding", "identity").lower() != "identity":
            raise ServerError("its response is compressed, which the request did not allow")
        if head.status >= 400:
            self._read_error(head, pieces, media_type, answer)
            return
        if answer.request_id is None or head.status in {202, 204}:
            return
        if not self._session_id and (session := head.fields.get(_SESSION)):
            if not _VISIBLE.fullmatch(session):
                raise ServerError("it sent an invalid session id")
            self._session_id = session
        if media_type == JSON_TYPE:
            self._take(_limited(pieces), answer)
        elif media_type == "text/event-stream":
            self._read_events(pieces, answer)
        else:
            raise ServerError(f"its response has the content type {shorten(media_type, 80)!r}")

    def _read_error(self, head: Head, pieces: Iterator[bytes], media_type: str, answer: _Answer) -> None:
        if head.status == 404 and self._session_id:
            raise ExpiredError("network", "its session has expired; call again")
        body = _limited(pieces)
        if media_type == JSON_TYPE and answer.request_id is not None:
            self._take(body, answer)
        if not answer.is_complete:
            kind = _KINDS.get(head.status, "network")
            quoted = shorten(" ".join(body.decode("utf-8", "replace").split()), 300)
            reason = f"it answered HTTP {head.status}" + (f": {quoted}" if quoted else "")
            raise UnreachableError(kind, self._redactor.text(reason))

    def _read_events(self, pieces: Iterator[bytes], answer: _Answer) -> None:
        response = httpx2.Response(
            200,
            headers={"content-type": "text/event-stream"},
            content=pieces,
            request=httpx2.Request("GET", "http://-"),
        )
        try:
            for event in httpx2.EventSource(response, max_event_size=MAX_LINE):
                if event.retry is not None:
                    answer.wait_seconds = min(max(event.retry, 10) / 1000, MAX_WAIT_SECONDS)
                if _VISIBLE.fullmatch(event.id):
                    answer.event_id = event.id
                if event.event == "message":
                    self._take(event.data.encode(), answer)
                if answer.is_complete:
                    return
        except (OSError, ResponseError):
            if not answer.event_id:
                raise

    def _take(self, data: bytes, answer: _Answer) -> None:
        """Pass on a message. An error without an id answers the request."""
        with self._lock:
            for message in self._reader.feed(data.replace(b"\n", b" ") + b"\n"):
                if message.get("id") is None and isinstance(message.get("error"), dict):
                    message["id"] = answer.request_id  # type: ignore[assignment]
                redacted = self._redactor.json(message)
                assert isinstance(redacted, dict)
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the connection was closed
                    LOOP.submit(self._received.send(session_message(redacted))).result()
                if "method" not in message and str(message.get("id")) == str(answer.request_id):
                    answer.is_complete = True


def _limited(pieces: Iterator[bytes]) -> bytes:
    """Return the whole body. Raises ``ServerError`` if it is longer than a message may be."""
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > MAX_LINE:
            raise ServerError(TOO_LONG)
    return bytes(body)


def _no_file(path: str) -> bytes:
    raise TypeError(f"a message has no file {path}")

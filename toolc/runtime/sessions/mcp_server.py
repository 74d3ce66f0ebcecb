"""An MCP server in an open sandbox or at a URL, which serves several calls until it is closed.

A thread of the connection receives the bytes of the server, and the event loop of all clients parses them and runs the
client (see ``toolc.runtime.sessions.mcp_client``). The caller's thread waits for the answer. Before each call, the
server's definition of the tool must equal the reviewed one.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from select import POLLIN
from time import monotonic
from typing import Final, TypeVar

from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall, Plan
from toolc.model.result import Capture, ConnectionAttempt, Ending, Outcome, Usage
from toolc.model.text import printable, shorten
from toolc.runtime.call_details import Timing
from toolc.runtime.cancellation import Cancellation, Deadline, InterruptedWaitError
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.output.guest_streams import REPLY_SLACK
from toolc.runtime.output.progress import ProgressReporter
from toolc.runtime.sessions.mcp_client import ChangedError, McpClient, Offer
from toolc.runtime.sessions.mcp_connection import McpConnection, SandboxConnection
from toolc.runtime.sessions.mcp_http import HttpConnection
from toolc.runtime.sessions.mcp_lines import ServerError
from toolc.runtime.sessions.sandbox_server import Start
from toolc.runtime.wire.session import EndedError, SessionCall

T = TypeVar("T")

MAX_LINKS: Final = 10
"""The maximum number of links in a result that are replaced by what they refer to."""

MAX_QUESTIONS: Final = 10
"""The maximum number of questions of a server during one call. Further ones are declined."""

_CRASHES: Final = (MCPError, ValidationError, ServerError, RuntimeError, CancelledError)
"""What the client raises. The SDK raises ``RuntimeError`` for a revision of the protocol that it does not know."""


class McpServer:
    """The calls of one MCP server, in a sandbox or at a URL.

    ``connection`` carries the messages. ``wake`` is readable after ``notify``, which may be called after ``close``.
    ``limit_bytes`` is the maximum size of an answer.
    """

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        assert isinstance(plan.invocation, McpCall)
        self.calls = 0
        self.limit_bytes = 2 * plan.stream_bytes + REPLY_SLACK
        self._redactor = egress.redactor
        self._cleanup = ExitStack()
        if plan.invocation.endpoint is None:
            self._connect: Callable[[], McpConnection] = partial(SandboxConnection, plan, start, egress, timing)
        else:
            self._connect = partial(HttpConnection, plan, egress)
        with self._cleanup:
            self.wake, self._sender = map(self._cleanup.enter_context, socket.socketpair())
            self._sender.settimeout(0)
            self._open()
            self._cleanup.callback(self._disconnect)
            self._cleanup = self._cleanup.pop_all()

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended since its last call, so that the next one needs a new server."""
        return self.connection.has_ended

    def call(self, plan: Plan, call: SessionCall) -> Outcome:
        """Run one call. Raises ``EndedError`` if no further call can follow, and ``InfrastructureError``."""
        invocation = plan.invocation
        assert isinstance(invocation, McpCall)
        self.calls += 1
        waiting = _Waiting(self, call, ProgressReporter(0, self._redactor, call.on_progress))
        self.connection.begin_call(waiting.add_attempt)
        try:
            result = self._result(invocation, waiting)
        except ChangedError as error:
            return waiting.outcome("refused", reason=printable(f"the tool was not called: {error}"))
        except AnsweredError as error:
            if not self._client.has_sent_call:
                raise EndedError(waiting.outcome("broken", reason=f"it did not list its tools: {error}")) from None
            result = {"isError": True, "content": [{"type": "text", "text": str(error)}]}
        waiting.updates.finish()
        self._follow_links(result, waiting)
        return waiting.outcome("answered", reply=json.dumps(result).encode())

    def offer(self, call: SessionCall) -> Offer:
        """Ask the server for its tools and capabilities. Raises ``EndedError``."""
        waiting = _Waiting(self, call, ProgressReporter(0, self._redactor, call.on_progress))
        try:
            return waiting.result(self._client.offer())
        except AnsweredError as error:
            reason = f"it did not accept the connection, or did not list its tools: {error}"
            raise EndedError(waiting.outcome("broken", reason=reason)) from None

    def details(self) -> JsonObject:
        """Return the ``details`` of the sandbox. ``session.call`` counts from 1 for each new server."""
        return self.connection.details | {"session": {"call": self.calls}}

    def notify(self) -> None:
        """Wake the caller's thread, because of an answer, a report or a question. Any thread may call this."""
        with suppress(OSError):  # it is closed, or so full that it is readable
            self._sender.send(b"\0")

    def close(self) -> None:
        """Stop the server and close its sandbox."""
        self._cleanup.close()

    def _open(self) -> None:
        self.connection = self._connect()
        self._client = McpClient(self.connection.messages(), self.connection.send)

    def _disconnect(self) -> None:
        self._client.close()
        self.connection.close()

    def _result(self, call: McpCall, waiting: _Waiting) -> JsonObject:
        """Return the result of a call. If the server forgot the session before the call, connect again."""
        try:
            return waiting.answer(self._client, call)
        except EndedError:
            if self._client.has_sent_call or not self.connection.has_expired:
                raise
        self._disconnect()
        self._open()
        self.connection.begin_call(waiting.add_attempt)
        self.calls = 1
        return waiting.answer(self._client, call)

    def _follow_links(self, result: JsonObject, waiting: _Waiting) -> None:
        """Replace links to resources of the server with their contents. A link that cannot be read remains."""
        content = result.get("content")
        blocks = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
        for link in [each for each in blocks if each.get("type") == "resource_link"][:MAX_LINKS]:
            with suppress(AnsweredError):
                read = waiting.result(self._client.read_resource(str(link.get("uri"))))
                contents = read.get("contents")
                if isinstance(contents, list) and contents:
                    link.update({"type": "resource", "resource": contents[0]})


class AnsweredError(Exception):
    """The server answered a request with an error and continues to run."""


class _Waiting:
    """Waits for the answer to one call, until the deadline, a cancellation or the end of the server."""

    def __init__(self, server: McpServer, call: SessionCall, updates: ProgressReporter) -> None:
        self._server = server
        self._call = call
        self.updates = updates
        self._started = monotonic()
        self._ends = self._started + call.timeout_ms / 1000
        self._questions = 0
        self._reports: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def answer(self, client: McpClient, call: McpCall) -> JsonObject:
        """Return the answer of the server to ``call``. Raises ``ChangedError`` and the errors of ``result``."""
        return self.result(client.call_tool(call, self._add_progress, self._add_question if self._call.ask else None))

    def add_attempt(self, attempt: ConnectionAttempt) -> None:
        """Add a connection, on any thread. The thread that waits passes it on."""
        self._add(partial(self._call.on_attempt, attempt))

    def _add_progress(self, percent: float | None, message: str) -> None:
        self._add(partial(self.updates.report, percent, message))

    def _add_question(self, message: str, form: JsonObject) -> Future[JsonObject | None]:
        answer: Future[JsonObject | None] = Future()
        self._questions += 1
        if self._questions > MAX_QUESTIONS:
            answer.set_result(None)
        else:
            self._add(partial(self._answer, message, form, answer))
        return answer

    def _add(self, report: Callable[[], None]) -> None:
        self._reports.put(report)
        self._server.notify()

    def result(self, future: Future[T]) -> T:
        """Return the result of ``future``. Raises ``EndedError``, ``AnsweredError`` or ``InfrastructureError``."""
        future.add_done_callback(lambda _: self._server.notify())
        try:
            self._wait(future)
        except InterruptedWaitError as error:
            future.cancel()
            raise EndedError(self.outcome(error.reason)) from None
        try:
            return future.result()
        except _CRASHES as error:
            raise self._failed(error) from None

    def outcome(self, ending: Ending, *, reason: str = "", reply: bytes | None = None) -> Outcome:
        """Return an outcome of the call."""
        return self.measured(Outcome(ending=ending, reason=reason), reply)

    def measured(self, outcome: Outcome, reply: bytes | None = None) -> Outcome:
        """Return ``outcome`` with the stderr and the connections of the server so far."""
        kept = reply if reply and len(reply) <= self._server.limit_bytes else b""
        return replace(
            outcome,
            reply=None if reply is None else Capture(kept, b"", len(reply)),
            stderr=self._server.connection.log(),
            attempts=self._server.connection.attempts(),
            usage=Usage(duration_ms=(monotonic() - self._started) * 1000),
        )

    def _wait(self, future: Future[T]) -> None:
        with nullcontext(self._call.cancellation) if self._call.cancellation else Cancellation() as cancellation:
            while not future.done():
                if Deadline(cancellation, self._ends).wait(self._server.wake.fileno(), POLLIN):
                    self._server.wake.recv(4096)
                self._report()
        self._report()

    def _answer(self, message: str, form: JsonObject, answer: Future[JsonObject | None]) -> None:
        """Ask a question on behalf of the server. The time until the answer does not count towards the timeout."""
        asked = monotonic()
        if answer.set_running_or_notify_cancel():  # the server may have cancelled its question
            answer.set_result(self._call.ask(message, form) if self._call.ask else None)
        self._ends += monotonic() - asked

    def _report(self) -> None:
        while not self._reports.empty():
            self._reports.get()()

    def _failed(self, error: BaseException) -> Exception:
        """Return the error for a failed request, which either got an error answer or was ended with the server."""
        if isinstance(error, MCPError) and not self._server.connection.has_ended:
            return AnsweredError(f"error {error.code}: {error.error.message}")
        if isinstance(error, ServerError):
            return EndedError(self.outcome("broken", reason=str(error)))
        try:
            end = self._server.connection.end()
        except InfrastructureError as failure:
            return failure
        reason = printable(shorten(f"{type(error).__name__}: {error}", 300))
        return EndedError(self.measured(end or Outcome(ending="broken", reason=reason)))

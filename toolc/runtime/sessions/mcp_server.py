"""An MCP server in an open sandbox, which serves several calls until it is closed.

One thread reads the output of the server and passes its messages to the client, and another runs the client (see
``toolc.runtime.sessions.mcp_client``). The caller's thread waits for the answer. Before each call, the server must
define the tool as it was reviewed.
"""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack
from dataclasses import replace
from queue import SimpleQueue
from select import POLLIN
from time import monotonic
from typing import Final, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import ServerCapabilities
from pydantic import ValidationError

from toolc.backends.mcp import difference
from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.events import Stream
from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall, Plan, Programs
from toolc.model.result import Capture, ConnectionAttempt, Ending, Outcome, Usage
from toolc.model.text import printable, shorten
from toolc.runtime.call_details import Timing
from toolc.runtime.cancellation import Cancellation, Deadline, InterruptedWaitError
from toolc.runtime.egress.broker import Egress
from toolc.runtime.output.guest_streams import REPLY_SLACK, ByteOutput
from toolc.runtime.output.progress import ProgressReporter
from toolc.runtime.secrets.redaction import Redactor
from toolc.runtime.sessions.mcp_client import McpClient
from toolc.runtime.sessions.mcp_lines import MessageReader, ServerError
from toolc.runtime.sessions.programs import ProgramEnd, ProgramRequest
from toolc.runtime.sessions.sandbox_server import Start, start_request
from toolc.runtime.sessions.sandbox_session import SandboxSession
from toolc.runtime.wire.session import EndedError, SessionCall

T = TypeVar("T")

END_SECONDS: Final = 2.0
"""How long to wait for the report of the end of a server whose connection has ended, in seconds."""

MAX_LINKS: Final = 10
"""The maximum number of links in a result that are replaced by what they refer to."""

_CRASHES: Final = (MCPError, ValidationError, ServerError, RuntimeError, CancelledError)
"""What the client raises. The SDK raises ``RuntimeError`` for a revision of the protocol that it does not know."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What an MCP server offers: the definitions of its tools, and the names of other capabilities."""

    tools: tuple[JsonObject, ...]
    others: tuple[str, ...]


class McpServer:
    """A sandbox with an MCP server."""

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        assert isinstance(plan.invocation, McpCall)
        self.calls = 0
        self._output_bytes = plan.stream_bytes
        self._redactor = egress.redactor
        self._reset_log()
        self._on_attempt = egress.on_attempt
        egress = replace(egress, on_attempt=self._report_attempt)
        self._end: ProgramEnd | InfrastructureError | ServerError | None = None
        self._cleanup = ExitStack()
        with self._cleanup:
            programs = replace(start_request(plan), invocation=Programs(files=plan.invocation.files))
            self._sandbox = SandboxSession(programs, start, egress, timing)
            self._cleanup.callback(self._sandbox.close)
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self._cleanup.callback(os.close, self._wake)
            environment = tuple((each.name, each.value) for each in programs.env)
            request = ProgramRequest(
                argv=plan.invocation.argv, environment=environment, output_bytes=plan.profile.limits.output_bytes
            )
            self._program = self._sandbox.start(request, buffers_output=True)
            self._client = McpClient(self._program.write)
            self._cleanup.callback(self._client.close)
            self._thread = threading.Thread(target=self._read, name="toolc mcp server", daemon=True)
            self._thread.start()
            self._cleanup = self._cleanup.pop_all()

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended since its last call, so that the next one needs a new server."""
        return not self._thread.is_alive()

    def call(self, plan: Plan, call: SessionCall) -> Outcome:
        """Run one call. Raises ``EndedError`` if no further call can follow, and ``InfrastructureError``."""
        invocation = plan.invocation
        assert isinstance(invocation, McpCall)
        self.calls += 1
        if self.calls > 1:  # what the server wrote at its start belongs to the first call
            self._reset_log()
        self._on_attempt = call.on_attempt
        self._sandbox.begin_call()
        waiting = _Waiting(self, call)
        offered = self._tools(waiting)
        reason = difference(invocation.server, invocation.tool, invocation.definition, offered)
        if reason is not None:
            return waiting.outcome("refused", reason=printable(f"the tool was not called: {reason}"))
        updates = ProgressReporter(0, self._redactor, call.on_progress)
        try:
            future = self._client.call_tool(invocation.tool, invocation.arguments, waiting.add_progress)
            result = waiting.result(future, updates)
        except AnsweredError as error:
            result = {"isError": True, "content": [{"type": "text", "text": str(error)}]}
        updates.finish()
        self._follow_links(result, waiting)
        return waiting.outcome("answered", reply=json.dumps(result).encode())

    def offer(self, call: SessionCall) -> Offer:
        """Return what the server offers. Raises ``EndedError``."""
        waiting = _Waiting(self, call)
        try:
            capabilities: ServerCapabilities = waiting.result(self._client.capabilities())
        except AnsweredError as error:
            raise EndedError(waiting.outcome("broken", reason=f"it did not accept the connection: {error}")) from None
        tools = self._tools(waiting) if capabilities.tools else []
        others = [name for name in ("resources", "prompts") if getattr(capabilities, name)]
        return Offer(tuple(tools), tuple(others))

    def details(self) -> JsonObject:
        """Return the ``details`` of the sandbox. ``session.call`` counts from 1 for each new server."""
        return self._sandbox.details | {"session": {"call": self.calls}}

    def close(self) -> None:
        """Stop the server and close its sandbox."""
        self._cleanup.close()

    # For calls that wait.

    @property
    def sandbox(self) -> SandboxSession:
        """The sandbox of the server."""
        return self._sandbox

    @property
    def wake(self) -> int:
        """The descriptor that is readable after an answer or a report of progress."""
        return self._wake

    @property
    def limit_bytes(self) -> int:
        """The maximum size of an answer."""
        return 2 * self._output_bytes + REPLY_SLACK

    @property
    def is_running(self) -> bool:
        """Whether the server had not ended when the last message arrived."""
        return self._end is None

    def log(self) -> Capture:
        """Return what the server has written to stderr."""
        with self._log_lock:
            return self._log.capture()

    def end(self) -> ProgramEnd | InfrastructureError | ServerError | None:
        """Return how the server has ended, or None if it does not end soon."""
        self._thread.join(END_SECONDS)
        return self._end

    def _read(self) -> None:
        """Pass on the messages of the server until it ends or violates a limit, which kills it."""
        reader = MessageReader()

        def on_output(stream: Stream, data: bytes) -> None:
            if stream == "stderr":
                with self._log_lock:
                    self._log.add(data)
                return
            for message in reader.feed(data):
                self._client.receive(message)

        try:
            self._end = self._program.wait(on_output)
        except (ServerError, InfrastructureError) as error:
            self._end = error
        finally:
            self._client.end_of_messages()

    def _report_attempt(self, attempt: ConnectionAttempt) -> None:
        self._on_attempt(attempt)  # that of the current call

    def _reset_log(self) -> None:
        self._log_lock = threading.Lock()
        self._log = ByteOutput(self._output_bytes, Redactor())  # the sandbox has redacted it

    def _tools(self, waiting: _Waiting) -> list[JsonObject]:
        try:
            return waiting.result(self._client.list_tools())
        except AnsweredError as error:
            raise EndedError(waiting.outcome("broken", reason=f"it did not list its tools: {error}")) from None

    def _follow_links(self, result: JsonObject, waiting: _Waiting) -> None:
        """Replace links to resources of the server by their contents. A link that cannot be read remains."""
        content = result.get("content")
        links = 0
        for index, block in enumerate([*content] if isinstance(content, list) else []):
            if not isinstance(block, dict) or block.get("type") != "resource_link" or links >= MAX_LINKS:
                continue
            links += 1
            try:
                read = waiting.result(self._client.read_resource(str(block.get("uri"))))
            except AnsweredError:
                continue
            contents = read.get("contents")
            if isinstance(contents, list) and contents and isinstance(content, list):
                content[index] = {"type": "resource", "resource": contents[0]}


class AnsweredError(Exception):
    """The server answered a request with an error, and goes on."""


class _Waiting:
    """The wait of one call for its server: until the answer, the deadline, a cancellation or the server's end."""

    def __init__(self, server: McpServer, call: SessionCall) -> None:
        self._server = server
        self._call = call
        self._started = monotonic()
        self._progress: SimpleQueue[tuple[float | None, str]] = SimpleQueue()

    def add_progress(self, percent: float | None, message: str) -> None:
        """Add a report, on the thread of the client. The thread that waits passes it on."""
        self._progress.put((percent, message))
        os.eventfd_write(self._server.wake, 1)

    def result(self, future: Future[T], updates: ProgressReporter | None = None) -> T:
        """Return the result of ``future``. Raises ``EndedError``, ``AnsweredError`` or ``InfrastructureError``."""
        future.add_done_callback(lambda _: _notify(self._server.wake))
        try:
            self._wait(future, updates)
            return future.result()
        except InterruptedWaitError as error:
            future.cancel()
            raise EndedError(self.outcome(error.reason)) from None
        except _CRASHES as error:
            raise self._failed(error) from None

    def outcome(self, ending: Ending, *, reason: str = "", status: int = 0, reply: bytes | None = None) -> Outcome:
        """Return an outcome of the call with the stderr of the server so far."""
        size = len(reply) if reply is not None else 0
        captured = None
        if reply is not None:
            kept = reply if size <= self._server.limit_bytes else b""
            captured = Capture(kept, b"", size)
        return Outcome(
            ending=ending,
            reason=reason,
            status=status,
            reply=captured,
            stderr=self._server.log(),
            attempts=self._server.sandbox.attempts(),
            usage=Usage(duration_ms=(monotonic() - self._started) * 1000),
        )

    def _wait(self, future: Future[T], updates: ProgressReporter | None) -> None:
        deadline = self._started + self._call.timeout_ms / 1000
        with self._call.cancellation.child() if self._call.cancellation else Cancellation() as cancellation:
            wait = Deadline(cancellation, deadline).wait
            while not future.done():
                if wait(self._server.wake, POLLIN):
                    os.eventfd_read(self._server.wake)
                self._report(updates)
        self._report(updates)

    def _report(self, updates: ProgressReporter | None) -> None:
        while updates is not None and not self._progress.empty():
            updates.report(*self._progress.get())

    def _failed(self, error: BaseException) -> Exception:
        """Return the error for a request that failed: with an answer, or because the server has ended."""
        if isinstance(error, MCPError) and self._server.is_running:
            return AnsweredError(f"error {error.code}: {error.error.message}")
        if isinstance(error, ServerError):
            return EndedError(self.outcome("broken", reason=str(error)))
        end = self._server.end()
        match end:
            case InfrastructureError():
                return end
            case ServerError():
                return EndedError(self.outcome("broken", reason=str(end)))
            case ProgramEnd():
                ending = "out_of_memory" if end.out_of_memory and end.ending != "not_started" else end.ending
                return EndedError(self.outcome(ending, reason=end.reason, status=end.status))
            case None:
                reason = printable(shorten(f"{type(error).__name__}: {error}", 300))
                return EndedError(self.outcome("broken", reason=reason))


def _notify(descriptor: int) -> None:
    try:
        os.eventfd_write(descriptor, 1)
    except OSError:
        return  # the server was closed

"""Connections to MCP servers: the protocol ``McpConnection``, and the connection to a program in a sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from toolc.backends.plugin_protocol import encode_line
from toolc.guest import frames
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan
from toolc.model.result import Capture, ConnectionAttempt, Outcome
from toolc.runtime.call_details import Timing
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.output.guest_streams import ByteOutput, WaitingOutput
from toolc.runtime.secrets.redaction import Redactor
from toolc.runtime.sessions.mcp_client import LOOP, Messages
from toolc.runtime.sessions.mcp_lines import MAX_LINE, MessageReader, ServerError, session_message
from toolc.runtime.sessions.sandbox_server import Start, start_request
from toolc.runtime.sessions.sandbox_session import SandboxThread
from toolc.runtime.wire.protocol import ExitReport

OnAttempt = Callable[[ConnectionAttempt], None]


class McpConnection(Protocol):
    """Carries messages between the client and the server, within limits."""

    @property
    def has_ended(self) -> bool:
        """Whether the connection has ended, so that no message can be sent."""

    @property
    def has_expired(self) -> bool:
        """Whether the server has forgotten the session. A new connection can then continue."""

    @property
    def details(self) -> JsonObject:
        """The ``details`` of the sandbox, if there is one."""

    def messages(self) -> Messages:
        """Yield the messages of the server until it ends or violates a limit."""

    async def send(self, item: SessionMessage) -> None:
        """Send a message of the client."""

    def begin_call(self, on_attempt: OnAttempt) -> None:
        """Forget the network connections and the log of earlier calls."""

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the network connections of the call."""

    def log(self) -> Capture:
        """Return what the server has written to stderr."""

    def end(self) -> Outcome | None:
        """Return why the connection has ended, or None if it has not. Raises ``InfrastructureError``."""

    def close(self) -> None:
        """Close the connection, and stop a server that was started for it."""


class SandboxConnection(SandboxThread):
    """A server that is the process of an open sandbox. Each message is a line of its stdin or stdout."""

    has_expired = False

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        self._on_attempt = egress.on_attempt
        self._outcome: Outcome | None = None
        self._ended: Outcome | InfrastructureError | None = None
        self._is_new = True
        self._changed = asyncio.Event()
        self._reader = MessageReader()
        super().__init__(start_request(plan), start, replace(egress, on_attempt=self._report_attempt), timing)

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended."""
        return self._ended is not None

    async def messages(self) -> Messages:
        """Yield the messages of the server until it ends or violates a limit, which kills it."""
        changed = self._changed
        try:
            while self._ended is None:
                # Other servers go first, even if this one never stops.
                await (asyncio.sleep(0) if changed.is_set() else changed.wait())
                changed.clear()
                data, outcome = self._take()
                for message in self._reader.feed(data):
                    yield session_message(message)
                self._ended = outcome
        except (ServerError, InfrastructureError) as error:
            broken = Outcome(ending="broken", reason=str(error))
            self._ended = broken if isinstance(error, ServerError) else error
            with self._lock:
                self._conversation.stop()
                self.flush()

    async def send(self, item: SessionMessage) -> None:
        """Write a message to the stdin of the server. Unread data waits in memory.

        An answer is dropped if the server has not read much before it: it may ask for ever, and read nothing.
        """
        is_request = isinstance(item.message, JSONRPCRequest)
        if is_request:
            self._reader.allow_answer()
        with self._lock:
            if is_request or self._conversation.unsent_bytes < MAX_LINE:
                self._conversation.send(encode_line(item.message.model_dump(by_alias=True, exclude_unset=True)))
                self.flush()

    def begin_call(self, on_attempt: OnAttempt) -> None:
        """Forget the connections and the log of earlier calls.

        Output at the start of the server belongs to the first call.
        """
        with self._lock:
            if not self._is_new:
                self._log.forget()
            if self._loop.broker is not None:
                self._loop.broker.reset()
        self._is_new = False
        self._on_attempt = on_attempt

    def log(self) -> Capture:
        """Return what the server has written to stderr."""
        with self._lock:
            return self._log.capture()

    def end(self) -> Outcome | None:
        """Return the reason why the server has ended. See ``McpConnection``."""
        if isinstance(self._ended, InfrastructureError):
            raise self._ended
        return self._ended

    def _take(self) -> tuple[bytes, Outcome | None]:
        """Return the new output of the server and, after the last output, how the server ended. Let it write more."""
        with self._lock:
            if self._outcome is None:
                self.check_running()
            data = self._stdout.take()
            self._conversation.outgoing += self._stdout.grant(frames.STDOUT)
            self.flush()
            return data, self._outcome

    def _report_attempt(self, attempt: ConnectionAttempt) -> None:
        self._on_attempt(attempt)  # that of the current call

    def _begin(self, plan: Plan, redactor: Redactor) -> None:
        self._stdout = WaitingOutput(redactor, self._notify)
        self._log = ByteOutput(plan.stream_bytes, redactor)
        self._conversation.begin_streams({frames.STDOUT: self._stdout, frames.STDERR: self._log})

    def _notify(self) -> None:
        LOOP.get().call_soon_threadsafe(self._changed.set)

    def _end(self, report: ExitReport) -> None:
        with self._lock:
            self._outcome = self._loop.final_outcome(0)
            self._notify()

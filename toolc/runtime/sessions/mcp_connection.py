"""How the client of an MCP server is connected: ``McpConnection``, and the one to a program in a sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final, Protocol

from mcp.shared.message import SessionMessage

from toolc.model.errors import InfrastructureError
from toolc.model.events import Stream
from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall, Plan, Programs
from toolc.model.result import Capture, ConnectionAttempt, Outcome
from toolc.runtime.call_details import Timing
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.output.guest_streams import ByteOutput
from toolc.runtime.secrets.redaction import Redactor
from toolc.runtime.sessions.mcp_client import McpClient
from toolc.runtime.sessions.mcp_lines import MessageReader, ServerError
from toolc.runtime.sessions.programs import ProgramEnd, ProgramRequest
from toolc.runtime.sessions.sandbox_server import Start, start_request
from toolc.runtime.sessions.sandbox_session import SandboxSession

END_SECONDS: Final = 2.0
"""How long to wait for the report of the end of a server whose connection has ended, in seconds."""

OnAttempt = Callable[[ConnectionAttempt], None]


class McpConnection(Protocol):
    """Carries messages between the client and the server, within limits."""

    @property
    def has_ended(self) -> bool:
        """Whether no further message can be sent."""

    @property
    def has_expired(self) -> bool:
        """Whether the server has forgotten the session, so that a new connection can go on."""

    @property
    def details(self) -> JsonObject:
        """The ``details`` of the sandbox, if there is one."""

    def open(self, client: McpClient) -> None:
        """Pass the messages of the server to ``client`` from now on."""

    async def send(self, item: SessionMessage) -> None:
        """Send a message of the client."""

    def begin_call(self, on_attempt: OnAttempt) -> None:
        """Forget the connections and the log of the calls before."""

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the connections that the call has made to the network."""

    def log(self) -> Capture:
        """Return what the server has written to stderr."""

    def end(self) -> Outcome | None:
        """Return why the connection has ended, or None if it does not end soon. Raises ``InfrastructureError``."""

    def close(self) -> None:
        """Close the connection, and stop a server that was started for it."""


class SandboxConnection:
    """A server that is a program in an open sandbox: each message is a line of its stdin or stdout."""

    has_expired = False

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        assert isinstance(plan.invocation, McpCall)
        self._output_bytes = plan.stream_bytes
        self._reset_log()
        self._on_attempt = egress.on_attempt
        egress = replace(egress, on_attempt=self._report_attempt)
        self._end: ProgramEnd | InfrastructureError | ServerError | None = None
        self._cleanup = ExitStack()
        self._is_new = True
        with self._cleanup:
            programs = replace(start_request(plan), invocation=Programs(files=plan.invocation.files))
            self._sandbox = SandboxSession(programs, start, egress, timing)
            self._cleanup.callback(self._sandbox.close)
            environment = tuple((each.name, each.value) for each in programs.env)
            request = ProgramRequest(
                argv=plan.invocation.argv, environment=environment, output_bytes=plan.profile.limits.output_bytes
            )
            self._program = self._sandbox.start(request, buffers_output=True)
            self._cleanup = self._cleanup.pop_all()

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended."""
        return self._end is not None

    @property
    def details(self) -> JsonObject:
        """The ``details`` of the sandbox."""
        return self._sandbox.details

    def open(self, client: McpClient) -> None:
        """Read the output of the server on a thread from now on."""
        self._thread = threading.Thread(target=self._read, args=(client,), name="toolc mcp server", daemon=True)
        self._thread.start()

    async def send(self, item: SessionMessage) -> None:
        """Write a message to the stdin of the server."""
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._program.write(text.encode("utf-8", "replace") + b"\n")

    def begin_call(self, on_attempt: OnAttempt) -> None:
        """Forget what belongs to the calls before. What the server wrote at its start belongs to the first call."""
        if not self._is_new:
            self._reset_log()
        self._is_new = False
        self._on_attempt = on_attempt
        self._sandbox.begin_call()

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the connections that the sandbox has made."""
        return self._sandbox.attempts()

    def log(self) -> Capture:
        """Return what the server has written to stderr."""
        with self._log_lock:
            return self._log.capture()

    def end(self) -> Outcome | None:
        """Return how the program has ended. See ``McpConnection``."""
        self._thread.join(END_SECONDS)
        match self._end:
            case InfrastructureError() as error:
                raise error
            case ServerError() as error:
                return Outcome(ending="broken", reason=str(error))
            case ProgramEnd() as end:
                ending = "out_of_memory" if end.out_of_memory and end.ending != "not_started" else end.ending
                return Outcome(ending=ending, reason=end.reason, status=end.status)
            case None:
                return None

    def close(self) -> None:
        """Stop the server and close its sandbox."""
        self._cleanup.close()

    def _read(self, client: McpClient) -> None:
        """Pass on the messages of the server until it ends or violates a limit, which kills it."""
        reader = MessageReader()

        def on_output(stream: Stream, data: bytes) -> None:
            if stream == "stderr":
                with self._log_lock:
                    self._log.add(data)
                return
            for message in reader.feed(data):
                client.receive(message)

        try:
            self._end = self._program.wait(on_output)
        except (ServerError, InfrastructureError) as error:
            self._end = error
        finally:
            client.end_of_messages()

    def _report_attempt(self, attempt: ConnectionAttempt) -> None:
        self._on_attempt(attempt)  # that of the current call

    def _reset_log(self) -> None:
        self._log_lock = threading.Lock()
        self._log = ByteOutput(self._output_bytes, Redactor())  # the sandbox has redacted it

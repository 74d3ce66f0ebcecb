"""The stream of a sandbox that serves several calls.

One CALL starts the process, and the end of that CALL would end the process too. The calls of the session follow on
stdin. The session ends when its owner closes the sandbox, and after every error. A process that timed out, was
cancelled, or wrote output without a call cannot be used again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from secrets import token_hex
from time import monotonic
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, replace
from toolc.guest.frames import ProtocolError
from toolc.model.errors import SandboxDiedError
from toolc.model.events import Stream
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan
from toolc.model.result import Capture, ConnectionAttempt, Content, Ending, Outcome
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.broker import Broker
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.output.guest_streams import TextSink, program_outputs
from toolc.runtime.output.progress import OutputSink, ProgressReporter, UpdateSink
from toolc.runtime.wire.call_loop import DELIVERY_SECONDS, ListenerTime, StreamEndError, WireLoop, ignore_progress
from toolc.runtime.wire.protocol import CallTooLargeError, Conversation
from toolc.runtime.workspace.growth import WorkspaceGrowth
from toolc.sandbox.interface import EngineSandbox

LIFE_MS: Final = 2_000_000_000
"""How long a session's process may live, in milliseconds. It is 23 days, about the longest timeout of poll(2)."""

END_SECONDS: Final = 1.0
"""How long to wait for a process to exit after it has closed its output, in seconds.

It normally exits at once. If it does not, it has only closed its output.
"""


Ask: TypeAlias = "Callable[[str, JsonObject], JsonObject | None]"
"""Asks a person a question with a form, whose schema is given. Returns the answer, or None if it is declined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall:
    """The options of a session's call: its timeout, its cancellation, its sinks, and who answers its questions."""

    timeout_ms: int
    cancellation: Cancellation | None = None
    on_progress: UpdateSink = ignore_progress
    on_output: OutputSink | None = None
    on_attempt: Callable[[ConnectionAttempt], None] = lambda _: None
    ask: Ask | None = None


class EndedError(Exception):
    """The session's process has ended or must be ended. ``outcome`` is the outcome of the call."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.ending)
        self.outcome = outcome


class SessionWire:
    """The stream to a sandbox, which the caller must close. Only one thread at a time may use it."""

    def __init__(self, sandbox: EngineSandbox, plan: Plan, egress: Egress, ready: JsonObject | None = None) -> None:
        """``ready`` is the report of a guest that already waits for its first call."""
        self.redactor = egress.redactor
        self.delimiter = ""
        self._sandbox = sandbox
        self._plan = plan
        self._open = ExitStack()
        self._conversation = Conversation(
            plan, LIFE_MS, ignore_progress, None, egress.redactor, session=True, ready=ready
        )
        self._broker: Broker | None = None
        self._growth: WorkspaceGrowth | None = None
        self._open.callback(self._end_growth)
        if plan.allow:
            egress = replace(egress, on_attempt=self._on_attempt)
            self._broker = Broker(plan.allow, self._conversation.outgoing, egress)
            self._open.callback(self._broker.close)
            self._conversation.connections = self._broker

    def begin(self, call: SessionCall) -> None:
        """Begin the next call. Its time starts when the sandbox is ready. Raises ``EndedError``."""
        listener_time = ListenerTime()
        self._call = replace(call, on_attempt=listener_time.measure(call.on_attempt))
        self._end_growth()
        self._growth = WorkspaceGrowth.begin(self._plan.profile.workspace, self._plan.growth_bytes)
        if self._growth is not None and self._conversation.is_ready:
            self._growth.watch_processes(self._conversation.ready)
        self._loop = WireLoop(
            self._sandbox, self._conversation, call.cancellation, listener_time, self._broker, self._growth
        )
        self.delimiter = token_hex(16)
        on_output = listener_time.measure(call.on_output) if call.on_output else None
        delimiter = f"\0{self.delimiter}\0".encode()
        self._conversation.begin(delimiter, call.timeout_ms, listener_time.measure(call.on_progress), on_output)
        if self._broker:
            self._broker.reset()
        if not self._conversation.is_called:
            self._start()
        self._deadline = self._loop.started + call.timeout_ms / 1000

    def serve_programs(self, on_data: TextSink) -> None:
        """Use the process as the server of programs. ``on_data`` receives its frames."""
        self._conversation.begin_streams(program_outputs(self._plan, self.redactor, on_data))

    def send(self, data: bytes) -> None:
        """Add data to stdin. ``wait`` sends it."""
        self._conversation.send(data)

    def read_line(self) -> bytes:
        """Return the next line of the process's answer, without redaction. Raises ``EndedError``."""
        lines = self._conversation.responses
        self.wait(lambda: lines.has_line or lines.is_too_long or lines.ended)
        if lines.has_line:
            return lines.pop_line()
        if lines.is_too_long:
            beginning = lines.partial_line
            raise EndedError(replace(self.outcome("answered"), reply=Capture(beginning, b"", len(beginning) + 1)))
        self._end_soon()
        raise self.broken("it closed its stdout")

    def show(self, stream: Stream, data: bytes) -> None:
        """Pass on the next bytes of an output to the listener of the call."""
        self._conversation.show(stream, data)

    def report(self, percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        """Report the progress of a program."""
        self._conversation.report(percent, message, content)

    def updates(self) -> ProgressReporter:
        """Return the reporter for a plugin's progress in this call."""
        limit = self._plan.profile.limits.output_bytes
        return ProgressReporter(limit, self.redactor, self._conversation.report)

    def enforce_deadline(self) -> None:
        """Raise ``EndedError`` if the call was cancelled or timed out.

        This is needed if a process always has output ready, because then no wait checks the deadline.
        """
        if self._loop.has_ended(self._deadline):
            raise EndedError(self.outcome(self._loop.interruption()))

    def listen(self, until: float) -> None:
        """Receive pending output. If there is none, wait for it until ``until``, a time of the monotonic clock.

        Raises ``EndedError`` if the process or the call has ended.
        """
        self._run_until_exit(min(until, self._deadline), lambda: bool(self.trailing_data))
        if self._loop.cancelled:
            raise EndedError(self.outcome("cancelled"))
        if self._conversation.exit_report is not None and not self.trailing_data:
            raise EndedError(self._final_outcome())

    @property
    def trailing_data(self) -> bytes:
        """The process's output that was not read, as a line or its beginning. Empty if there is none."""
        waiting = self._conversation.responses.next_line
        # Hide the end if it may be the beginning of a secret.
        return self.redactor.final(waiting)[0] or (waiting and b"...")

    def await_delimiters(self) -> None:
        """Wait until all output of the call has arrived. Raises ``EndedError``."""
        self.wait(lambda: self._conversation.is_delimited)

    def wait(self, done: Callable[[], bool]) -> None:
        """Move bytes until ``done``. Raises ``EndedError`` if the process or the call's time ends first."""
        if not self._run_until_exit(self._deadline, done):
            raise EndedError(self.outcome(self._loop.interruption()))
        if not done() and self._conversation.exit_report is not None:
            raise EndedError(self._final_outcome())

    def deliver(self) -> None:
        """Deliver the data that the tool has sent in this call, as far as the servers accept it."""
        broker = self._broker
        if broker and broker.has_pending:
            self._run_until_exit(monotonic() + DELIVERY_SECONDS, lambda: not broker.has_pending)

    def outcome(self, ending: Ending) -> Outcome:
        """Return an outcome of the call with the captured output."""
        outcome = self._conversation.outcome(ending, (monotonic() - self._loop.started) * 1000)
        outcome = self._loop.with_growth(outcome)
        if self._broker is None:
            return outcome
        return replace(outcome, attempts=self._broker.attempts(), unlisted_attempts=self._broker.unlisted)

    def broken(self, reason: str) -> EndedError:
        """Return the error for a process that violates the protocol."""
        return EndedError(replace(self.outcome("broken"), reason=reason))

    def close(self) -> None:
        """Close the connections. The owner closes the sandbox."""
        self._open.close()

    def _end_growth(self) -> None:
        if self._growth is not None:
            self._growth.close()
            self._growth = None

    def _on_attempt(self, attempt: ConnectionAttempt) -> None:
        self._call.on_attempt(attempt)

    def _start(self) -> None:
        """Wait until the sandbox is ready, and start its process. Raises ``EndedError``."""
        try:
            is_started = self._loop.start(self._plan.profile.workspace)
        except CallTooLargeError as error:
            raise EndedError(replace(self.outcome("not_started"), reason=str(error))) from None
        except (ProtocolError, StreamEndError) as error:
            raise self._death(error) from None
        if not is_started:
            raise EndedError(self.outcome("cancelled"))

    def _death(self, error: ProtocolError | StreamEndError) -> EndedError | SandboxDiedError:
        return self._loop.death(error) or EndedError(self.outcome("out_of_memory"))

    def _end_soon(self) -> None:
        """Wait for the exit of the process, the most common reason for the end of a stream. Raises ``EndedError``."""
        if self._run_until_exit(min(self._deadline, monotonic() + END_SECONDS), lambda: False):
            raise EndedError(self._final_outcome())

    def _run_until_exit(self, deadline: float, done: Callable[[], bool]) -> bool:
        """Move bytes until ``done``, or until the process has ended. Return False if the time ran out first."""
        try:
            return self._loop.run_until(deadline, lambda: done() or self._conversation.exit_report is not None)
        except (ProtocolError, StreamEndError) as error:
            raise self._death(error) from None

    def _final_outcome(self) -> Outcome:
        final = self._loop.final_outcome(0)
        outcome = self.outcome(final.ending)
        usage = replace(final.usage, duration_ms=outcome.usage.duration_ms)
        return replace(outcome, status=final.status, reason=final.reason, usage=usage)

"""The stream of a sandbox that serves several calls.

One CALL starts the process, and its end would end the process too. Each call of the session is a line of stdin.
The session ends when its owner closes the sandbox, and on every error: a process that was late, was cancelled, or
wrote something without a call cannot be used again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from secrets import token_hex
from time import monotonic
from typing import Final

from toolc.guest.frames import ProtocolError
from toolc.model.plan import Plan
from toolc.model.result import Capture, ConnectionAttempt, Content, Ending, Outcome
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.broker import Broker, Egress
from toolc.runtime.output.progress import OutputSink, ProgressReporter, UpdateSink
from toolc.runtime.wire.call_loop import (
    DELIVERY_SECONDS,
    START_SECONDS,
    ListenerTime,
    StreamEndError,
    WireLoop,
    died,
    judged,
    outcome_of,
    verify_workspace_mount,
)
from toolc.runtime.wire.protocol import CallTooLargeError, Conversation
from toolc.sandbox.base import EngineSandbox

LIFE_MS: Final = 2_000_000_000
"""How long a session's process may live, in milliseconds: 23 days, about the longest timeout of poll(2)."""

END_SECONDS: Final = 1.0
"""How long to wait for a process to exit after it closed its output, before the closed output is reported."""


def _unheard(percent: float | None, message: str, content: tuple[Content, ...]) -> None:
    pass


def _unseen(_: ConnectionAttempt) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall:
    """Options of one call of a session: its timeout, its cancellation, and its sinks."""

    timeout_ms: int
    cancellation: Cancellation | None = None
    on_progress: UpdateSink = _unheard
    on_output: OutputSink | None = None
    on_attempt: Callable[[ConnectionAttempt], None] = _unseen


class EndedError(Exception):
    """The session's process has ended or must be ended; ``outcome`` is the outcome of the call."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.ending)
        self.outcome = outcome


class SessionWire:
    """The stream to a sandbox that the caller must close. For one thread at a time."""

    def __init__(self, sandbox: EngineSandbox, plan: Plan, egress: Egress) -> None:
        self.redactor = egress.redactor
        self.mark = ""
        self._sandbox = sandbox
        self._plan = plan
        self._open = ExitStack()
        self._conversation = Conversation(plan, LIFE_MS, _unheard, None, egress.redactor, session=True)
        self._broker: Broker | None = None
        if plan.allow:
            told = replace(egress, on_attempt=self._heard)
            self._broker = Broker(plan.allow, self._conversation.outgoing, told)
            self._open.callback(self._broker.close)
            self._conversation.connections = self._broker

    def begin(self, turn: SessionCall) -> None:
        """Begin the next call. Its time starts when the sandbox is ready. Raises ``EndedError``."""
        listening = ListenerTime()
        self._turn = replace(turn, on_attempt=listening.timed(turn.on_attempt))
        self._line = WireLoop(self._sandbox, self._conversation, turn.cancellation, listening, self._broker)
        self.mark = token_hex(16)
        told = listening.timed(turn.on_output) if turn.on_output else None
        mark = f"\0{self.mark}\0".encode()
        self._conversation.begin(mark, turn.timeout_ms, listening.timed(turn.on_progress), told)
        if self._broker:
            self._broker.reset()
        self._started = monotonic()
        if not self._conversation.is_ready:
            self._start()
        self._deadline = self._started + turn.timeout_ms / 1000

    def say(self, data: bytes) -> None:
        """Queue more of stdin, and send as much as the stream accepts now."""
        self._conversation.say(data)
        self._line.send()

    def line(self) -> bytes:
        """Return the next line of the process's answer, unredacted. Raises ``EndedError``."""
        answers = self._conversation.answers
        self.wait(lambda: answers.has_line or answers.is_too_long or answers.ended)
        if answers.has_line:
            return answers.pop_line()
        if answers.is_too_long:
            beginning = answers.partial_line
            raise EndedError(replace(self.outcome("answered"), reply=Capture(beginning, b"", len(beginning) + 1)))
        self._end_soon()
        raise self.broken("it closed its stdout")

    def updates(self) -> ProgressReporter:
        """Return the reporter for a plugin's progress in this call."""
        limit = self._plan.profile.limits.output_bytes
        return ProgressReporter(limit, self.redactor, self._conversation.report)

    def insist_on_time(self) -> None:
        """Raise ``EndedError`` if the call was cancelled or timed out.

        Needed for a process that always has output ready, because then no wait checks the deadline.
        """
        if self._line.is_over(self._deadline):
            raise EndedError(self.outcome("cancelled" if self._line.cancelled else "timed_out"))

    def listen(self, until: float) -> None:
        """Receive pending output, and wait until ``until`` (of ``monotonic``) or for the first output.

        Raises ``EndedError`` if the process or the call has ended.
        """
        self._reached(min(until, self._deadline), lambda: bool(self.surplus))
        if self._line.cancelled:
            raise EndedError(self.outcome("cancelled"))
        if self._conversation.verdict is not None and not self.surplus:
            raise EndedError(self._judged())

    @property
    def surplus(self) -> bytes:
        """Output of the process that was not read: a line or the beginning of one. Empty if there is none."""
        waiting = self._conversation.answers.next_line
        # Hide what may be the beginning of a secret.
        return self.redactor.final(waiting)[0] or (waiting and b"...")

    def wait_for_marks(self) -> None:
        """Wait until all output of the call has arrived. Raises ``EndedError``."""
        self.wait(lambda: self._conversation.is_marked)

    def wait(self, done: Callable[[], bool]) -> None:
        """Move bytes until ``done``. Raises ``EndedError`` if the process or the call's time ends first."""
        self._run_until(self._deadline, done)
        if not done() and self._conversation.verdict is not None:
            raise EndedError(self._judged())

    def deliver(self) -> None:
        """Deliver to servers what the tool has sent in this call, as far as they accept it."""
        broker = self._broker
        if broker and broker.has_pending:
            self._reached(monotonic() + DELIVERY_SECONDS, lambda: not broker.has_pending)

    def outcome(self, ending: Ending) -> Outcome:
        """Return an outcome of the call with the captured output."""
        found = outcome_of(self._conversation, ending, (monotonic() - self._started) * 1000)
        if self._broker is None:
            return found
        return replace(found, attempts=self._broker.attempts(), unlisted_attempts=self._broker.unlisted)

    def broken(self, reason: str) -> EndedError:
        """Return the error for a process that violates the protocol."""
        return EndedError(replace(self.outcome("broken"), reason=reason))

    def close(self) -> None:
        """Close the connections. The sandbox is closed by its owner."""
        self._open.close()

    def _heard(self, attempt: ConnectionAttempt) -> None:
        self._turn.on_attempt(attempt)

    def _start(self) -> None:
        """Wait until the sandbox is ready, and start its process."""
        conversation = self._conversation
        self._run_until(monotonic() + START_SECONDS, lambda: conversation.is_ready)
        verify_workspace_mount(self._plan.profile.workspace, conversation.ready)
        self._started = monotonic()
        try:
            conversation.call()
        except CallTooLargeError as error:
            raise EndedError(replace(self.outcome("not_started"), reason=str(error))) from None

    def _end_soon(self) -> None:
        """Raise ``EndedError`` if the process exits, which is the most common reason for the end of a stream."""
        if self._reached(min(self._deadline, monotonic() + END_SECONDS), lambda: False):
            raise EndedError(self._judged())

    def _run_until(self, deadline: float, done: Callable[[], bool]) -> None:
        came = self._reached(deadline, done)
        if not came and not self._line.cancelled and not self._conversation.is_ready:
            raise died(self._sandbox, f"the sandbox was not ready after {START_SECONDS:g} seconds")
        if not came:
            raise EndedError(self.outcome("cancelled" if self._line.cancelled else "timed_out"))

    def _reached(self, deadline: float, done: Callable[[], bool]) -> bool:
        """Move bytes until ``done`` or the process has ended. Return False if the time ended first."""
        try:
            return self._line.run_until(deadline, lambda: done() or self._conversation.verdict is not None)
        except ProtocolError as error:
            raise died(self._sandbox, f"the sandbox broke the wire protocol: {error}") from None
        except StreamEndError:
            self._sandbox.close()
            if self._sandbox.out_of_memory():
                raise EndedError(self.outcome("out_of_memory")) from None
            raise died(self._sandbox, "the sandbox ended before its call did") from None

    def _judged(self) -> Outcome:
        said = judged(self._sandbox, self._conversation, 0)
        found = self.outcome(said.ending)
        usage = replace(said.usage, duration_ms=found.usage.duration_ms)
        return replace(found, status=said.status, reason=said.reason, usage=usage)

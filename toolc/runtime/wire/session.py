"""One sandbox's stream for call after call: what a dialogue with the process inside is made of.

The process is started by one CALL, whose end would be its own; each call of the session is a line of its stdin.
Who closes the sandbox ends it, and so does whatever goes wrong: there is no way back to a process that is late,
was cancelled, or spoke when nobody had asked it.
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
from toolc.runtime.output.progress import OutputSink, Reports, UpdateSink
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
"""How long a session's process may live, in milliseconds: 23 days, about the most that poll(2) can wait."""

END_SECONDS: Final = 1.0
"""How long after its output a process may take to end, before that is told and not its end."""


def _unheard(percent: float | None, message: str, content: tuple[Content, ...]) -> None:
    pass


def _unseen(_: ConnectionAttempt) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCall:
    """One call of a session: how long it may take, who may end it, and who hears of it."""

    timeout_ms: int
    cancellation: Cancellation | None = None
    on_progress: UpdateSink = _unheard
    on_output: OutputSink | None = None
    on_attempt: Callable[[ConnectionAttempt], None] = _unseen


class EndedError(Exception):
    """The session's process is over, or must be: ``outcome`` is how the call ended."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.ending)
        self.outcome = outcome


class SessionWire:
    """The stream to a sandbox that the caller closes, whatever comes of it. One thread at a time."""

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
        """The next call begins; its time runs from when the sandbox is ready. Raises ``EndedError``."""
        listening = ListenerTime()
        self._turn = replace(turn, on_attempt=listening.timed(turn.on_attempt))
        self._line = WireLoop(self._sandbox, self._conversation, turn.cancellation, listening, self._broker)
        self.mark = token_hex(16)
        told = listening.timed(turn.on_output) if turn.on_output else None
        mark = f"\0{self.mark}\0".encode()
        self._conversation.begin(mark, turn.timeout_ms, listening.timed(turn.on_progress), told)
        if self._broker:
            self._broker.renew()
        self._started = monotonic()
        if not self._conversation.is_ready:
            self._start()
        self._deadline = self._started + turn.timeout_ms / 1000

    def say(self, data: bytes) -> None:
        """Send more of stdin, now as far as it goes."""
        self._conversation.say(data)
        self._line.send()

    def line(self) -> bytes:
        """The next line in which the process answers, with its secrets. Raises ``EndedError``."""
        answers = self._conversation.answers
        self.wait(lambda: answers.has_line or answers.is_too_long or answers.ended)
        if answers.has_line:
            return answers.take()
        if answers.is_too_long:
            beginning = answers.beginning
            raise EndedError(replace(self.outcome("answered"), reply=Capture(beginning, b"", len(beginning) + 1)))
        self._end_soon()
        raise self.broken("it closed its stdout")

    def updates(self) -> Reports:
        """Who tells of what a plugin lets be known in this call."""
        limit = self._plan.profile.limits.output_bytes
        return Reports(limit, self.redactor, self._conversation.report)

    def insist_on_time(self) -> None:
        """Raise ``EndedError`` where the call is over: one that always has something to say never lets us wait."""
        if self._line.is_over(self._deadline):
            raise EndedError(self.outcome("cancelled" if self._line.cancelled else "timed_out"))

    def listen(self, until: float) -> None:
        """Hear what has come by now, and what comes until ``until`` (of ``monotonic``) or the first of it.

        Raises ``EndedError`` if the process has ended, or if the call has.
        """
        self._reached(min(until, self._deadline), lambda: bool(self.surplus))
        if self._line.cancelled:
            raise EndedError(self.outcome("cancelled"))
        if self._conversation.verdict is not None and not self.surplus:
            raise EndedError(self._judged())

    @property
    def surplus(self) -> bytes:
        """What the process has said that nobody has taken: a line, or the beginning of one. Empty for nothing."""
        waiting = self._conversation.answers.waiting
        # What may be the beginning of a secret is not shown.
        return self.redactor.settled(waiting)[0] or (waiting and b"...")

    def wait_for_marks(self) -> None:
        """Wait until all that the call wrote has come. Raises ``EndedError``."""
        self.wait(lambda: self._conversation.is_marked)

    def wait(self, done: Callable[[], bool]) -> None:
        """Move bytes until ``done``. Raises ``EndedError`` if the process or the call's time ends before."""
        self._run_until(self._deadline, done)
        if not done() and self._conversation.verdict is not None:
            raise EndedError(self._judged())

    def deliver(self) -> None:
        """Let servers have what the tool has sent in this call, as far as they take it."""
        broker = self._broker
        if broker and broker.has_pending:
            self._reached(monotonic() + DELIVERY_SECONDS, lambda: not broker.has_pending)

    def outcome(self, ending: Ending) -> Outcome:
        """How the call ended, with what was kept of its output."""
        found = outcome_of(self._conversation, ending, (monotonic() - self._started) * 1000)
        if self._broker is None:
            return found
        return replace(found, attempts=self._broker.attempts(), unlisted_attempts=self._broker.unlisted)

    def broken(self, reason: str) -> EndedError:
        """What to raise where the process speaks otherwise than it may."""
        return EndedError(replace(self.outcome("broken"), reason=reason))

    def close(self) -> None:
        """End the connections; the sandbox is its owner's."""
        self._open.close()

    def _heard(self, attempt: ConnectionAttempt) -> None:
        self._turn.on_attempt(attempt)

    def _start(self) -> None:
        """Wait until the sandbox is ready, and begin its process."""
        conversation = self._conversation
        self._run_until(monotonic() + START_SECONDS, lambda: conversation.is_ready)
        verify_workspace_mount(self._plan.profile.workspace, conversation.ready)
        self._started = monotonic()
        try:
            conversation.call()
        except CallTooLargeError as error:
            raise EndedError(replace(self.outcome("not_started"), reason=str(error))) from None

    def _end_soon(self) -> None:
        """Raise how the process ended if it has, which is why mostly a stream ends."""
        if self._reached(min(self._deadline, monotonic() + END_SECONDS), lambda: False):
            raise EndedError(self._judged())

    def _run_until(self, deadline: float, done: Callable[[], bool]) -> None:
        came = self._reached(deadline, done)
        if not came and not self._line.cancelled and not self._conversation.is_ready:
            raise died(self._sandbox, f"the sandbox was not ready after {START_SECONDS:g} seconds")
        if not came:
            raise EndedError(self.outcome("cancelled" if self._line.cancelled else "timed_out"))

    def _reached(self, deadline: float, done: Callable[[], bool]) -> bool:
        """Move bytes until ``done``, or the process has ended; False where the time has before."""
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

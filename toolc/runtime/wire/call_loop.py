"""Run one call over a sandbox's stream: send, poll, enforce the deadline, and determine the outcome."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, ParamSpec

from toolc.dataclass import dataclass, field, replace
from toolc.guest.frames import ProtocolError
from toolc.guest.launch_args import boot_id
from toolc.model.errors import InfrastructureError, SandboxDiedError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount, Plan
from toolc.model.result import REPLACEMENT, Content, Ending, Outcome
from toolc.model.text import render_size
from toolc.runtime.cancellation import Cancellation, poll_ms
from toolc.runtime.egress.egress_options import EXPIRY_SECONDS, Egress
from toolc.runtime.output.progress import OutputSink, UpdateSink
from toolc.runtime.wire.protocol import CallTooLargeError, Conversation
from toolc.runtime.workspace.growth import INTERVAL_SECONDS, WorkspaceGrowth
from toolc.sandbox.interface import EngineSandbox

if TYPE_CHECKING:
    from toolc.runtime.egress.broker import Broker

START_SECONDS: Final = 60.0
"""How long a guest may take from its first byte to READY, in seconds.

On a busy machine, Python starts many times more slowly than on an idle one.
"""

GRACE_SECONDS: Final = 1.5
"""How long a guest may take to end a call at its deadline, or when the host stops it, in seconds.

This is longer than a guest usually waits for a process that hangs.
"""

DELIVERY_SECONDS: Final = 1.0
"""How long servers may take, after a call, to receive the data that it has sent, in seconds.

A server that reads needs less, and the result must not wait for a server that does not.
"""

P = ParamSpec("P")


def verify_workspace_mount(mount: Mount | None, ready: JsonObject) -> None:
    """Raise ``InfrastructureError`` unless the guest's READY reports the folder of ``mount``."""
    if mount is None or not mount.inode:
        return
    seen = ready.get("workspace")
    if mount.mode == "overlay" and isinstance(seen, dict):
        seen = seen.get("lower")
        if seen is None:
            # The engine mounted the folder that this process holds open.
            return
    if not isinstance(seen, dict):
        raise InfrastructureError(f"{mount.source} was mounted, but the sandbox has no workspace; run toolc doctor")
    if seen.get("kernel") and seen["kernel"] == boot_id():
        if (seen.get("device"), seen.get("inode")) != (mount.device, mount.inode):
            raise InfrastructureError(
                f"the sandbox has a different folder than {mount.source}, because it was replaced, "
                "or because the daemon runs in another container, where another folder has this path; call "
                "again, or use a folder that the daemon also sees"
            )
        return
    if not _is_same_time(seen.get("changed_ns"), mount):
        raise InfrastructureError(
            f"the sandbox has a different folder than {mount.source}, because it was replaced, or because the daemon "
            "runs on another machine, where another folder has this path; call again, or use a folder that both share"
        )


def _is_same_time(seen: object, mount: Mount) -> bool:
    """Return whether both folders have the same modification time and ``mount`` was not replaced.

    If other calls change the folder at the same time, any time since it was mounted is accepted.
    """
    if not isinstance(seen, int):
        return False
    try:
        status = Path(mount.source).stat()
    except OSError:
        return False
    if (status.st_dev, status.st_ino) != (mount.device, mount.inode):
        return False
    changed_ns = status.st_mtime_ns
    # Shared folders of virtual machines may have a resolution of only whole seconds.
    unit = 1_000_000_000 if seen % 1_000_000_000 == 0 else 1000
    first, last = sorted((mount.changed_ns or changed_ns, changed_ns))
    return first // unit <= seen // unit <= last // unit


def ignore_progress(percent: float | None, message: str, content: tuple[Content, ...]) -> None:
    """Ignore a progress report. This is the sink of a call without a listener."""


def converse(  # noqa: PLR0913  one parameter per option
    sandbox: EngineSandbox,
    plan: Plan,
    *,
    timeout_ms: int,
    cancellation: Cancellation | None,
    on_progress: UpdateSink,
    on_output: OutputSink | None = None,
    egress: Egress | None = None,
    ready: JsonObject | None = None,
    stops: bool = False,
) -> Outcome:
    """Run the call of ``plan`` in a new sandbox, which the caller must close.

    ``timeout_ms`` counts from when the guest is ready, without the time spent in the sinks. The guest enforces the
    deadline too. ``ready`` is the report of a guest that already waits for the call. With ``stops``, if the call is
    cancelled or has written too much, the guest ends its processes, so ``processes_ended`` may be set. Raises
    ``SandboxDiedError`` if the sandbox ends or violates the protocol. Exceptions of a sink, and ``KeyboardInterrupt``,
    are propagated.
    """
    listener_time = ListenerTime()
    egress = egress or Egress()
    on_output = listener_time.measure(on_output) if on_output else None
    on_progress = listener_time.measure(on_progress)
    conversation = Conversation(plan, timeout_ms, on_progress, on_output, egress.redactor, ready=ready)
    workspace = plan.profile.workspace
    with WorkspaceGrowth.begin(workspace, plan.growth_bytes) or nullcontext() as growth:
        loop = WireLoop(sandbox, conversation, cancellation, listener_time, growth=growth, stops=stops)
        if not plan.allow:
            return loop.run(workspace, timeout_ms)
        from toolc.runtime.egress.broker import Broker  # lazy: +4 ms; most calls have no network

        egress = replace(egress, on_attempt=listener_time.measure(egress.on_attempt))
        with closing(Broker(plan.allow, conversation.outgoing, egress, sandbox.write)) as broker:
            conversation.connections = loop.broker = broker
            outcome = loop.run(workspace, timeout_ms)
            loop.deliver(monotonic() + DELIVERY_SECONDS)
            return replace(outcome, attempts=broker.attempts(), unlisted_attempts=broker.unlisted)


class StreamEndError(Exception):
    """The guest has closed its end of the stream."""


class ListenerTime:
    """Measures the time spent in listeners, which does not count toward the tool's deadline."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def measure(self, listener: Callable[P, None]) -> Callable[P, None]:
        """Wrap ``listener``, so that its time is added to ``seconds``."""

        def measured(*args: P.args, **kwargs: P.kwargs) -> None:
            started = monotonic()
            listener(*args, **kwargs)
            self.seconds += monotonic() - started

        return measured


@dataclass(slots=True)
class WireLoop:
    """The polling loop, which moves bytes between a sandbox and a conversation until a condition is met.

    Another thread may add to the conversation while it holds ``lock``, and must then write to the eventfd ``wake``.
    ``started`` is when the call was sent, and ``waited`` is how long the loop has waited since then, in seconds.
    """

    sandbox: EngineSandbox
    conversation: Conversation
    cancellation: Cancellation | None
    listener_time: ListenerTime
    broker: Broker | None = None
    growth: WorkspaceGrowth | None = None
    stops: bool = False
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
    wake: int | None = None
    cancelled: bool = False
    started: float = field(default_factory=monotonic)
    waited: float = 0.0

    def run(self, workspace: Mount | None, timeout_ms: int) -> Outcome:
        """Run the whole call, from READY to EXIT. See ``converse``."""
        outcome = self._run(workspace, timeout_ms)
        host_ms = max(0.0, outcome.usage.duration_ms - self.waited * 1000)
        return self.with_growth(replace(outcome, usage=replace(outcome.usage, host_ms=host_ms)))

    def with_growth(self, outcome: Outcome) -> Outcome:
        """Return ``outcome`` with the growth of the workspace, and the limit if it was exceeded."""
        if self.growth is None or outcome.usage.workspace_growth_bytes is not None:
            return outcome
        if outcome.ending == "workspace_limit":
            outcome = replace(outcome, reason=render_size(self.growth.limit_bytes))
        return replace(outcome, usage=replace(outcome.usage, workspace_growth_bytes=self.growth.bytes()))

    def start(self, workspace: Mount | None) -> bool:
        """Wait until the guest is ready, and send the call. Return False if it was cancelled first.

        Raises ``InfrastructureError``, ``CallTooLargeError``, ``ProtocolError`` and ``StreamEndError``.
        """
        conversation, deadline = self.conversation, monotonic() + START_SECONDS
        self.send()
        conversation.prepare()
        # A call that was cancelled before the guest is ready must not send its request.
        if not self.run_until(deadline, lambda: conversation.is_ready) or self.has_ended(deadline):
            if self.cancelled:
                return False
            raise sandbox_died(self.sandbox, f"the sandbox was not ready after {START_SECONDS:g} seconds")
        verify_workspace_mount(workspace, conversation.ready)
        if self.growth is not None:
            self.growth.watch_processes(conversation.ready)
        self.started, self.waited = monotonic(), 0.0
        conversation.call()
        self.send()
        return True

    def death(self, error: ProtocolError | StreamEndError, before: str = "its call did") -> SandboxDiedError | None:
        """Close a sandbox that ended or violated the protocol. Return the error, or None if memory ran out."""
        if isinstance(error, ProtocolError):
            return sandbox_died(self.sandbox, f"the sandbox violated the wire protocol: {error}")
        self.sandbox.close()
        return (
            None if self.sandbox.out_of_memory() else sandbox_died(self.sandbox, f"the sandbox ended before {before}")
        )

    def _run(self, workspace: Mount | None, timeout_ms: int) -> Outcome:
        conversation = self.conversation
        try:
            if not self.start(workspace):
                return conversation.outcome("cancelled")
            if self.broker is not None and conversation.sends_request_first:
                self.broker.send_first_request()
            deadline = self.started + timeout_ms / 1000 + GRACE_SECONDS
            ended = self.run_until(deadline, lambda: conversation.exit_report is not None)
            duration_ms = (monotonic() - self.started) * 1000
        except CallTooLargeError as error:
            return replace(conversation.outcome("not_started"), reason=str(error))
        except (ProtocolError, StreamEndError) as error:
            duration_ms = (monotonic() - self.started) * 1000
            if died := self.death(error):
                raise died from None
            return conversation.outcome("out_of_memory", duration_ms)
        if not ended:
            # Measure before the processes end, because the kernel then frees files that they have deleted.
            outcome = self.with_growth(conversation.outcome(self.interruption(), duration_ms))
            # A guest that does not enforce the deadline itself does not answer either.
            is_stopped = self.stops and outcome.ending != "timed_out"
            return replace(outcome, processes_ended=self._stop()) if is_stopped else outcome
        return self.final_outcome(duration_ms)

    def _stop(self) -> bool | None:
        """Make the guest end a call that is over. Return whether all processes have ended, or None if that is unknown.

        No listener is called and no connection is served from now on.
        """
        self.conversation.stop()
        rest = replace(self, cancellation=None, broker=None, growth=None)
        try:
            rest.run_until(monotonic() + GRACE_SECONDS, lambda: self.conversation.exit_report is not None)
        except (ProtocolError, StreamEndError):
            return None
        report = self.conversation.exit_report
        return report.processes_ended if report else None

    def run_until(self, deadline: float, done: Callable[[], bool]) -> bool:
        """Move bytes until ``done`` returns True. Return False on a cancellation or at the deadline.

        ``deadline`` is a time of the monotonic clock. Raises ``ProtocolError`` and ``StreamEndError``.
        """
        while True:
            with self.lock:
                if done():
                    return True
                self.send()
                data = self.sandbox.read()
                if data == b"":
                    raise StreamEndError
                if data is not None:
                    self.conversation.receive(data)
                    if done():
                        return True
                if self.broker is not None:
                    self.broker.serve()
                    self.send()
            if self.has_ended(deadline):
                return False
            if data is None:
                self._wait(deadline + self.listener_time.seconds - monotonic())

    def has_ended(self, deadline: float) -> bool:
        """Return whether ``deadline`` has passed, the call was cancelled, or its workspace has grown too much."""
        self.cancelled = self.cancellation is not None and self.cancellation.is_cancelled
        if self.cancelled or (self.growth is not None and self.growth.is_exceeded()):
            return True
        return deadline + self.listener_time.seconds <= monotonic()

    def interruption(self) -> Ending:
        """Return why a call was ended before its guest reported an end."""
        if self.cancelled:
            return "cancelled"
        return "workspace_limit" if self.growth is not None and self.growth.exceeded else "timed_out"

    def final_outcome(self, duration_ms: float) -> Outcome:
        """Return the outcome that the guest reports, or ``out_of_memory`` if the kernel killed a process of the call.

        The exit status does not show this. A shell whose children were killed may exit with 0, and a partial result
        must not look like a complete one. Raises ``SandboxDiedError`` if the call never began.
        """
        report = self.conversation.exit_report
        assert report is not None
        ending = report.ending
        if ending not in ("timed_out", "not_started") and (report.oom_kills or self.sandbox.out_of_memory()):
            return self.conversation.outcome("out_of_memory", duration_ms)
        if ending == "failed":
            raise sandbox_died(self.sandbox, f"the sandbox could not start the call: {_printable(report.reason)}")
        return self.conversation.outcome(ending, duration_ms)

    def deliver(self, deadline: float) -> None:
        """Deliver data that the tool sent before it exited, as a kernel would. After a cancellation, do nothing."""
        broker = self.broker
        while broker is not None and broker.has_pending and not self.cancelled:
            self.conversation.outgoing.clear()
            poll = select.poll()
            poll.register(broker.fileno(), select.POLLIN)
            remaining = deadline - monotonic()
            if remaining <= 0:
                return
            poll.poll(min(remaining, EXPIRY_SECONDS) * 1000)
            broker.serve()

    def send(self) -> None:
        """Send as much as the stream accepts without blocking."""
        outgoing = self.conversation.outgoing
        self.conversation.refill()
        while outgoing:
            with memoryview(outgoing) as view:
                sent = self.sandbox.write(view)
            if not sent:
                return
            del outgoing[:sent]
            self.conversation.refill()

    def _wait(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self.sandbox.fileno(), select.POLLIN | (select.POLLOUT if self.conversation.outgoing else 0))
        if self.cancellation is not None:
            poll.register(self.cancellation.fileno(), select.POLLIN)
        if self.broker is not None:
            if self.broker.has_room:
                poll.register(self.broker.fileno(), select.POLLIN)
            seconds = min(seconds, EXPIRY_SECONDS)
        if self.growth is not None:
            seconds = min(seconds, INTERVAL_SECONDS)
        if self.wake is not None:
            poll.register(self.wake, select.POLLIN)
        started = monotonic()
        ready = poll.poll(poll_ms(seconds))
        self.waited += monotonic() - started
        if self.wake is not None and (self.wake, select.POLLIN) in ready:
            os.eventfd_read(self.wake)


def sandbox_died(sandbox: EngineSandbox, message: str) -> SandboxDiedError:
    """Close a failed sandbox, so that its log is complete, and return an error with that log."""
    sandbox.close()
    error_output = _printable(sandbox.error_output())
    return SandboxDiedError(f"{message}; its error output:\n{error_output}" if error_output else message)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else REPLACEMENT for c in text).strip()

"""A sandbox that stays open. A separate thread moves its bytes (``SandboxThread``).

In a ``SandboxSession``, several callers can run programs at the same time. Each uses its own thread to start a program,
write to it and wait for its end.
"""

from __future__ import annotations

import math
import os
import select
import threading
from abc import ABC, abstractmethod
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import replace
from time import monotonic
from typing import Final, NoReturn
from weakref import finalize

from toolc.guest.frames import ProtocolError
from toolc.model.errors import InfrastructureError, SandboxDiedError, UsageError, raise_shortage
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan
from toolc.model.result import ConnectionAttempt
from toolc.model.text import render_size
from toolc.runtime.call_details import Timing, sandbox_details
from toolc.runtime.cancellation import Cancellation, poll_ms
from toolc.runtime.egress.broker import Broker
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.output.guest_streams import program_outputs
from toolc.runtime.secrets.redaction import Redactor
from toolc.runtime.sessions.programs import (
    OnOutput,
    ProgramEnd,
    ProgramRequest,
    ProgramState,
    ProgramTable,
    TerminalSize,
)
from toolc.runtime.sessions.sandbox_server import Start
from toolc.runtime.wire.call_loop import ListenerTime, StreamEndError, WireLoop, ignore_progress, sandbox_died
from toolc.runtime.wire.protocol import CallTooLargeError, Conversation, ExitReport
from toolc.runtime.wire.session import LIFE_MS
from toolc.runtime.workspace.busy import NOT_ENDED
from toolc.runtime.workspace.growth import WorkspaceGrowth
from toolc.sandbox.selection import in_use

GRACE_SECONDS: Final = 5.0
"""How long to wait for the guest's report after the deadline of a program, in seconds.

The guest needs up to three seconds to end processes that keep creating new ones.
"""

WAIT_SECONDS: Final = 3600.0
"""How long the thread waits for data without other checks, in seconds. poll(2) refuses more than 23 days."""

OUT_OF_MEMORY: Final = "the sandbox exceeded its memory limit and ended; open another one"

NOT_KILLED: Final = "the sandbox did not end a program that was killed or reached its time limit; open another one"


class SandboxThread(ABC):
    """An open sandbox and its thread. Safe to use from several threads. It must be closed."""

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        """Start the sandbox and wait until it is ready. Raises ``InfrastructureError``."""
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._failure: InfrastructureError | None = None
        self._closing = False
        self._cleanup = ExitStack()
        with self._cleanup:
            self._cleanup.enter_context(in_use())
            lease = self._lease = start(plan.profile)
            self._cleanup.callback(lease.close)
            lease.record_start(timing)
            self._sandbox = lease.sandbox
            plan = replace(plan, profile=lease.profile)
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self._cleanup.callback(os.close, self._wake)
            conversation = self._conversation = Conversation(
                plan, LIFE_MS, ignore_progress, None, egress.redactor, session=True, ready=lease.ready
            )
            growth = WorkspaceGrowth.begin(plan.profile.workspace, plan.growth_bytes)
            if growth is not None:
                self._cleanup.callback(growth.close)
            broker: Broker | None = None
            if plan.allow:
                broker = Broker(plan.allow, conversation.outgoing, egress)
                self._cleanup.callback(broker.close)
                conversation.connections = broker
            self._loop = WireLoop(
                self._sandbox, conversation, None, ListenerTime(), broker, growth, lock=self._lock, wake=self._wake
            )
            self._begin(plan, egress.redactor)
            self._call(plan)
            timing.lap("ready")
            self._thread = threading.Thread(target=self._run, name="toolc sandbox", daemon=True)
            self._thread.start()
            self._cleanup = self._cleanup.pop_all()

    @abstractmethod
    def _begin(self, plan: Plan, redactor: Redactor) -> None:
        """Begin the conversation, which receives the output of the sandbox."""

    @abstractmethod
    def _notify(self) -> None:
        """Wake the threads that wait for the sandbox, because it has ended or is closed."""

    @abstractmethod
    def _end(self, report: ExitReport) -> None:
        """Process the report about the end of the sandbox's process. Raises ``InfrastructureError``."""

    @property
    def details(self) -> JsonObject:
        """The user and the image of the sandbox, and the connections of its programs."""
        details = sandbox_details(self._sandbox.user, self._sandbox.image)
        if self._loop.broker is not None:
            with self._lock:
                details["network"] = [each.to_json() for each in self._loop.broker.attempts()]
        return details

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the connections since the last ``begin_call``."""
        if self._loop.broker is None:
            return ()
        with self._lock:
            return self._loop.broker.attempts()

    def close(self) -> None:
        """End the sandbox and its processes, and wait for its end. Closing it again has no effect."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            if self._closing:
                return
            self._closing = True
            self._notify()
        os.eventfd_write(self._wake, 1)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._cleanup.close()

    def flush(self) -> None:
        """Send as much of the waiting data as possible now. The thread sends the rest."""
        if self._closing:
            return
        self._loop.send()
        if self._conversation.outgoing:
            os.eventfd_write(self._wake, 1)

    def check_running(self) -> None:
        """Raise the error of a sandbox that no longer runs."""
        self._check_alive()
        if self._closing:
            raise SandboxDiedError("the sandbox was closed while a program was running")

    def _check_alive(self) -> None:
        if self._failure is not None:
            # A copy: each raise adds frames to an exception, and they keep the data of their call.
            raise copy(self._failure)

    def fail(self, error: InfrastructureError) -> None:
        """Make all running and future programs raise ``error``."""
        with self._lock:
            self._failure = self._failure or error
            self._notify()

    def died(self, message: str) -> SandboxDiedError:
        """Close the sandbox, and return the error that describes why it ended."""
        return sandbox_died(self._sandbox, message)

    def _call(self, plan: Plan) -> None:
        """Wait until the sandbox is ready, and start its process."""
        try:
            self._loop.start(plan.profile.workspace)
        except CallTooLargeError as error:
            raise UsageError(str(error)) from None
        except (ProtocolError, StreamEndError) as error:
            raise self._death(error) from None

    def _run(self) -> None:
        try:
            while not self._loop.run_until(monotonic() + WAIT_SECONDS, self._is_over):
                if self._loop.growth is not None and self._loop.growth.exceeded:
                    limit = render_size(self._loop.growth.limit_bytes)
                    raise self.died(f"the sandbox was ended; its programs wrote more than {limit} to the workspace")
            if not self._closing and (report := self._conversation.exit_report) is not None:
                self._end(report)
        except (ProtocolError, StreamEndError) as error:
            if not self._closing:
                self.fail(self._death(error))
        except InfrastructureError as error:
            self.fail(error)
        except Exception as error:  # noqa: BLE001  callers wait for this thread
            self.fail(InfrastructureError(f"the connection to the sandbox failed: {type(error).__name__}: {error}"))

    def _is_over(self) -> bool:
        return self._closing or self._conversation.exit_report is not None

    def _death(self, error: ProtocolError | StreamEndError) -> InfrastructureError:
        return self._loop.death(error, "it was closed; open another one") or SandboxDiedError(OUT_OF_MEMORY)


class SandboxSession(SandboxThread):
    """An open sandbox that runs programs. Safe to use from several threads. It must be closed."""

    def _begin(self, plan: Plan, redactor: Redactor) -> None:
        self._programs = ProgramTable(self._conversation.send, redactor)
        self._conversation.begin_streams(program_outputs(plan, redactor, self._programs.receive))

    def _notify(self) -> None:
        self._programs.notify_all()

    def start(self, request: ProgramRequest, *, buffers_output: bool = False) -> Program:
        """Start a program. Raises ``UsageError`` if the sandbox is closed, and ``InfrastructureError``."""
        if os.getpid() != self._owner:
            raise UsageError("this sandbox belongs to the process that opened it; open another one after a fork")
        with self._lock:
            self._check_open()
            try:
                program = Program(self, request, buffers_output=buffers_output)
            except OSError as error:
                raise_shortage(error)
                raise
            self.flush()
            return program

    # For programs, which hold the lock.

    @property
    def lock(self) -> threading.RLock:
        """The lock that is held while programs change."""
        return self._lock

    @property
    def programs(self) -> ProgramTable:
        """The running programs."""
        return self._programs

    def _check_open(self) -> None:
        if self._closing:
            raise UsageError("the sandbox is closed; open another one")
        self._check_alive()

    def memory_kills(self) -> int:
        """Return the number of processes of the sandbox that the kernel killed because memory ran out."""
        return self._sandbox.memory_kills()

    def with_memory(self, end: ProgramEnd, kills_before: int) -> ProgramEnd:
        """Return ``end``. If the guest does not know whether memory ran out, add the engine's answer."""
        if end.out_of_memory is not None:
            return end
        return replace(end, out_of_memory=self.memory_kills() > kills_before)

    def _end(self, report: ExitReport) -> NoReturn:
        """Raise the error for the end of the guest's server. A program may have killed it."""
        if not report.processes_ended:
            # The sandbox is not closed, because that would wait for its processes.
            self._lease.mark_busy()
            raise InfrastructureError(NOT_ENDED)
        if report.oom_kills or self._sandbox.out_of_memory():
            raise SandboxDiedError(OUT_OF_MEMORY)
        if report.ending == "not_started":
            raise self.died(f"this sandbox cannot run programs: {report.reason}")
        raise self.died(f"the sandbox ended: {report.reason or 'a program killed all processes'}; open another one")


class Program:
    """A running program of an open sandbox. Safe to use from several threads, but only one may call ``wait``."""

    def __init__(self, session: SandboxSession, request: ProgramRequest, *, buffers_output: bool) -> None:
        """Start the program. The caller holds the lock of ``session``."""
        self._session = session
        self._deadline = monotonic() + (request.timeout_ms or LIFE_MS) / 1000 + GRACE_SECONDS
        self._is_killed = False
        self._kills_before = session.memory_kills()
        self._changed = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # Close it exactly once, even if no thread calls ``wait`` or a thread calls it again.
        self._close = finalize(self, os.close, self._changed)
        # At the exit of this process, its sandbox may still notify it.
        self._close.atexit = False
        self.state: ProgramState = session.programs.start(request, self._notify, buffers_output=buffers_output)

    def _notify(self) -> None:
        """Wake the thread that waits for this program."""
        os.eventfd_write(self._changed, 1)

    def write(self, data: bytes, *, is_last: bool = False) -> None:
        """Write to stdin. Data that the program has not read yet waits in memory. ``is_last`` ends stdin."""
        with self._session.lock:
            self._session.programs.write(self.state, data, is_last=is_last)
            self._session.flush()

    @property
    def unsent_bytes(self) -> int:
        """The size of the data that waits until the program reads more of stdin, in bytes."""
        return self.state.stdin.unsent_bytes

    def resize(self, size: TerminalSize) -> None:
        """Set the size of the program's terminal."""
        with self._session.lock:
            self._session.programs.resize(self.state, size)
            self._session.flush()

    def kill(self) -> None:
        """Kill the program and all its descendants. ``wait`` returns its end."""
        with self._session.lock:
            self._session.programs.kill(self.state)
            self._session.flush()
            self._is_killed = True
            self.state.notify()

    def wait(self, on_output: OnOutput | None = None, cancellation: Cancellation | None = None) -> ProgramEnd:
        """Return the end of the program. ``on_output`` is called on this thread with its output.

        A cancellation or an exception of ``on_output`` kills the program. Raises ``InfrastructureError`` if the
        sandbox has ended, or does not report the program's end in time.
        """
        try:
            return self._wait(on_output, cancellation)
        except BaseException:
            self._kill_and_wait()
            raise
        finally:
            with self._session.lock:
                # The session may still notify a program that has not ended.
                self.state.notify = _ignore
            self._close()

    def _wait(self, on_output: OnOutput | None, cancellation: Cancellation | None) -> ProgramEnd:
        poll = select.poll()
        poll.register(self._changed, select.POLLIN)
        if cancellation is not None:
            poll.register(cancellation.fileno(), select.POLLIN)
        was_cancelled = False
        killed_until = math.inf
        while True:
            with self._session.lock:
                pieces = self._session.programs.read_output(self.state)
                self._session.flush()
                end = self.state.end
                if end is None:
                    self._session.check_running()
            if on_output is not None:
                started = monotonic()
                for stream, data in pieces:
                    on_output(stream, data)
                self._deadline += monotonic() - started
            if end is not None:
                return self._session.with_memory(end, self._kills_before)
            if cancellation is not None and cancellation.is_cancelled and not was_cancelled:
                was_cancelled = True
                poll.unregister(cancellation.fileno())
                self.kill()
            if self._is_killed and (pieces or killed_until == math.inf):
                # The guest reports the end only after all output.
                killed_until = monotonic() + GRACE_SECONDS
            deadline = min(self._deadline, killed_until)
            if monotonic() >= deadline:
                error = self._session.died(NOT_KILLED)
                self._session.fail(error)
                raise error
            poll.poll(poll_ms(deadline - monotonic()))
            with suppress(BlockingIOError):
                os.eventfd_read(self._changed)

    def _kill_and_wait(self) -> None:
        with suppress(InfrastructureError, OSError):
            self.kill()
            self._wait(None, None)


def _ignore() -> None:
    """Replace the notification of a program that no thread waits for."""

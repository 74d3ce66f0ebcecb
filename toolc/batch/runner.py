"""Run calls concurrently, and record the start and the end of each.

One thread reads the calls and writes the journal. It records all calls that can start in one write, and all calls that
have ended in another. The calls run in a thread pool. To keep these threads from waiting for the disk, calls are
recorded before a thread is free. At most as many calls wait as there are threads, because the outcome of a waiting call
is also unknown if the process is killed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Final, TypeAlias

from toolc.batch.calls_file import CallLine, CallsFile
from toolc.batch.journal import Journal, Outcome, Unknown
from toolc.client.executor import Executor
from toolc.dataclass import dataclass
from toolc.model.call_graph import called_tools
from toolc.model.errors import InfrastructureError, NoEngineError, ToolcError, UsageError
from toolc.model.result import ToolResult, failure

MAX_HELD: Final = 1000
"""The maximum number of calls that wait in memory for an earlier call of their session."""

GATHER_SECONDS: Final = 0.02
"""How long the end of a call may wait for the ends of others, which are flushed to disk together."""

MAX_FAILURES: Final = 20
"""The number of consecutive sandbox failures after which no call starts, because the engine no longer works.

The calls that run at the same time are added, because those on one node of a cluster fail together when it dies.
"""

INTERRUPTED: Final = "toolc ended while the call was running, so it may have run"
"""The reason if a call of an earlier run has no result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStarted:
    """The outcome of a call that is left to a later run. ``reason`` says why no engine can run it.

    ``reason`` is empty if the call was still waiting for a thread when the runner was stopped.
    """

    reason: str = ""


_Ended: TypeAlias = tuple[CallLine, Outcome | NotStarted]


class Runner:
    """Runs the calls of one file, at most ``concurrency`` at a time."""

    def __init__(self, calls: CallsFile, journal: Journal, executor: Executor, concurrency: int) -> None:
        self._calls = calls
        self._journal = journal
        self._executor = executor
        self._concurrency = concurrency
        self._ended: SimpleQueue[_Ended | None] = SimpleQueue()
        self._held: deque[CallLine] = deque()
        self._sessions: set[str] = set()
        self._failures = 0
        self.failure: str | None = None
        """Why calls did not start, if there was no engine for them, or no sandbox worked."""
        self.is_stopping = False

    def stop(self) -> None:
        """Start no further calls. May be called by a signal handler."""
        self.is_stopping = True
        self._ended.put(None)

    def run(self, repeats: Callable[[str], bool]) -> None:
        """Run all calls that have not ended, until ``stop``. Raises ``OSError`` if they cannot be recorded.

        ``repeats`` decides, by tool, whether a call that an earlier run started may run again.
        """
        lines = self._left(repeats)
        with ThreadPoolExecutor(self._concurrency, "toolc batch") as threads:
            try:
                self._run_all(lines, threads)
            finally:  # after an OSError, calls that wait for a thread must not run
                self.is_stopping = True

    def _run_all(self, lines: Iterator[CallLine], threads: ThreadPoolExecutor) -> None:
        recorded = 0
        ended: list[_Ended] = []
        while True:
            starting = self._ready(lines, 2 * self._concurrency - recorded)
            if starting:
                self._journal.start([call.line for call in starting])
            for call in starting:
                threads.submit(self._run_one, call)
            recorded += len(starting)
            self._record(ended)
            if not recorded:
                return
            ended = self._wait(recorded // 4)
            recorded -= len(ended)
            self._release(ended)

    def _left(self, repeats: Callable[[str], bool]) -> Iterator[CallLine]:
        """Yield the calls to run. Record calls of unknown outcome that may not run again."""
        for call in self._calls:
            state = self._journal.state(call.line)
            if state == "new" or (state == "started" and repeats(call.tool)):
                yield call
            elif state == "started":
                self._journal.end([(call, Unknown(reason=INTERRUPTED))])

    def _ready(self, lines: Iterator[CallLine], count: int) -> list[CallLine]:
        """Return at most ``count`` calls that can start now. The calls of a session run one after another."""
        ready: list[CallLine] = []
        if self.is_stopping:
            return ready
        for held in [*self._held]:
            if len(ready) < count and held.session not in self._sessions:
                self._held.remove(held)
                self._sessions.add(held.session)
                ready.append(held)
        while len(ready) < count and len(self._held) < MAX_HELD and (call := next(lines, None)):
            if call.session in self._sessions:
                self._held.append(call)
                continue
            if call.session:
                self._sessions.add(call.session)
            ready.append(call)
        return ready

    def _run_one(self, call: CallLine) -> None:
        self._ended.put((call, NotStarted() if self.is_stopping else self._outcome(call)))

    def _outcome(self, call: CallLine) -> Outcome | NotStarted:
        try:
            return self._executor.run(
                call.tool,
                call.arguments,
                call_id=call.call_id,
                workspace=call.workspace,
                timeout=call.timeout,
                session=call.session,
                caller=call.caller,
            )
        except InfrastructureError as error:
            return self._failed(call, error)
        except UsageError as error:
            return failure("execution", str(error))
        except ToolcError as error:
            return failure("denied", str(error))
        except Exception as error:  # noqa: BLE001  a bug in toolc must not end the other calls
            return Unknown(reason=f"this is a bug in toolc: {type(error).__name__}: {error}")

    def _failed(self, call: CallLine, error: InfrastructureError) -> Unknown | NotStarted:
        """Return the outcome of a call whose sandbox failed. Without an engine for it, the call has not started."""
        tool = self._executor.registry.registered(call.tool)
        # A tool that calls others chooses an engine for each of them, so an earlier one may have run.
        if isinstance(error, NoEngineError) and not called_tools(tool.spec):
            return NotStarted(reason=str(error))
        return Unknown(reason=f"the sandbox failed, and the call may have run: {error}")

    def _wait(self, count: int) -> list[_Ended]:
        """Wait until a call ends or for ``stop``, then briefly until ``count`` calls have ended.

        Return all ended calls.
        """
        ended = [self._ended.get()]
        until = monotonic() + GATHER_SECONDS
        with suppress(Empty):
            while True:
                ended.append(self._ended.get(timeout=0 if len(ended) >= count else max(0, until - monotonic())))
        return [each for each in ended if each]

    def _record(self, ended: list[_Ended]) -> None:
        if known := [(call, outcome) for call, outcome in ended if not isinstance(outcome, NotStarted)]:
            self._journal.end(known)
        if withdrawn := [call.line for call, outcome in ended if isinstance(outcome, NotStarted)]:
            self._journal.withdraw(withdrawn)

    def _release(self, ended: list[_Ended]) -> None:
        """Let further calls of the sessions start, unless too many calls in a row have failed."""
        for call, outcome in ended:
            self._sessions.discard(call.session)
            if self._calls.last_lines.get(call.session) == call.line:
                self._executor.end_session(call.session)
            if isinstance(outcome, ToolResult):
                self._failures = 0
            if isinstance(outcome, ToolResult) or not outcome.reason:
                continue
            self._failures += 1
            if self._failures >= MAX_FAILURES + self._concurrency:
                self.is_stopping = True
                self.failure = f"no further calls start, because {self._failures} in a row failed: {outcome.reason}"
            elif isinstance(outcome, NotStarted):
                self.failure = f"some calls could not start: {outcome.reason}"

"""Start the waiting sandboxes of this process ahead, lease them to calls, and stop them.

A thread, which runs only while there are sandboxes to manage, asks ``toolc.runtime.pool.decision`` what to do. Starts
and stops run on short-lived threads, because they are slow. The lock is never held during either.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Final, TypeVar

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.pool.decision import QUIET_SECONDS, PoolState, decide
from toolc.runtime.pool.entry import Ceilings, Claim, Entry
from toolc.runtime.pool.loop import LoopWait, PoolLoop
from toolc.runtime.pool.pool_sandbox import PoolSandbox, SandboxKind
from toolc.sandbox.host.kernel import available_memory

T = TypeVar("T")

COLD_SECONDS: Final = 2.0
"""How long no sandbox is started after a call that found none waiting, in seconds, unless the call ends earlier.

Starting one at once would take a processor from the call, and many programs make only one call.
"""

MAX_USED: Final = 2 * (os.cpu_count() or 1)
"""How many used sandboxes are stopped at the same time after their calls have ended. Further calls stop their own.

With fewer, calls in quick succession would wait. With more, removals would take the processors from calls.
"""

REST_SECONDS: Final = 0.02
"""How long after a call no replacement starts, in seconds.

A replacement must not slow down the end of the call, or delay a program that then closes its executor.
"""

_MAX_STARTING: Final = os.cpu_count() or 1
"""The maximum number of concurrent starts. Any more would slow down each other and the calls."""

_LOGGER: Final = logging.getLogger("toolc")


class Keeper:
    """The waiting sandboxes of all executors of this process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[SandboxKind, Entry] = {}
        self._loop: PoolLoop | None = None
        self._busy: dict[threading.Thread, object] = {}
        self._used: list[PoolSandbox] = []
        self._used_count = 0
        self._dropped: deque[object] = deque()

    def forget(self) -> None:
        """Start empty in a forked child, without stopping any sandboxes, which belong to its parent."""
        if self._loop:
            self._loop.forget()
        self.__init__()  # type: ignore[misc]

    def keep(self, kind: SandboxKind, ceilings: Ceilings, number: int) -> None:
        """Keep ``number`` more sandboxes of ``kind`` waiting, even while no call uses them."""
        with self._lock:
            entry = self._entry(kind, ceilings, used=-math.inf)
            entry.kept += number
        self._notify()

    def lease(
        self, kind: SandboxKind, profile: Profile, ceilings: Ceilings, cancellation: Cancellation | None
    ) -> tuple[PoolSandbox, JsonObject] | None:
        """Return a waiting sandbox, or one that is being started, and the report of its guest.

        ``profile`` is the profile of the call. If ``kind`` has no workspace, that of the call is mounted.

        Returns None if there is none, or after a cancellation. In any case, ``kind`` is in use by a call until
        ``call_ended`` or ``close_soon``.
        """
        self._begin(kind, ceilings)
        try:
            while found := self._found(kind, cancellation):
                try:
                    ready = found.confirm(profile)
                except BaseException:
                    self._stop(found)
                    raise
                if ready is not None:
                    return found, ready
                self._stop(found)
        except BaseException:
            self.call_ended(kind)
            raise
        return None

    def _found(self, kind: SandboxKind, cancellation: Cancellation | None) -> PoolSandbox | None:
        """Return a waiting sandbox, or wait for one that is being started. None if there is neither."""
        found = self._take(kind)
        self._notify()
        return self._claimed(kind, found, cancellation) if isinstance(found, Claim) else found

    def call_ended(self, kind: SandboxKind) -> None:
        """Allow the start of a replacement."""
        with self._lock:
            self._end(kind)
        self._notify()

    def close_soon(self, sandbox: PoolSandbox) -> bool:
        """Stop the sandbox of a call on another thread, and record the end of the call as ``call_ended`` does.

        Returns False if the caller must stop the sandbox itself, for example because many others are being stopped.
        """
        with self._lock:
            if self._used_count >= MAX_USED:
                return False
            try:
                self._run_loop()
            except (OSError, RuntimeError):
                return False  # there are too many open files or threads, or the interpreter is exiting
            self._used_count += 1
            self._used.append(sandbox)
            self._end(sandbox.kind)
        self._notify()
        return True

    def drop(self, owner: object) -> None:
        """Stop all sandboxes of ``owner`` soon. Takes no lock, so it is safe in garbage collection at any point."""
        self._dropped.append(owner)
        self._notify()

    def close(self, owner: object | None = None) -> None:
        """Stop all sandboxes, or the sandboxes of ``owner``, and wait until they and their threads have ended."""
        while True:
            with self._lock:
                sandboxes, used = self._removed(owner), self._used_by(owner)
                busy = [each for each, whose in self._busy.items() if owner in (None, whose) and each.is_alive()]
                loop = None if self._entries else self._loop
            for sandbox in sandboxes:
                _close(sandbox)
            for sandbox in used:
                self._close_used(sandbox)
            for thread in busy:
                thread.join()
            if not busy:
                break
        if loop:
            loop.notify()
            loop.join()

    def report(self) -> JsonObject:
        """Describe the waiting sandboxes for another process (``toolc.runtime.pool.control``)."""
        with self._lock:
            memory = sum(len(each.waiting) * each.memory_bytes for each in self._entries.values())
        return {"waiting": self.waiting(), "memory_bytes": memory}

    def waiting(self) -> int:
        """Return how many sandboxes wait for calls."""
        with self._lock:
            return sum(len(each.waiting) for each in self._entries.values())

    def counts(self, owner: object) -> tuple[int, int]:
        """Return how many sandboxes of ``owner`` wait for calls, and how many are being started."""
        with self._lock:
            entries = [entry for kind, entry in self._entries.items() if kind.owner is owner]
            return sum(len(each.waiting) for each in entries), sum(each.starting for each in entries)

    def _entry(self, kind: SandboxKind, ceilings: Ceilings, used: float) -> Entry:
        entry = self._entries.get(kind)
        if entry is None:
            # Create it first, because this fails if there are too many open files.
            self._run_loop()
            entry = self._entries[kind] = Entry(ceilings=ceilings, used=used, closings=kind.engine.closings)
        return entry

    def _run_loop(self) -> None:
        if self._loop is None or self._loop.has_ended:
            self._loop = PoolLoop(self._step, self.report, self._loop)

    def _begin(self, kind: SandboxKind, ceilings: Ceilings) -> None:
        with self._lock:
            entry, now = self._entry(kind, ceilings, used=monotonic()), monotonic()
            entry.calls += 1
            entry.closings = kind.engine.closings
            entry.quiet_until = now + COLD_SECONDS

    def _end(self, kind: SandboxKind) -> None:
        if entry := self._entries.get(kind):
            entry.calls -= 1
            entry.failures = 0
            entry.used = monotonic()
            entry.quiet_until = entry.used + REST_SECONDS

    def _take(self, kind: SandboxKind) -> PoolSandbox | Claim | None:
        with self._lock:
            entry = self._entries.get(kind)
            if entry is None or not (entry.waiting or entry.starting > len(entry.claims)):
                return None
            entry.quiet_until = monotonic() + QUIET_SECONDS
            if entry.waiting:
                return entry.waiting.popleft()
            entry.claims.append(Claim())
            return entry.claims[-1]

    def _claimed(self, kind: SandboxKind, claim: Claim, cancellation: Cancellation | None) -> PoolSandbox | None:
        """Wait for the sandbox of ``claim``. A sandbox that arrives together with a cancellation is stopped."""
        is_needed = False
        try:
            claim.wait(cancellation)
            is_needed = cancellation is None or not cancellation.is_cancelled
        finally:
            with self._lock:
                if (entry := self._entries.get(kind)) and claim in entry.claims:
                    entry.claims.remove(claim)
                sandbox = claim.sandbox
            claim.close()
            if sandbox and not is_needed:
                self._stop(sandbox)
        return sandbox if is_needed else None

    def _notify(self) -> None:
        if loop := self._loop:
            loop.notify()

    def _step(self, loop: PoolLoop) -> LoopWait:
        """Decide and act. Return the next wait, or None if there are no sandboxes to manage, which ends the loop."""
        available = available_memory()
        with self._lock:
            stopped = [each for owner in _drained(self._dropped) for each in self._removed(owner)]
            stopped += self._ended()
            kinds = [*self._entries]
            facts = tuple(self._entries[kind].facts(number) for number, kind in enumerate(kinds))
            decision = decide(
                PoolState(now=monotonic(), kinds=facts, available_bytes=available, max_starting=_MAX_STARTING)
            )
            stopped += self._popped(decision.stop)
            work = [(each.kind.owner, partial(self._close_used, each)) for each in self._used_by(None)]
            work += [(each.kind.owner, partial(_close, each)) for each in stopped]
            for kind in (kinds[number] for number in decision.start):
                entry = self._entries[kind]
                entry.starting += 1
                work.append((kind.owner, partial(self._start, kind, entry)))
            for number in decision.forget:
                del self._entries[kinds[number]]
            watched = [each.fileno() for entry in self._entries.values() for each in entry.waiting]
            loop.has_ended = not self._entries
            # Still with the lock, because sandboxes without an entry must be on a thread that ``close`` waits for.
            left = [each for owner, each in work if not self._has_thread(owner, each)]
        for each in left:
            each()
        return LoopWait(watched, decision.next_time)

    def _removed(self, owner: object | None) -> list[PoolSandbox]:
        """Remove the entries of ``owner``, or all, and return their waiting sandboxes. Calls that wait get none."""
        found = {kind: entry for kind, entry in self._entries.items() if owner in (None, kind.owner)}
        for kind, entry in found.items():
            del self._entries[kind]
            entry.is_closed = True
            for claim in _drained(entry.claims):
                claim.resolve(None)
        return [sandbox for entry in found.values() for sandbox in _drained(entry.waiting)]

    def _used_by(self, owner: object | None) -> list[PoolSandbox]:
        """Remove and return the used sandboxes of ``owner``, or all."""
        found = [each for each in self._used if owner in (None, each.kind.owner)]
        self._used = [each for each in self._used if each not in found]
        return found

    def _ended(self) -> list[PoolSandbox]:
        """Remove and return the waiting sandboxes that have ended."""
        found = []
        for entry in self._entries.values():
            if ended := [id(each) for each in entry.waiting if each.has_ended()]:
                entry.failed()
                found += ended
        return self._popped(found)

    def _popped(self, numbers: Sequence[int]) -> list[PoolSandbox]:
        """Remove and return the waiting sandboxes with these numbers."""
        found = []
        for entry in self._entries.values():
            found += [each for each in entry.waiting if id(each) in numbers]
            entry.waiting = deque(each for each in entry.waiting if id(each) not in numbers)
        return found

    def _start(self, kind: SandboxKind, entry: Entry) -> None:
        """Start a sandbox. Give it to a call that waits for it, or let it wait."""
        sandbox, before, was_alone = None, available_memory(), self._is_alone()
        try:
            # Otherwise, an engine that was closed before its executor would be opened again.
            if entry.closings == kind.engine.closings:
                sandbox = PoolSandbox.ready(kind)
        except Exception as error:  # noqa: BLE001  the call that needs the sandbox starts one itself, and reports why not
            _LOGGER.debug("a sandbox could not be started ahead: %s", error)
        used = before - available_memory()
        with self._lock:
            entry.starting -= 1
            if sandbox is None:
                entry.failed()
            else:
                entry.started(used if was_alone and self._is_alone() else None)
            if entry.claims:
                entry.claims.popleft().resolve(sandbox)
                sandbox = None
            elif sandbox and not entry.is_closed:
                entry.waiting.append(sandbox)
                sandbox = None
        self._notify()
        if sandbox:
            _close(sandbox)

    def _close_used(self, sandbox: PoolSandbox) -> None:
        try:
            _close(sandbox)
        finally:
            with self._lock:
                self._used_count -= 1

    def _is_alone(self) -> bool:
        """Return whether no other sandbox is being started or stopped, so that memory can be measured."""
        return not any(each.is_alive() for each in [*self._busy] if each is not threading.current_thread())

    def _stop(self, sandbox: PoolSandbox) -> None:
        self.spawn(sandbox.kind.owner, partial(_close, sandbox))

    def spawn(self, owner: object, work: Callable[[], None]) -> None:
        """Run ``work`` on a thread that ``close`` waits for."""
        with self._lock:
            has_thread = self._has_thread(owner, work)
        if not has_thread:
            work()

    def _has_thread(self, owner: object, work: Callable[[], None]) -> bool:
        """Start a thread for ``work``. Return False if that is not possible."""
        thread = threading.Thread(target=work, name="toolc pool", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False  # the interpreter is exiting, or there are too many threads
        # A thread is forgotten only after it has ended, so that ``close`` can wait for its end.
        self._busy = {each: whose for each, whose in self._busy.items() if each.is_alive()} | {thread: owner}
        return True


def _drained(queue: deque[T]) -> Iterator[T]:
    """Remove and yield all items. Other threads may add more concurrently."""
    while queue:
        yield queue.popleft()


def _close(sandbox: PoolSandbox) -> None:
    try:
        sandbox.close()
    except InfrastructureError as error:
        _LOGGER.warning("%s", error)


KEEPER: Final = Keeper()
"""The waiting sandboxes of this process."""

atexit.register(KEEPER.close)
os.register_at_fork(after_in_child=KEEPER.forget)

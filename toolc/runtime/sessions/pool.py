"""The pool of sessions: sandboxes that live for several calls of one tool, or of the tools of a plugin or MCP server.

The key of a session is everything that its process is started with
(``toolc.runtime.sessions.sandbox_server.idle_state``). Calls with the same key use the same sandbox, one at a time and
in order. A process that has ended, timed out, was cancelled or violated the protocol is not used again. The next call
starts a new one. A session that is idle for ``idle_seconds`` is closed.

The calls of a tool with ``lifetime: fork`` share only their server, so concurrent calls use up to ``SERVERS`` servers.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Hashable
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias
from weakref import WeakSet

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall, Plan, PluginCall
from toolc.model.result import Outcome
from toolc.runtime.call_details import Timing
from toolc.runtime.cancellation import FairLock
from toolc.runtime.egress.egress_options import Egress

if TYPE_CHECKING:
    from toolc.runtime.sessions.sandbox_server import Start
    from toolc.runtime.sessions.servers import Server
    from toolc.runtime.wire.session import SessionCall

IDLE_SECONDS: Final = 1800.0
"""The default idle time after which a session is closed, in seconds.

A user who reads or takes a short break does not lose state, and a forgotten session does not use memory all day.
"""


SERVERS: Final = 2 * (os.cpu_count() or 1)
"""The maximum number of fork servers of a tool. With more, concurrent calls would slow each other down."""

Owner: TypeAlias = tuple[str, str, tuple[str, ...]]
"""The caller's name for a session, the digest that identifies its tool, and the arguments from the caller."""

_Key: TypeAlias = tuple[str, str, tuple[str, ...], Hashable]
"""An ``Owner`` (without the digest, if several tools share a process), and what the process is started with."""


class _Session:
    """The calls of one sandbox, and the sandbox while it runs. ``calls`` counts the calls that use or await it."""

    def __init__(self) -> None:
        self.lock = FairLock()
        self.calls = 0
        self.server: Server | None = None
        self.used = monotonic()
        self.digests: set[str] = set()

    def end(self) -> None:
        server, self.server = self.server, None
        if server:
            server.close()


class Sessions:
    """The sessions of one executor. Safe to use from several threads."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self.reset()
        _ALL.add(self)

    def reset(self) -> None:
        """Start with an empty pool without closing the sessions, which another process still owns."""
        self._sessions: dict[tuple[_Key, int], _Session] = {}
        self._lock = threading.Lock()
        self._reaper: threading.Thread | None = None
        self._wake = threading.Event()

    def call(
        self, owner: Owner, plan: Plan, start: Start, call: SessionCall, egress: Egress, timing: Timing
    ) -> tuple[Outcome, JsonObject]:
        """Run the call of ``plan`` in its session, once the calls before it have ended.

        Callers whose values for parameters with ``from`` differ have different sessions. Time in the queue counts
        towards the call's timeout. Raises ``InfrastructureError``, which ends the session.
        """
        from toolc.runtime.sessions.sandbox_server import idle_state  # lazy: +15 ms; few tools have sessions

        # The tools of one plugin or MCP server share its process.
        session_name, tool, filled = owner
        if plan.profile.has_fork_server:
            session_name, filled = "", ()  # a fork keeps no state
        shared = isinstance(plan.invocation, PluginCall | McpCall)
        key = session_name, "" if shared else tool, filled, idle_state(plan)
        session = self._session(key, SERVERS if plan.profile.has_fork_server else 1)
        session.digests.add(tool)
        begun = monotonic()
        try:
            with session.lock.acquire(call.timeout_ms / 1000, call.cancellation) as has_lock:
                timing.lap("queue")
                left_ms = call.timeout_ms - round((monotonic() - begun) * 1000)
                if call.cancellation and call.cancellation.is_cancelled:
                    return Outcome(ending="cancelled"), {"user": ""}
                if not has_lock or left_ms <= 0:
                    return Outcome(ending="timed_out"), {"user": ""}
                return self._run(session, plan, start, replace(call, timeout_ms=left_ms), egress, timing)
        finally:
            # The last call of a session that was closed concurrently ends it.
            if not self._release(session):
                _end_unused(session)

    def end_except(self, digests: Collection[str]) -> None:
        """Close sessions without a running call, except sessions of tools with one of these effect digests."""
        with self._lock:
            idle = {key for key, each in self._sessions.items() if not each.calls}
            ended = {key for key in idle if self._sessions[key].digests.isdisjoint(digests)}
            sessions = [self._sessions.pop(key) for key in ended]
        for session in sessions:
            _end_unused(session)

    def end_idle(self, keep: int) -> None:
        """Close sessions without a running call, except the ``keep`` most recently used."""
        with self._lock:
            idle = [key for key, each in self._sessions.items() if not each.calls]
            idle.sort(key=lambda key: self._sessions[key].used, reverse=True)
            ended = [self._sessions.pop(key) for key in idle[max(0, keep) :]]
        for session in ended:
            _end_unused(session)

    def close(self) -> None:
        """Close all sessions. If a call is running, its session is closed after it. Raises ``InfrastructureError``."""
        self._close(lambda _: True)

    def end(self, session_name: str) -> None:
        """Close the sessions with this name in the same way as ``close``."""
        self._close(lambda owner: owner == session_name)

    def _close(self, is_closed: Callable[[str], bool]) -> None:
        with self._lock:
            closed = {each for each in self._sessions if is_closed(each[0][0])}
            sessions = [self._sessions.pop(each) for each in closed]
        self._wake.set()
        with ExitStack() as ends:
            for session in sessions:
                # Close each of them, even if another cannot be stopped.
                ends.callback(_end_unused, session)

    def _run(
        self, session: _Session, plan: Plan, start: Start, call: SessionCall, egress: Egress, timing: Timing
    ) -> tuple[Outcome, JsonObject]:
        from toolc.runtime.sessions.forks import ForkServer  # lazy: as in call
        from toolc.runtime.sessions.servers import server_class  # lazy: as in call
        from toolc.runtime.wire.session import EndedError  # lazy: as in call

        keep = False
        try:
            if session.server is not None and session.server.has_ended:
                session.end()
            if session.server is None:
                kind = ForkServer if plan.profile.has_fork_server else server_class(plan)
                session.server = kind(plan, start, egress, timing)
            server = session.server
            try:
                outcome = server.call(plan, call)
                keep = True
            except EndedError as error:
                outcome = error.outcome
            timing.lap("run")
        finally:
            session.used = monotonic()
            if not keep:
                session.end()
                timing.lap("close")
        return outcome, server.details()

    def _session(self, key: _Key, number: int) -> _Session:
        """Return the session of ``key`` with the fewest calls. If all are in use, start a new one, up to ``number``."""
        with self._lock:
            found = [self._sessions.get((key, at)) for at in range(number)]
            session = min(filter(None, found), key=lambda each: each.calls, default=None)
            if session is None or (session.calls and None in found):
                session = self._sessions[key, found.index(None)] = _Session()
            session.calls += 1
            session.used = monotonic()
            if self._reaper is None:
                self._wake.clear()
                self._reaper = threading.Thread(target=self._reap, name="toolc sessions", daemon=True)
                self._reaper.start()
        return session

    def _release(self, session: _Session) -> bool:
        """Record the end of a call. Return whether the session is still in the pool."""
        with self._lock:
            session.calls -= 1
            return any(each is session for each in self._sessions.values())

    def _reap(self) -> None:
        """Close sessions as they become idle, until none is left."""
        while True:
            with self._lock:
                until = monotonic() - self._idle_seconds
                idle = {key: each for key, each in self._sessions.items() if each.used <= until}
                idle = {key: each for key, each in idle.items() if not each.lock.waiting}
                for key in idle:
                    del self._sessions[key]
                if not self._sessions:
                    self._reaper = None
                    waits = None
                else:
                    waits = min(each.used for each in self._sessions.values()) - until
            for session in idle.values():
                try:
                    _end_unused(session)
                except (InfrastructureError, OSError) as error:
                    logging.getLogger("toolc").warning("an idle session could not be closed: %s", error)
            if waits is None:
                return
            # At most a hundred times per idle time, and not longer than a lock can wait.
            self._wake.wait(min(max(waits, 0.01 * self._idle_seconds), IDLE_SECONDS))
            self._wake.clear()


_ALL: Final[WeakSet[Sessions]] = WeakSet()


def _reset_all() -> None:
    """Forget all sessions in a forked child, because processes that share a sandbox would mix up their responses."""
    for sessions in list(_ALL):
        sessions.reset()


os.register_at_fork(after_in_child=_reset_all)


def _end_unused(session: _Session) -> None:
    """Close a session if no call is running. Otherwise its last call closes it."""
    with session.lock.acquire(0, None) as has_lock:
        if has_lock:
            session.end()

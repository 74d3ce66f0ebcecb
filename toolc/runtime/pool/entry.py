"""The state of one kind of sandbox: sandboxes that wait, sandboxes that start, and calls that wait for one."""

from __future__ import annotations

import select
import socket
from collections import deque
from time import monotonic
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.pool.decision import ASSUMED_BYTES, Kind, Waiting
from toolc.runtime.pool.pool_sandbox import PoolSandbox

RETRY_SECONDS: Final = (1.0, 60.0)
"""The wait after the first failure and the longest wait, in seconds. Each wait is twice as long as the previous one.

The first is long enough for a temporary problem, and the longest keeps a broken image from using up a processor.
"""

MEASUREMENTS: Final = 5
"""The memory of a waiting sandbox is the median of this many measurements.

Other programs disturb single measurements, and a change of the image shows after three.
"""

LEAST_BYTES: Final = 512 * 1024
"""The minimum memory of a waiting sandbox, in bytes. Other programs disturbed any smaller measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """How many sandboxes may wait in this process, how much memory they may use, and how long one may be unused."""

    sandboxes: int
    memory_bytes: int
    idle_seconds: float


class Claim:
    """A call that waits for a sandbox that is being started. ``sandbox`` is set when the wait ends."""

    def __init__(self) -> None:
        self._receiver, self._sender = socket.socketpair()
        self.sandbox: PoolSandbox | None = None

    def resolve(self, sandbox: PoolSandbox | None) -> None:
        """End the wait. None means that the start failed."""
        self.sandbox = sandbox
        self._sender.close()

    def wait(self, cancellation: Cancellation | None) -> None:
        """Wait until ``resolve`` is called, or the call is cancelled."""
        poll = select.poll()
        poll.register(self._receiver, select.POLLIN)
        if cancellation is not None:
            poll.register(cancellation.fileno(), select.POLLIN)
        poll.poll()

    def close(self) -> None:
        """Close the descriptors."""
        self._receiver.close()
        self._sender.close()


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """The state of one kind. ``calls`` is the number of running calls, and ``used`` is when the last one ended.

    ``failures`` counts the failed starts, and sandboxes that ended while they waited, since the last call.
    ``is_closed`` is set once its executor is closed. ``closings`` is the engine's count when the last call began.
    """

    ceilings: Ceilings
    used: float
    closings: int
    calls: int = 0
    kept: int = 0
    quiet_until: float = 0.0
    retry_at: float = 0.0
    failures: int = 0
    waiting: deque[PoolSandbox] = field(default_factory=deque)
    starting: int = 0
    claims: deque[Claim] = field(default_factory=deque)
    memory: deque[int] = field(default_factory=lambda: deque(maxlen=MEASUREMENTS))
    is_closed: bool = False

    @property
    def memory_bytes(self) -> int:
        """The memory that one sandbox uses: the (upper) median, without the slow import of ``statistics``."""
        return sorted(self.memory)[len(self.memory) // 2] if self.memory else ASSUMED_BYTES

    def started(self, memory_bytes: int | None) -> None:
        """Record a start, and the sandbox's memory if it was measured."""
        if memory_bytes is not None:
            self.memory.append(max(memory_bytes, LEAST_BYTES))

    def failed(self) -> None:
        """Record a failed start, or the end of a waiting sandbox, because the next one may also end at once."""
        first, longest = RETRY_SECONDS
        self.retry_at = monotonic() + min(first * 2**self.failures, longest)
        self.failures += 1

    def facts(self, number: int) -> Kind:
        """Return the frozen state for a decision."""
        return Kind(
            number=number,
            kept=self.kept,
            used=monotonic() if self.calls else self.used,
            quiet_until=max(self.quiet_until, self.retry_at),
            memory_bytes=self.memory_bytes,
            idle_seconds=self.ceilings.idle_seconds,
            max_sandboxes=self.ceilings.sandboxes,
            max_bytes=self.ceilings.memory_bytes,
            waiting=tuple(Waiting(number=id(each), since=each.since) for each in self.waiting),
            starting=self.starting,
            claimed=len(self.claims),
        )

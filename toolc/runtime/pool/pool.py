"""The pool of one executor: which sandboxes its calls may share, and the settings for starting them ahead."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import MIB
from toolc.runtime import argument_checks
from toolc.runtime.call_details import Timing
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.pool.entry import Ceilings
from toolc.runtime.pool.keeper import KEEPER
from toolc.runtime.pool.pool_sandbox import PoolSandbox, SandboxKind
from toolc.runtime.workspace.busy import NOT_ENDED, Removal
from toolc.sandbox.interface import Engine, EngineSandbox, PoolEngine

_PER_PROCESS: Final = 2 * (os.cpu_count() or 1)
"""How many sandboxes may wait in a process by default.

The processors cannot serve more calls at a time, and each waiting sandbox takes memory.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Settings for sandboxes that an executor starts ahead of their calls.

    After the first call of a tool, one sandbox waits up to ``idle`` seconds for the next call. In a process, at most
    ``sandboxes`` wait (two per processor by default), and they use at most ``memory_bytes``. The defaults suit the
    calls of a conversation, which follow each other within a minute. About forty sandboxes fit into 256 MiB.
    """

    idle: float = 60.0
    sandboxes: int | None = None
    memory_bytes: int = 256 * MIB

    def __post_init__(self) -> None:
        """Check the values. Raises ``UsageError``."""
        if self.idle != math.inf:
            argument_checks.seconds("Pool(idle=)", self.idle)
        for name, value in (("sandboxes", self.sandboxes or 0), ("memory_bytes", self.memory_bytes)):
            if argument_checks.of_type(f"Pool({name}=)", value, int, "a whole number") < 0:
                raise UsageError(f"Pool({name}=) must not be negative, but is {value}")


STANDARD: Final = Pool()
"""The default settings of an executor."""


class Lease:
    """A sandbox of ``profile`` for one call or one session, which ``close`` stops.

    If the guest already waits for the call, ``ready`` is its report. For a new sandbox, it is None. ``is_current``
    returns whether a new sandbox would be the same now.
    """

    closes_early = False
    """Whether ``close_empty`` may return before the sandbox is removed."""

    def __init__(
        self,
        sandbox: EngineSandbox,
        profile: Profile,
        ready: JsonObject | None = None,
        is_current: Callable[[], bool] = lambda: True,
    ) -> None:
        self.sandbox = sandbox
        self.profile = profile
        self.ready = ready
        self.is_current = is_current

    @cached_property
    def _removal(self) -> Removal:
        return Removal(self.profile.workspace, self.sandbox.close)

    def record_start(self, timing: Timing) -> None:
        """Record how long it took to get the sandbox."""
        if self.ready is None:
            timing.lap("create", until=self.sandbox.created)
            timing.lap("start")
        else:
            timing.lap("lease")

    def close(self) -> None:
        """Stop the sandbox and wait for its end.

        If it cannot be stopped, raises ``InfrastructureError``, and the workspace is busy.
        """
        self._remove()

    def close_empty(self) -> None:
        """Stop a sandbox in which no process of the call is left. It may be removed later, in the background."""
        self.close()

    def mark_busy(self) -> None:
        """Mark the workspace as busy until the sandbox is removed, because a killed process may still use it."""
        self._removal.mark()

    def close_left(self) -> None:
        """Stop a sandbox in which a killed process is left. Always raises ``InfrastructureError``."""
        self.close()
        raise InfrastructureError(NOT_ENDED)

    def _remove(self) -> None:
        try:
            self._removal.run()
        except BaseException:
            self._removal.mark()
            raise


class PoolLease(Lease):
    """A sandbox of a pool. It is removed in the background once no process of its call is left."""

    closes_early = True

    def __init__(self, sandbox: PoolSandbox, profile: Profile, ready: JsonObject | None = None) -> None:
        super().__init__(sandbox.sandbox, profile, ready)
        self._pool_sandbox = sandbox

    @cached_property
    def _removal(self) -> Removal:
        return Removal(self.profile.workspace, self._pool_sandbox.close)

    def close(self) -> None:
        """See ``Lease``."""
        try:
            self._remove()
        finally:
            KEEPER.call_ended(self._pool_sandbox.kind)

    def close_empty(self) -> None:
        """See ``Lease``."""
        if not KEEPER.close_soon(self._pool_sandbox):
            self.close()

    def close_left(self) -> None:
        """See ``Lease``. The sandbox is removed in the background, and until then its workspace is busy."""
        self._removal.mark()
        KEEPER.spawn(self._pool_sandbox.kind.owner, self._removal.run_and_log)
        KEEPER.call_ended(self._pool_sandbox.kind)
        raise InfrastructureError(NOT_ENDED)


class ExecutorPool:
    """The sandboxes of one executor. ``numbers`` is the user's number of waiting sandboxes for each tool.

    Without ``settings``, no sandboxes wait.
    """

    def __init__(self, settings: Pool | None, numbers: Mapping[str, int]) -> None:
        self.numbers = numbers if settings else dict[str, int]()
        self._is_on = settings is not None
        settings = settings or STANDARD
        self._ceilings = Ceilings(
            sandboxes=_PER_PROCESS if settings.sandboxes is None else settings.sandboxes,
            memory_bytes=settings.memory_bytes,
            idle_seconds=settings.idle,
        )
        self._owner = object()

    def lease(
        self, tool: str, engine: Engine, profile: Profile, arguments: tuple[str, ...], cancellation: Cancellation | None
    ) -> Lease:
        """Return a sandbox for a call of ``tool``, if possible one that was started ahead.

        Raises ``InfrastructureError``.
        """
        if not isinstance(engine, PoolEngine) or _is_view(profile):
            return Lease(engine.start(profile, arguments), profile)
        if not self._may_wait(tool, profile):
            kind = SandboxKind(owner=self._owner, engine=engine, profile=profile, arguments=arguments, waits=False)
            return PoolLease(PoolSandbox(kind, profile), profile)
        kind = self._kind(engine, profile, arguments)
        if leased := KEEPER.lease(kind, profile, self._ceilings, cancellation):
            return PoolLease(leased[0], profile, leased[1])
        try:
            return PoolLease(PoolSandbox(kind, profile), profile)
        except BaseException:
            KEEPER.call_ended(kind)
            raise

    def keep(self, tool: str, engine: Engine, profile: Profile, arguments: tuple[str, ...]) -> None:
        """Keep the user's number of sandboxes for ``tool`` waiting until ``close``."""
        if isinstance(engine, PoolEngine) and self._may_wait(tool, profile):
            KEEPER.keep(self._kind(engine, profile, arguments), self._ceilings, self.numbers[tool])

    def run(self, work: Callable[[], None]) -> None:
        """Run ``work`` on a thread that ``close`` waits for."""
        KEEPER.spawn(self._owner, work)

    def counts(self) -> tuple[int, int]:
        """Return how many sandboxes wait for calls, and how many are being started."""
        return KEEPER.counts(self._owner)

    def drop(self) -> None:
        """Stop the waiting sandboxes soon. Safe to call from garbage collection at any point."""
        KEEPER.drop(self._owner)

    def close(self) -> None:
        """Stop the waiting sandboxes, and wait for their end. Later calls start new ones."""
        KEEPER.close(self._owner)

    def _kind(self, engine: PoolEngine, profile: Profile, arguments: tuple[str, ...]) -> SandboxKind:
        profile = engine.profile_ahead(profile)
        return SandboxKind(owner=self._owner, engine=engine, profile=profile, arguments=arguments)

    def _may_wait(self, tool: str, profile: Profile) -> bool:
        """Return whether sandboxes for ``tool`` are started ahead."""
        return self._is_on and not _is_view(profile) and self.numbers.get(tool, 1) > 0


def _is_view(profile: Profile) -> bool:
    """Return whether the workspace is a view for one call, which is read once the sandbox is removed."""
    return profile.workspace is not None and profile.workspace.mode == "overlay"

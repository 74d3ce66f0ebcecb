"""One sandbox of a pool: how it is started, and whether it can still be used after it has waited."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from typing import Final, NamedTuple, Self

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.runtime.wire.readiness import confirm_ready, make_ready
from toolc.sandbox.interface import PoolEngine
from toolc.sandbox.selection import in_use

JUMP_SECONDS: Final = 1.0
"""How much the difference between two clocks must change, in seconds, to show that the host slept or was set.

Ordinary clock adjustments are smaller, and reading both clocks takes microseconds.
"""

_LOGGER: Final = logging.getLogger("toolc")

_BOOT_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxKind:
    """The properties that a sandbox must share with a call that it serves. ``owner`` is the pool of one executor.

    Unless it ``waits``, each sandbox of this kind is started when a call needs it. ``profile`` is the result of the
    engine's ``profile_ahead`` for the profile of the call. Nothing here belongs to a single call: its arguments,
    variables, secrets and allowed hosts arrive with the call itself.
    """

    owner: object
    engine: PoolEngine
    profile: Profile
    arguments: tuple[str, ...]
    waits: bool = True


class ClockOffsets(NamedTuple):
    """How far the time of day, and the clock that runs even while the host sleeps, are ahead of the monotonic clock."""

    wall: float
    boot: float

    @classmethod
    def now(cls) -> ClockOffsets:
        """Return the current differences."""
        monotonic = time.monotonic()
        return cls(time.time() - monotonic, time.clock_gettime(_BOOT_CLOCK) - monotonic)

    def has_jumped(self, then: ClockOffsets) -> bool:
        """Return whether a clock has jumped since ``then``."""
        return any(abs(new - old) > JUMP_SECONDS for new, old in zip(self, then, strict=True))


class PoolSandbox:
    """A new sandbox of ``kind`` for one call. It keeps its engine open until ``close``."""

    def __init__(self, kind: SandboxKind, profile: Profile) -> None:
        """Start the sandbox with ``profile``, which is the profile of its call or of ``kind``.

        Raises ``InfrastructureError``, after removing anything that was created.
        """
        self.kind = kind
        self.clocks = ClockOffsets.now()
        self.since = time.monotonic()
        with ExitStack() as use:
            use.enter_context(in_use())
            self.sandbox = kind.engine.start(profile, kind.arguments)
            self._use = use.pop_all()

    @classmethod
    def ready(cls, kind: SandboxKind) -> Self:
        """Return a sandbox whose guest waits for a call. Raises ``InfrastructureError``, without leaving a sandbox."""
        made = cls(kind, kind.profile)
        try:
            make_ready(made.sandbox, kind.profile)
        except BaseException:
            made.close()
            raise
        made.since = time.monotonic()
        return made

    def fileno(self) -> int:
        """Return the descriptor that becomes readable if the sandbox ends."""
        return self.sandbox.fileno()

    def has_ended(self) -> bool:
        """Return whether a sandbox without a call has ended, or has sent any data."""
        return self.sandbox.read() is not None

    def confirm(self, profile: Profile) -> JsonObject | None:
        """Return the report of a guest that still waits, or None if the sandbox must not be used for a call.

        The sandbox must be the same as a new one with ``profile`` would be now, and its guest must answer. If it has no
        workspace yet, that of ``profile`` is mounted first.
        """
        if ClockOffsets.now().has_jumped(self.clocks) or self.has_ended():
            return None
        try:
            if self.kind.engine.is_current(self.kind.profile, self.sandbox):
                if profile != self.kind.profile:
                    self.kind.engine.mount_workspace(profile, self.sandbox)
                return confirm_ready(self.sandbox, profile)
        except InfrastructureError as error:
            _LOGGER.debug("a waiting sandbox cannot be used: %s", error)
        return None

    def close(self) -> None:
        """Stop the sandbox and wait for its end. Raises ``InfrastructureError`` if it cannot be stopped."""
        with self._use:
            self.sandbox.close()

"""Decide which sandboxes to start ahead of their calls, and which to stop, with pure functions of a frozen state.

A sandbox can serve a call of the same *kind*, which means the same executor, engine, profile and guest arguments.
"""

import math
from collections.abc import Iterable
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.model.spec.sandbox import MIB

QUIET_SECONDS: Final = 0.05
"""How long after a sandbox was taken its replacement starts, in seconds, unless the call ends earlier.

Starting it together with the call would slow down the call.
"""

UNUSED_SECONDS: Final = 10.0
"""The time without a call, in seconds, after which a sandbox can be stopped to make room for another kind.

Otherwise calls of many tools in turn would stop sandboxes just before they are needed.
"""

MEMORY_SHARE: Final = 4
"""A sandbox is started ahead only if it needs at most this fraction (1/N) of the host's available memory.

The rest is for calls. Without it, waiting sandboxes could make a call run out of memory.
"""

ASSUMED_BYTES: Final = 6 * MIB
"""The memory that a waiting sandbox is assumed to use until it is measured, in bytes.

The value was measured with the engine that uses the most memory.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One sandbox that waits for a call."""

    number: int
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The sandboxes of one kind. Times are of the monotonic clock. ``number`` is unique in a state.

    One sandbox waits while calls use this kind, and ``kept`` sandboxes wait even when no call does. ``used`` is when a
    call last used the kind. Until ``quiet_until``, no sandbox is started. ``starting`` counts the sandboxes that are
    being started, of which ``claimed`` will go to calls that wait for them. One sandbox uses ``memory_bytes``. The
    ceilings of its executor are for all waiting sandboxes of this process together.
    """

    number: int
    kept: int
    used: float
    quiet_until: float
    memory_bytes: int
    idle_seconds: float
    max_sandboxes: int
    max_bytes: int
    waiting: tuple[Waiting, ...] = ()
    starting: int = 0
    claimed: int = 0

    @property
    def count(self) -> int:
        """How many sandboxes wait, or will wait once they are started."""
        return len(self.waiting) + self.starting - self.claimed

    def goal(self, now: float) -> int:
        """Return how many sandboxes should wait now."""
        return self.kept if now - self.used >= self.idle_seconds else max(1, self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """Everything that a decision depends on. At most ``max_starting`` sandboxes are started at a time."""

    now: float
    kinds: tuple[Kind, ...]
    available_bytes: int
    max_starting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The kinds of which to start one sandbox, the sandboxes to stop, and the kinds to forget, all by number.

    If nothing else happens, decide again at ``next_time`` of the monotonic clock. None if that is not needed.
    """

    start: tuple[int, ...] = ()
    stop: tuple[int, ...] = ()
    forget: tuple[int, ...] = ()
    next_time: float | None = None


def decide(state: PoolState) -> Decision:
    """Return the sandboxes to start and stop now."""
    kinds = {each.number: each for each in state.kinds}
    stop = [waiting.number for each in state.kinds for waiting in _surplus(each, state.now)]
    kinds = {number: _without(each, stop) for number, each in kinds.items()}
    start: list[int] = []
    while sum(each.starting for each in kinds.values()) < state.max_starting:
        eligible = [each for each in kinds.values() if _may_start(each, state.now)]
        # The kind with the fewest sandboxes comes first, so that no tool takes all the room.
        eligible.sort(key=lambda each: (each.count, -each.used))
        chosen = next((each for each in eligible if _has_room(each, kinds.values(), state.available_bytes)), None)
        if chosen is None:
            victim = _victim(eligible, kinds.values(), state)
            if victim is None:
                break
            stop.append(victim)
            kinds = {number: _without(each, stop) for number, each in kinds.items()}
            continue
        start.append(chosen.number)
        kinds[chosen.number] = replace(chosen, starting=chosen.starting + 1)
    unneeded = (each for each in kinds.values() if not (each.waiting or each.starting or each.goal(state.now)))
    return Decision(
        start=tuple(start),
        stop=tuple(stop),
        forget=tuple(each.number for each in unneeded),
        next_time=_next_time(kinds.values(), state.now),
    )


def _surplus(kind: Kind, now: float) -> tuple[Waiting, ...]:
    """Return the oldest sandboxes that exceed the number that should wait."""
    return kind.waiting[: max(0, len(kind.waiting) - kind.goal(now))]


def _without(kind: Kind, stopped: list[int]) -> Kind:
    return replace(kind, waiting=tuple(each for each in kind.waiting if each.number not in stopped))


def _may_start(kind: Kind, now: float) -> bool:
    return kind.quiet_until <= now and kind.count < kind.goal(now)


def _has_room(kind: Kind, kinds: Iterable[Kind], available_bytes: int) -> bool:
    """Return whether one more sandbox of ``kind`` is within the ceilings of its executor."""
    count = sum(each.count for each in kinds)
    used = sum(each.count * each.memory_bytes for each in kinds)
    is_affordable = kind.memory_bytes <= available_bytes // MEMORY_SHARE
    return count < kind.max_sandboxes and used + kind.memory_bytes <= kind.max_bytes and is_affordable


def _victim(eligible: list[Kind], kinds: Iterable[Kind], state: PoolState) -> int | None:
    """Return the sandbox to stop in favor of a kind that was used later and has none, or None."""
    entitled = [each.used for each in eligible if each.count == 0 and _has_room(each, (), state.available_bytes)]
    before = min(max(entitled, default=-math.inf), state.now - UNUSED_SECONDS)
    unused = [each for each in kinds if len(each.waiting) > each.kept and each.used <= before]
    return min(unused, key=lambda each: each.used).waiting[0].number if unused else None


def _next_time(kinds: Iterable[Kind], now: float) -> float | None:
    times = []
    for each in kinds:
        if each.goal(now) > each.kept:
            times.append(each.used + each.idle_seconds)
        if each.quiet_until > now and each.count < each.goal(now):
            times.append(each.quiet_until)
    return min(times, default=None)

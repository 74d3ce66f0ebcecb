from dataclasses import replace
from itertools import count

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from toolc.model.spec.sandbox import MIB
from toolc.runtime.pool.decision import UNUSED_SECONDS, Decision, Kind, PoolState, Waiting, decide

NOW = 1000.0


def kind(number: int = 0, *, waiting: int = 0, **changes: object) -> Kind:
    """Return a kind that a call has just used, with so many waiting sandboxes."""
    sandboxes = tuple(Waiting(number=10 * number + each, since=NOW - 1) for each in range(waiting))
    found = Kind(
        number=number, kept=0, used=NOW, quiet_until=0.0, memory_bytes=2 * MIB, idle_seconds=60.0,
        max_sandboxes=4, max_bytes=256 * MIB, waiting=sandboxes,
    )  # fmt: skip
    return replace(found, **changes)  # type: ignore[arg-type]


def decided(*kinds: Kind, available_bytes: int = 1024 * MIB, max_starting: int = 2) -> Decision:
    return decide(PoolState(now=NOW, kinds=kinds, available_bytes=available_bytes, max_starting=max_starting))


def test_a_kind_that_a_call_used_gets_one_waiting_sandbox() -> None:
    assert decided(kind()) == Decision(start=(0,), next_time=NOW + 60)
    assert decided(kind(waiting=1)) == Decision(next_time=NOW + 60)
    assert decided(kind(starting=1)).start == ()


def test_a_sandbox_that_a_call_waits_for_is_not_one_that_will_wait() -> None:
    assert decided(kind(starting=1, claimed=1)).start == (0,)


def test_none_starts_during_a_short_call() -> None:
    assert decided(kind(quiet_until=NOW + 0.05)) == Decision(next_time=NOW + 0.05)
    assert decided(kind(quiet_until=NOW)).start == (0,)


def test_sandboxes_of_an_unused_kind_are_stopped_and_the_kind_is_forgotten() -> None:
    assert decided(kind(waiting=1, used=NOW - 59.9)).stop == ()
    assert decided(kind(waiting=1, used=NOW - 60)) == Decision(stop=(0,), forget=(0,))
    assert decided(kind(starting=1, used=NOW - 60)).forget == ()


def test_kept_sandboxes_wait_without_being_used() -> None:
    assert decided(kind(kept=2, used=float("-inf"))) == Decision(start=(0, 0))
    assert decided(kind(kept=2, used=float("-inf"), waiting=2)) == Decision()


def test_at_most_so_many_start_at_a_time() -> None:
    assert decided(kind(0), kind(1), kind(2)).start == (0, 1)
    assert decided(kind(0, starting=1, claimed=1), kind(1), kind(2)).start == (0,)


def test_at_most_so_many_wait_in_the_process() -> None:
    assert decided(kind(0, kept=9, waiting=3), max_starting=9).start == (0,)
    assert decided(kind(0, kept=9, waiting=3), kind(1, waiting=1)).start == ()


@pytest.mark.parametrize(("used", "started"), [(254, 1), (255, 0)])
def test_they_use_at_most_so_much_memory_together(used: int, started: int) -> None:
    other = kind(1, waiting=1, memory_bytes=used * MIB)
    assert len(decided(kind(), other).start) == started


@pytest.mark.parametrize(("available", "started"), [(8, 1), (7.9, 0)])
def test_one_uses_at_most_a_part_of_the_available_memory(available: float, started: int) -> None:
    assert len(decided(kind(), available_bytes=int(available * MIB)).start) == started


def test_the_kind_with_the_fewest_sandboxes_comes_first_then_the_one_used_last() -> None:
    many = kind(0, kept=3, waiting=2)
    assert decided(many, kind(1, used=NOW - 2), kind(2, used=NOW - 1), max_starting=1).start == (2,)
    assert decided(many, kind(1, used=NOW - 2), kind(2, used=NOW - 1), max_starting=2).start == (2, 1)


def test_without_room_a_kind_without_sandboxes_replaces_the_one_unused_for_longest() -> None:
    old = [kind(number, waiting=1, used=NOW - UNUSED_SECONDS - number) for number in range(1, 5)]
    assert decided(kind(), *old) == replace(decided(kind()), stop=(40,), next_time=NOW - UNUSED_SECONDS - 4 + 60)
    recent = [replace(each, used=NOW - UNUSED_SECONDS + 0.1) for each in old]
    assert decided(kind(), *recent).stop == ()
    kept = [replace(each, kept=1) for each in old]
    assert decided(kind(), *kept).stop == ()


def test_nothing_is_stopped_for_a_kind_that_does_not_fit_alone() -> None:
    old = [kind(number, waiting=1, used=NOW - 30) for number in range(1, 5)]
    assert decided(kind(memory_bytes=300 * MIB), *old).stop == ()


class PoolMachine(RuleBasedStateMachine):
    """Applies decisions to a simulated pool while calls come, sandboxes start, fail and die, and time passes."""

    kinds = Bundle("kinds")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.available = 1024 * MIB
        self.found: dict[int, Kind] = {}
        self.numbers = count()

    @property
    def state(self) -> PoolState:
        return PoolState(now=self.now, kinds=tuple(self.found.values()), available_bytes=self.available, max_starting=2)

    @rule(
        target=kinds, kept=st.integers(0, 3), memory=st.integers(1, 100), number=st.integers(0, 5),
        most=st.integers(1, 6),
    )  # fmt: skip
    def create(self, kept: int, memory: int, number: int, most: int) -> int:
        made = kind(number, kept=kept, used=self.now, memory_bytes=memory * MIB)
        self.found.setdefault(number, replace(made, max_sandboxes=most))
        return number

    @rule(number=kinds)
    def call(self, number: int) -> None:
        """Take a waiting sandbox, wait for one that starts, or go without."""
        each = self.found.get(number) or kind(number, used=self.now)
        each = replace(each, used=self.now, quiet_until=self.now + 0.05)
        if each.waiting:
            each = replace(each, waiting=each.waiting[1:])
        elif each.starting > each.claimed:
            each = replace(each, claimed=each.claimed + 1)
        self.found[number] = each

    @rule(number=kinds, works=st.booleans())
    def start_ends(self, number: int, works: bool) -> None:
        each = self.found.get(number)
        if each is None or not each.starting:
            return
        waiting = each.waiting
        if works and not each.claimed:
            waiting += (Waiting(number=next(self.numbers), since=self.now),)
        self.found[number] = replace(
            each, starting=each.starting - 1, claimed=max(0, each.claimed - 1), waiting=waiting,
            quiet_until=each.quiet_until if works else self.now + 1,
        )  # fmt: skip

    @rule(number=kinds)
    def die(self, number: int) -> None:
        if each := self.found.get(number):
            self.found[number] = replace(each, waiting=each.waiting[1:])

    @rule(seconds=st.sampled_from([0.01, 0.05, 1.0, 11.0, 70.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(mebibytes=st.sampled_from([0, 10, 100, 4000]))
    def change_memory(self, mebibytes: int) -> None:
        self.available = mebibytes * MIB

    @rule()
    def apply(self) -> None:
        before, decision = self.state, decide(self.state)
        for number in decision.start:
            each = self.found[number]
            assert each.kept or self.now - each.used < each.idle_seconds
            assert each.quiet_until <= self.now
            self.found[number] = replace(each, starting=each.starting + 1)
        for number, each in [*self.found.items()]:
            kept = tuple(sandbox for sandbox in each.waiting if sandbox.number not in decision.stop)
            self.found[number] = replace(each, waiting=kept)
        for number in decision.forget:
            gone = self.found.pop(number)
            assert not gone.waiting
            assert not gone.starting
        self._check_ceilings(before, decision)
        again = decide(self.state)
        assert (again.start, again.stop, again.forget) == ((), (), ())
        assert again.next_time is None or again.next_time > self.now

    def _check_ceilings(self, before: PoolState, decision: Decision) -> None:
        if not decision.start:
            return
        kinds = self.found.values()
        assert sum(each.starting for each in kinds) <= before.max_starting
        started = [self.found[number] for number in decision.start]
        assert sum(each.count for each in kinds) <= max(each.max_sandboxes for each in started)
        assert sum(each.count * each.memory_bytes for each in kinds) <= 256 * MIB
        assert all(each.memory_bytes <= before.available_bytes / 4 for each in started)

    @invariant()
    def waiting_sandboxes_are_distinct(self) -> None:
        numbers = [sandbox.number for each in self.found.values() for sandbox in each.waiting]
        assert len(numbers) == len(set(numbers))


TestPoolMachine = PoolMachine.TestCase

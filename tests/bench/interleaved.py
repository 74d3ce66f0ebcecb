"""Measure subjects in turns, so that a slow machine affects all of them: only ratios are comparable."""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from figures import Latency, Rate

SUSTAINED_CALLERS: Final = 8
SUSTAINED_ROUNDS: Final = 5


def _nothing() -> None:
    """Need no preparation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something to call. ``rest`` returns when the next calls find what they need.

    A call adds the durations of its stages to ``stages``, if it knows them.
    """

    name: str
    call: Callable[[], object]
    rest: Callable[[], None] = _nothing
    stages: list[dict[str, float]] = field(default_factory=list)


def latencies(subjects: Sequence[Subject], callers: int, calls: int) -> list[Latency]:
    """Return the times of at least ``calls`` calls of each subject, ``callers`` at a time, after a round to warm up."""
    times: dict[str, list[float]] = {each.name: [] for each in subjects}
    meeting = threading.Barrier(callers)

    def timed(subject: Subject) -> float:
        meeting.wait()
        began = perf_counter()
        subject.call()
        return (perf_counter() - began) * 1000

    with ThreadPoolExecutor(callers) as pool:
        for turn in range(math.ceil(calls / callers) + 1):
            for subject in subjects:
                for each in subjects:
                    each.rest()
                taken = list(pool.map(timed, [subject] * callers))
                if turn:
                    times[subject.name] += taken
                else:
                    subject.stages.clear()
    return [Latency.of(each.name, callers, times[each.name], each.stages) for each in subjects]


def rates(subjects: Sequence[Subject], base: str, calls: int) -> list[Rate]:
    """Return how many calls a second eight callers complete, each of which calls again as soon as it can."""
    share = max(SUSTAINED_CALLERS, calls // SUSTAINED_ROUNDS)
    found: dict[str, list[float]] = {each.name: [] for each in subjects}
    with ThreadPoolExecutor(SUSTAINED_CALLERS) as pool:
        for turn in range(SUSTAINED_ROUNDS + 1):
            for subject in subjects:
                for each in subjects:
                    each.rest()
                number = share if turn else SUSTAINED_CALLERS
                began = perf_counter()
                for _ in pool.map(lambda _, subject=subject: subject.call(), range(number)):
                    pass
                if turn:
                    found[subject.name].append(number / (perf_counter() - began))
    return [
        Rate(
            subject=name,
            calls=share * SUSTAINED_ROUNDS,
            per_second=statistics.median(each),
            base=base,
            ratio=statistics.median(one / other for one, other in zip(each, found[base], strict=True)),
        )
        for name, each in found.items()
    ]

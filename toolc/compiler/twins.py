"""Things that are nearly an earlier one, in time linear in their number.

Each is filed under some keys, so that two that are nearly alike meet under one of them, and is compared with the
first one under each key alone. So whose twin a thing is depends on those it shares a key with, and on no others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Likeness(Generic[Thing]):
    """How things are compared.

    ``keys`` are what one is filed under, in the order to look in; ``is_near`` says whether two that share a key are
    nearly alike, and ``is_told`` whether that is worth a finding about the first of the two. ``glance`` makes of
    some things a quick look whether another one may share a key with one of them.
    """

    keys: Callable[[Thing], Sequence[Hashable]]
    glance: Callable[[Sequence[Thing]], Callable[[Thing], bool]]
    is_near: Callable[[Thing, Thing], bool]
    is_told: Callable[[Thing, Thing], bool]


def find_twins(things: Sequence[Thing], likeness: Likeness[Thing]) -> list[tuple[int, int]]:
    """Each thing of which is to be told that it is nearly an earlier one, and that one: their numbers, in order."""
    first: dict[Hashable, int] = {}
    found: list[tuple[int, int]] = []
    for number, thing in enumerate(things):
        keys = likeness.keys(thing)
        if first.keys().isdisjoint(keys):  # as nearly always
            first.update(dict.fromkeys(keys, number))
            continue
        met = dict.fromkeys(first[key] for key in keys if key in first)
        for key in keys:
            first.setdefault(key, number)
        twin = next((each for each in met if likeness.is_near(thing, things[each])), None)
        if twin is not None and likeness.is_told(thing, things[twin]):
            found.append((number, twin))
    return found

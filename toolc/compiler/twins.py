"""Things that are nearly an earlier one, in time linear in their number.

Each is filed under some keys, so that two that are nearly alike meet under one of them, and is compared with the
first one under each key alone. So whose twin a thing is depends on those it shares a key with, and on no others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

Thing = TypeVar("Thing")

Place: TypeAlias = tuple[str, int]
"""Where a thing is: the path of its file, and how many of that file come before it. Earlier ones are less."""


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


def leaves_findings(
    before: Mapping[Place, Thing], after: Mapping[Place, Thing], edited: Collection[str], likeness: Likeness[Thing]
) -> bool:
    """Whether the same is to be told of all things but those in ``edited`` files, and nothing of or about those.

    Only what shares a key with a thing in these files is compared again.
    """
    kept = {place: each for place, each in before.items() if place[0] not in edited}
    was = {place: each for place, each in before.items() if place[0] in edited}
    now = {place: each for place, each in after.items() if place[0] in edited}
    met = _sharing(kept, [*was.values(), *now.values()], likeness)
    old, new = _beside(kept, met, (was, now), likeness)
    moved = {key for place in was for key in old.keys[place] if old.first[key] != new.first.get(key)}
    moved |= {key for place in now for key in new.keys[place] if new.first[key][0] in edited}
    concerned = {place: kept[place] for place, keys in met.items() if not moved.isdisjoint(keys)}
    if concerned:  # whose twins are among what shares another key with them, too
        met |= _sharing(kept, [*concerned.values()], likeness)
        old, new = _beside(kept, met, (was, now), likeness)
    for place in concerned:
        twin = new.told_of(place)
        if twin != old.told_of(place) or (twin is not None and twin[0] in edited):
            return False
    return all(new.told_of(place) is None for place in now)


_Keys: TypeAlias = dict[Place, Sequence[Hashable]]
"""What some things are filed under."""


def _sharing(things: Mapping[Place, Thing], some: Sequence[Thing], likeness: Likeness[Thing]) -> _Keys:
    """The keys of the things that share one with one of ``some``."""
    wanted = {key for each in some for key in likeness.keys(each)}
    may_share = likeness.glance(some)
    possible = ((place, likeness.keys(each)) for place, each in things.items() if may_share(each))
    return {place: keys for place, keys in possible if not wanted.isdisjoint(keys)}


@dataclass(frozen=True, slots=True)
class _Filed(Generic[Thing]):
    """Some of ``things`` with their ``keys``, and the first of them that is filed under each key."""

    things: Mapping[Place, Thing]
    keys: _Keys
    first: Mapping[Hashable, Place]
    likeness: Likeness[Thing]

    def told_of(self, place: Place) -> Place | None:
        """The earlier thing that this one is to be told to be nearly alike to."""
        thing = self.things[place]
        met = dict.fromkeys(self.first[key] for key in self.keys[place])
        near = (each for each in met if each < place and self.likeness.is_near(thing, self.things[each]))
        twin = next(near, None)
        return twin if twin is not None and self.likeness.is_told(thing, self.things[twin]) else None


def _beside(
    kept: Mapping[Place, Thing],
    met: _Keys,
    states: Sequence[Mapping[Place, Thing]],
    likeness: Likeness[Thing],
) -> Iterator[_Filed[Thing]]:
    """The few things of each state, filed beside those of ``kept`` that are ``met``."""
    first: dict[Hashable, Place] = {}
    for place in sorted(met, reverse=True):  # of several under one key the last to be put there stays
        first.update(dict.fromkeys(met[place], place))
    for state in states:
        keys = {place: likeness.keys(each) for place, each in state.items()}
        filed = ((key, place) for place, several in keys.items() for key in several)
        own: dict[Hashable, Place] = {}
        for key, place in filed:
            own[key] = min(place, own.get(key, place), first.get(key, place))
        yield _Filed({**kept, **state}, {**met, **keys}, first | own, likeness)

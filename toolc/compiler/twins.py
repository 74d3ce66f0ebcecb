"""Things that are nearly an earlier one, in time linear in their number.

Each is filed under some keys, so that two that are nearly alike meet under one of them, and is compared with the
first one under each key alone. So whose twin a thing is depends on those it shares a key with, and on no others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
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
    old, new = _Filed.of(met | was, likeness), _Filed.of(met | now, likeness)
    concerned = {place: each for place, each in met.items() if _is_concerned(old, new, each, edited)}
    if concerned:  # whose twins are among what shares another key with them, too
        around = met | _sharing(kept, [*concerned.values()], likeness)
        old, new = _Filed.of(around | was, likeness), _Filed.of(around | now, likeness)
    for place in concerned:
        twin = new.told_of(place)
        if twin != old.told_of(place) or (twin is not None and twin[0] in edited):
            return False
    return all(new.told_of(place) is None for place in now)


def _sharing(things: Mapping[Place, Thing], some: Sequence[Thing], likeness: Likeness[Thing]) -> dict[Place, Thing]:
    """The things that share a key with one of ``some``."""
    keys = {key for each in some for key in likeness.keys(each)}
    may_share = likeness.glance(some)
    return {
        place: each
        for place, each in things.items()
        if may_share(each) and not keys.isdisjoint(likeness.keys(each))
    }


def _is_concerned(old: _Filed[Thing], new: _Filed[Thing], thing: Thing, edited: Collection[str]) -> bool:
    """Whether a thing would be compared with others than before, or with one in an edited file."""
    firsts = ((old.first[key], new.first[key]) for key in old.likeness.keys(thing))
    return any(was != now or now[0] in edited for was, now in firsts)


@dataclass(frozen=True, slots=True)
class _Filed(Generic[Thing]):
    """Things, and the first that is filed under each key."""

    things: Mapping[Place, Thing]
    first: Mapping[Hashable, Place]
    likeness: Likeness[Thing]

    @classmethod
    def of(cls, things: Mapping[Place, Thing], likeness: Likeness[Thing]) -> _Filed[Thing]:
        first: dict[Hashable, Place] = {}
        for place in sorted(things):
            for key in likeness.keys(things[place]):
                first.setdefault(key, place)
        return cls(things, first, likeness)

    def told_of(self, place: Place) -> Place | None:
        """The earlier thing that this one is to be told to be nearly alike to."""
        thing = self.things[place]
        met = dict.fromkeys(self.first[key] for key in self.likeness.keys(thing))
        near = (each for each in met if each < place and self.likeness.is_near(thing, self.things[each]))
        twin = next(near, None)
        return twin if twin is not None and self.likeness.is_told(thing, self.things[twin]) else None

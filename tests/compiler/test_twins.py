"""Things that are nearly alike are found, and an edit that leaves them so is known without comparing all again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolc.compiler.similar_names import NAMES
from toolc.compiler.twins import Likeness, Place, find_twins, leaves_findings

TENS: Likeness[int] = Likeness(
    keys=lambda number: [number // 10, -(number % 10) - 1],
    glance=lambda _: lambda _: True,
    is_near=lambda one, two: abs(one - two) <= 2 or one % 10 == two % 10 == 7,
    is_told=lambda one, two: one != two,
)
"""Numbers are filed under their tens and under their last digit."""


def test_each_is_compared_with_the_first_under_each_key() -> None:
    assert find_twins([40, 41, 55, 43, 56, 42], TENS) == [(1, 0), (4, 2), (5, 0)]


def test_what_is_not_worth_telling_is_a_twin_all_the_same() -> None:
    assert find_twins([40, 40, 42], TENS) == [(2, 0)]


def told(things: Mapping[Place, int]) -> dict[Place, Place]:
    places = sorted(things)
    return {places[one]: places[two] for one, two in find_twins([things[place] for place in places], TENS)}


def placed(files: Mapping[str, list[int]]) -> dict[Place, int]:
    return {(path, number): each for path, things in files.items() for number, each in enumerate(things)}


PATHS = ("a", "b", "c", "d", "e", "f", "g")
numbers = st.lists(st.integers(0, 60), max_size=3)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.fixed_dictionaries(dict.fromkeys(PATHS, numbers)),
    st.dictionaries(st.sampled_from(PATHS), numbers, min_size=1, max_size=2),
)
def test_an_edit_that_leaves_findings_leaves_them(
    files: dict[str, list[int]], edited: dict[str, list[int]]
) -> None:
    before, after = placed(files), placed(files | edited)
    others = {place: twin for place, twin in told(before).items() if place[0] not in edited}
    is_so = told(after) == others and all(twin[0] not in edited for twin in others.values())
    assert leaves_findings(before, after, edited, TENS) is is_so


@settings(max_examples=300)
@given(st.text("abé_-", max_size=12), st.text("abé_-", max_size=12), st.data())
def test_the_glance_at_names_misses_none_that_share_a_key(name: str, other: str, data: st.DataObject) -> None:
    letter = data.draw(st.integers(0, len(name)))
    for near in (other, name[:letter] + name[letter + 1 :], name[letter:] + name[:letter]):
        if not {*NAMES.keys(name)}.isdisjoint(NAMES.keys(near)):
            assert NAMES.glance([name])(near)

"""Find near duplicates."""

from toolc.compiler.text_analysis.near_duplicates import Similarity, find_near_duplicates

TENS: Similarity[int] = Similarity(
    keys=lambda number: [number // 10, -(number % 10) - 1],
    is_near=lambda one, two: abs(one - two) <= 2 or one % 10 == two % 10 == 7,
    is_reported=lambda one, two: one != two,
)
"""Numbers are indexed by their tens and by their last digit."""


def test_each_item_is_compared_with_the_first_under_each_key() -> None:
    assert find_near_duplicates([40, 41, 55, 43, 56, 42], TENS) == [(1, 0), (4, 2), (5, 0)]


def test_pairs_that_are_not_reported_are_still_indexed() -> None:
    assert find_near_duplicates([40, 40, 42], TENS) == [(2, 0)]

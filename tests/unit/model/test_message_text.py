"""Sizes, counts and long texts in messages."""

import pytest

from toolc.model.text import count_noun, join_first, render_size, shorten


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(2**30, "1GiB"), (1536 * 2**20, "1536MiB"), (2**10, "1KiB"), (2.0 * 2**20, "2MiB"), (1000, "1000B"), (0, "0B"),
     (1_500_000_000, "1430.51MiB"), (2**40 + 1, "1048576MiB"), (1500, "1.46KiB"), (1025, "1KiB")],
)  # fmt: skip
def test_a_size_is_whole_in_its_unit_or_has_at_most_two_decimals(size_bytes: float, text: str) -> None:
    assert render_size(size_bytes) == text


def test_a_text_is_shortened_to_a_length_that_includes_the_mark() -> None:
    assert shorten("abcd", 4) == "abcd"
    assert shorten("abcde", 4) == "abc…"


def test_a_noun_has_a_plural_for_all_numbers_but_one() -> None:
    assert [count_noun(number, "tool") for number in (0, 1, 2)] == ["0 tools", "1 tool", "2 tools"]
    assert count_noun(2, "match", "matches") == "2 matches"


def test_the_first_of_many_texts_are_listed_with_the_number_of_others() -> None:
    assert join_first(["a", "b"], 2) == "a, b"
    assert join_first(["a", "b", "c", "d"], 2) == "a, b and 2 more"

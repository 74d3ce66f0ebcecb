"""What a model reads, word by word; in bounded time, whatever it is."""

from __future__ import annotations

import pytest

from toolc.review.surface import shown, words


def test_words_that_went_and_came_stand_where_they_were() -> None:
    assert words("Look a thing up.", "Look one thing up!") == (
        (" ", "Look "),
        ("-", "a"),
        ("+", "one"),
        (" ", " thing up"),
        ("-", "."),
        ("+", "!"),
    )


@pytest.mark.timeout(20)
def test_a_text_that_says_one_thing_a_thousand_times_is_told_as_a_whole() -> None:
    old, new = "What it is. " * 3000, "Which it is. " * 3000
    assert words(old, new) == (("-", old), ("+", new))


def test_a_place_is_written_as_people_do() -> None:
    assert shown(("examples", 0, "city")) == "examples[0].city"

"""Differences of the text for a model, in bounded time."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reviews.reviewing import PLAIN, one

from toolc.review.model.text_diff import format_route, word_diff

words = st.lists(st.sampled_from(["a", "b", " ", "  ", ".", "\n", "é"])).map("".join)


def test_word_diff_keeps_the_order() -> None:
    assert word_diff("Look a thing up.", "Look one thing up!") == (
        (" ", "Look "),
        ("-", "a"),
        ("+", "one"),
        (" ", " thing up"),
        ("-", "."),
        ("+", "!"),
    )


def test_repetitive_texts_are_compared_as_a_whole() -> None:
    old, new = "What it is. " * 3000, "Which it is. " * 3000
    started = time.process_time()  # which other processes do not make longer
    end = " it is. "
    assert word_diff(old, new) == (("-", old.removesuffix(end)), ("+", new.removesuffix(end)), (" ", end))
    assert time.process_time() - started < 20


def test_long_texts_with_common_ends_are_compared_word_by_word() -> None:
    start, end = "What it is. " * 3000, " The end." * 3000
    assert word_diff(f"{start}One{end}", f"{start}Two{end}") == ((" ", start), ("-", "One"), ("+", "Two"), (" ", end))


@given(words, words)
def test_word_diff_contains_both_texts(old: str, new: str) -> None:
    pieces = word_diff(old, new)
    assert "".join(piece for sign, piece in pieces if sign in " -") == old
    assert "".join(piece for sign, piece in pieces if sign in " +") == new


def test_format_route() -> None:
    assert format_route(("examples", 0, "city")) == "examples[0].city"


def test_change_inside_a_new_value_does_not_cover_the_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shorthand = PLAIN[PLAIN.index("  name: {") : PLAIN.index("backend:")]
    old = PLAIN.replace(shorthand, f"  type: object\n  properties:\n  {shorthand}  required: [name]\n")
    came = "  $defs: {kind: {properties: {first_send_all_files: {type: string}}, title: A kind}}\n"
    assert one(tmp_path, old, old.replace("backend:", f"{came}backend:")) == [
        "RSK10 medium: the text for the model changed at parameters.$defs.kind.title",
        "SUR01 low: the definition for the model changed at parameters.$defs",
    ]

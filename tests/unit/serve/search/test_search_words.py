"""The words of queries: forms of a word have one stem, and words for the same thing are synonyms."""

import pytest

from toolc.serve.search.words import plain, stems, synonyms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("repository", "repositories"), ("create", "creating"), ("create", "creation"), ("delete", "deleted"),
        ("issue", "issues"), ("branch", "branches"), ("organization", "organisations"), ("deploy", "deployment"),
        ("stop", "stopped"), ("address", "addresses"), ("list", "lists"),
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stems(one) == stems(other)


@pytest.mark.parametrize(
    ("one", "other"), [("status", "stat"), ("user", "use"), ("class", "clas"), ("ids", "is"), ("runner", "run")]
)
def test_different_words_have_different_stems(one: str, other: str) -> None:
    assert stems(one) != stems(other)


def test_names_are_split_and_words_without_meaning_are_left_out() -> None:
    assert stems("listOpenIssues") == stems("list_open_issues") == stems("list the open issues")
    assert stems("HTTPServer v2") == stems("http server v2")
    assert stems("what is this?") == []
    assert stems("the PRs of a member's team") == stems("PR member team")


def test_a_phrase_with_a_meaning_becomes_one_word() -> None:
    assert plain("Turn on the alarm") == "enable the alarm"
    assert plain("close several at once, by credit-card") == "close several bulk, by payment method"
    assert plain("a turnoff") == "a turnoff"


def test_synonyms_are_mutual() -> None:
    [add], [create] = stems("add"), stems("create")
    assert add in synonyms(create)
    assert create in synonyms(add)
    assert synonyms("zyx") == frozenset()

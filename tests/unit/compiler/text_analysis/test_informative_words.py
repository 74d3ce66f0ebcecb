"""Which words of a description add something to a name, and how precise the check of descriptions is."""

import json
from pathlib import Path

import pytest
from project.paths import CORPUS

from toolc.compiler.checks.descriptions import INFORMATIVE_NAME
from toolc.compiler.text_analysis.informative_words import name_words, new_words, repeats_name

SAMPLE = json.loads(Path(CORPUS, "descriptions.json").read_text(encoding="utf-8"))["descriptions"]


@pytest.mark.parametrize(
    ("name", "text", "new"),
    [
        ("search", "Search for information.", []),
        ("place_details", "Get detailed information about a specific place.", []),
        ("deleteRecords", "Delete the user's records from a table", []),
        ("file_list", "Lists all files in the workspace", ["workspace"]),
        ("convert", "Convert 3 dollars into euros at today\u2019s rate", ["3", "dollars", "euros", "today", "rate"]),
        ("suche", "Sucht in den Rezepten der Küche", ["sucht", "den", "rezepten", "der", "küche"]),
        ("search", "", []),
    ],
)
def test_new_words_are_neither_generic_nor_in_the_name(name: str, text: str, new: list[str]) -> None:
    assert new_words(name, text) == new


def test_generic_words_of_a_name_do_not_count() -> None:
    assert name_words("get_service_binding_details") == ["service", "binding"]


@pytest.mark.parametrize(
    ("name", "text", "repeats"),
    [
        ("path", "The path.", True), ("user_name", "Name of the user", True), ("assignees", "User names", False),
        ("path", "The path of the log", False), ("path", "", False),
    ],
)  # fmt: skip
def test_text_repeats_a_name(name: str, text: str, *, repeats: bool) -> None:
    assert repeats_name(name, text) is repeats


def test_at_most_5_percent_of_good_descriptions_are_reported() -> None:
    reported = {"good": 0, "poor": 0}
    for each in SAMPLE:
        is_short = len(name_words(each["name"])) < INFORMATIVE_NAME
        reported[each["label"]] += is_short and not new_words(each["name"], each["description"])
    good = sum(each["label"] == "good" for each in SAMPLE)

    assert (len(SAMPLE), good) == (200, 170)
    assert reported == {"good": 4, "poor": 22}
    assert reported["good"] / good <= 0.05

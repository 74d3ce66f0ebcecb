"""Patterns match what ECMA-262 says: as in the JSON Schema test suite, and as Node matches random patterns."""

import json
from typing import Any, Final

import pytest
from project.paths import DATA
from schemas.ecma_patterns import Case, difference, generate, with_answers_of_node

from toolc.validation.ecma_pattern import MAX_LENGTH, translate
from toolc.validation.ecma_tree import PatternError, UnsupportedPatternError
from toolc.validation.pattern_speed import search
from toolc.validation.regex_automaton import automaton, parse
from toolc.validation.schema_patterns import is_regular_expression, matches, steps_to_check
from toolc.validation.validate import validation_errors

SUITE: Final[list[dict[str, Any]]] = json.loads((DATA / "json-schema-patterns.json").read_text(encoding="utf-8"))
TABLE: Final[list[Case]] = json.loads((DATA / "ecma-patterns.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("group", SUITE, ids=lambda group: group["description"])
def test_values_match_as_in_the_suite(group: dict[str, Any]) -> None:
    for test in group["tests"]:
        assert (not validation_errors(group["schema"], test["data"])) == test["valid"], test["description"]


def test_patterns_match_what_node_matches() -> None:
    found = [difference(case) for case in TABLE]
    assert [each for each in found if each not in {"", "unsupported"}] == []
    assert found.count("unsupported") < 0.08 * len(TABLE)


@pytest.mark.integrations
@pytest.mark.parametrize("seed", range(100, 104))
def test_more_patterns_match_what_node_matches(seed: int) -> None:
    cases = with_answers_of_node([*generate(seed, 4000), *generate(seed, 1000, wrong=True)])
    found = [difference(case) for case in cases]
    assert [each for each in found if each not in {"", "unsupported"}] == []


def test_the_automaton_matches_what_node_matches() -> None:
    exact = 0
    for pattern, texts, expected in TABLE[:500]:
        try:
            states = automaton(parse(translate(pattern).python))
        except PatternError:
            continue
        if states.exact and expected:
            exact += 1
            assert [states.matches(text) for text in texts] == expected, pattern
    assert exact > 200


@pytest.mark.parametrize("text", ["cup\n", "cup\u2028", "\u0663", "\u00e9", "\u017f", "a\u00a0"])
def test_characters_that_python_accepts_are_refused(text: str) -> None:
    assert not matches(r"^[a-z0-9-]+$|^\d$|^\w$|^a\w$", text)


def test_dollar_matches_only_at_the_end_of_a_long_text() -> None:
    text = " " * 30_000 + "x"
    assert matches(r"^.*\S.*$", text)
    assert not matches(r"^.*\S.*$", f"{text}\n")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?:a|\1)(b)c", "abc"), (r"(a)?b\1c", "bc"), (r"^(?:(a)|(b))\2c", "ac"), (r"^(a\1)b", "ab"),
        (r"(?!(a))\1b", "b"), (r"^(?<x>a|b)-\k<x>$", "b-b"), ("(?<=[a-z]+)1", "a1"), ("(?<!a{1,3}b|c)1", "1"),
        (r"^(?:x(a|b))+\1$", "xaxbb"), (r"(?<!(a{1,2}))c\1d", "acd cd"),
        ("^\\B$", ""), ("^.$", "\U0001f600"), (r"^\ud83d\ude00$", "\U0001f600"), (r"^\p{Lu}[^\P{Lu}]$", "ÄÖ"),
    ],
)  # fmt: skip
def test_patterns_that_python_reads_differently_are_translated(pattern: str, text: str) -> None:
    assert search(translate(pattern).python, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * (MAX_LENGTH + 1),
        r"[^\p{Lu}\p{Nd}]" * 600,
        "(" * 60 + ")" * 60,
        "(?<=" + "a?" * 20 + ")b",
        r"(?<=(a|bc){40})d",
    ],
)
def test_large_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        translate(pattern)


@pytest.mark.parametrize("pattern", [r"^(?:x(a))*\1$", r"^(?:(a)|x)+\1$", r"^(?:(a*))+\1$", r"^(?:(a)?x)+\1$"])
def test_references_to_groups_that_a_repetition_skips_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError, match="some repetitions of a loop skip"):
        translate(pattern)


def test_large_numbers_are_not_counted() -> None:
    assert search(translate("^a{0,99999999999999999999}$").python, "aa")
    assert not search(translate("a{99999999999999999999}").python, "aa")


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (r"^\-$", True), (r"\p{Script=Greek}", True), ("a{", True), (r"\Z", False), (r"\pL", False),
        ("(?P<a>b)", False), ("(", False),
    ],
)  # fmt: skip
def test_a_value_of_the_format_regex_may_be_written_without_the_u_flag(text: str, valid: bool) -> None:
    assert is_regular_expression(text) is valid


@pytest.mark.parametrize("pattern", ["a", "^[a-z]{1,20}$", "^(a+)+$"])
def test_an_ordinary_pattern_takes_no_counted_steps(pattern: str) -> None:
    assert steps_to_check(pattern) == 0

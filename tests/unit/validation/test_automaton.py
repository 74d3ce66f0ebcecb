"""The automaton of a pattern matches the same texts as ``re``."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.validation.regex_automaton import MAX_STATES, TooManyStatesError, automaton, parse

PATTERNS = (
    "", "a", "^$", "^a*$", "a?b*$", "x+", "(ab|cd)*d?$", "^[a-c]+(-[a-c]+)*$", "^.*\\S.*$", "[^ab]\\d\\w\\s",
    "(?i)^aB$", "^(a{2,3}b){2}$", "a{3,}?", "\\D\\W\\S", "(?s)^.$", "^(?:[^\"\\\\]|\\\\.)*$", "(a|)(b|c?)$", "a\\Z",
)  # fmt: skip


@given(st.sampled_from(PATTERNS), st.text('abcdxAB01-. \n"\\é', max_size=8))
def test_the_automaton_matches_what_re_matches(pattern: str, text: str) -> None:
    found = automaton(parse(pattern))
    assert found.exact
    assert found.matches(text) == bool(re.search(pattern, text))


@pytest.mark.parametrize(
    "pattern", ["(?=a)b", "(a)\\1", "a\\b", "(^a|b)", "a{1,61}", "(?>a)", "(?m)^a$", "a*+", "(a)?(?(1)b|c)"]
)
def test_approximated_patterns_are_not_exact(pattern: str) -> None:
    assert not automaton(parse(pattern)).exact


def test_a_pattern_can_be_too_large() -> None:
    automaton(parse("a" * MAX_STATES))
    with pytest.raises(TooManyStatesError):
        automaton(parse("a" * (MAX_STATES + 1)))

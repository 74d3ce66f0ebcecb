import re

from hypothesis import given
from hypothesis import strategies as st

from toolc.compiler.text_analysis.long_runs import ALPHANUMERIC, character_table, has_long_run

OF = character_table(f"{ALPHANUMERIC}+")


def test_long_runs_are_detected() -> None:
    assert has_long_run("a b12+Z c", OF, 5)
    assert not has_long_run("a b12+Z c", OF, 6)


def test_runs_include_non_ascii_characters_and_surrogates() -> None:
    assert has_long_run("é", OF, 2)
    assert not has_long_run("ab \ud800", OF, 3)


@given(st.text(alphabet="aZ9+ -_/=é\n", max_size=40), st.integers(min_value=1, max_value=6))
def test_every_pattern_match_contains_a_long_run(text: str, length: int) -> None:
    assert has_long_run(text, OF, length) or not re.search(rf"[A-Za-z0-9+]{{{length}}}", text)

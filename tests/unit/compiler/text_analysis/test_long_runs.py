import re

from hypothesis import given
from hypothesis import strategies as st

from toolc.compiler.text_analysis.secret_patterns import ALPHANUMERIC, character_table, has_long_run

OF = character_table(f"{ALPHANUMERIC}+")


def test_a_run_counts_where_it_is_long_enough() -> None:
    assert has_long_run("a b12+Z c", OF, 5)
    assert not has_long_run("a b12+Z c", OF, 6)


def test_characters_beyond_ascii_count_and_half_of_a_pair_does_not_stop_it() -> None:
    assert has_long_run("é", OF, 2)
    assert not has_long_run("ab \ud800", OF, 3)


@given(st.text(alphabet="aZ9+ -_/=é\n", max_size=40), st.integers(min_value=1, max_value=6))
def test_what_a_pattern_finds_is_never_missed(text: str, length: int) -> None:
    assert has_long_run(text, OF, length) or not re.search(rf"[A-Za-z0-9+]{{{length}}}", text)

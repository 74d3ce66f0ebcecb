"""Which patterns are exponential, and that a comparison always ends."""

import re
import time

import pytest

from toolc.validation.pattern_speed import TooSlowError, is_slow, search, speed
from toolc.validation.regex_automaton import MAX_STATES

HOST = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$"


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$", "(a*)*b", "^(a|ab|b)*$", "^(a|aa)+$", "^([a-z]+)*$", r"^(\w+\s?)+$", r"^(\d+-?)+$", "(x+x+)+y",
        "^(a?){30}a{30}$", "(.*a){12}", "^(?=(a+)+$)b", "^(?:(?:a+)+b|c)$", r"^(([\-.]|[_]+)?([a-zA-Z0-9]+))*@$",
        "^([ab]|[ab])+$", "^(x(a?)?)*$", "^(?:b|(a|a)c)*$",
    ],
)  # fmt: skip
def test_exponential_patterns_are_slow(pattern: str) -> None:
    assert is_slow(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z0-9]+(-[a-z0-9]+)*$", r"^(\d{1,3}\.){3}\d{1,3}$", HOST, r"^\d+(\.\d+)*$", "^(foo|bar)+$",
        r"^https?://[^\s]+$", r"^.*\S.*$", r"^(?=.*[a-z])(?=.*\d).{8,}$", "^([0-9a-f]{2}:){5}[0-9a-f]{2}$",
        r'^(?:[^"\\]|\\.)*$', "^(/[^/]+)+$", r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$", r"^(\s*[a-z]+\s*=\s*\d+;)*$",
        "^([a-z]+,)*[a-z]+$", "^(a?)*$", "[a-z",
    ],
)  # fmt: skip
def test_other_patterns_are_not_slow(pattern: str) -> None:
    assert not is_slow(pattern)


def test_slow_patterns_are_slow_in_re() -> None:
    def seconds(pairs: int) -> float:
        start = time.process_time()
        assert re.search("^(a|ab|b)*$", "ab" * pairs + "!") is None
        return time.process_time() - start

    assert seconds(18) > 4 * min(seconds(12) for _ in range(5))  # the least: a garbage collection may come in between


def test_a_pattern_that_is_too_large_is_not_slow() -> None:
    large = f"^({'a' * MAX_STATES}b*)*$"
    assert speed(large) == "unknown"
    assert not is_slow(large)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^(a+)+$", "a" * 50 + "!", False), ("^(a+)+$", "a" * 50, True), (r"^.*\S.*$", " " * 100_000, False),
        (r"\s+$", " " * 50_000 + "x", False), (r"(.*a){9}$", "b" * 5000, False),
        (r"^https?://[^\s]+$", "https://" + "a" * 100_000, True), (HOST, "db-1.example.com", True),
    ],
)  # fmt: skip
def test_a_search_is_correct_and_ends(pattern: str, text: str, *, matches: bool) -> None:
    start = time.process_time()
    assert search(pattern, text) is matches
    assert time.process_time() - start < 5


@pytest.mark.parametrize("pattern", ["^(?=(a+)+$)b", r"(a+)+\1$", f"^({'a' * MAX_STATES}b*)*$"])
def test_a_search_that_might_not_end_is_rejected(pattern: str) -> None:
    with pytest.raises(TooSlowError):
        search(pattern, "a" * 40)

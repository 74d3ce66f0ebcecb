import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.runtime.secrets import encodings
from toolc.runtime.secrets.encodings import EncodingMatcher

WORDS = st.lists(st.text("ab", min_size=1, max_size=20).map(str.encode), min_size=1, max_size=6)


@st.composite
def data_with(draw: st.DrawFn) -> tuple[list[bytes], bytes]:
    """Return words, and data that consists of words and their beginnings."""
    words = draw(WORDS)
    pieces = draw(st.lists(st.tuples(st.sampled_from(words), st.integers(1, 20)), max_size=5))
    return words, b"".join(word[:size] for word, size in pieces)


def matcher_of(words: list[bytes]) -> EncodingMatcher:
    matcher = EncodingMatcher()
    for word in words:
        matcher.add(word)
    return matcher


@given(data_with())
def test_the_partial_match_is_the_longest_prefix(drawn: tuple[list[bytes], bytes]) -> None:
    words, data = drawn
    beginnings = [word[:size] for word in words for size in range(1, len(word)) if data.endswith(word[:size])]
    assert matcher_of(words).partial_match(data) == max(map(len, beginnings), default=0)


@given(data_with(), st.sampled_from([0, 1000]))
def test_only_known_encodings_are_matched(drawn: tuple[list[bytes], bytes], many: int) -> None:
    words, data = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "_MANY", many)
        found = [*matcher_of(words).matches(data)]
    assert all(data.startswith(form, at) for at, form in found)
    assert {form for _, form in found} == {word for word in words if word in data}


@pytest.mark.parametrize("form", [b"abc", b"abcdefgh", b"abcdefghijklmnopqrst"])
def test_complete_encodings_are_not_partial_matches(form: bytes) -> None:
    matcher = matcher_of([form, b"another"])
    for before in (b"", b"- "):
        assert [matcher.partial_match(before + form[:size]) for size in range(len(form) + 1)] == [*range(len(form)), 0]


def test_many_encodings_are_found_at_any_position() -> None:
    words = [b"form %04d of many" % number for number in range(encodings._MANY)]
    assert sorted(matcher_of([*words, b"short"]).matches(b"a " + words[7] + b" short " + words[3])) == [
        (2, words[7]),
        (20, b"short"),
        (26, words[3]),
    ]

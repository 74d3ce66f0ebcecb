"""JSON Pointers, by the examples of RFC 6901."""

import pytest

from toolc.model.json_schema import list_index, pointer_tokens


@pytest.mark.parametrize(
    ("pointer", "names"),
    [
        ("", []), ("/foo/0", ["foo", "0"]), ("/", [""]), ("/a~1b", ["a/b"]), ("/m~0n", ["m~n"]), ("/~01", ["~1"]),
        ("/ /c%d", [" ", "c%d"]),
    ],
)  # fmt: skip
def test_pointer_tokens_are_unescaped(pointer: str, names: list[str]) -> None:
    assert pointer_tokens(pointer) == names


@pytest.mark.parametrize(("token", "index"), [("0", 0), ("7", 7), ("10", 10), ("123456789", 123456789)])
def test_tokens_are_converted_to_list_indexes(token: str, index: int) -> None:
    assert list_index(token) == index


@pytest.mark.parametrize("token", ["", "-", "00", "01", "-1", "+1", " 1", "1\n", "1.0", "\u0661", "²", "9" * 5000])
def test_tokens_that_are_not_an_index(token: str) -> None:
    assert list_index(token) is None

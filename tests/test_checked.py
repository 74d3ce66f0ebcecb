"""What a caller gave, held against what is wanted: the exact words, and what passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc import UsageError, checked
from toolc.digest import canonical, parse
from toolc.schema import JsonValue


async def ask() -> None:
    pass


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: checked.text("the name", 5), "the name is a text, and not 5"),
        (
            lambda: checked.text("the name", "a\ud800"),
            "the name has half of a surrogate pair in it, which no JSON holds: 'a\\ud800'",
        ),
        (lambda: checked.truth("confirm", 1), "confirm is True or False, and not 1"),
        (
            lambda: checked.texts("tool 'x': tags", "abc"),
            "tool 'x': tags are a list of texts, and not 'abc'; write e.g. tags=['words']",
        ),
        (lambda: checked.items("calls", 5, "ToolCall"), "calls is a list of ToolCall, and not 5"),
        (lambda: checked.json_object("it", []), "it is a dict, and not []"),
        (lambda: checked.json_value("it", {"a": [b"x"]}), "it['a'][0] is no JSON: b'x'"),
        (lambda: checked.json_value("it", {"a": math.nan}), "it['a'] is no JSON: nan"),
        (lambda: checked.json_value("it", {1: 2}), "a key of it is a text, and not 1"),
        (lambda: checked.seconds("it", 0), "it of 0 seconds is none; give one above 0 and below 9e12"),
        (lambda: checked.seconds("it", "x"), "it of 'x' seconds is none; give one above 0 and below 9e12"),
        (lambda: checked.seconds("it", 1e99), "it of 1e+99 seconds is none; give one above 0 and below 9e12"),
        (lambda: checked.number("it", math.nan), "it is a number, and not nan"),
        (lambda: checked.path("out", b"x"), "out is a path, and not b'x'; give a text or a Path"),
        (lambda: checked.path("out", "a\0"), "out is no path, for it has a NUL in it: 'a\\x00'"),
        (lambda: checked.function("it", 5), "it is a function, and not 5"),
        (lambda: checked.one_of("mode", [], ["a", "b"]), "there is no mode []; there are: a, b"),
        (lambda: checked.optional("it", 5, Path, "a Path"), "it is a Path, and not 5"),
        (
            lambda: checked.hook("steer", ask),
            (
                "steer is asked on the thread of a call, so it cannot be a coroutine function; a plain one can "
                "wait for it: asyncio.run_coroutine_threadsafe(ask(...), loop).result()"
            ),
        ),
        (
            lambda: checked.listener("on_event", ask),
            (
                "on_event is told of each event as it comes, so it cannot be a coroutine function; to await "
                "something for each, iterate over astream(...) or astream_batch(...)"
            ),
        ),
        (
            lambda: checked.call_id("a\n"),
            "a call's id is at most 4096 printable characters, and this is none: 'a\\n'",
        ),
    ],
)  # fmt: skip
def test_what_is_none_is_told(check: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check()
    assert str(caught.value) == message


def test_what_holds_itself_is_told() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(UsageError, match="is nested deeper than 100 levels, or holds itself"):
        checked.json_value("it", endless)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(JSON)
def test_whatever_is_json_passes(value: JsonValue) -> None:
    assert checked.json_value("it", value) is value
    assert canonical(parse(canonical(value))) == canonical(value)


def test_what_is_wanted_comes_back() -> None:
    assert checked.text("a", "b") == "b"
    assert checked.texts("a", ["b"]) == ("b",)
    assert checked.path("a", "b") == checked.path("a", Path("b")) == Path("b")
    assert checked.seconds("a", 0.5) == 0.5
    assert checked.optional("a", None, Path, "a Path") is None
    checked.hook("a", None)
    checked.listener("a", print)

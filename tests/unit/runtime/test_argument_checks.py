"""Tests for ``argument_checks``: the message for each wrong value, and the values that pass."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc import UsageError
from toolc.model.json_schema import JsonValue
from toolc.model.registry_io import canonical, parse
from toolc.runtime import argument_checks


async def coroutine_function() -> None:
    pass


ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: argument_checks.text("the name", 5), "the name must be a string; got 5"),
        (
            lambda: argument_checks.text("the name", "a\ud800"),
            "the name contains half of a surrogate pair, which JSON does not allow: 'a\\ud800'",
        ),
        (lambda: argument_checks.boolean("confirm", 1), "confirm must be True or False; got 1"),
        (
            lambda: argument_checks.string_list("tool 'x': tags", "abc"),
            "tool 'x': tags must be a list of strings; got 'abc'; write e.g. tags=['words']",
        ),
        (lambda: argument_checks.sequence("calls", 5, "ToolCall"), "calls must be a list of ToolCall; got 5"),
        (lambda: argument_checks.json_object("it", []), "it must be a dict; got []"),
        (lambda: argument_checks.json_value("it", {"a": [b"x"]}), "it['a'][0] is not a JSON value: b'x'"),
        (lambda: argument_checks.json_value("it", {"a": math.nan}), "it['a'] is not a JSON value: nan"),
        (lambda: argument_checks.json_value("it", {1: 2}), "a key of it must be a string; got 1"),
        (
            lambda: argument_checks.json_value("it", ENDLESS),
            f"it{'[0]' * 101} is nested deeper than 100 levels, or contains itself",
        ),
        (lambda: argument_checks.seconds("it", 0), "it must be a number of seconds above 0 and below 9e12; got 0"),
        (lambda: argument_checks.seconds("it", "x"), "it must be a number of seconds above 0 and below 9e12; got 'x'"),
        (
            lambda: argument_checks.seconds("it", 1e99),
            "it must be a number of seconds above 0 and below 9e12; got 1e+99",
        ),
        (lambda: argument_checks.number("it", math.nan), "it must be a number; got nan"),
        (
            lambda: argument_checks.path("out", b"x"),
            "out must be a path: a string or a Path, without a NUL character; got b'x'",
        ),
        (
            lambda: argument_checks.path("out", "a\0"),
            "out must be a path: a string or a Path, without a NUL character; got 'a\\x00'",
        ),
        (lambda: argument_checks.function("it", 5), "it must be a function; got 5"),
        (lambda: argument_checks.one_of("mode", [], ["a", "b"]), "there is no mode []; choose one of: a, b"),
        (lambda: argument_checks.optional("it", 5, Path, "a Path"), "it must be a Path; got 5"),
        (
            lambda: argument_checks.hook("steer", coroutine_function),
            (
                "steer cannot be a coroutine function, because toolc does not await it; to wait for a "
                "coroutine, call asyncio.run_coroutine_threadsafe(decide(...), loop).result() in a function"
            ),
        ),
        (
            lambda: argument_checks.listener("on_event", coroutine_function),
            (
                "on_event cannot be a coroutine function, because toolc does not await it; to await something for "
                "each event, iterate over astream(...) or astream_batch(...)"
            ),
        ),
        (
            lambda: argument_checks.call_id("a\n"),
            "a call id must be a string of at most 4096 printable characters; got 'a\\n'",
        ),
    ],
)
def test_wrong_values_are_rejected_with_a_message(check: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check()
    assert str(caught.value) == message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(JSON)
def test_json_values_pass(value: JsonValue) -> None:
    assert argument_checks.json_value("it", value) is value
    assert canonical(parse(canonical(value))) == canonical(value)


def test_valid_values_are_returned() -> None:
    assert argument_checks.text("a", "b") == "b"
    assert argument_checks.string_list("a", ["b"]) == ("b",)
    assert argument_checks.path("a", "b") == argument_checks.path("a", Path("b")) == Path("b")
    assert argument_checks.seconds("a", 0.5) == 0.5
    assert argument_checks.optional("a", None, Path, "a Path") is None
    argument_checks.hook("a", None)
    argument_checks.listener("a", print)

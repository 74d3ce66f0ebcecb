"""What a program gave where toolc is called, held against what is wanted there.

A value of another type is told at the door, in the caller's own words, and not by an exception from inside. Each
function returns what it was given, and raises ``UsageError`` that names the argument (``what``), says what was
given and what to give.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Final, TypeVar, cast

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue

__all__ = [
    "MAX_DEPTH",
    "boolean",
    "call_id",
    "function",
    "hook",
    "json_object",
    "json_value",
    "listener",
    "number",
    "of_type",
    "one_of",
    "optional",
    "path",
    "seconds",
    "sequence",
    "string_list",
    "text",
]

T = TypeVar("T")


_LONGEST_SECONDS: Final = (2**53 - 1) / 1000

MAX_CALL_ID: Final = 4096
"""The longest id of a call, in characters: some servers keep more in it than a number."""

MAX_DEPTH: Final = 100
"""How deep lists and dicts may be nested in each other."""


def text(what: str, given: object) -> str:
    """A text, which UTF-8 can write."""
    found = of_type(what, given, str, "a text")
    try:
        found.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} has half of a surrogate pair in it, which no JSON holds: {found!r:.60}") from None
    return found


def boolean(what: str, given: object) -> bool:
    """True or False."""
    return of_type(what, given, bool, "True or False")


def json_object(what: str, given: object) -> JsonObject:
    """A dict that is JSON."""
    found = of_type(what, given, dict, "a dict")
    json_value(what, found)
    return cast("JsonObject", found)


def json_value(what: str, given: object, depth: int = 0) -> JsonValue:
    """A JSON value."""
    if depth > MAX_DEPTH:
        raise UsageError(f"{what} is nested deeper than {MAX_DEPTH} levels, or holds itself")
    if isinstance(given, dict):
        for key, each in given.items():
            json_value(f"{what}[{text(f'a key of {what}', key)!r:.40}]", each, depth + 1)
    elif isinstance(given, list | tuple):
        for index, each in enumerate(given):
            json_value(f"{what}[{index}]", each, depth + 1)
    elif isinstance(given, str):
        text(what, given)
    elif not isinstance(given, bool | int | float | None) or (
        isinstance(given, float) and not math.isfinite(given)
    ):
        raise UsageError(f"{what} is no JSON: {given!r:.60}")
    return cast("JsonValue", given)


def string_list(what: str, given: object, example: str = "words") -> tuple[str, ...]:
    """A list or a tuple of texts; a text alone would be taken letter by letter."""
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        name = what.rpartition(" ")[2]
        raise UsageError(f"{what} are a list of texts, and not {given!r:.60}; write e.g. {name}=[{example!r}]")
    return tuple(text(what, each) for each in given)


def sequence(what: str, given: object, of: str) -> tuple[object, ...]:
    """A list or a tuple, ``of`` what for people."""
    if not isinstance(given, list | tuple):
        raise UsageError(f"{what} is a list of {of}, and not {given!r:.60}")
    return tuple(given)


def seconds(what: str, given: object) -> float:
    """A number of seconds above 0 that is exact in milliseconds, as a spec's durations are."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= _LONGEST_SECONDS:
        raise UsageError(f"{what} of {given!r:.60} seconds is none; give one above 0 and below 9e12")
    return given


def number(what: str, given: object) -> float:
    """A number that is not NaN."""
    if isinstance(given, bool) or not isinstance(given, int | float) or math.isnan(given):
        raise UsageError(f"{what} is a number, and not {given!r:.60}")
    return given


def path(what: str, given: object) -> Path:
    """A path, as a text or as ``os.PathLike``."""
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise UsageError(f"{what} is a path, and not {given!r:.60}; give a text or a Path")
    if "\0" in os.fspath(given):
        raise UsageError(f"{what} is no path, for it has a NUL in it: {given!r:.60}")
    return Path(given)


def function(what: str, given: object) -> None:
    """Something that can be called."""
    if not callable(given):
        raise UsageError(f"{what} is a function, and not {given!r:.60}")


def listener(what: str, given: object) -> None:
    """Something that is told of events at once, or None. A coroutine that nobody awaits would hear of none."""
    if given is not None:
        function(what, given)
    if iscoroutinefunction(given):
        raise UsageError(
            f"{what} is told of each event as it comes, so it cannot be a coroutine function; to await something "
            "for each, iterate over astream(...) or astream_batch(...)"
        )


def hook(what: str, given: object) -> None:
    """Something that is asked and answers at once, or None.

    A coroutine is no answer, and one that nobody awaits would never ask.
    """
    if given is not None:
        function(what, given)
    if iscoroutinefunction(given):
        raise UsageError(
            f"{what} is asked on the thread of a call, so it cannot be a coroutine function; a plain one can wait "
            "for it: asyncio.run_coroutine_threadsafe(ask(...), loop).result()"
        )


def call_id(given: object) -> str:
    """A call's id, which goes into the tool's environment and into logs."""
    if not (isinstance(given, str) and given.isprintable() and len(given) <= MAX_CALL_ID):
        raise UsageError(
            f"a call's id is at most {MAX_CALL_ID} printable characters, and this is none: {given!r:.60}"
        )
    return given


def one_of(what: str, given: object, known: Iterable[str]) -> str:
    """One of some names: ``what`` is what they name."""
    names = [*known]
    if given not in names:
        raise UsageError(f"there is no {what} {given!r:.60}; there are: {', '.join(names) or 'none'}")
    return str(given)


def optional(what: str, given: T | None, kind: type[T], words: str) -> T | None:
    """A value of the type ``kind``, or None."""
    return None if given is None else of_type(what, given, kind, words)


def of_type(what: str, given: object, kind: type[T], words: str) -> T:
    """A value of the type ``kind``, which ``words`` name for people."""
    if not isinstance(given, kind):
        raise UsageError(f"{what} is {words}, and not {given!r:.60}")
    return given

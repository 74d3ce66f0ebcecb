"""Checks of the arguments that callers pass to toolc's public functions.

A value of the wrong type is rejected at once, instead of causing an exception deep inside. Each function returns the
value that it checked (``given``), or raises ``UsageError`` with the name of the argument (``what``), the value, and
what to pass instead.
"""

import math
import os
from collections.abc import Iterable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Final, TypeVar, cast

from toolc.model.call import NO_CLAIMS, Claims
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import names_similar_to

T = TypeVar("T")

_MAX_SECONDS: Final = (2**53 - 1) / 1000
"""The largest number of milliseconds that every JSON reader represents exactly."""

MAX_CALL_ID: Final = 4096
"""The maximum length of a call id, in characters. The ids of some servers contain more than a number."""

MAX_DEPTH: Final = 100
"""The maximum nesting depth of lists and dicts. It is the same as in a spec, and the stack has room for far more."""


def text(what: str, given: object) -> str:
    """Check that ``given`` is a string that UTF-8 can encode."""
    string = of_type(what, given, str, "a string")
    try:
        string.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{what} contains half of a surrogate pair, which JSON does not allow: {string!r:.60}"
        ) from None
    return string


def boolean(what: str, given: object) -> bool:
    """Check that ``given`` is True or False."""
    return of_type(what, given, bool, "True or False")


def json_object(what: str, given: object) -> JsonObject:
    """Check that ``given`` is a dict that JSON can represent."""
    value = of_type(what, given, dict, "a dict")
    json_value(what, value)
    return cast("JsonObject", value)


def json_value(what: str, given: object, depth: int = 0) -> JsonValue:
    """Check that ``given`` is a JSON value that is not nested deeper than ``MAX_DEPTH``."""
    if depth > MAX_DEPTH:
        raise UsageError(f"{what} is nested deeper than {MAX_DEPTH} levels, or contains itself")
    if isinstance(given, dict):
        for key, each in given.items():
            json_value(f"{what}[{text(f'a key of {what}', key)!r:.40}]", each, depth + 1)
    elif isinstance(given, list | tuple):
        for index, each in enumerate(given):
            json_value(f"{what}[{index}]", each, depth + 1)
    elif isinstance(given, str):
        text(what, given)
    elif not isinstance(given, bool | int | float | None) or (isinstance(given, float) and not math.isfinite(given)):
        raise UsageError(f"{what} is not a JSON value: {given!r:.60}")
    return cast("JsonValue", given)


def string_list(what: str, given: object, example: str = "words") -> tuple[str, ...]:
    """Check that ``given`` is a list or tuple of strings. A single string is rejected."""
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        name = what.rpartition(" ")[2]
        raise _mismatch(what, given, "a list of strings", f"; write e.g. {name}=[{example!r}]")
    return tuple(text(what, each) for each in given)


def sequence(what: str, given: object, of: str) -> tuple[object, ...]:
    """Check that ``given`` is a list or tuple. ``of`` names its items in the error message."""
    if not isinstance(given, list | tuple):
        raise _mismatch(what, given, f"a list of {of}")
    return tuple(given)


def seconds(what: str, given: object) -> float:
    """Check that ``given`` is a number of seconds above 0 and within the limit for durations in specs."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= _MAX_SECONDS:
        raise _mismatch(what, given, "a number of seconds above 0 and below 9e12")
    return given


def number(what: str, given: object) -> float:
    """Check that ``given`` is a number other than NaN."""
    if isinstance(given, bool) or not isinstance(given, int | float) or math.isnan(given):
        raise _mismatch(what, given, "a number")
    return given


def integer(what: str, given: object, least: int) -> int:
    """Check that ``given`` is an integer of at least ``least``."""
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise _mismatch(what, given, f"an integer of at least {least}")
    return given


def path(what: str, given: object) -> Path:
    """Check that ``given`` is a path, as a string or an ``os.PathLike`` without a NUL character."""
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str) or "\0" in os.fspath(given):
        raise _mismatch(what, given, "a path: a string or a Path, without a NUL character")
    return Path(given)


def function(what: str, given: object) -> None:
    """Check that ``given`` can be called."""
    if not callable(given):
        raise _mismatch(what, given, "a function")


def listener(what: str, given: object) -> None:
    """Check that ``given`` is None or a function that receives events."""
    hint = "to await something for each event, iterate over astream(...) or astream_batch(...)"
    _plain_function(what, given, hint)


def hook(what: str, given: object) -> None:
    """Check that ``given`` is None or a function that returns a decision, on the thread of a call."""
    hint = "to wait for a coroutine, call asyncio.run_coroutine_threadsafe(decide(...), loop).result() in a function"
    _plain_function(what, given, hint)


def _plain_function(what: str, given: object, hint: str) -> None:
    """Reject other values, and coroutine functions, which would never run because toolc does not await them."""
    if given is not None:
        function(what, given)
    if iscoroutinefunction(given):
        raise UsageError(f"{what} cannot be a coroutine function, because toolc does not await it; {hint}")


def call_id(given: object) -> str:
    """Check that ``given`` is a valid call id. Call ids appear in the tool's environment and in logs."""
    if not (isinstance(given, str) and given.isprintable() and len(given) <= MAX_CALL_ID):
        raise _mismatch("a call id", given, f"a string of at most {MAX_CALL_ID} printable characters")
    return given


def claims(given: object) -> Claims:
    """Check that ``given`` is None or a dict of names and texts, as ``caller`` of a call."""
    if given is None:
        return NO_CLAIMS
    known = of_type("caller", given, dict, 'a dict such as {"sub": "user-1"}')
    return {text("a name in caller", name): text(f"caller[{name!r:.60}]", each) for name, each in known.items()}


def one_of(what: str, given: object, known: Iterable[str]) -> str:
    """Check that ``given`` is one of the names ``known``. ``what`` is the kind of name, such as "provider"."""
    names = [*known]
    if given not in names:
        similar = names_similar_to(given, names) if isinstance(given, str) else ()
        meant = f"did you mean {' or '.join(map(repr, similar))}? " if similar else ""
        raise UsageError(f"there is no {what} {given!r:.60}; {meant}choose one of: {', '.join(names) or 'none'}")
    return str(given)


def optional(what: str, given: T | None, kind: type[T], description: str) -> T | None:
    """Check that ``given`` is None or has the type ``kind``, which ``description`` names in the error message."""
    return None if given is None else of_type(what, given, kind, description)


def of_type(what: str, given: object, kind: type[T], description: str) -> T:
    """Check that ``given`` has the type ``kind``, which ``description`` names in the error message."""
    if not isinstance(given, kind):
        raise _mismatch(what, given, description)
    return given


def _mismatch(what: str, given: object, expected: str, hint: str = "") -> UsageError:
    return UsageError(f"{what} must be {expected}; got {given!r:.60}{hint}")

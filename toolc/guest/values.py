"""Convert the values of a Python tool to JSON, by the rules in ``docs/reference/results.md``.

Types are recognized by the names of their classes, so no module is imported for values that do not occur.
"""

from __future__ import annotations

import binascii
import json
import os
from collections.abc import Callable, Iterator


class UnsupportedValueError(Exception):
    """A value has no rule. The message names the value and its place."""


def _duration(value) -> str:  # type: ignore[no-untyped-def]  # a timedelta, whose module is not imported
    """Return a duration in ISO 8601 format, such as ``P1DT2H30M``."""
    sign = "-" if value.days < 0 else ""
    value = abs(value)
    hours, seconds = divmod(value.seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    fraction = (".%06d" % value.microseconds).rstrip("0").rstrip(".")
    date = "%dD" % value.days if value.days else ""
    time = "%s%s" % ("%dH" % hours if hours else "", "%dM" % minutes if minutes else "")
    if seconds or fraction or not (date or time):
        time += "%d%sS" % (seconds, fraction)
    return "%sP%s%s" % (sign, date, "T" + time if time else "")


_RULES: dict[tuple[str, str], Callable[..., object]] = {
    ("enum", "Enum"): lambda value: value.value,
    ("datetime", "datetime"): lambda value: value.isoformat(),
    ("datetime", "date"): lambda value: value.isoformat(),
    ("datetime", "time"): lambda value: value.isoformat(),
    ("datetime", "timedelta"): _duration,
    ("decimal", "Decimal"): str,
    ("uuid", "UUID"): str,
    ("builtins", "bytes"): lambda value: binascii.b2a_base64(value, newline=False).decode(),
    ("builtins", "bytearray"): lambda value: binascii.b2a_base64(value, newline=False).decode(),
    ("builtins", "memoryview"): lambda value: binascii.b2a_base64(value, newline=False).decode(),
}
"""The rule for each class and its subclasses. The key is the names of its module and of the class."""

_NATIVE = (str, int, float, bool, type(None))


def to_json(value: object) -> object:
    """Return ``value`` as dicts with text keys, lists, texts, numbers, booleans and None.

    Raises ``UnsupportedValueError`` for a value without a rule, and ``RecursionError`` if it is nested too deeply.
    """
    return _convert(value, "", [])


def to_simple(value: object) -> object:
    """Return a single value converted by its rule. Containers and values without a rule are returned unchanged."""
    if isinstance(value, type) or type(value) in _NATIVE:
        return value
    rule = _rule(value)
    return value if rule is None else to_simple(rule(value))


def _convert(value: object, path: str, parents: list[int]) -> object:
    # Each level of nesting takes one frame, so that the recursion limit is reached late.
    if isinstance(value, type) or type(value) in _NATIVE:
        return _single(value, path)
    if id(value) in parents:
        raise UnsupportedValueError("the value%s contains itself" % path)
    parents.append(id(value))
    result: object
    if (rule := _rule(value)) is not None:
        result = _convert(rule(value), path, parents)
    elif isinstance(value, dict):
        members: dict[str, object] = {}
        for key, item in value.items():
            members[_key(key, members, path)] = _convert(item, "%s[%r]" % (path, key), parents)
        result = members
    elif isinstance(value, (list, tuple, set, frozenset)):
        items = []
        for index, item in enumerate(value):
            items.append(_convert(item, "%s[%d]" % (path, index), parents))
        result = _sorted(items) if isinstance(value, (set, frozenset)) else items
    elif callable(dump_model := getattr(value, "model_dump", None)):
        result = dump_model(mode="json", by_alias=True, exclude_none=True)
    elif hasattr(value, "__dataclass_fields__"):
        members = {}
        for name in _fields(value):
            members[name] = _convert(getattr(value, name), "%s.%s" % (path, name), parents)
        result = members
    else:
        result = _single(value, path)
    parents.pop()
    return result


def _single(value: object, path: str) -> object:
    if isinstance(value, type) or not isinstance(value, _NATIVE):
        raise _unsupported(value, path)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124  NaN
        raise UnsupportedValueError("the value%s is %r, which is not a JSON number" % (path, value))
    return value


def _rule(value: object) -> Callable[..., object] | None:
    for base in type(value).__mro__:
        if (rule := _RULES.get((base.__module__, base.__qualname__))) is not None:
            return rule
    return os.fspath if hasattr(type(value), "__fspath__") else None


def _fields(value: object) -> Iterator[str]:
    """Yield the names of a dataclass's fields, without variables of the class (``ClassVar``, ``InitVar``)."""
    for name, field in value.__dataclass_fields__.items():  # type: ignore[attr-defined]  # the caller checked it
        if field._field_type.name == "_FIELD":  # noqa: SLF001  as in dataclasses.fields, whose import takes 8 ms
            yield name


def _key(key: object, taken: dict[str, object], path: str) -> str:
    """Return a dict key as a member name. Raises ``UnsupportedValueError`` if it has none, or one in ``taken``."""
    name = to_simple(key)
    if name is None or (isinstance(name, (int, float)) and name == name):  # noqa: PLR0124  NaN
        name = json.dumps(name)
    if not isinstance(name, str):
        raise UnsupportedValueError("the value%s has a key of the type %s; use strings" % (path, _name(type(key))))
    if name in taken:
        raise UnsupportedValueError("the value%s has two keys that become %r" % (path, name))
    return name


def _sorted(items: list[object]) -> list[object]:
    try:
        return sorted(items)  # type: ignore[type-var]  # values of several types are caught below
    except TypeError:
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _unsupported(value: object, path: str) -> UnsupportedValueError:
    hint = ""
    if callable(getattr(value, "tolist", None)):
        hint = "; use its method tolist()"
    elif hasattr(type(value), "__iter__"):
        hint = "; return a dict or a list"
    return UnsupportedValueError("the value%s has the type %s%s" % (path, _name(type(value)), hint))


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)

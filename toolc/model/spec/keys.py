"""The vocabulary in which ``toolc.model.spec`` declares the keys of the format.

A map of the format is a class, and each of its fields is a key with the field's name, type and default. The metadata
``key(...)`` says what these do not, and ``NO_KEY`` that a field is not a key. A key without a field of its own is a
``ClassVar`` that is a ``Key``. Of the keys that ``one_of`` of a class lists, a map has exactly one. The text below a
key is for people: sentences, ``Example:`` and a value in YAML, and ``Instead of:`` and the keys of other formats that
people write for it. ``toolc.model.spec.declared`` reads all this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, ParamSpec

from toolc.model.json_schema import JsonValue

P = ParamSpec("P")


class Kind(NamedTuple):
    """How a value is read. ``form`` is the name of a reader, and the other fields what it needs.

    ``of`` are the kinds of items or alternatives. ``low`` and ``high`` are bounds of a number, and ``low`` the minimum
    number of items. ``pattern`` is a regular expression for a text or for the names in a map. ``map`` is the class of a
    map, or its name. If ``is_fixed``, no constant of the project file can replace the value. If ``is_strict``, items
    must be unique, or the keys of a map present.
    """

    form: str
    of: tuple[Kind, ...] = ()
    options: tuple[str | int, ...] = ()
    low: float | None = None
    high: float | None = None
    pattern: str = ""
    name: str = ""
    map: type | str = ""
    is_fixed: bool = False
    is_strict: bool = False


BOOLEAN: Final = Kind("boolean")
TEXT: Final = Kind("text")
"""Text that is not empty."""
STRING: Final = Kind("string")
"""Text that may be empty."""
TEMPLATE: Final = Kind("template")
EXPRESSION: Final = Kind("expression")
"""A JMESPath expression."""
DURATION: Final = Kind("duration")
SIZE: Final = Kind("size")
JSON: Final = Kind("json")
"""Any value."""
FIELD: Final = Kind("field")
"""A string, a number or a boolean."""
SCHEMA: Final = Kind("schema")
"""A JSON Schema."""
CONSTANT: Final = Kind("constant")
"""A constant of the project file."""


def integer(low: int, high: int | None = None, *, is_fixed: bool = False) -> Kind:
    """Return the kind of whole numbers from ``low`` to ``high``."""
    return Kind("integer", low=low, high=high, is_fixed=is_fixed)


def number(low: float | None = None, high: float | None = None) -> Kind:
    """Return the kind of numbers from ``low`` to ``high``."""
    return Kind("number", low=low, high=high)


def choice(*options: str | int, is_fixed: bool = False) -> Kind:
    """Return the kind of values that are one of ``options``."""
    return Kind("choice", options=options, is_fixed=is_fixed)


def matching(pattern: str, name: str = "", *, is_fixed: bool = False) -> Kind:
    """Return the kind of texts that match a regular expression. ``name`` describes them, such as "a media type".

    Without ``name``, a decoder of its own says what is wrong.
    """
    return Kind("matching", pattern=pattern, name=name, is_fixed=is_fixed)


def list_of(item: Kind, least: int | None = None, *, unique: bool = False) -> Kind:
    """Return the kind of lists with at least ``least`` items, which may have to be ``unique``."""
    return Kind("list", (item,), low=least, is_strict=unique)


def map_of(value: Kind, names: str = "") -> Kind:
    """Return the kind of maps whose keys are free, or match the regular expression ``names``."""
    return Kind("map of", (value,), pattern=names)


def map_with(cls: type, *, required: bool = False) -> Kind:
    """Return the kind of maps that the class ``cls`` declares.

    The schema for editors requires the keys that a spec must have only if they are ``required`` here, because other
    maps may get them from defaults.
    """
    return Kind("map", map=cls, is_strict=required)


def map_at(name: str) -> Kind:
    """Return the kind of maps that a class declares, such as ``sandbox.Limits`` in ``toolc.model.spec``.

    It is imported when it is needed: a call of a tool needs only the classes of its own backend.
    """
    return Kind("map", map=name)


def either(*kinds: Kind) -> Kind:
    """Return the kind of values of one of several kinds."""
    return Kind("either", kinds)


class Key(NamedTuple):
    """What a declaration says about a key. Its field says the rest: its name, kind and default.

    A key is required if its field has no default, unless ``is_required`` says otherwise.
    ``default`` is as written in a spec, if the field has another. ``excludes`` maps keys next to it that it excludes to
    what to do. With ``is_set``, items are sorted and duplicates removed. ``stored_if_set``: see
    ``toolc.model.registry``.
    """

    kind: Kind | None = None
    name: str = ""
    default: JsonValue = None
    excludes: Mapping[str, str] = {}
    is_set: bool = False
    is_required: bool | None = None
    stored_if_set: bool = False


def _metadata(declare: Callable[P, Key]) -> Callable[P, Mapping[str, Key]]:
    return lambda *args, **kwargs: {"key": declare(*args, **kwargs)}


key: Final = _metadata(Key)
"""Returns the metadata of a field that is a key; takes the arguments of ``Key``."""

NO_KEY: Final[Mapping[str, None]] = {"key": None}
"""The metadata of a field that is not a key."""

STORED_IF_SET: Final[Mapping[str, bool | None]] = {"key": None, "stored_if_set": True}
"""The metadata of a field that is not a key, with ``stored_if_set`` of ``Key``."""

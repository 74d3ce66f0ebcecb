"""Reads the declarations of ``toolc.model.spec``: the keys of each map of the format, with their texts for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, reduce
from importlib import import_module
from inspect import cleandoc
from itertools import pairwise
from operator import or_
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from toolc.model.json_schema import JsonValue
from toolc.model.spec import keys
from toolc.model.spec.keys import Key, Kind
from toolc.model.spec.tool import OPTIONS, Backends, ProviderChoice
from toolc.model.template import Template
from toolc.model.text import render_duration, render_size

_PLAIN: Final[Mapping[object, Kind]] = {bool: keys.BOOLEAN, str: keys.TEXT, Template: keys.TEMPLATE}


class Declared(NamedTuple):
    """A key of the map ``of``, as written in a spec. ``default`` is also as written, and None without one.

    ``field`` is the field that has its value, or the name of its declaration.
    """

    of: type
    name: str
    field: str
    kind: Kind
    default: JsonValue
    is_required: bool
    key: Key


class Text(NamedTuple):
    """What the text of a key, or of a map, says: its sentences, and an example in YAML.

    ``instead_of`` maps keys of other formats to the text to write instead, which is empty if it is the key itself.
    """

    sentences: str = ""
    example: str = ""
    instead_of: Mapping[str, str] = {}


def alternatives(cls: type) -> tuple[str, ...]:
    """Return the keys of which a map has exactly one, or nothing if its keys do not exclude each other."""
    found: tuple[str, ...] = getattr(cls, "one_of", ())
    return found


def map_class(kind: Kind) -> type:
    """Return the class that declares a kind of map."""
    if isinstance(kind.map, type):
        return kind.map
    module, _, name = kind.map.partition(".")
    found: type = getattr(import_module(f"toolc.model.spec.{module}"), name)
    return found


@cache
def type_hints(cls: type) -> Mapping[str, object]:
    """Return the types of the fields of ``cls``, including those that its module does not import at run time."""
    late = {each.__name__: each for each in (map_class(each.kind) for each in keys_of(Backends))}
    return get_type_hints(cls, localns={**late, "Backend": reduce(or_, late.values())})


@cache
def keys_of(cls: type) -> tuple[Declared, ...]:
    """Return the keys of a map, in the order of their declaration."""
    # Any: the type of the default of a field.
    own: Mapping[str, Field[Any]] = {each.name: each for each in fields(cls)} if is_dataclass(cls) else {}
    found: list[Declared] = []
    for name in cls.__annotations__:
        each = own.get(name)
        key = each.metadata.get("key", Key()) if each else getattr(cls, name)
        if isinstance(key, Key):
            found.append(_declared(cls, name, key, each))
    return tuple(found)


def keys_under(kind: Kind) -> tuple[Declared, ...]:
    """Return the keys of a value of a kind, if it can be a map."""
    if kind.form == "providers":
        return tuple(
            Declared(ProviderChoice, each, "", keys.map_with(ProviderChoice), None, is_required=False, key=Key())
            for each in OPTIONS
        )
    maps = (each for each in (kind, *(kind.of if kind.form == "either" else ())) if each.form == "map")
    return next((keys_of(map_class(each)) for each in maps), ())


def _declared(cls: type, name: str, key: Key, field: Field[Any] | None) -> Declared:
    kind = key.kind or _kind(type_hints(cls)[name], name)
    default = key.default if field is None or key.default is not None else _as_written(field.default, kind)
    stem, _, unit = name.rpartition("_")
    written = key.name or (stem if unit in {"ms", "bytes"} else name)
    lacks_default = field is not None and field.default is field.default_factory is MISSING
    is_required = lacks_default if key.is_required is None else key.is_required
    return Declared(cls, written, name, kind, default, is_required, key)


def _kind(hint: object, name: str) -> Kind:
    """Return how a field of a type is written in a spec."""
    options = get_args(hint)
    if kind := _PLAIN.get(hint):
        return kind
    if get_origin(hint) is Literal:
        return keys.choice(*options)
    if get_origin(hint) in {Union, UnionType}:
        return _kind(next(each for each in options if each is not type(None)), name)
    if get_origin(hint) is tuple:
        return keys.list_of(_kind(options[0], name))
    if hint is int:
        return keys.DURATION if name.endswith("_ms") else keys.SIZE
    assert isinstance(hint, type)
    return keys.map_with(hint)


def _as_written(value: object, kind: Kind) -> JsonValue:
    """Return a default in the form that specs use, or None if the default is the absence of a value."""
    if isinstance(value, int) and kind.form in {"duration", "size"}:
        return render_duration(value) if kind.form == "duration" else render_size(value)
    if isinstance(value, tuple):
        return [*value] or None
    return value if isinstance(value, str | bool | int) else None


@cache
def texts_of(cls: type) -> Mapping[str, Text]:
    """Return the text of each key of ``cls`` by field, and that of ``cls`` itself under the empty name."""
    return {name: _text(text) for name, text in _written(cls.__module__)[cls.__name__].items()}


@cache
def keyword_texts() -> Mapping[str, Text]:
    """Return the text of each keyword of JSON Schema."""
    items = _written("toolc.model.spec.schema_keywords")[""]["KEYWORDS"].split("\n- ``")[1:]
    return {name: _text(text) for name, _, text in (each.partition("``: ") for each in items)}


@cache
def _written(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstring of each class of a module, under ``""``, and the text below each of its fields.

    The constants of the module are under the empty class name. Python does not keep the texts below fields and
    constants, so the source is read.
    """
    import ast  # lazy: +9 ms; only schemas, pages and mistakes need texts
    from importlib.resources import files  # lazy: it imports tempfile

    package, _, name = module.rpartition(".")
    tree = ast.parse(files(package).joinpath(f"{name}.py").read_text(encoding="utf-8"))
    return {
        getattr(each, "name", ""): {"": ast.get_docstring(each) or ""}
        | {
            line.target.id: cleandoc(str(below.value.value))
            for line, below in pairwise(each.body)
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        }
        for each in (tree, *tree.body)
        if isinstance(each, ast.ClassDef | ast.Module)
    }


def _text(text: str) -> Text:
    sentences, *parts = re.split(r"\n\s*(Example|Instead of): ", text)
    marked = [(mark, " ".join(each.split())) for mark, each in zip(parts[::2], parts[1::2], strict=True)]
    hints = [each.partition(": ") for mark, each in marked if mark != "Example"]
    return Text(
        " ".join(sentences.partition("\n\n")[0].split()),
        next((each for mark, each in marked if mark == "Example"), ""),
        {name: hint for names, _, hint in hints for name in names.split()},
    )

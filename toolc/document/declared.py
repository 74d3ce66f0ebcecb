"""Reads the keys of a map that a class of ``toolc.model.spec`` declares."""

from __future__ import annotations

import re
from collections.abc import Mapping as AnyMapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from toolc.document import map_reader as read
from toolc.document.map_reader import Findings, Parse, Reader
from toolc.document.nodes import Node, Sequence
from toolc.document.units import duration, size
from toolc.model import codes
from toolc.model.spec.declared import alternatives, keys_of, keys_under, map_class
from toolc.model.spec.keys import Key, Kind

T = TypeVar("T")

_PLAIN: Final[AnyMapping[str, Parse[Any]]] = {
    "boolean": read.boolean, "text": read.text, "string": read.string, "duration": duration, "size": size,
}  # fmt: skip


# Any: the values of the fields of any class, which its constructor takes by name.
def read_keys(reader: Reader, cls: type, **own: Parse[Any] | None) -> dict[str, Any]:
    """Return the valid values of the keys of ``cls`` that a map has, by field.

    ``own`` are the readers of fields that are not plain values. A key without a reader, or with None, is left to the
    caller.
    """
    plan, present = _plan(cls), reader.node.by_key
    reader.cls = cls
    reader.ignore(*plan.keys)
    rivals = [each for each in plan.rivals if each in present]
    values: dict[str, Any] = {}
    for name, entry in present.items():
        if name not in plan.keys or (name in rivals and len(rivals) > 1):
            continue
        field, plain, key = plan.keys[name]
        if parse := own.get(field, plain):
            value = reader.read(entry, parse)
            if value is not None:
                values[field] = tuple(sorted(set(value))) if key.is_set else value
        for other in key.excludes:
            if other in present:
                message = f"{reader.what} has both '{other}' and '{name}'"
                reader.findings.add(codes.BAD_VALUE, message, entry.key_span, key.excludes[other])
    for name in plan.required:
        if name not in present:
            reader.required(name, read.string)
    return values


def alternative(reader: Reader, cls: type) -> str | None:
    """Return which one of several exclusive keys is present. Otherwise, report a finding and return None."""
    reader.cls = cls
    return reader.one_of(*alternatives(cls))


def read_map(reader: Reader, cls: type[T], **own: Parse[Any] | None) -> T | None:
    """Return the object that a map declares, or None without one of its required keys. See ``read_keys``."""
    values = read_keys(reader, cls, **own)
    declared: type = cls
    return cls(**values) if _plan(declared).needed <= values.keys() else None


class _Plan(NamedTuple):
    """How to read the keys of a map: the field and the reader of each plain value, the required keys, and ``one_of``.

    ``needed`` are the fields of the required keys.
    """

    keys: AnyMapping[str, tuple[str, Parse[Any] | None, Key]]
    required: tuple[str, ...]
    needed: frozenset[str]
    rivals: tuple[str, ...]


@cache
def _plan(cls: type) -> _Plan:
    declared = keys_of(cls)
    readers = {each.name: (each.field, _reader(each.kind), each.key) for each in declared}
    required = {each.name: each.field for each in declared if each.is_required}
    return _Plan(readers, tuple(required), frozenset(required.values()), alternatives(cls))


def _reader(kind: Kind) -> Parse[Any] | None:
    """Return the reader of a plain value, or None for another kind."""
    match kind:
        case Kind(form="list", of=(item,), low=least) if parse := _reader(item):
            return _long_enough(read.list_of(parse)) if least else read.list_of(parse)
        case Kind(form="choice", options=options):
            return read.choice(options)
        case Kind(form="integer"):
            return read.integer(int(kind.low or 0), int(kind.high or 0))
        case Kind(form="matching") if kind.name:
            return _matching(kind)
        case Kind(form="map") if all(_reader(each.kind) for each in keys_under(kind)):
            cls = map_class(kind)
            parse_map: Parse[Any] = read.map_parser()(lambda reader: read_map(reader, cls))
            return parse_map
        case _:
            return _PLAIN.get(kind.form)


def _matching(kind: Kind) -> Parse[str]:
    def parse(node: Node, what: str, findings: Findings) -> str | None:
        value = read.string(node, what, findings)
        if value is None or re.fullmatch(kind.pattern, value):
            return value
        read.mismatch(node, what, kind.name, findings)
        return None

    return parse


def _long_enough(parse: Parse[tuple[Any, ...]]) -> Parse[tuple[Any, ...]]:
    def parse_list(node: Node, what: str, findings: Findings) -> tuple[Any, ...] | None:
        if isinstance(node, Sequence) and not node.items:
            findings.add(codes.BAD_VALUE, f"{what} must not be empty", node.span)
            return None
        return parse(node, what, findings)

    return parse_list

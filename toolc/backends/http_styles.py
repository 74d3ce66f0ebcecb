"""Write lists and objects in a request in the styles of OpenAPI and RFC 6570."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from toolc.backends.backend_protocol import PlanError
from toolc.backends.http_templates import escape, has_arguments, render_header, render_text, render_values
from toolc.model.http_plan import Escaping, NamedValue, Pieces
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.http_backend import Field
from toolc.model.template import SECRETS, as_text, evaluate

_DELIMITERS: Final = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def query_fields(each: Field, arguments: JsonObject, place: Escaping) -> Iterator[NamedValue]:
    """Yield the encoded fields of a query, a form or a cookie that a value becomes. Raises ``TemplateError``."""
    if each.style is None:
        for pieces in render_values(each.value, arguments, place):
            yield NamedValue(escape(each.name, place), pieces)
        return
    place = "reserved" if each.allow_reserved else place
    name, value = escape(each.name, "query"), _value(each, arguments, place)
    if isinstance(value, tuple):
        yield NamedValue(name, value)
    elif each.style == "deepObject":
        for path, leaf in _leaves(value):
            yield NamedValue(escape(each.name + path, "query"), (escape(leaf, place),))
    elif each.explode:
        for key, text in _items(value, lambda text: escape(text, place)):
            yield NamedValue(name if key is None else key, (text,))
    elif words := _words(value, lambda text: escape(text, place)):
        yield NamedValue(name, (_DELIMITERS.get(each.style, ",").join(words),))


def path_segment(each: Field, arguments: JsonObject) -> str:
    """Return the encoded text of ``{NAME}`` in a URL's path. Raises ``TemplateError``."""
    value = _value(each, arguments, "query")
    name = escape(each.name, "query")
    # The compiler refuses secrets in a path, so that a text has one piece.
    pairs: list[tuple[str | None, str]] = (
        [(None, "".join(map(str, value)))] if isinstance(value, tuple) else [*_items(value, _encode)]
    )
    if each.style == "matrix":
        if isinstance(value, tuple) or each.explode:
            return "".join(f";{key or name}={text}" if text else f";{key or name}" for key, text in pairs)
        return f";{name}={','.join(_words(value, _encode))}" if pairs else ""
    prefix, separator = (".", "." if each.explode else ",") if each.style == "label" else ("", ",")
    return prefix + _joined(each, value, pairs, separator, _encode)


def header(each: Field, arguments: JsonObject) -> Iterator[NamedValue]:
    """Yield the header, unless it uses an absent argument. Raises ``TemplateError`` and ``PlanError``."""
    value = _value(each, arguments, "plain") if each.style else ()
    if isinstance(value, tuple):
        if render_values(each.value, arguments):
            yield NamedValue(each.name, render_header(each.name, each.value, arguments))
    elif text := _joined(each, value, [*_items(value, str)], ",", str):
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text):
            raise PlanError(f"the header {each.name!r} cannot contain line ends or control characters")
        yield NamedValue(each.name, (text,))


def cookies(fields: tuple[Field, ...], arguments: JsonObject) -> Iterator[NamedValue]:
    """Yield the header ``Cookie``, unless there are none. Raises ``TemplateError`` and ``PlanError``."""
    pieces: list[Pieces] = []
    for each in fields:
        pairs = query_fields(each, arguments, "query" if each.style else "plain")
        # OpenAPI separates the items of one value by '&' in a cookie too.
        cookie = _separated(((f"{pair.name}=", *pair.value) for pair in pairs), "&")
        if any(isinstance(piece, str) and re.search(r"[\x00-\x1f\x7f;]", piece) for piece in cookie):
            raise PlanError(f"the cookie {each.name!r} cannot contain ';' or control characters")
        if cookie:
            pieces.append(cookie)
    if pieces:
        yield NamedValue("Cookie", _separated(iter(pieces), "; "))


def _value(each: Field, arguments: JsonObject, place: Escaping) -> Pieces | list[JsonValue] | JsonObject:
    """Return the encoded text of a value, or the list or object that it is. An absent value is an empty list."""
    if not has_arguments(each.value, arguments):
        return []
    sole = each.value.sole_placeholder
    value = "" if sole is None or sole.name == SECRETS else evaluate(sole, arguments)
    if isinstance(value, list | dict):
        return value
    return [] if value is None else render_text(each.value, arguments, place)


def _encode(text: str) -> str:
    return escape(text, "query")


def _items(value: list[JsonValue] | JsonObject, encode: Callable[[str], str]) -> Iterator[tuple[str | None, str]]:
    """Yield each key and value of an object, or each item of a list, without null, which RFC 6570 omits."""
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in pairs:
        if item is not None:
            yield None if key is None else encode(key), encode(as_text(item))


def _words(value: list[JsonValue] | JsonObject, encode: Callable[[str], str]) -> list[str]:
    return [word for pair in _items(value, encode) for word in pair if word is not None]


def _joined(
    each: Field,
    value: Pieces | list[JsonValue] | JsonObject,
    pairs: list[tuple[str | None, str]],
    separator: str,
    encode: Callable[[str], str],
) -> str:
    if isinstance(value, dict) and not each.explode:
        return separator.join(_words(value, encode))
    return separator.join(text if key is None else f"{key}={text}" for key, text in pairs)


def _leaves(value: JsonValue, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the value of each leaf with its path, such as ``[a][b]``. OpenAPI leaves open how deeper ones look."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else ((str(index), item) for index, item in enumerate(value))
        for key, item in pairs:
            yield from _leaves(item, f"{path}[{key}]")
    elif value is not None:
        yield path, as_text(value)


def _separated(parts: Iterator[Pieces], separator: str) -> Pieces:
    return tuple(piece for index, part in enumerate(parts) for piece in ((separator, *part) if index else part))

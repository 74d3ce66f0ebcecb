"""Templates of an HTTP request, each escaped for the place where it stands."""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from toolc.backends.base import PlanError
from toolc.model.http_plan import Named, Place, Slot
from toolc.model.json_schema import JsonObject
from toolc.model.template import SECRETS, Placeholder, Template, as_text, evaluate

__all__ = ["encoded"]

MAX_URL: Final = 8000
"""The longest URL, in characters: what RFC 9110 (4.1) has every server take."""

_HEADER_TEXT: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_UNSAFE_URL: Final = re.compile(r"[\x00-\x20\x7f\\]")


def optional(template: Template, arguments: JsonObject) -> bool:
    """Whether all arguments that ``template`` names are there: else what it stands for is left out."""
    return all(name in arguments for name in template.names)


def encoded(text: str, place: Place) -> str:
    """``text`` as it stands in that place."""
    match place:
        case "plain":
            return text
        case "query":
            return quote(text, safe="")
        case "form":
            return quote_plus(text)
        case "json":
            return json.dumps(text, ensure_ascii=False)[1:-1]


def secret_text(template: Template, arguments: JsonObject, place: Place = "plain") -> tuple[str | Slot, ...]:
    """The template's text, its secrets as slots. Raises ``TemplateError``."""
    pieces: list[str | Slot] = []
    for part in template.parts:
        if isinstance(part, Placeholder) and part.name == SECRETS:
            pieces.append(Slot(part.keys[0], place))
        else:
            text = part if isinstance(part, str) else as_text(evaluate(part, arguments))
            pieces.append(encoded(text, place))
    return tuple(piece for piece in pieces if piece != "")


def texts(template: Template, arguments: JsonObject, place: Place = "plain") -> tuple[tuple[str | Slot, ...], ...]:
    """What a field says: one text; one for each item of an array; nothing where an argument is absent or null.

    Raises ``TemplateError``.
    """
    if not optional(template, arguments):
        return ()
    sole = template.sole
    value = "" if sole is None or sole.name == SECRETS else evaluate(sole, arguments)
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple((encoded(as_text(item), place),) for item in value)
    return (secret_text(template, arguments, place),)


def field(name: str, template: Template, arguments: JsonObject, place: Place) -> Named:
    """One field of a query or a form. Raises ``TemplateError``."""
    return Named(encoded(name, place), secret_text(template, arguments, place))


def header(name: str, template: Template, arguments: JsonObject) -> tuple[str | Slot, ...]:
    """A header's value. Raises ``PlanError`` for what would end it (RFC 9110, 5.5) and ``TemplateError``."""
    pieces = secret_text(template, arguments)
    for piece in pieces:
        if isinstance(piece, str) and not _HEADER_TEXT.fullmatch(piece):
            names = ", ".join(sorted(template.names)) or name
            raise PlanError(f"{names}: a line end or control character cannot stand in the header {name!r}")
    return pieces


def written_path(path: Template, arguments: JsonObject) -> str:
    """A URL's path. An argument is percent-encoded, ``/`` too, and is never a step to another folder.

    Raises ``PlanError`` and ``TemplateError``.
    """
    text = ""
    start_names: set[str] = set()
    for part in path.parts:
        if isinstance(part, str):
            text += quote(part, safe="/%:@!$&'()*+,;=-._~")
            continue
        value = as_text(evaluate(part, arguments))
        start_names.add(part.name)
        text += _MARK + quote(value, safe="") + _MARK
    names = ", ".join(sorted(start_names))
    for segment in text.split("/"):
        # What the spec writes may be encoded too: ``%2e`` and an argument ``.`` are ``..`` for a server.
        plain = unquote(segment.replace(_MARK, ""))
        if _MARK in segment and plain in {"", ".", ".."}:
            told = f"{plain!r} would lead to another place" if plain else "an empty text cannot stand"
            raise PlanError(f"{names}: {told} in the URL's path")
    text = text.replace(_MARK, "")
    return _short(text if text.startswith("/") else f"/{text}")


def render_url(url: Template, arguments: JsonObject) -> str:
    """A URL that the caller decides. Its host is looked at when the request is sent. Raises ``PlanError``."""
    text = url.render(arguments)
    names = ", ".join(sorted(url.names))
    if not re.match(r"https?://[^/?#]", text, re.ASCII | re.IGNORECASE):
        raise PlanError(f"{names}: {text[:80]!r} is no URL; write one like https://example.com/page")
    text = text.partition("#")[0]
    if _UNSAFE_URL.search(text):
        raise PlanError(f"{names}: a URL cannot hold spaces, control characters or '\\'; percent-encode them")
    return _short(quote(text, safe="/%:@!$&'()*+,;=-._~?[]"))


_MARK: Final = "\0"
"""Stands around an argument while the path is put together; it is percent-encoded in any argument."""


def _short(url: str) -> str:
    if len(url) > MAX_URL:
        raise PlanError(f"the URL would have {len(url)} characters, and {MAX_URL} are allowed; send less")
    return url

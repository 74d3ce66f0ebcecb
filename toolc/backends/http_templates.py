"""Render the templates of an HTTP request, and escape each value for its place in the request."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from toolc.backends.backend_protocol import PlanError
from toolc.model.http_plan import Escaping, Slot
from toolc.model.json_schema import JsonObject
from toolc.model.template import SECRETS, Placeholder, Template, as_text, evaluate
from toolc.model.text import lazy_re

MAX_RENDERED_URL: Final = 8000
"""The maximum length of a URL in characters. RFC 9110, 4.1, recommends that every server accept this length."""

_HEADER_TEXT: Final = lazy_re(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_SEGMENT: Final = lazy_re(r"\{([^{}/]+)\}")
_UNSAFE_URL: Final = lazy_re(r"[\x00-\x20\x7f\\]")

_RESERVED: Final = ":/?@!$'()*,;="
"""The reserved characters of RFC 3986 that a value in a query may contain and that do not end its field."""

_MARK: Final = "\0"
"""Marks the start and the end of an argument while a path is built. Within an argument, it is percent-encoded."""


def has_arguments(template: Template, arguments: JsonObject) -> bool:
    """Return whether all arguments that ``template`` uses are present. If not, its field is omitted."""
    return all(name in arguments for name in template.names)


def escape(text: str, place: Escaping) -> str:
    """Return ``text`` escaped for its place in the request."""
    match place:
        case "plain":
            return text
        case "query":
            return quote(text, safe="")
        case "reserved":
            # RFC 6570, 3.2.3, keeps percent-encoded characters.
            return re.sub("%25(?=[0-9A-Fa-f]{2})", "%", quote(text, safe=_RESERVED))
        case "form":
            return quote_plus(text)
        case "json":
            return json.dumps(text, ensure_ascii=False)[1:-1]


def render_text(template: Template, arguments: JsonObject, place: Escaping = "plain") -> tuple[str | Slot, ...]:
    """Return the template's escaped text, with slots for its secrets. Raises ``TemplateError``."""
    pieces: list[str | Slot] = []
    for part in template.parts:
        if isinstance(part, Placeholder) and part.name == SECRETS:
            pieces.append(Slot(part.keys[0], place))
        else:
            text = part if isinstance(part, str) else as_text(evaluate(part, arguments))
            pieces.append(escape(text, place))
    return tuple(piece for piece in pieces if piece != "")


def render_values(
    template: Template, arguments: JsonObject, place: Escaping = "plain"
) -> tuple[tuple[str | Slot, ...], ...]:
    """Return a field's values: one, or one per array item. Empty if an argument is absent or null.

    Raises ``TemplateError``.
    """
    if not has_arguments(template, arguments):
        return ()
    sole = template.sole_placeholder
    value = "" if sole is None or sole.name == SECRETS else evaluate(sole, arguments)
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple((escape(as_text(item), place),) for item in value)
    return (render_text(template, arguments, place),)


def render_header(name: str, template: Template, arguments: JsonObject) -> tuple[str | Slot, ...]:
    """Return a header's value. Raises ``TemplateError``, and ``PlanError`` for control characters (RFC 9110, 5.5)."""
    pieces = render_text(template, arguments)
    for piece in pieces:
        if isinstance(piece, str) and not _HEADER_TEXT.fullmatch(piece):
            names = ", ".join(sorted(template.names)) or name
            raise PlanError(f"{names}: the header {name!r} cannot contain line ends or control characters")
    return pieces


def render_path(path: Template, arguments: JsonObject, segments: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a URL's path with percent-encoded arguments. A ``/`` in an argument is encoded too.

    ``segments`` are the encoded values of ``{NAME}``. Raises ``TemplateError``, and ``PlanError`` if an argument would
    make a segment empty, ``.`` or ``..``.
    """
    text = ""
    names: list[str] = []
    for part in path.parts:
        if isinstance(part, str):
            for index, each in enumerate(_SEGMENT.split(part)):
                if index % 2 and each in segments:
                    names.append(each)
                    text += _MARK + segments[each] + _MARK
                else:
                    text += quote(f"{{{each}}}" if index % 2 else each, safe="/%:@!$&'()*+,;=-._~")
            continue
        names.append(part.name)
        text += _MARK + quote(as_text(evaluate(part, arguments)), safe="") + _MARK
    for segment in text.split("/"):
        # The spec's own text may be encoded. A server reads ``%2e`` followed by an argument ``.`` as ``..``.
        plain = unquote(segment.replace(_MARK, ""))
        count = segment.count(_MARK) // 2
        if count and plain in {"", ".", ".."}:
            problem = f"{plain!r} would change the URL's path" if plain else "an empty segment in the URL's path"
            raise PlanError(f"{', '.join(sorted(set(names[:count])))}: {problem}; use another value")
        names = names[count:]
    text = text.replace(_MARK, "")
    return _check_length(text if text.startswith("/") else f"/{text}")


def render_url(url: Template, arguments: JsonObject) -> str:
    """Return a URL that the caller chooses. Its host is checked when the request is sent. Raises ``PlanError``."""
    text = url.render(arguments)
    names = ", ".join(sorted(url.names))
    if not re.match(r"https?://[^/?#]", text, re.ASCII | re.IGNORECASE):
        raise PlanError(f"{names}: {text[:80]!r} is not an HTTP URL; use one such as https://example.com/page")
    text = text.partition("#")[0]
    if _UNSAFE_URL.search(text):
        raise PlanError(f"{names}: a URL cannot contain spaces, control characters or '\\'; percent-encode them")
    return _check_length(quote(text, safe="/%:@!$&'()*+,;=-._~?[]"))


def _check_length(url: str) -> str:
    if len(url) > MAX_RENDERED_URL:
        raise PlanError(f"the URL has {len(url)} characters; the maximum is {MAX_RENDERED_URL}")
    return url

"""A response that is a file: its name and its type, as far as they make sense."""

from __future__ import annotations

import re
from urllib.parse import unquote

from toolc.guest import cut
from toolc.guest.context import Resource
from toolc.guest.http_request import Response

MAX_NAME = 100
"""The longest name, in characters."""

TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,99}/[a-z0-9][a-z0-9.+-]{0,99}")
ENCODED = re.compile(r";\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)", re.IGNORECASE)
QUOTED = re.compile(r";\s*filename\s*=\s*\"((?:[^\"\\]|\\.)*)\"", re.IGNORECASE)
PLAIN = re.compile(r";\s*filename\s*=\s*([^\";\s]+)", re.IGNORECASE)


def file_of(response: Response, url: str, own: str) -> Resource:
    """The body as a file. Its name is what Content-Disposition says (RFC 6266), or the end of ``url``.

    ``own`` is the URL of the call's own request, which holds no secret; another one a server has made.
    """
    path = url.partition("?")[0].partition("://")[2].partition("/")[2]
    path = path.rpartition("/")[2] if url == own.partition("?")[0] else path
    name = _name(_said(response.headers.get("content-disposition", ""))) or _name(unquote(path)) or "response"
    kind = response.media_type
    return Resource(response.body, kind if TYPE.fullmatch(kind) else "application/octet-stream", name)


def _said(header: str) -> str:
    if match := ENCODED.search(header):
        return unquote(match.group(1))
    if match := QUOTED.search(header):
        return _as_meant(re.sub(r"\\(.)", r"\1", match.group(1)))
    match = PLAIN.search(header)
    return _as_meant(match.group(1)) if match else ""


def _as_meant(text: str) -> str:
    """A header's text as the UTF-8 that servers mean."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def _name(text: str) -> str:
    """A name that is no way to another folder, marked where it was cut; empty where nothing of it is left."""
    last = re.split(r"[/\\]", text)[-1]
    name = "".join(each for each in last if each.isprintable()).strip(" .")[-MAX_NAME:]
    return cut.mark + name if name and name != text else name

"""The bytes of a request: the plan's pieces, with secrets in their places."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from toolc.backends.http_templates import encoded
from toolc.model.http_plan import Base64, FormPart, MultipartForm, Named, Pieces, PlainBody, RequestBody, Slot
from toolc.runtime.egress_transport import RefusedError
from toolc.runtime.http_target import Target

MAX_BODY: Final = 64 * 1024 * 1024
"""The longest body that is sent, in bytes."""

ReadFile = Callable[[str], bytes]
"""Reads a file of the workspace by its path. Raises ``RefusedError``."""

_NO_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_LINE_END: Final = re.compile(rb"[\r\n\0]")


def fill(pieces: Pieces, secrets: Mapping[str, str]) -> bytes:
    """The bytes of ``pieces``, each secret escaped for its place."""
    return b"".join(_fill_one(piece, secrets) for piece in pieces)


def _fill_one(piece: str | Slot | Base64, secrets: Mapping[str, str]) -> bytes:
    match piece:
        case str():
            return piece.encode()
        case Base64(pieces=pieces):
            return base64.b64encode(fill(pieces, secrets))
        case Slot(name=name, place=place):
            return encoded(secrets[name], place).encode()


def fill_header(header: Named, secrets: Mapping[str, str]) -> bytes:
    """A header's line. Raises ``RefusedError`` for a secret that would end it."""
    value = fill(header.value, secrets)
    if _LINE_END.search(value):
        raise RefusedError(f"the secret in the header {header.name!r} holds a line end, which no header can")
    return f"{header.name}: ".encode() + value + b"\r\n"


def fill_query(fields: Sequence[Named], secrets: Mapping[str, str]) -> str:
    """The fields of a query, escaped."""
    return "&".join(f"{each.name}={fill(each.value, secrets).decode()}" for each in fields)


def request(method: str, target: Target, headers: Sequence[bytes], body: bytes | None, content_type: str) -> bytes:
    """A request's bytes (RFC 9112). ``headers`` are whole lines, and come before toolc's own."""
    names = {line.partition(b":")[0].lower() for line in headers}
    lines = [f"{method} {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n".encode(), *headers]
    defaults = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "toolc"}
    if body is not None:
        defaults["Content-Type"] = content_type
    lines += [
        f"{name}: {value}\r\n".encode() for name, value in defaults.items() if name.lower().encode() not in names
    ]
    if body is not None or method not in _NO_BODY:
        lines.append(f"Content-Length: {len(body or b'')}\r\n".encode())
    lines.append(b"Connection: close\r\n\r\n")
    return b"".join(lines) + (body or b"")


def pieces_of(body: RequestBody) -> Pieces:
    """All pieces of a body, whatever stands between them."""
    if isinstance(body, PlainBody):
        return body.pieces
    return tuple(piece for part in body.parts for piece in part.value)


def fill_body(body: RequestBody, secrets: Mapping[str, str], read_file: ReadFile) -> tuple[bytes, str]:
    """A body's bytes and its media type. Raises ``RefusedError`` for a file that cannot be sent."""
    if isinstance(body, PlainBody):
        return fill(body.pieces, secrets), body.content_type
    return _multipart(body, secrets, read_file)


def _multipart(body: MultipartForm, secrets: Mapping[str, str], read_file: ReadFile) -> tuple[bytes, str]:
    parts = [(_part_head(part), _part_data(part, secrets, read_file)) for part in body.parts]
    if sum(len(data) for _, data in parts) > MAX_BODY:
        raise RefusedError(f"the body has more than {MAX_BODY >> 20} MiB")
    boundary = _boundary([data for _, data in parts])
    pieces = [b"--" + boundary + b"\r\n" + head + b"\r\n" + data + b"\r\n" for head, data in parts]
    return b"".join(pieces) + b"--" + boundary + b"--\r\n", f"multipart/form-data; boundary={boundary.decode()}"


def _part_head(part: FormPart) -> bytes:
    head = f'Content-Disposition: form-data; name="{_quoted(part.name)}"'
    kind = part.content_type
    if part.path is not None:
        head += f'; filename="{_quoted(part.path.rpartition("/")[2])}"'
        kind = kind or "application/octet-stream"
    return (head + (f"\r\nContent-Type: {kind}" if kind else "") + "\r\n").encode()


def _part_data(part: FormPart, secrets: Mapping[str, str], read_file: ReadFile) -> bytes:
    return fill(part.value, secrets) if part.path is None else read_file(part.path)


def _quoted(text: str) -> str:
    """A name in quotes as browsers write it (WHATWG HTML, multipart/form-data encoding algorithm)."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _boundary(contents: Sequence[bytes]) -> bytes:
    """A boundary that stands in none of ``contents``: the same for the same."""
    digest = hashlib.sha256()
    for data in contents:
        digest.update(len(data).to_bytes(8, "big") + data)
    while True:
        boundary = b"toolc-" + digest.hexdigest()[:40].encode()
        if not any(boundary in data for data in contents):
            return boundary
        digest.update(b"again")

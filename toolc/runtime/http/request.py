"""Build the bytes of a request from the pieces of the plan and the secrets."""

import base64
from collections.abc import Callable, Mapping, Sequence
from secrets import token_hex
from typing import Final
from urllib.parse import quote

from toolc.backends.http_templates import escape
from toolc.dataclass import dataclass
from toolc.model.destinations import HostError, canonical_host, format_host, is_loopback
from toolc.model.http_plan import Base64, FormPart, NamedValue, Pieces, PlainBody, RequestBody, Slot, WorkspaceFile
from toolc.model.text import lazy_re, render_size
from toolc.runtime.egress.transport import RefusedError

MAX_REQUEST_URL: Final = 8192
"""The maximum length of a URL that is sent, in characters. Common servers accept 8 KiB."""

PORTS: Final = {"http": 80, "https": 443}

_URL: Final = lazy_re(r"(?ai)(?P<scheme>https?)://(?P<authority>[^/?#\\]*)(?P<rest>[/?][^#]*)?(?:#.*)?")
_AUTHORITY: Final = lazy_re(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
_UNSAFE: Final = lazy_re(r"[\x00-\x20\x7f\\]")

MAX_REQUEST_BODY: Final = 64 * 1024 * 1024
"""The maximum size of a body that is sent, in bytes. The host holds it in memory."""

ReadFile = Callable[[str], bytes]
"""Reads a file of the workspace by its path. Raises ``RefusedError``."""

_NO_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_LINE_END: Final = lazy_re(rb"[\r\n\0]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of a request: a canonical ``origin``, and the path and query as in the request line."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """The scheme, host and port. A secret of one URL is sent to another only if these are the same."""
        return (self.scheme, self.host, self.port)

    @property
    def authority(self) -> str:
        """The value of the header ``Host``."""
        host = format_host(self.host)
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether others on the network cannot read the data: with TLS, or on a connection to this machine."""
        return self.scheme == "https" or is_loopback(self.host)


def parse_url(text: str) -> Target:
    """Return the target of an ``http`` or ``https`` URL. If it is invalid, raises ``RefusedError``."""
    printable = ascii(text[:100])
    match = _URL.fullmatch(text)
    if match is None:
        raise RefusedError(f"{printable} is not an http or https URL")
    rest = match["rest"] or "/"
    if len(text) > MAX_REQUEST_URL:
        raise RefusedError(f"the URL has {len(text)} characters; the maximum is {MAX_REQUEST_URL}")
    if _UNSAFE.search(text):
        raise RefusedError(
            f"{printable} contains spaces, control characters or a backslash, which programs interpret differently"
        )
    if "@" in match["authority"]:
        raise RefusedError(f"the URL {match['authority'].rpartition('@')[2][:80]!a} has a user name before its host")
    found = _AUTHORITY.fullmatch(match["authority"])
    scheme = match["scheme"].lower()
    port = int(found["port"] or PORTS[scheme]) if found else 0
    if found is None or not 0 < port < 65536:
        raise RefusedError(f"{printable} has no port from 1 to 65535")
    try:
        host = canonical_host(found["host"])
    except HostError as error:
        raise RefusedError(f"the host of the URL is invalid: {error}") from None
    path = quote(rest if rest.startswith("/") else f"/{rest}", safe="/%:@!$&'()*+,;=-._~?[]|{}\"^`<>")
    return Target(scheme=scheme, host=host, port=port, path=path)


def check_secret(name: str, hosts: Sequence[str], target: Target) -> None:
    """Raise ``RefusedError`` if ``target`` is not among the ``hosts`` to which the secret ``name`` may be sent."""
    if target.host not in hosts:
        raise RefusedError(f"the secret {name!r} may be sent to {', '.join(hosts) or 'no host'}, not to {target.host}")
    if not target.is_private:
        raise RefusedError(f"the secret {name!r} is sent only over TLS; use https in the URL of {target.authority}")


def fill(pieces: Pieces, secrets: Mapping[str, str]) -> bytes:
    """Return the bytes of ``pieces``. Each secret is escaped for its position."""
    return b"".join(_fill_one(piece, secrets) for piece in pieces)


def _fill_one(piece: str | Slot | Base64, secrets: Mapping[str, str]) -> bytes:
    match piece:
        case str():
            return piece.encode()
        case Base64(pieces=pieces):
            return base64.b64encode(fill(pieces, secrets))
        case Slot(name=name, place=place):
            return escape(secrets[name], place).encode()


def fill_header(header: NamedValue, secrets: Mapping[str, str]) -> bytes:
    """Return a header line. Raises ``RefusedError`` for a secret that would end the line."""
    value = fill(header.value, secrets)
    if _LINE_END.search(value):
        raise RefusedError(
            f"the secret in the header {header.name!r} contains a line break, which is invalid in a header"
        )
    return f"{header.name}: ".encode() + value + b"\r\n"


def fill_query(fields: Sequence[NamedValue], secrets: Mapping[str, str]) -> str:
    """Return the escaped fields of a query."""
    return "&".join(f"{each.name}={fill(each.value, secrets).decode()}" for each in fields)


def request(method: str, target: Target, headers: Sequence[bytes], body: bytes | None, content_type: str) -> bytes:
    """Return the bytes of a request (RFC 9112). ``headers`` are complete lines, which precede toolc's own lines."""
    names = {line.partition(b":")[0].lower() for line in headers}
    lines = [f"{method} {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n".encode(), *headers]
    defaults = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "toolc"}
    if body is not None:
        defaults["Content-Type"] = content_type
    lines += [f"{name}: {value}\r\n".encode() for name, value in defaults.items() if name.lower().encode() not in names]
    if body is not None or method not in _NO_BODY:
        lines.append(f"Content-Length: {len(body or b'')}\r\n".encode())
    lines.append(b"Connection: close\r\n\r\n")
    return b"".join(lines) + (body or b"")


def pieces_of(body: RequestBody) -> Pieces:
    """Return all pieces of a body, without the syntax between them."""
    if isinstance(body, PlainBody):
        return body.pieces
    if isinstance(body, WorkspaceFile):
        return ()
    return tuple(piece for part in body.parts for piece in part.value)


def fill_body(body: RequestBody, secrets: Mapping[str, str], read_file: ReadFile) -> tuple[bytes, str]:
    """Return the bytes and the media type of a body. Raises ``RefusedError`` for a file that cannot be sent."""
    if isinstance(body, PlainBody):
        return fill(body.pieces, secrets), body.content_type
    if isinstance(body, WorkspaceFile):
        content = read_file(body.path)
        _check_size(len(content))
        return content, body.content_type
    parts = [
        (_part_head(part), fill(part.value, secrets) if part.path is None else read_file(part.path))
        for part in body.parts
    ]
    _check_size(sum(len(data) for _, data in parts))
    boundary = b"toolc-" + token_hex(20).encode()  # no content can be made to contain it
    pieces = [b"--" + boundary + b"\r\n" + head + b"\r\n" + data + b"\r\n" for head, data in parts]
    return b"".join(pieces) + b"--" + boundary + b"--\r\n", f"multipart/form-data; boundary={boundary.decode()}"


def _check_size(size: int) -> None:
    if size > MAX_REQUEST_BODY:
        raise RefusedError(f"the body has more than {render_size(MAX_REQUEST_BODY)}")


def _part_head(part: FormPart) -> bytes:
    head = f'Content-Disposition: form-data; name="{_quoted(part.name)}"'
    kind = part.content_type
    if part.path is not None:
        head += f'; filename="{_quoted(part.path.rpartition("/")[2])}"'
        kind = kind or "application/octet-stream"
    return (head + (f"\r\nContent-Type: {kind}" if kind else "") + "\r\n").encode()


def _quoted(text: str) -> str:
    """Return a quoted name as browsers write it (WHATWG HTML, "multipart/form-data encoding algorithm")."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")

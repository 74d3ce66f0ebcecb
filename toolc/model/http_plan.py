"""What one call of an HTTP tool asks for: pure data, in which secrets are places and never values.

Text that stands in a request is escaped for its place already. A ``Slot`` is filled by the host when the
request is sent, and is no text before: nothing that an argument holds can be taken for one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import File
from toolc.model.spec.http_backend import HttpErrorRule, HttpRetry, Method, Pagination

__all__ = [
    "Base64",
    "FormPart",
    "HttpCall",
    "MultipartForm",
    "Named",
    "Piece",
    "Pieces",
    "Place",
    "PlainBody",
    "Reading",
    "RequestBody",
    "Slot",
    "TokenRequest",
    "slots",
]

Place: TypeAlias = Literal["plain", "query", "form", "json"]
"""How a secret's value is escaped where it stands. ``plain`` is as it is; a header refuses line ends itself."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a secret, by its name in ``sandbox.secrets``."""

    name: str
    place: Place = "plain"


@dataclass(frozen=True, slots=True)
class Base64:
    """The Base64 of pieces, as ``Authorization: Basic`` has it (RFC 7617)."""

    pieces: tuple[str | Slot, ...]


Piece: TypeAlias = str | Slot | Base64
Pieces: TypeAlias = tuple[Piece, ...]
"""Text in UTF-8 with places for secrets in it."""


@dataclass(frozen=True, slots=True)
class Named:
    """A header, or one field of a query (both sides escaped for it)."""

    name: str
    value: Pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainBody:
    """A body of pieces, and its media type."""

    tag: ClassVar[str] = "plain"
    content_type: str
    pieces: Pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPart:
    """One part of a multipart body: its value, or the workspace file that ``path`` names."""

    name: str
    value: Pieces = ()
    path: str | None = None
    content_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipartForm:
    """``multipart/form-data`` (RFC 7578)."""

    tag: ClassVar[str] = "multipart"
    parts: tuple[FormPart, ...]


RequestBody: TypeAlias = PlainBody | MultipartForm


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """Client credentials (RFC 6749, 4.4): what is posted to ``url`` as a form, to get a bearer token."""

    url: str
    form: tuple[Named, ...]
    client_id: Pieces
    client_secret: Pieces

    @property
    def slots(self) -> frozenset[str]:
        """The secrets that it names."""
        return slots(self.client_id) | slots(self.client_secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How responses become the result; what ``toolc.guest.http.tool`` is told.

    ``image`` and ``json`` are what ``result.format`` asks for; ``arguments`` are for the template alone.
    """

    format: Literal["text", "json", "image", "none"] = "text"
    retry: HttpRetry | None = None
    pagination: Pagination | None = None
    errors: tuple[HttpErrorRule, ...] = ()
    select: str | None = None
    template: str | None = None
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One HTTP tool's call: the request that the host builds, and how the guest reads what comes of it.

    ``url`` is whole and may have a query of its own, to which ``query`` is added. ``needs_token`` says whether
    the guest must ask for an access token first, ``files`` are the libraries that it reads responses with,
    ``cut_mark`` what it puts where it cuts a text that may hold a secret.
    """

    tag: ClassVar[str] = "http"
    method: Method
    url: str
    query: tuple[Named, ...] = ()
    headers: tuple[Named, ...] = ()
    body: RequestBody | None = None
    token: TokenRequest | None = None
    needs_token: bool = False
    files: tuple[File, ...] = ()
    cut_mark: str = ""
    reading: Reading = field(default_factory=Reading)

    @property
    def goes_ahead(self) -> bool:
        """Whether the host makes the request while its guest still wakes.

        Only where nothing is left that could keep the call from beginning, such as files to be written.
        """
        return not self.needs_token and not self.files


def slots(pieces: Pieces) -> frozenset[str]:
    """The names of the secrets that have a place in ``pieces``."""
    found: set[str] = set()
    for piece in pieces:
        if isinstance(piece, Slot):
            found.add(piece.name)
        elif isinstance(piece, Base64):
            found |= slots(piece.pieces)
    return frozenset(found)

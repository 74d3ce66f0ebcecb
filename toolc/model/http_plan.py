"""The request and response handling of one call of an HTTP tool, as data without secret values.

Text in a request is already escaped for its place. A ``Slot`` marks the place of a secret, which the host fills when
it sends the request. Because a slot is an object, no text in an argument can imitate one.
"""

from typing import ClassVar, Literal, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import File
from toolc.model.spec.http_backend import HttpErrorRule, HttpRetry, Method, Pagination

Escaping: TypeAlias = Literal["plain", "query", "reserved", "form", "json"]
"""How the value of a secret is escaped. ``plain`` does not escape, and a header with line ends is refused when sent.

``reserved`` is for a query whose values keep reserved characters, except those that end a field.
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a secret, identified by its name in ``sandbox.secrets``."""

    name: str
    place: Escaping = "plain"


@dataclass(frozen=True, slots=True)
class Base64:
    """Base64 of the concatenated pieces, as in ``Authorization: Basic`` (RFC 7617)."""

    pieces: tuple[str | Slot, ...]


Piece: TypeAlias = str | Slot | Base64
Pieces: TypeAlias = tuple[Piece, ...]
"""UTF-8 text with places for secrets."""


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A header, or a query field whose name and value are already escaped."""

    name: str
    value: Pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainBody:
    """A body made of pieces, and its media type."""

    tag: ClassVar[str] = "plain"
    content_type: str
    pieces: Pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPart:
    """One part of a multipart body: ``value``, or the workspace file at ``path``."""

    name: str
    value: Pieces = ()
    path: str | None = None
    content_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipartForm:
    """A ``multipart/form-data`` body (RFC 7578)."""

    tag: ClassVar[str] = "multipart"
    parts: tuple[FormPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    """A body that is the workspace file at ``path``."""

    tag: ClassVar[str] = "file"
    path: str
    content_type: str


RequestBody: TypeAlias = PlainBody | MultipartForm | WorkspaceFile


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """A request for a bearer token (RFC 6749, 4.4 and 6). It posts ``form``, which may have a secret, to ``url``."""

    url: str
    form: tuple[NamedValue, ...]
    client_id: Pieces
    client_secret: Pieces

    @property
    def slots(self) -> frozenset[str]:
        """The names of the secrets that the request uses."""
        return frozenset().union(*map(slots, self.texts))

    @property
    def texts(self) -> tuple[Pieces, ...]:
        """All texts that may contain secrets."""
        return (self.client_id, self.client_secret, *(each.value for each in self.form))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHandling:
    """How responses become the result. ``toolc.guest.http.http_tool`` receives this.

    ``image`` and ``json`` come from ``result.format``. ``arguments`` are only for the template.
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
    """One call of an HTTP tool, with the request that the host builds, and how the guest reads the response.

    ``url`` is complete and may have a query, to which ``query`` is added. ``needs_token`` says whether the guest must
    request an access token first. ``files`` are the libraries that the guest needs to read responses. ``cut_mark`` is
    the text that the guest inserts where it truncates a text that may contain a secret.
    """

    tag: ClassVar[str] = "http"
    method: Method
    url: str
    query: tuple[NamedValue, ...] = ()
    headers: tuple[NamedValue, ...] = ()
    body: RequestBody | None = None
    token: TokenRequest | None = None
    needs_token: bool = False
    files: tuple[File, ...] = ()
    cut_mark: str = ""
    reading: ResponseHandling = field(default_factory=ResponseHandling)

    @property
    def can_send_early(self) -> bool:
        """Whether the host may send the request while its guest is still starting.

        This requires that nothing can prevent the call from starting, such as files that must be written first.
        """
        return not self.needs_token and not self.files


def slots(pieces: Pieces) -> frozenset[str]:
    """Return the names of the secrets used in ``pieces``."""
    names: set[str] = set()
    for piece in pieces:
        if isinstance(piece, Slot):
            names.add(piece.name)
        elif isinstance(piece, Base64):
            names |= slots(piece.pieces)
    return frozenset(names)

"""``backend.http``: one request, as a spec declares it. See ``toolc.model.spec.tool`` for the rules.

Where a template stands decides how a value is made safe there: in a URL's path it is percent-encoded (and
``.`` and ``..`` are refused), in a query or a form it is encoded for it, in a header CR and LF are refused,
in a JSON body it is a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolc.model.spec.code_backends import ErrorKind
from toolc.model.template import JsonTemplate, Template

__all__ = [
    "ApiKeyAuth",
    "Auth",
    "BasicAuth",
    "BearerAuth",
    "Body",
    "CursorPages",
    "Field",
    "FormBody",
    "HttpBackend",
    "HttpErrorRule",
    "HttpRetry",
    "JsonBody",
    "LinkPages",
    "Method",
    "MultipartBody",
    "NumberedPages",
    "OAuth2Auth",
    "OffsetPages",
    "Pagination",
    "Part",
    "Scheme",
    "Style",
    "TextBody",
    "Url",
]

Method: TypeAlias = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
Scheme: TypeAlias = Literal["http", "https"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """A URL whose scheme, host and port are constants, in canonical form. ``query`` is what it says after ``?``."""

    tag: ClassVar[Literal["fixed"]] = "fixed"
    scheme: Scheme
    host: str
    port: int
    path: Template
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One header, or one field of a query or form. It is left out where an argument it names is absent."""

    name: str
    value: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonBody:
    """``body.json``."""

    tag: ClassVar[Literal["json"]] = "json"
    value: JsonTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class FormBody:
    """``body.form``: ``application/x-www-form-urlencoded``."""

    tag: ClassVar[Literal["form"]] = "form"
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a multipart body: its text, or the workspace file that ``is_file`` says ``value`` names."""

    name: str
    value: Template
    is_file: bool = False
    content_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipartBody:
    """``body.multipart``: ``multipart/form-data``."""

    tag: ClassVar[Literal["multipart"]] = "multipart"
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBody:
    """``body.text``, sent as the template gives it."""

    tag: ClassVar[Literal["text"]] = "text"
    text: Template


Body: TypeAlias = JsonBody | FormBody | MultipartBody | TextBody


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerAuth:
    """``auth.bearer``: a token in the header ``Authorization``."""

    tag: ClassVar[Literal["bearer"]] = "bearer"
    token: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicAuth:
    """``auth.basic``."""

    tag: ClassVar[Literal["basic"]] = "basic"
    username: Template
    password: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyAuth:
    """``auth.api_key``: a key in the header or the field of the query called ``name``."""

    tag: ClassVar[Literal["api_key"]] = "api_key"
    place: Literal["header", "query"]
    name: str
    value: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth2Auth:
    """``auth.oauth2``: client credentials (RFC 6749, 4.4). The host of ``token_url`` may be reached too."""

    tag: ClassVar[Literal["oauth2"]] = "oauth2"
    token_url: Url
    client_id: Template
    client_secret: Template
    scopes: tuple[str, ...] = ()
    audience: str | None = None


Auth: TypeAlias = BearerAuth | BasicAuth | ApiKeyAuth | OAuth2Auth


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRetry:
    """Send the request again after these statuses, ``attempts`` times in all."""

    statuses: tuple[int, ...] = (429, 502, 503, 504)
    attempts: int = 3
    backoff_ms: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPages:
    """The next page is asked for with what ``next`` (JMESPath) finds in this one.

    It stands in ``parameter`` of the query, or where ``pointer`` (a JSON Pointer, RFC 6901) leads in the body; one
    of the two is None.
    """

    tag: ClassVar[Literal["cursor"]] = "cursor"
    parameter: str | None = None
    pointer: str | None = None
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPages:
    """The next page is at the URL that ``next`` (JMESPath) finds, or the header ``Link`` says (RFC 8288)."""

    tag: ClassVar[Literal["link"]] = "link"
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPages:
    """The next page is asked for with ``parameter`` set to how many items there were; ends where none come.

    Counted is from what the request's own query says, if it has the parameter, and from 0 otherwise.
    """

    tag: ClassVar[Literal["offset"]] = "offset"
    parameter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedPages:
    """The next page is asked for with ``parameter`` one higher; ends where no items come.

    Counted is from what the request's own query says, if it has the parameter, and from ``first`` otherwise.
    """

    tag: ClassVar[Literal["page"]] = "page"
    parameter: str
    first: int = 1


Style: TypeAlias = CursorPages | LinkPages | OffsetPages | NumberedPages


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """How pages become one result: the lists that ``items`` (JMESPath) finds in each, one after the other."""

    style: Style
    items: str | None = None
    max_pages: int = 10
    max_items: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpErrorRule:
    """A response that is an error of this kind: of this status (``404``, ``5xx``), and where ``when`` holds.

    ``when`` is JMESPath over the body, for services that say 200 and fail.
    """

    kind: ErrorKind
    status: str | None = None
    when: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpBackend:
    """``backend.http``. A ``url`` that is a template is one that the caller decides (``url_from_argument``)."""

    tag: ClassVar[Literal["http"]] = "http"
    url: Url | Template
    method: Method = "GET"
    query: tuple[Field, ...] = ()
    headers: tuple[Field, ...] = ()
    body: Body | None = None
    auth: Auth | None = None
    retry: HttpRetry | None = None
    pagination: Pagination | None = None
    errors: tuple[HttpErrorRule, ...] = ()

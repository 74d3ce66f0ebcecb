"""``backend.http``: one request, as declared in a spec. See ``toolc.model.spec.tool`` for the rules.

The place of a template decides how its values are escaped. In the path of a URL they are percent-encoded (and ``.``
and ``..`` are rejected), in a query or form they are encoded for it, in a header CR and LF are rejected, and in a
JSON body they are JSON values.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolc.model.spec.code_backends import ErrorKind
from toolc.model.template import JsonTemplate, Template

Method: TypeAlias = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
Scheme: TypeAlias = Literal["http", "https"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """A URL with constant scheme, host and port, in canonical form. ``query`` is the part after ``?``."""

    tag: ClassVar[Literal["fixed"]] = "fixed"
    scheme: Scheme
    host: str
    port: int
    path: Template
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One header, or one field of a query or form. It is omitted if its value uses an absent argument."""

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
class MultipartPart:
    """One part of a multipart body: ``value`` as text, or the workspace file with that path if ``is_file``."""

    name: str
    value: Template
    is_file: bool = False
    content_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipartBody:
    """``body.multipart``: ``multipart/form-data``."""

    tag: ClassVar[Literal["multipart"]] = "multipart"
    parts: tuple[MultipartPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBody:
    """``body.text``, sent as rendered."""

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
    """``auth.basic``: a user name and a password."""

    tag: ClassVar[Literal["basic"]] = "basic"
    username: Template
    password: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyAuth:
    """``auth.api_key``: a key in the header or query field ``name``."""

    tag: ClassVar[Literal["api_key"]] = "api_key"
    place: Literal["header", "query"]
    name: str
    value: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth2Auth:
    """``auth.oauth2``: client credentials (RFC 6749, 4.4). The host of ``token_url`` may be reached as well."""

    tag: ClassVar[Literal["oauth2"]] = "oauth2"
    token_url: Url
    client_id: Template
    client_secret: Template
    scopes: tuple[str, ...] = ()
    audience: str | None = None


Auth: TypeAlias = BearerAuth | BasicAuth | ApiKeyAuth | OAuth2Auth


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRetry:
    """Send the request again after these statuses, at most ``attempts`` times in total.

    The default statuses say that the server is busy or being replaced. Three attempts take at least three seconds.
    """

    statuses: tuple[int, ...] = (429, 502, 503, 504)
    attempts: int = 3
    backoff_ms: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPages:
    """Pages with a cursor: ``next`` (JMESPath) finds the cursor of the next page in the current one.

    The cursor is sent as the query field ``parameter`` or in the body at ``pointer`` (RFC 6901); the other is None.
    """

    tag: ClassVar[Literal["cursor"]] = "cursor"
    parameter: str | None = None
    pointer: str | None = None
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPages:
    """Pages with links: ``next`` (JMESPath) finds the next URL, or the header ``Link`` has it (RFC 8288)."""

    tag: ClassVar[Literal["link"]] = "link"
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPages:
    """Pages with an offset: ``parameter`` is the number of items so far. The first page without items is the last.

    The offset starts at the value of ``parameter`` in the query of the request, or at 0 if it is absent.
    """

    tag: ClassVar[Literal["offset"]] = "offset"
    parameter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedPages:
    """Pages with numbers: ``parameter`` is increased by one per page, until a page has no items.

    The number starts at the value of ``parameter`` in the query of the request, or at ``first`` if it is absent.
    """

    tag: ClassVar[Literal["page"]] = "page"
    parameter: str
    first: int = 1


Style: TypeAlias = CursorPages | LinkPages | OffsetPages | NumberedPages


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """How pages are combined: the lists that ``items`` (JMESPath) finds in each page are concatenated.

    More than ``max_pages`` are not read, because few results of so many pages fit the output limit.
    """

    style: Style
    items: str | None = None
    max_pages: int = 10
    max_items: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpErrorRule:
    """A response that is an error of this kind: it has this status (``404``, ``5xx``), and ``when`` is true.

    ``when`` is a JMESPath expression for the body, for services that report errors with status 200.
    """

    kind: ErrorKind
    status: str | None = None
    when: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpBackend:
    """``backend.http``. If ``url`` is a template, the caller decides the URL (``url_from_argument``)."""

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

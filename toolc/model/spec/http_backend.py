"""``backend.http``: one request, as declared in a spec. See ``toolc.model.spec.tool`` for the rules.

The place of a template decides how its values are escaped. In the path of a URL they are percent-encoded (and ``.``
and ``..`` are rejected), in a query or form they are encoded for it, in a header CR and LF are rejected, and in a
JSON body they are JSON values.
"""

from typing import ClassVar, Final, Literal, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.spec import keys
from toolc.model.spec.code_backends import ATTEMPTS, CREDENTIAL, ERROR_KIND, FORM_FIELD, BackendTraits, ErrorKind
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


WireStyle: TypeAlias = Literal["form", "simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "deepObject"]
"""How a list or an object is written in a request: the styles of OpenAPI, which has RFC 6570 as its source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One header, cookie or segment of a path, or one field of a query or form.

    It is omitted if its value uses an absent argument. ``style`` is None for a value that is written without one.
    """

    name: str = field(metadata=keys.NO_KEY)
    value: Template = field(metadata=keys.key(FORM_FIELD))
    """The value, a template.

    Example: "{{ tags }}"
    """
    style: WireStyle | None = field(default=None, metadata=keys.key(stored_if_set=True))
    """How a list or an object is written. Without it: ``form`` in a query, form or cookie, and ``simple`` elsewhere.

    Example: pipeDelimited
    """
    explode: bool | None = field(default=None, metadata=keys.key(stored_if_set=True))
    """Whether each item or key is written on its own. Without it: only for the styles ``form`` and ``deepObject``.

    Example: false
    """
    allow_reserved: bool = field(default=False, metadata=keys.key(stored_if_set=True))
    """Whether characters such as ``/`` and ``:`` stay as they are. Only in a query or form.

    Example: true
    """


STYLED_FIELD: Final = keys.either(FORM_FIELD, keys.map_with(Field, required=True))
"""A value, or a map that also says how a list or an object is written."""


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

    one_of: ClassVar = ("text", "file")
    name: str = field(metadata=keys.NO_KEY)
    value: Template = field(metadata=keys.NO_KEY)
    is_file: bool = field(default=False, metadata=keys.NO_KEY)
    text: ClassVar = keys.Key(FORM_FIELD)
    """The content, a template.

    Example: "{{ title }}"
    """
    file: ClassVar = keys.Key(FORM_FIELD)
    """The path of a workspace file with the content, a template.

    Example: "{{ path }}"
    """
    content_type: str | None = None
    """The media type.

    Example: image/png
    """


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBody:
    """``body.file``: the bytes of the workspace file at ``path``."""

    tag: ClassVar[Literal["file"]] = "file"
    path: Template
    """The path in the workspace, a template.

    Example: "{{ path }}"
    """
    content_type: str = "application/octet-stream"
    """The media type.

    Example: image/png
    """


Body: TypeAlias = JsonBody | FormBody | MultipartBody | TextBody | FileBody


class BodyKeys:
    """The keys of ``body``, which has exactly one of them."""

    one_of: ClassVar = ("json", "form", "multipart", "text", "file")
    json: ClassVar = keys.Key(keys.JSON)
    """A JSON value. Strings are templates; a string that is only a placeholder keeps the type of the value.

    Example: {title: "{{ title }}"}
    """
    form: ClassVar = keys.Key(keys.map_of(STYLED_FIELD))
    """The fields of a form.

    Example: {title: "{{ title }}"}
    """
    multipart: ClassVar = keys.Key(keys.map_of(keys.either(FORM_FIELD, keys.map_with(MultipartPart))))
    """The parts of a multipart form, which can contain files.

    Example: {image: {file: "{{ path }}", content_type: image/png}}
    """
    text: ClassVar = keys.Key(keys.TEMPLATE)
    """Text, a template.

    Example: "{{ text }}"
    """
    file: ClassVar = keys.Key(keys.map_with(FileBody))
    """The bytes of a workspace file.

    Example: {path: "{{ path }}", content_type: image/png}
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerAuth:
    """``auth.bearer``: a token in the header ``Authorization``."""

    tag: ClassVar[Literal["bearer"]] = "bearer"
    token: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicAuth:
    """``auth.basic``: a user name and a password."""

    tag: ClassVar[Literal["basic"]] = "basic"
    username: Template = field(metadata=keys.key(CREDENTIAL))
    """The user name, a template.

    Example: robot
    """
    password: Template = field(metadata=keys.key(CREDENTIAL))
    """The password.

    Example: "{{ secrets.PASSWORD }}"
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyAuth:
    """``auth.api_key``: a key in the header or query field ``name``."""

    tag: ClassVar[Literal["api_key"]] = "api_key"
    one_of: ClassVar = ("header", "query")
    place: Literal["header", "query"] = field(metadata=keys.NO_KEY)
    name: str = field(metadata=keys.NO_KEY)
    header: ClassVar = keys.Key(keys.TEXT)
    """The header that contains the key.

    Example: X-API-Key
    """
    query: ClassVar = keys.Key(keys.TEXT)
    """The query field that contains the key.

    Example: api_key
    """
    value: Template = field(metadata=keys.key(CREDENTIAL))
    """The key.

    Example: "{{ secrets.API_KEY }}"
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth2Auth:
    """``auth.oauth2``: client credentials, or a refresh token (RFC 6749, 4.4 and 6). ``token_url`` may be reached."""

    tag: ClassVar[Literal["oauth2"]] = "oauth2"
    token_url: Url = field(metadata=keys.key(keys.TEXT))
    """The URL of the token endpoint, a constant.

    Example: https://login.example.com/token
    """
    client_id: Template = field(metadata=keys.key(CREDENTIAL))
    """The client id, a template.

    Example: "{{ secrets.CLIENT_ID }}"
    """
    client_secret: Template = field(metadata=keys.key(CREDENTIAL))
    """The client secret.

    Example: "{{ secrets.CLIENT_SECRET }}"
    """
    refresh_token: Template | None = field(default=None, metadata=keys.key(CREDENTIAL, stored_if_set=True))
    """The refresh token of a user, for tokens with that user's rights. It must stay valid after its use.

    Example: "{{ secrets.REFRESH_TOKEN }}"
    """
    scopes: tuple[str, ...] = ()
    """The scopes of the token.

    Example: [read]
    """
    audience: str | None = None
    """The audience of the token.

    Example: https://api.example.com
    """


Auth: TypeAlias = BearerAuth | BasicAuth | ApiKeyAuth | OAuth2Auth


class AuthKeys:
    """The keys of ``auth``, which has exactly one of them.

    Instead of: kind scheme type: the kind is a key: write bearer: "{{ secrets.TOKEN }}"
    Instead of: access_token token: write bearer: "{{ secrets.TOKEN }}"
    Instead of: login pass password user username: write basic: {username: USER, password: "{{ secrets.PASSWORD }}"}
    Instead of: apikey header in key name value: write api_key: {header: X-API-Key, value: "{{ secrets.API_KEY }}"}
    """

    one_of: ClassVar = ("bearer", "basic", "api_key", "oauth2")
    bearer: ClassVar = keys.Key(CREDENTIAL)
    """A token.

    Example: "{{ secrets.TOKEN }}"
    """
    basic: ClassVar = keys.Key(keys.map_with(BasicAuth))
    """A user name and a password.

    Example: {username: robot, password: "{{ secrets.PASSWORD }}"}
    Instead of: type=basic: write basic: {username: USER, password: "{{ secrets.PASSWORD }}"}
    """
    api_key: ClassVar = keys.Key(keys.map_with(ApiKeyAuth))
    """A key in a header or in the query.

    Example: {header: X-API-Key, value: "{{ secrets.API_KEY }}"}
    Instead of: type=api_key type=apikey: write api_key: {header: X-API-Key, value: "{{ secrets.API_KEY }}"}
    """
    oauth2: ClassVar = keys.Key(keys.map_with(OAuth2Auth))
    """OAuth 2 client credentials or a refresh token. Access tokens are cached until they expire.

    Example: {token_url: "https://login.example.com/token", client_id: a, client_secret: "{{ secrets.SECRET }}"}
    Instead of: type=oauth2: write oauth2: {token_url: ..., client_id: ..., client_secret: ...}
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRetry:
    """Send the request again after these statuses, at most ``attempts`` times in total.

    The default statuses say that the server is busy or being replaced. Three attempts take at least three seconds.
    """

    statuses: tuple[int, ...] = field(
        default=(429, 502, 503, 504), metadata=keys.key(keys.list_of(keys.integer(400, 599)), is_set=True)
    )
    """The statuses after which the request is sent again.

    Example: [429, 503]
    """
    attempts: int = field(default=3, metadata=keys.key(ATTEMPTS))
    """The maximum number of attempts in total.

    Example: 5
    """
    backoff_ms: int = 1000
    """The first wait, which doubles each time.

    Example: 500ms
    """


_POINTER: Final = keys.matching("^(/([^/~]|~[01])*)+$", "a JSON Pointer to a place in the body")


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPages:
    """Pages with a cursor: ``next`` (JMESPath) finds the cursor of the next page in the current one.

    The cursor is sent as the query field ``parameter`` or in the body at ``pointer`` (RFC 6901); the other is None.
    """

    tag: ClassVar[Literal["cursor"]] = "cursor"
    one_of: ClassVar = ("parameter", "pointer")
    parameter: str | None = None
    """The query field for the cursor.

    Example: cursor
    """
    pointer: str | None = field(
        default=None, metadata=keys.key(keys.matching("^(/([^/~]|~[01])*)+$", "a JSON Pointer"))
    )
    """Alternatively, the place of the cursor in the JSON body of the request: a JSON Pointer.

    Example: /variables/after
    """
    next: str = field(metadata=keys.key(keys.EXPRESSION))
    """The place of the next cursor in the body of a page, in JMESPath.

    Example: meta.next_cursor
    """


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
    """The query field for the offset.

    Example: offset
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedPages:
    """Pages with numbers: ``parameter`` is increased by one per page, until a page has no items.

    The number starts at the value of ``parameter`` in the query of the request, or at ``first`` if it is absent.
    """

    tag: ClassVar[Literal["page"]] = "page"
    parameter: str
    """The query field for the number of the page.

    Example: page
    """
    first: int = field(default=1, metadata=keys.key(keys.integer(0, 1)))
    """The number of the first page.

    Example: 0
    """


Style: TypeAlias = CursorPages | LinkPages | OffsetPages | NumberedPages


@dataclass(frozen=True, slots=True, kw_only=True)
class Pagination:
    """How pages are combined: the lists that ``items`` (JMESPath) finds in each page are concatenated.

    More than ``max_pages`` are not read, because few results of so many pages fit the output limit.
    """

    one_of: ClassVar = ("cursor", "link", "offset", "page")
    style: Style = field(metadata=keys.NO_KEY)
    cursor: ClassVar = keys.Key(keys.map_with(CursorPages))
    """Pages with a cursor, which is in the body of the page before.

    Example: {parameter: cursor, next: meta.next_cursor}
    """
    link: ClassVar = keys.Key(keys.either(keys.choice(True), keys.EXPRESSION))
    """``true`` for the header ``Link``, or the place of the next URL in the body of a page, in JMESPath.

    Example: true
    """
    offset: ClassVar = keys.Key(keys.map_with(OffsetPages))
    """Pages with an offset, which counts the items so far.

    Example: {parameter: offset}
    """
    page: ClassVar = keys.Key(keys.map_with(NumberedPages))
    """Pages with a number.

    Example: {parameter: page}
    """
    items: str | None = field(default=None, metadata=keys.key(keys.EXPRESSION))
    """The list in each page, in JMESPath. The lists of all pages are concatenated.

    Example: results
    """
    max_pages: int = field(default=10, metadata=keys.key(keys.integer(1, 1000)))
    """The maximum number of pages.

    Example: 3
    """
    max_items: int | None = field(default=None, metadata=keys.key(keys.integer(1, 1_000_000)))
    """The maximum number of items.

    Example: 500
    """


_STATUS: Final = "^[2-5]([0-9]{2}|xx)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpErrorRule:
    """A response that is an error of this kind: it has this status, and ``when`` is true.

    ``when`` is for services that report errors with status 200.
    """

    kind: ErrorKind
    """The kind of error.

    Example: not_found
    """
    status: str | None = field(
        default=None, metadata=keys.key(keys.either(keys.integer(200, 599), keys.matching(_STATUS)))
    )
    """A status, or a class of statuses such as ``5xx``.

    Example: 404
    """
    when: str | None = field(default=None, metadata=keys.key(keys.EXPRESSION))
    """A condition on the body, in JMESPath.

    Example: error.code == 'quota'
    """
    message: str | None = None
    """The message for the model.

    Example: there is no such record
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpBackend(BackendTraits):
    """``backend.http``: one HTTP request. The host is constant, and secrets do not enter the sandbox.

    If ``url`` is a template, the caller decides the URL (``url_from_argument``).

    Instead of: endpoint uri: write 'url'
    Instead of: params query_params: write 'query'
    Instead of: data json payload: write body: {json: ...}
    """

    tag: ClassVar[Literal["http"]] = "http"
    request_route: ClassVar = ("backend", "http")
    method: Method = "GET"
    """The HTTP method.

    Example: POST
    """
    url: Url | Template = field(metadata=keys.key(keys.TEXT))
    """The URL. Its path is a template.

    Example: "https://api.example.com/items/{{ id }}"
    """
    url_from_argument: ClassVar = keys.Key(keys.BOOLEAN, default=False)
    """Whether an argument may determine the scheme and the host."""
    path: tuple[Field, ...] = field(default=(), metadata=keys.key(keys.map_of(STYLED_FIELD), stored_if_set=True))
    """The values of segments of the URL that are written as ``{NAME}``, with their styles.

    Example: {point: {value: "{{ point }}", style: matrix}}
    """
    query: tuple[Field, ...] = field(default=(), metadata=keys.key(keys.map_of(STYLED_FIELD)))
    """The query of the URL. A field that uses an absent argument is omitted.

    Example: {limit: "{{ limit }}"}
    """
    headers: tuple[Field, ...] = field(default=(), metadata=keys.key(keys.map_of(STYLED_FIELD)))
    """The headers. They can contain secrets.

    Example: {Accept: text/plain}
    """
    cookies: tuple[Field, ...] = field(default=(), metadata=keys.key(keys.map_of(STYLED_FIELD), stored_if_set=True))
    """The cookies, which can contain secrets.

    Example: {session: "{{ secrets.SESSION }}"}
    """
    body: Body | None = field(default=None, metadata=keys.key(keys.map_with(BodyKeys)))
    """The body of the request.

    Example: {json: {title: "{{ title }}"}}
    """
    auth: Auth | None = field(default=None, metadata=keys.key(keys.map_with(AuthKeys)))
    """The authentication of the request.

    Example: {bearer: "{{ secrets.TOKEN }}"}
    """
    retry: HttpRetry | None = None
    """When to send the request again.

    Example: {attempts: 5}
    """
    pagination: Pagination | None = None
    """How to request all pages of a result.

    Example: {page: {parameter: page}, items: results}
    """
    errors: tuple[HttpErrorRule, ...] = field(
        default=(),
        metadata=keys.key(
            keys.either(keys.map_of(ERROR_KIND, _STATUS), keys.list_of(keys.map_with(HttpErrorRule, required=True)))
        ),
    )
    """The responses that are errors: a map of statuses to kinds, or a list of rules, of which the first one applies.

    Example: {"404": not_found}
    """

    @property
    def request(self) -> "HttpBackend":  # type: ignore[override]  # the base class cannot import it
        """The backend itself."""
        return self

    @property
    def urls(self) -> tuple[object, ...]:
        """The URL of the request, and the URL of the token endpoint."""
        return (self.url, self.auth.token_url) if isinstance(self.auth, OAuth2Auth) else (self.url,)

"""Decode ``backend.http``: method, authentication, query, headers and body."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Final, Literal, get_args

from toolc.compiler.decode.http_response import read_http_errors, read_pagination
from toolc.compiler.decode.http_url import read_constant_url, read_url
from toolc.compiler.decode.retry import attempts
from toolc.compiler.templates.credential import is_public, read_credential
from toolc.compiler.templates.expressions import read_json_template
from toolc.compiler.templates.parse import Scope, read_template
from toolc.document.map_reader import (
    Findings,
    Parse,
    Reader,
    boolean,
    choice,
    integer,
    list_of,
    map_parser,
    mapping,
    text,
)
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar
from toolc.document.suggestions import quote_names
from toolc.document.units import duration
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.names import close_match
from toolc.model.spec.http_backend import (
    ApiKeyAuth,
    Auth,
    BasicAuth,
    BearerAuth,
    Body,
    Field,
    FormBody,
    HttpBackend,
    HttpRetry,
    JsonBody,
    Method,
    MultipartBody,
    MultipartPart,
    OAuth2Auth,
    TextBody,
    Url,
)
from toolc.model.template import Template, as_text
from toolc.model.text import lazy_re

_HEADER: Final = lazy_re(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_RESERVED_HEADERS: Final = ("connection", "content-length", "host", "transfer-encoding", "upgrade")
_MEDIA_TYPE: Final = lazy_re(r"[\w.+-]+/[\w.+-]+(; *[\w-]+=[\w.+-]+)*")

_BODY_KINDS: Final = ("json", "form", "multipart", "text")
_METHODS: Final[tuple[Method, ...]] = get_args(Method)
_METHOD: Final[Parse[Method]] = choice(_METHODS)
_NO_BODY: Final = ("GET", "HEAD", "OPTIONS")


@map_parser("'auth'")
def read_auth(reader: Reader, scope: Scope) -> Auth | None:
    """Decode ``auth``, which has exactly one of four kinds."""
    auth: Auth | None = None
    match reader.one_of("bearer", "basic", "api_key", "oauth2"):
        case "bearer":
            token = reader.optional("bearer", partial(read_credential, scope=scope))
            auth = BearerAuth(token=token) if token is not None else None
        case "basic":
            auth = reader.optional("basic", partial(_basic, scope=scope))
        case "api_key":
            auth = reader.optional("api_key", partial(_api_key, scope=scope))
        case "oauth2":
            auth = reader.optional("oauth2", partial(_oauth2, scope=scope))
        case _:
            pass
    return auth


@map_parser("'basic'")
def _basic(reader: Reader, scope: Scope) -> BasicAuth | None:
    username = reader.required("username", partial(read_credential, scope=scope))
    password = reader.required("password", partial(read_credential, scope=scope))
    return BasicAuth(username=username, password=password) if username and password else None


@map_parser("'api_key'")
def _api_key(reader: Reader, scope: Scope) -> ApiKeyAuth | None:
    location: Literal["header", "query"] = "query" if reader.one_of("header", "query") == "query" else "header"
    name = reader.optional(location, text)
    value = reader.required("value", partial(read_credential, scope=scope))
    return ApiKeyAuth(place=location, name=name, value=value) if name is not None and value is not None else None


@map_parser("'oauth2'")
def _oauth2(reader: Reader, scope: Scope) -> OAuth2Auth | None:
    token_url = reader.required("token_url", read_constant_url)
    client_id = reader.required("client_id", partial(read_credential, scope=scope))
    client_secret = reader.required("client_secret", partial(read_credential, scope=scope))
    scopes = reader.optional("scopes", list_of(text)) or ()
    audience = reader.optional("audience", text)
    if token_url is None or client_id is None or client_secret is None:
        return None
    return OAuth2Auth(
        token_url=token_url, client_id=client_id, client_secret=client_secret, scopes=scopes, audience=audience
    )


def read_fields(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[Field, ...] | None:
    """Decode a map of names to templates; the result is sorted by name."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    fields = (_field(entry, f"{what}.{entry.key}", findings, scope.omitting()) for entry in map_node.entries)
    return tuple(sorted((each for each in fields if each is not None), key=lambda each: each.name))


def read_headers(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[Field, ...] | None:
    """Decode a map of header names to templates. Names are case-insensitive."""
    fields = read_fields(node, what, findings, scope)
    seen: set[str] = set()
    for entry in node.entries if isinstance(node, Mapping) else ():
        name = entry.key.lower()
        if not _HEADER.fullmatch(entry.key):
            findings.add(codes.BAD_VALUE, f"{entry.key[:80]!r} cannot be the name of a header", entry.key_span)
        elif name in _RESERVED_HEADERS:
            message = f"the header '{entry.key}' is set by toolc"
            findings.add(
                codes.BAD_VALUE, message, entry.key_span, f"remove it; toolc sets {quote_names(_RESERVED_HEADERS)}"
            )
        elif name in seen:
            findings.add(codes.BAD_VALUE, f"the header '{entry.key}' is set twice", entry.key_span, "keep one")
        seen.add(name)
        value = entry.value
        if isinstance(value, Mapping) and (public := value.get("public")):
            value = public
        _report_line_breaks(value, f"{what}.{entry.key}", findings)
    return fields


def read_field(node: Node, what: str, findings: Findings, scope: Scope) -> Template | None:
    """Decode a template or a public value; a number or boolean is converted to text."""
    if isinstance(node, Scalar) and isinstance(node.value, bool | int | float):
        return Template((as_text(node.value),))
    return read_credential(node, what, findings, scope)


@map_parser("'body'")
def read_body(reader: Reader, scope: Scope) -> Body | None:
    """Decode ``body``, which has exactly one of four kinds."""
    body: Body | None = None
    keys = [entry.key for entry in reader.node.entries]
    if keys and not any(close_match(key, _BODY_KINDS) for key in keys):
        message, place = f"'body' has no key '{keys[0]:.100}'", reader.node.entries[0].key_span
        reader.findings.add(codes.UNKNOWN_KEY, message, place, f"write body: {{json: {{{keys[0]:.100}: ...}}}}")
        reader.ignore(*keys)
        return None
    match reader.one_of(*_BODY_KINDS):
        case "json":
            json = reader.get("json")
            value = read_json_template(json, "'json'", reader.findings, scope) if json is not None else None
            body = JsonBody(value=value) if value is not None else None
        case "form":
            fields = reader.optional("form", partial(read_fields, scope=scope))
            body = FormBody(fields=fields) if fields is not None else None
        case "multipart":
            parts = reader.optional("multipart", partial(_parts, scope=scope))
            body = MultipartBody(parts=parts) if parts is not None else None
        case "text":
            template = reader.optional("text", partial(read_template, scope=scope))
            body = TextBody(text=template) if template is not None else None
        case _:
            pass
    return body


def _field(entry: MappingEntry, what: str, findings: Findings, scope: Scope) -> Field | None:
    value = read_field(entry.value, what, findings, scope)
    return Field(name=entry.key, value=value) if value is not None else None


def _report_line_breaks(node: Node, what: str, findings: Findings) -> None:
    if isinstance(node, Scalar) and isinstance(node.value, str) and re.search(r"[\r\n\0]", node.value):
        message = f"{what} must not contain a line break: it would start another header"
        findings.add(codes.BAD_VALUE, message, node.span, "write it on one line; in YAML, use '>-' or quotes")


def _parts(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[MultipartPart, ...] | None:
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    parts = (_part(entry, f"{what}.{entry.key}", findings, scope) for entry in map_node.entries)
    return tuple(sorted((part for part in parts if part is not None), key=lambda part: part.name))


def _part(entry: MappingEntry, what: str, findings: Findings, scope: Scope) -> MultipartPart | None:
    if not isinstance(entry.value, Mapping) or is_public(entry.value):
        value = read_field(entry.value, what, findings, scope.omitting())
        return MultipartPart(name=entry.key, value=value) if value is not None else None
    reader = Reader(entry.value, what, findings)
    kind = reader.one_of("text", "file")
    scope = replace(scope.omitting(), allows_secrets=scope.allows_secrets and kind != "file")
    value = reader.optional(kind, partial(read_field, scope=scope)) if kind else None
    content_type = reader.optional("content_type", _media_type)
    reader.close()
    if value is None:
        return None
    return MultipartPart(name=entry.key, value=value, is_file=kind == "file", content_type=content_type)


def _media_type(node: Node, what: str, findings: Findings) -> str | None:
    value = text(node, what, findings)
    if value is not None and not _MEDIA_TYPE.fullmatch(value):
        findings.add(codes.BAD_VALUE, f"{what} is not a media type: {value[:80]!r}", node.span, "write e.g. image/png")
        return None
    return value


@map_parser("backend.http")
def decode_http(reader: Reader, parameters: Schema | None) -> HttpBackend | None:
    """Decode ``backend.http``; ``parameters`` is None if they could not be read."""
    plain = Scope(parameters=parameters)
    secret = Scope(parameters=parameters, allows_secrets=True)
    url = _url(reader, plain)
    method: Method = reader.default("method", _method, "GET")
    auth, body = reader.get("auth"), reader.get("body")
    if method in _NO_BODY and (entry := reader.node.entry("body")):
        message = f"a {method} request has no body"
        reader.findings.add(codes.BAD_VALUE, message, entry.key_span, "use 'query', or another 'method' such as POST")
    backend = HttpBackend(
        url=url or Template(()),
        method=method,
        query=reader.default("query", partial(read_fields, scope=secret), ()),
        headers=reader.default("headers", partial(read_headers, scope=secret), ()),
        body=read_body(body, "'body'", reader.findings, secret) if body is not None else None,
        auth=read_auth(auth, "'auth'", reader.findings, secret) if auth is not None else None,
        retry=reader.optional("retry", _decode_retry),
        pagination=reader.optional("pagination", read_pagination),
        errors=reader.default("errors", read_http_errors, ()),
    )
    return backend if url is not None else None


def _url(reader: Reader, scope: Scope) -> Url | Template | None:
    if not reader.default("url_from_argument", boolean, False):
        return reader.required("url", partial(read_url, scope=scope))
    template = reader.required("url", partial(read_template, scope=scope))
    if template is not None and not template.names:
        entry = reader.node.entry("url_from_argument")
        assert entry is not None
        message = "'url' has no argument that could choose the host"
        reader.findings.add(codes.BAD_VALUE, message, entry.key_span, "remove 'url_from_argument'")
        return None
    return template


def _method(node: Node, what: str, findings: Findings) -> Method | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, str) and value.upper() in _METHODS and value not in _METHODS:
        findings.add(codes.BAD_VALUE, f"{what} must be in upper case", node.span, f"write {value.upper()}")
        return None
    return _METHOD(node, what, findings)


@map_parser("backend.http.retry")
def _decode_retry(reader: Reader) -> HttpRetry | None:
    """Decode ``retry`` of an HTTP tool, which depends on status codes."""
    standard = HttpRetry()
    statuses = reader.default("statuses", list_of(integer(400, 599)), standard.statuses)
    return HttpRetry(
        statuses=tuple(sorted(set(statuses))),
        attempts=reader.default("attempts", attempts, standard.attempts),
        backoff_ms=reader.default("backoff", duration, standard.backoff_ms),
    )

"""Decode ``backend.http``: method, authentication, query, headers and body."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from toolc.compiler.decode.http_response import read_http_errors, read_pagination
from toolc.compiler.decode.http_url import read_constant_url, read_url
from toolc.compiler.templates.credential import is_public, read_credential
from toolc.compiler.templates.expressions import read_json_template
from toolc.compiler.templates.parse import Scope, read_template
from toolc.document.declared import alternative, read_keys, read_map
from toolc.document.map_reader import Findings, Reader, map_parser, mapping, text
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar
from toolc.document.suggestions import quote_names
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.names import close_match
from toolc.model.spec import http_backend as spec
from toolc.model.spec.code_backends import CREDENTIAL
from toolc.model.spec.declared import keys_of
from toolc.model.template import Template, as_text
from toolc.model.text import lazy_re

_HEADER: Final = lazy_re(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_RESERVED_HEADERS: Final = ("connection", "content-length", "host", "transfer-encoding", "upgrade")

_MEDIA_TYPE: Final = lazy_re(r"[\w.+-]+/[\w.+-]+(; *[\w-]+=[\w.+-]+)*")
_NO_BODY: Final = ("GET", "HEAD", "OPTIONS")

_QUERY_STYLES: Final = ("form", "spaceDelimited", "pipeDelimited", "deepObject")
_STYLES: Final = {
    "path": ("simple", "label", "matrix"), "query": _QUERY_STYLES, "form": _QUERY_STYLES, "headers": ("simple",),
    "cookies": ("form",),
}  # fmt: skip
"""The styles of each place, of which the first one is the default (OpenAPI 3.1, 4.8.12.3)."""
_EXPLODED: Final = ("form", "deepObject")
_PLACES: Final = {
    "path": "a path", "query": "a query", "form": "a form", "headers": "a header", "cookies": "a cookie",
}  # fmt: skip


@map_parser("'auth'")
def read_auth(reader: Reader, scope: Scope) -> spec.Auth | None:
    """Decode ``auth``, which has exactly one of four kinds."""
    kind = alternative(reader, spec.AuthKeys)
    found = read_keys(
        reader, spec.AuthKeys, bearer=partial(_bearer, scope=scope), api_key=partial(_api_key, scope=scope),
        basic=partial(_credentials, cls=spec.BasicAuth, scope=scope),
        oauth2=partial(_credentials, cls=spec.OAuth2Auth, scope=scope),
    )  # fmt: skip
    auth: spec.Auth | None = found.get(kind) if kind else None
    return auth


def _bearer(node: Node, what: str, findings: Findings, scope: Scope) -> spec.BearerAuth | None:
    token = read_credential(node, what, findings, scope)
    return spec.BearerAuth(token=token) if token is not None else None


@map_parser()
def _credentials(reader: Reader, cls: type, scope: Scope) -> spec.Auth | None:
    """Decode the keys of ``cls``. A key that is not a plain value is a credential or a constant URL."""
    credential = partial(read_credential, scope=scope)
    own = {each.field: credential for each in keys_of(cls) if each.kind == CREDENTIAL}
    found: spec.Auth | None = read_map(reader, cls, token_url=read_constant_url, **own)
    return found


@map_parser()
def _api_key(reader: Reader, scope: Scope) -> spec.ApiKeyAuth | None:
    place: Literal["header", "query"] = "query" if alternative(reader, spec.ApiKeyAuth) == "query" else "header"
    found = read_keys(reader, spec.ApiKeyAuth, value=partial(read_credential, scope=scope))
    if not {place, "value"} <= {*found}:
        return None
    return spec.ApiKeyAuth(place=place, name=found[place], value=found["value"])


def read_fields(
    node: Node, what: str, findings: Findings, scope: Scope, place: str = "query"
) -> tuple[spec.Field, ...] | None:
    """Decode a map of names to templates, or to values with a style of ``place``. The result is sorted by name."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    fields = (_field(entry, f"{what}.{entry.key}", findings, scope, place) for entry in map_node.entries)
    return tuple(sorted((each for each in fields if each is not None), key=lambda each: each.name))


def read_headers(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[spec.Field, ...] | None:
    """Decode a map of header names to templates. Names are case-insensitive."""
    fields = read_fields(node, what, findings, scope.omitting(), "headers")
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
        if isinstance(value, Mapping) and (inner := value.get("public") or value.get("value")):
            value = inner
        _report_line_breaks(value, f"{what}.{entry.key}", findings)
    return fields


def read_field(node: Node, what: str, findings: Findings, scope: Scope) -> Template | None:
    """Decode a template or a public value. A number or boolean is converted to text."""
    if isinstance(node, Scalar) and isinstance(node.value, bool | int | float):
        return Template((as_text(node.value),))
    return read_credential(node, what, findings, scope)


@map_parser("'body'")
def read_body(reader: Reader, scope: Scope) -> spec.Body | None:
    """Decode ``body``, which has exactly one of several kinds."""
    keys, kinds = [entry.key for entry in reader.node.entries], spec.BodyKeys.one_of
    if not {*keys} & {*kinds} and not all(close_match(key, kinds) for key in keys):
        message, place = f"'body' has no key '{keys[0]:.100}'", reader.node.entries[0].key_span
        reader.findings.add(codes.UNKNOWN_KEY, message, place, f"write body: {{json: {{{keys[0]:.100}: ...}}}}")
        reader.ignore(*keys)
        return None
    found = read_keys(
        reader, spec.BodyKeys, json=partial(read_json_template, scope=scope), multipart=partial(_parts, scope=scope),
        form=partial(read_fields, scope=scope.omitting(), place="form"), text=partial(read_template, scope=scope),
        file=partial(_file, scope=replace(scope, allows_secrets=False)),
    )  # fmt: skip
    match alternative(reader, spec.BodyKeys):
        case "json" if "json" in found:
            return spec.JsonBody(value=found["json"])
        case "form" if "form" in found:
            return spec.FormBody(fields=found["form"])
        case "multipart" if "multipart" in found:
            return spec.MultipartBody(parts=found["multipart"])
        case "text" if "text" in found:
            return spec.TextBody(text=found["text"])
        case "file" if "file" in found:
            file: spec.FileBody = found["file"]
            return file
        case _:
            return None


def _field(entry: MappingEntry, what: str, findings: Findings, scope: Scope, place: str) -> spec.Field | None:
    if isinstance(entry.value, Mapping) and entry.value.get("value"):
        return _styled(entry.value, what, findings, scope, entry.key, place)
    value = read_field(entry.value, what, findings, scope)
    return spec.Field(name=entry.key, value=value) if value is not None else None


@map_parser()
def _styled(reader: Reader, scope: Scope, name: str, place: str) -> spec.Field | None:
    """Decode a value with a style. ``style`` and ``explode`` get the defaults of its place."""
    found = read_keys(reader, spec.Field, value=partial(read_field, scope=scope))
    style = found.setdefault("style", _STYLES[place][0])
    explode = found.setdefault("explode", style in _EXPLODED)
    entries = {key: entry for key in ("style", "explode", "allow_reserved") if (entry := reader.node.entry(key))}
    if style not in _STYLES[place]:
        message = f"{_PLACES[place]} has no style '{style}'"
        hint = f"write {quote_names(_STYLES[place])}, or leave it out for '{_STYLES[place][0]}'"
        reader.findings.add(codes.BAD_VALUE, message, entries["style"].value.span, hint)
    if style == "deepObject" and not explode:
        message = "the style 'deepObject' writes each key on its own"
        reader.findings.add(codes.BAD_VALUE, message, entries["explode"].value.span, "remove 'explode'")
    if found.get("allow_reserved") and place not in {"query", "form"}:
        message = f"{_PLACES[place]} has no 'allow_reserved'"
        reader.findings.add(codes.BAD_VALUE, message, entries["allow_reserved"].key_span, "remove it")
    return spec.Field(name=name, **found) if "value" in found else None


@map_parser()
def _file(reader: Reader, scope: Scope) -> spec.FileBody | None:
    return read_map(reader, spec.FileBody, path=partial(read_template, scope=scope), content_type=_media_type)


def _cookies(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[spec.Field, ...] | None:
    for entry in node.entries if isinstance(node, Mapping) else ():
        if not _HEADER.fullmatch(entry.key):
            findings.add(codes.BAD_VALUE, f"{entry.key[:80]!r} cannot be the name of a cookie", entry.key_span)
    return read_fields(node, what, findings, scope.omitting(), "cookies")


def _report_unused_segments(reader: Reader, backend: spec.HttpBackend) -> None:
    node, url = reader.node.get("path"), backend.url
    texts = "" if isinstance(url, Template) else "".join(part for part in url.path.parts if isinstance(part, str))
    for entry in node.entries if isinstance(node, Mapping) else ():
        if f"{{{entry.key}}}" not in texts:
            message = f"the path of the URL has no {{{entry.key}}}"
            hint = f"write {{{entry.key}}} in 'url' at the place of the segment"
            reader.findings.add(codes.BAD_VALUE, message, entry.key_span, hint)


def _report_line_breaks(node: Node, what: str, findings: Findings) -> None:
    if isinstance(node, Scalar) and isinstance(node.value, str) and re.search(r"[\r\n\0]", node.value):
        message = f"{what} must not contain a line break: it would start another header"
        findings.add(codes.BAD_VALUE, message, node.span, "write it on one line; in YAML, use '>-' or quotes")


def _parts(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[spec.MultipartPart, ...] | None:
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    parts = (_part(entry, f"{what}.{entry.key}", findings, scope) for entry in map_node.entries)
    return tuple(sorted((part for part in parts if part is not None), key=lambda part: part.name))


def _part(entry: MappingEntry, what: str, findings: Findings, scope: Scope) -> spec.MultipartPart | None:
    if not isinstance(entry.value, Mapping) or is_public(entry.value):
        value = read_field(entry.value, what, findings, scope.omitting())
        return spec.MultipartPart(name=entry.key, value=value) if value is not None else None
    reader = Reader(entry.value, what, findings)
    kind = alternative(reader, spec.MultipartPart)
    scope = replace(scope.omitting(), allows_secrets=scope.allows_secrets and kind != "file")
    content = {kind: partial(read_field, scope=scope)} if kind else {}
    found = read_keys(reader, spec.MultipartPart, content_type=_media_type, **content)
    reader.close()
    value = found.pop(kind or "", None)
    return None if value is None else spec.MultipartPart(name=entry.key, value=value, is_file=kind == "file", **found)


def _media_type(node: Node, what: str, findings: Findings) -> str | None:
    value = text(node, what, findings)
    if value is not None and not _MEDIA_TYPE.fullmatch(value):
        findings.add(codes.BAD_VALUE, f"{what} is not a media type: {value[:80]!r}", node.span, "write e.g. image/png")
        return None
    return value


@map_parser("backend.http")
def decode_http(reader: Reader, /, *, parameters: Schema | None, **_: object) -> spec.HttpBackend | None:
    """Decode ``backend.http``. ``parameters`` is None if they could not be read."""
    secret = Scope(parameters=parameters, allows_secrets=True)
    flag = reader.node.entry("url_from_argument")
    is_open = flag is not None and isinstance(flag.value, Scalar) and flag.value.value is True
    found = read_keys(
        reader, spec.HttpBackend, query=partial(read_fields, scope=secret.omitting()),
        path=partial(read_fields, scope=Scope(parameters=parameters), place="path"),
        cookies=partial(_cookies, scope=secret),
        url=partial(read_template if is_open else read_url, scope=Scope(parameters=parameters)),
        headers=partial(read_headers, scope=secret), body=partial(read_body, scope=secret),
        auth=partial(read_auth, scope=secret), pagination=read_pagination,
        errors=read_http_errors,
    )  # fmt: skip
    found.pop("url_from_argument", None)
    backend = spec.HttpBackend(**{"url": Template(())} | found)
    if "url" in found:
        _report_unused_segments(reader, backend)
    if backend.method in _NO_BODY and (entry := reader.node.entry("body")):
        message = f"a {backend.method} request has no body"
        reader.findings.add(codes.BAD_VALUE, message, entry.key_span, "use 'query', or another 'method' such as POST")
    if flag is not None and is_open and isinstance(backend.url, Template) and "url" in found and not backend.url.names:
        message = "'url' has no argument that could choose the host"
        reader.findings.add(codes.BAD_VALUE, message, flag.key_span, "remove 'url_from_argument'")
        return None
    return backend if "url" in found else None

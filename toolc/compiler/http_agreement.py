"""What the parts of an HTTP tool must agree on, with each other and with the result: else no call can succeed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from toolc.compiler.uses import templates
from toolc.model import codes
from toolc.model.destinations import is_loopback
from toolc.model.diagnostics import Diagnostic
from toolc.model.json_schema import Schema, list_index, tokens
from toolc.model.template import JsonConstant, JsonList, JsonMap, JsonTemplate, Template

if TYPE_CHECKING:
    from toolc.compiler.decode_tool import LocatedTool
    from toolc.model.spec.http_backend import HttpBackend, Url

_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate", "identity"})
"""The content codings that a response is read in."""


_HOLDING: Final = frozenset({"object", "array", "null"})
"""The types of what has places for a cursor, or is given some."""


def check_http(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    """Each contradiction of an HTTP tool, which has this ``backend``."""
    yield from _headers(tool, backend)
    yield from _body(tool, backend)
    yield from _cursor(tool, backend)
    yield from _plain_secrets(tool, backend)


def _headers(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    for each in backend.headers:
        span = tool.key_span("backend", "http", "headers", each.name)
        name = each.name.lower()
        if name == "content-type" and backend.body is not None and backend.body.tag == "multipart":
            message = "this header would take the place of the one that says where the body's parts end"
            yield Diagnostic(codes.BAD_VALUE, message, span, "leave it out")
        if name == "accept-encoding" and not each.value.names:
            asked = re.findall(r"(?:^|,)\s*([^\s,;]+)", each.value.render({}).lower())
            if unknown := sorted(set(asked) - _CODINGS):
                message = f"a response that is encoded as '{unknown[0]}' could not be read"
                yield Diagnostic(codes.BAD_VALUE, message, span, "leave it out: gzip and deflate are asked for")


def _body(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    result = tool.spec.result
    pages = tool.key_span("backend", "http", "pagination") if backend.pagination else None
    if backend.method == "HEAD":
        message = "the answer to a HEAD request has no body"
        spans = [pages, tool.key_span("result", "schema") if tool.spec.result_schema is not None else None]
        yield from (Diagnostic(codes.BAD_VALUE, message, span, "write method: GET") for span in spans if span)
    elif pages and result.format in {"image", "none"}:
        message = f"pages are put together as JSON, and '{result.format}' is none"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("result", "format"), "write format: json")


def _cursor(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    style = backend.pagination.style if backend.pagination else None
    if style is None or style.tag != "cursor" or style.pointer is None:
        return
    span = tool.span("backend", "http", "pagination", "cursor", "pointer")
    if backend.body is None or backend.body.tag != "json":
        message = "this cursor stands in a body of JSON, and the request has none"
        yield Diagnostic(codes.BAD_VALUE, message, span, "write body: {json: ...}; parameter is for the query")
    elif not _has_place(backend.body.value, tokens(style.pointer), tool.spec.parameters):
        message = f"the body has no place for a cursor at {style.pointer}"
        yield Diagnostic(codes.BAD_VALUE, message, span, "let each part but the last lead to an object or a list")


def _has_place(template: JsonTemplate, way: list[str], parameters: Schema) -> bool:
    """Whether a JSON Pointer whose tokens are ``way`` may lead to where a value can be put."""
    if not way:
        return True
    name, *others = way
    match template:
        case Template():
            return _may_hold(template, parameters)
        case JsonMap(entries=entries):
            return all(_has_place(each.value, others, parameters) for each in entries if each.key == name)
        case JsonList(items=items):
            index = list_index(name)
            return index is not None and index < len(items) and _has_place(items[index], others, parameters)
        case JsonConstant(value=value):
            return value is None


def _may_hold(template: Template, parameters: Schema) -> bool:
    """Whether it may be filled with an object or a list: what stands alone keeps its argument's type."""
    if template.sole is None or template.secrets:
        return False
    declared = [parameters.properties.get(name, {}).get("type") for name in template.names]
    types = [each if isinstance(each, list) else [each] for each in declared if each is not None]
    return all(any(name in _HOLDING for name in each) for each in types)


def _plain_secrets(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    auth = backend.auth
    fetched = auth if auth is not None and auth.tag == "oauth2" else None
    sent: tuple[tuple[object, Url | Template, tuple[str, ...]], ...] = (
        ((backend.query, backend.headers, backend.body, auth), backend.url, ("url",)),
        (fetched, fetched.token_url if fetched else backend.url, ("auth", "oauth2", "token_url")),
    )
    for parts, url, place in sent:
        if isinstance(url, Template) or url.scheme == "https" or is_loopback(url.host):
            continue
        names = sorted({name for template in templates(parts) for name in template.secrets})
        if names:
            message = f"the secret '{names[0]}' goes over TLS only, and this is http"
            yield Diagnostic(codes.BAD_VALUE, message, tool.span("backend", "http", *place), "write https://")

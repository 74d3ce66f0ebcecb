"""``backend.http``: one request, declared. Sent by the broker, so that its secrets are never in a sandbox."""

from __future__ import annotations

from functools import partial
from typing import Final, get_args

from toolc.compiler.decode_http_auth import read_auth
from toolc.compiler.decode_http_body import read_body, read_fields, read_headers
from toolc.compiler.decode_http_pages import read_http_errors, read_http_retry, read_pagination
from toolc.compiler.decode_http_url import read_url
from toolc.compiler.templates import Scope, read_template
from toolc.document.map_reader import Findings, Parse, Reader, boolean, choice, mapping
from toolc.document.nodes import Node, Scalar
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec.http_backend import HttpBackend, Method, Url
from toolc.model.template import Template

_METHODS: Final[tuple[Method, ...]] = get_args(Method)
_METHOD: Final[Parse[Method]] = choice(_METHODS)
_NO_BODY: Final = ("GET", "HEAD", "OPTIONS")


def decode_http(node: Node, what: str, findings: Findings, parameters: Schema | None) -> HttpBackend | None:
    """Decode ``backend.http``; ``parameters`` is None where they could not be read."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "backend.http", findings)
    plain = Scope(parameters=parameters)
    secret = Scope(parameters=parameters, takes_secrets=True)
    url = _url(reader, plain)
    method: Method = reader.default("method", _method, "GET")
    auth, body = reader.get("auth"), reader.get("body")
    if method in _NO_BODY and (entry := found.entry("body")):
        message = f"a {method} request has no body"
        findings.add(codes.BAD_VALUE, message, entry.key_span, "use 'query', or another 'method' such as POST")
    backend = HttpBackend(
        url=url or Template(()),
        method=method,
        query=reader.default("query", partial(read_fields, scope=secret), ()),
        headers=reader.default("headers", partial(read_headers, scope=secret), ()),
        body=read_body(body, "'body'", findings, secret) if body is not None else None,
        auth=read_auth(auth, "'auth'", findings, secret) if auth is not None else None,
        retry=reader.optional("retry", read_http_retry),
        pagination=reader.optional("pagination", read_pagination),
        errors=reader.default("errors", read_http_errors, ()),
    )
    reader.close()
    return backend if url is not None else None


def _url(reader: Reader, scope: Scope) -> Url | Template | None:
    from_argument = reader.default("url_from_argument", boolean, False)
    if not from_argument:
        return reader.required("url", partial(read_url, scope=scope))
    template = reader.required("url", partial(read_template, scope=scope))
    if template is not None and not template.names:
        entry = reader.node.entry("url_from_argument")
        assert entry is not None
        message = "'url' names no argument that could decide the host"
        reader.findings.add(codes.BAD_VALUE, message, entry.key_span, "remove 'url_from_argument'")
        return None
    return template


def _method(node: Node, what: str, findings: Findings) -> Method | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, str) and value.upper() in _METHODS and value not in _METHODS:
        findings.add(codes.BAD_VALUE, f"{what} is written in capitals", node.span, f"write {value.upper()}")
        return None
    return _METHOD(node, what, findings)

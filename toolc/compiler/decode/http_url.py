"""Decode the ``url`` of an HTTP tool: constant scheme, host and port, and a path that may have placeholders."""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler.templates.parse import Scope, parse, read_template
from toolc.document.map_reader import Findings, text
from toolc.document.nodes import Node, Scalar
from toolc.model import codes
from toolc.model.destinations import HostError, canonical_host
from toolc.model.json_schema import Schema
from toolc.model.spec.http_backend import Scheme, Url
from toolc.model.template import Placeholder, Template
from toolc.model.text import lazy_re

_PARTS: Final = lazy_re(r"(?s)(?P<scheme>[^:/?#]*)://(?P<authority>[^/?#]*)(?P<rest>.*)")
_PORT: Final = lazy_re(r"(?s)(?P<host>.*?)(?::(?P<port>[0-9]{0,5}))?")
_SCHEMES: Final[dict[str, tuple[Scheme, int]]] = {"http": ("http", 80), "https": ("https", 443)}
_CONSTANT_HINT: Final = "write a constant scheme and host; if callers choose them, set url_from_argument: true"
_UNDECLARED_BASE: Final = lazy_re(r"(?:https?://)?\$?\{{1,2}\s*(?:env\.|var\.)?([A-Za-z_]\w*)\s*\}{1,2}")
"""A base URL from another place, as in ``${API_BASE}/items``."""
_NO_PARAMETERS: Final = Schema({})
_UNSAFE: Final = lazy_re(r"[\x00-\x20\x7f\\]")


def read_url(node: Node, what: str, findings: Findings, scope: Scope) -> Url | None:
    """Decode a URL with a constant scheme and host."""
    written = text(node, what, findings)
    if written is None:
        return None
    assert isinstance(node, Scalar)
    match = _PARTS.fullmatch(written)
    authority = match["authority"] if match else written.split("/", 1)[0]
    if match is None or "{{" in match["scheme"] + authority:
        _report_start(node, what, written, findings, scope)
        return None
    address = _authority(node, match["scheme"], authority, findings)
    path = _path(node, match["rest"], findings, scope)
    if address is None or path is None:
        return None
    scheme, host, port = address
    template, query = path
    return Url(scheme=scheme, host=host, port=port, path=template, query=query)


def read_constant_url(node: Node, what: str, findings: Findings) -> Url | None:
    """Decode a URL without placeholders."""
    written = text(node, what, findings)
    if written is not None and "{{" in written:
        findings.add(
            codes.TEMPLATE, f"{what} is a constant and cannot contain a placeholder", findings.locate(node.span, "{{")
        )
        return None
    return read_url(node, what, findings, Scope(parameters=None))


def _report_start(node: Scalar, what: str, written: str, findings: Findings, scope: Scope) -> None:
    if (start := _UNDECLARED_BASE.match(written)) and start[1] not in (scope.parameters or _NO_PARAMETERS).properties:
        message = f"the host of the URL is not known: there is no parameter '{start[1]}'"
        hint = f"write the host, or {{{{ vars.{start[1]} }}}} and vars: {{{start[1]}: https://...}} in toolc.yaml"
        findings.add(codes.URL_TEMPLATE, message, findings.locate(node.span, start[0]), hint)
        return
    if "{{" in written.split("://", 1)[-1].partition("/")[0]:
        message = "an argument would choose the host of this tool's requests"
        findings.add(codes.URL_TEMPLATE, message, findings.locate(node.span, "{{"), _CONSTANT_HINT)
        return
    message = f"{what} must be an absolute URL with a scheme and a host"
    is_host = re.match(r"[\w-]+(?:\.[\w-]+)+(?::[0-9]+)?(?:/|\Z)", written)
    hint = f"write https://{written:.200}" if is_host else "write e.g. https://api.example.com/v1/items"
    findings.add(codes.BAD_VALUE, message, node.span, hint)


def _authority(node: Scalar, scheme: str, authority: str, findings: Findings) -> tuple[Scheme, str, int] | None:
    known = _SCHEMES.get(scheme.lower())
    if known is None:
        span = findings.locate(node.span, scheme.strip() or "://")
        findings.add(codes.BAD_VALUE, f"{scheme[:40]!r} is not a scheme of HTTP", span, "write https")
        return None
    span = findings.locate(node.span, authority.strip() or "://")
    if "@" in authority:
        message = "a URL cannot contain a user name or password"
        hint = 'write auth: {basic: {username: USER, password: "{{ secrets.NAME }}"}}; declare NAME in sandbox.secrets'
        span = findings.locate(node.span, authority.rpartition("@")[0] or "@")
        findings.add(codes.CREDENTIAL, message, span, hint)
        return None
    match = _PORT.fullmatch(authority)
    assert match is not None
    port = int(match["port"]) if match["port"] else known[1]
    try:
        host = canonical_host(match["host"])
    except HostError as error:
        findings.add(codes.BAD_VALUE, f"the host of the URL is invalid: {error}", span, error.hint)
        return None
    if not 0 < port < 65536:
        findings.add(codes.BAD_VALUE, f"{port} is not a port", span, "a port is a number from 1 to 65535")
        return None
    return known[0], host, port


def _path(node: Scalar, rest: str, findings: Findings, scope: Scope) -> tuple[Template, str] | None:
    path, _, query = rest.partition("?") if not _is_question_in_placeholder(rest) else (rest, "", "")
    if "#" in _constants(rest):
        span = findings.locate(node.span, "#")
        findings.add(codes.BAD_VALUE, "a fragment is not sent to a server", span, "remove '#' and what follows")
        return None
    if "{{" in query:
        span = findings.locate(node.span, "{{", path.count("{{"))
        message = "a URL can contain placeholders only in its path"
        pairs = [pair.partition("=") for pair in query.split("&") if re.fullmatch(r"[\w.-]+=\{\{[^{}]*\}\}", pair)]
        fields = ", ".join(f'{name}: "{value}"' for name, _, value in pairs) or "NAME: …"
        findings.add(codes.BAD_VALUE, message, span, f"use query: {{{fields}}}, which encodes the value")
        return None
    if _UNSAFE.search(_constants(rest)):
        message = "a URL cannot contain spaces, control characters or '\\'"
        findings.add(codes.BAD_VALUE, message, node.span, "percent-encode them, as in %20")
        return None
    # Parsed as part of the whole text, so that findings have the position of the placeholder.
    if read_template(node, "'url'", findings, scope) is None:
        return None
    return parse(path or "/").template, query


def _is_question_in_placeholder(rest: str) -> bool:
    """Return whether the first ``?`` is inside a placeholder."""
    before = rest.split("?", 1)[0]
    return before.count("{{") > before.count("}}")


def _constants(text: str) -> str:
    return "".join(part for part in parse(text).template.parts if not isinstance(part, Placeholder))

"""Checks of HTTP tools: TC405 (URLs), TC408 (unencrypted requests) and TC410 (mapping of errors)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.located_tool import LocatedTool
from toolc.document.edits import fix, replace
from toolc.model import codes
from toolc.model.destinations import is_loopback
from toolc.model.diagnostics import Diagnostic
from toolc.model.source import Span
from toolc.model.template import Placeholder, Template

if TYPE_CHECKING:
    from toolc.model.spec.http_backend import HttpBackend


@tool_check("TC408", needs={"backend"})
def check_unencrypted_urls(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each URL of the backend that starts with ``http://`` and refers to another machine."""
    for host, span in _unencrypted_urls(tool):
        if not (is_loopback(host) or host.endswith(".localhost")):
            yield Diagnostic(
                codes.PLAIN_HTTP, f"requests to {host} over http can be read and modified in transit",
                prefix := tool.source.locate(span, "http://"), "write https://",
                fix("write https://", replace(tool.source, prefix, "http://", "https://")),
            )  # fmt: skip


def _unencrypted_urls(tool: LocatedTool) -> Iterator[tuple[str, Span]]:
    backend, request = tool.spec.backend, tool.spec.backend.request
    if request is not None:
        if not isinstance(request.url, Template) and request.url.scheme == "http":
            yield request.url.host, tool.span(*backend.request_route, "url")
        auth = request.auth
        if auth is not None and auth.tag == "oauth2" and auth.token_url.scheme == "http":
            yield auth.token_url.host, tool.span(*backend.request_route, "auth", "oauth2", "token_url")
    elif backend.tag == "agent" and backend.base_url.scheme == "http":
        yield backend.base_url.host, tool.span("backend", "agent", "base_url")


@tool_check("TC405", needs={"backend"})
def check_double_encoding(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each placeholder in a URL's path or query that uses ``urlencode``, because toolc encodes these values."""
    backend = tool.spec.backend
    if backend.tag != "http":
        return
    for template, span in _encoded_templates(tool, backend):
        for part in template.parts:
            if isinstance(part, Placeholder) and any(each.name == "urlencode" for each in part.filters):
                yield Diagnostic(
                    codes.ENCODED_TWICE, f"'{part.name}' is encoded twice, because values in a URL are always encoded",
                    tool.source.locate(span, "urlencode"), "remove the filter 'urlencode'",
                )  # fmt: skip


def _encoded_templates(tool: LocatedTool, backend: HttpBackend) -> Iterator[tuple[Template, Span]]:
    if not isinstance(backend.url, Template):
        yield backend.url.path, tool.span("backend", "http", "url")
    for place in ("path", "query"):
        for each in getattr(backend, place):
            yield each.value, tool.span("backend", "http", place, each.name)


@tool_check("TC410", needs={"backend"})
def check_error_mapping(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report an HTTP backend without ``errors``. Off by default, because the standard error kinds often suffice."""
    backend = tool.spec.backend
    if backend.tag == "http" and not backend.errors:
        yield Diagnostic(
            codes.UNMAPPED_STATUS, "this tool does not map the error statuses of its service to error kinds",
            tool.key_span("backend", "http"), 'add errors: [{status: "404", kind: not_found}]',
        )  # fmt: skip

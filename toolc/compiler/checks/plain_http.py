"""TC408: a request over http, which anybody on the way can read and change. The machine itself is no such way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.edits import fix, replace
from toolc.diagnostics import Diagnostic
from toolc.hosts import is_loopback
from toolc.source import Span
from toolc.template import Template

NUMBER: Final = "TC408"

NEEDS: Final = frozenset({"backend"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each URL of the backend that begins with ``http://`` and leads to another machine."""
    for host, span in _plain(tool):
        if not (is_loopback(host) or host.endswith(".localhost")):
            yield Diagnostic(
                codes.PLAIN_HTTP, f"what is sent to {host} over http can be read and changed on the way",
                place := tool.source.locate(span, "http://"), "write https://",
                fix("write https://", replace(tool.source, place, "http://", "https://")),
            )  # fmt: skip


def _plain(tool: LocatedTool) -> Iterator[tuple[str, Span]]:
    backend = tool.spec.backend
    if backend.tag == "http":
        if not isinstance(backend.url, Template) and backend.url.scheme == "http":
            yield backend.url.host, tool.span("backend", "http", "url")
        auth = backend.auth
        if auth is not None and auth.tag == "oauth2" and auth.token_url.scheme == "http":
            yield auth.token_url.host, tool.span("backend", "http", "auth", "oauth2", "token_url")
    elif backend.tag == "agent" and backend.base_url.scheme == "http":
        yield backend.base_url.host, tool.span("backend", "agent", "base_url")

"""TC408: a request over http, which anybody on the way can read and change. The machine itself is no such way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.edits import fix, replace
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic
from toolc.hosts import is_loopback
from toolc.source import Span
from toolc.template import Template

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


_BAD: Final = """\
toolc: 1
name: get_weather
label: Weather
description: Tell the weather of a city now. Use it for questions about today; it knows nothing of other days.
parameters:
  city: {type: string, maxLength: 100, description: "The city's name, e.g. 'Zurich'"}
annotations: {read_only: true}
backend:
  http:
    url: http://api.example.com/v1/weather
    query: {q: "{{ city }}"}
    errors: [{status: "404", kind: not_found}]
examples:
  - {city: Zurich}
"""

RULE: Final = Rule(
    codes=(codes.PLAIN_HTTP,),
    explanation="""\
Over http everybody between the two machines reads the request, the secrets in its headers among them, and can
answer in the server's name: what the model is told is then somebody else's text.

Write `https://`. A service without it belongs behind a proxy that has it. Addresses of the machine itself, such
as `http://localhost:8080`, are not reported.
""",
    bad=_BAD,
    good=_BAD.replace("http://", "https://"),
)

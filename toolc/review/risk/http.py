"""RSK08: a request is a stronger one, or goes elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.review.change import Change
from toolc.review.risk.sides import Sides
from toolc.spec import ToolSpec
from toolc.spec_agent import AgentBackend
from toolc.spec_http import HttpBackend, Method, Url

RULE: Final = "RSK08"

_STRENGTH: Final[dict[Method, int]] = {
    "OPTIONS": 0,
    "HEAD": 0,
    "GET": 0,
    "POST": 1,
    "PUT": 2,
    "PATCH": 2,
    "DELETE": 3,
}


def check(sides: Sides) -> Iterator[Change]:
    """A stronger method, another host, another way to prove who asks. A new tool is told by what it may reach."""
    was, now = sides.was.backend if sides.was else None, sides.now.backend
    if isinstance(was, HttpBackend) and isinstance(now, HttpBackend):
        if _STRENGTH[now.method] > _STRENGTH[was.method]:
            words = "the request is a stronger one"
            yield sides.risk(RULE, "high", words, ("backend", "http", "method"), was.method, now.method)
        if type(was.auth) is not type(now.auth):
            words = "requests prove who asks in another way"
            yield sides.risk(RULE, "high", words, ("backend", "http", "auth"), _tag(was.auth), _tag(now.auth))
    before, after = _host(sides.was), _host(sides.now)
    if before and after and before != after:
        route = ("backend", "http", "url") if isinstance(now, HttpBackend) else ("backend", "agent", "base_url")
        yield sides.risk(RULE, "high", "requests go to another host", route, before, after)


def _tag(auth: object) -> str | None:
    tag = getattr(auth, "tag", None)
    return tag if isinstance(tag, str) else None


def _host(tool: ToolSpec | None) -> str | None:
    backend = tool.backend if tool else None
    url = backend.url if isinstance(backend, HttpBackend) else None
    url = backend.base_url if isinstance(backend, AgentBackend) else url
    return f"{url.scheme}://{url.host}:{url.port}" if isinstance(url, Url) else None

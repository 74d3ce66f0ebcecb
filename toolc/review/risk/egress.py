"""RSK01: a call may reach more than before; RSK13 where that is any public address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.authority import Granted
from toolc.hosts import covers, show_destination
from toolc.review.change import Change
from toolc.review.risk.sides import Sides, gained
from toolc.spec import Destination, ToolSpec
from toolc.spec_http import HttpBackend, Url

RULE: Final = "RSK01"
PUBLIC: Final = "RSK13"

_ALLOW: Final = ("sandbox", "network", "allow")


def check(sides: Sides) -> Iterator[Change]:
    """Each destination that nothing covered before, and what else widens where a call goes."""
    had = [each.value for each in sides.had.hosts]
    before = _shown(sides.had.hosts)
    for each in gained(sides.had.hosts, sides.has.hosts):
        if any(covers(other, each.value) for other in had):
            continue
        name = show_destination(each.value)
        rule = PUBLIC if each.value.kind == "public" else RULE
        words = "any public address" if each.value.kind == "public" else name
        yield sides.risk(rule, "high", f"a call may now reach {words}{each.by}", _ALLOW, before, name)
    yield from _url(sides)


def _url(sides: Sides) -> Iterator[Change]:
    was, now = _url_of(sides.was), _url_of(sides.now)
    route = ("backend", "http", "url")
    if now is not None and not isinstance(now, Url) and (was is None or isinstance(was, Url)):
        words = "the caller chooses the URL, within what the tool may reach"
        yield sides.risk(RULE, "high", words, ("backend", "http", "url_from_argument"))
    elif isinstance(now, Url) and now.scheme == "http" and not (isinstance(was, Url) and was.scheme == "http"):
        yield sides.risk(RULE, "high", "requests are sent without TLS", route, _scheme(was), "http")


def _scheme(url: object) -> str | None:
    return url.scheme if isinstance(url, Url) else None


def _url_of(tool: ToolSpec | None) -> object:
    return tool.backend.url if tool and isinstance(tool.backend, HttpBackend) else None


def _shown(hosts: Sequence[Granted[Destination]]) -> str | None:
    return ", ".join(show_destination(each.value) for each in hosts) or None

"""Risks of network access: RSK01 and RSK13 (destinations), RSK08 (requests) and RSK11 (data flows)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from toolc.model.destinations import covers, format_destination
from toolc.model.permissions import permissions_of
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.http_backend import Method, OAuth2Auth, Url
from toolc.model.spec.tool import ToolSpec
from toolc.review.model.change import Grade, ToolChange
from toolc.review.model.state import State
from toolc.review.risk.data_access import POWER
from toolc.review.risk.lookalike import imitated
from toolc.review.risk.risk_rule import Sides, gained, risk_rule, steps_suffix

PUBLIC: Final = "RSK13"

_ALLOW: Final = ("sandbox", "network", "allow")

_STRENGTH: Final[dict[Method, int]] = {"OPTIONS": 0, "HEAD": 0, "GET": 0, "POST": 1, "PUT": 2, "PATCH": 2, "DELETE": 3}


@risk_rule("RSK01")
def check_destinations(sides: Sides) -> Iterator[ToolChange]:
    """Report each destination that no previous destination covers, and other changes that allow more connections."""
    old_hosts = [each.value for each in sides.permissions_before.hosts]
    present = {each.value for each in sides.permissions_after.hosts}
    gone = ", ".join(format_destination(each) for each in old_hosts if each not in present) or None
    for each in gained(sides.permissions_before.hosts, sides.permissions_after.hosts):
        if any(covers(other, each.value) for other in old_hosts):
            continue
        name = format_destination(each.value)
        rule = PUBLIC if each.value.kind == "public" else "RSK01"
        reached = replace(each.value, any_host=False)
        message = "any public address" if each.value.kind == "public" else format_destination(reached)
        if each.value.any_host and any(covers(other, reached) for other in old_hosts):
            message = f"HTTP requests to {message} may now name any host"
        else:
            message = f"a call may now reach {message}" + (", with any host in HTTP requests" * each.value.any_host)
        similar = imitated(each.value.host, (other.host for other in old_hosts))
        grade: Grade = "critical" if similar else "high"
        suffix = steps_suffix(each) + (f", which looks like {similar}" if similar else "")
        yield sides.risk(rule, grade, f"{message}{suffix}", _ALLOW, gone, name)
    yield from _url(sides)


def _url(sides: Sides) -> Iterator[ToolChange]:
    old, new = _url_of(sides.before), _url_of(sides.after)
    route = (*sides.after.backend.request_route, "url")
    if new is not None and not isinstance(new, Url) and (old is None or isinstance(old, Url)):
        message = "the caller chooses the URL, within the allowed destinations"
        yield sides.risk("RSK01", "high", message, ("backend", "http", "url_from_argument"))
    elif isinstance(new, Url) and new.scheme == "http" and not (isinstance(old, Url) and old.scheme == "http"):
        scheme = old.scheme if isinstance(old, Url) else None
        yield sides.risk("RSK01", "high", "requests are sent without TLS", route, scheme, "http")


def _url_of(tool: ToolSpec | None) -> object:
    return tool.backend.request.url if tool and tool.backend.request else None


@risk_rule("RSK08")
def check_requests(sides: Sides) -> Iterator[ToolChange]:
    """Report a method with more rights, another host and another authentication. RSK01 reports new tools."""
    before, after = sides.before.backend.request if sides.before else None, sides.after.backend.request
    own = sides.after.backend.request_route
    if before is not None and after is not None:
        if _STRENGTH[after.method] > _STRENGTH[before.method]:
            message = "the method can change more on the server"
            yield sides.risk("RSK08", "high", message, (*own, "method"), before.method, after.method)
        if type(before.auth) is not type(after.auth):
            message = "the authentication of requests changed"
            yield sides.risk("RSK08", "high", message, (*own, "auth"), _tag(before.auth), _tag(after.auth))
        yield from _oauth(sides, before.auth, after.auth)
    old_host, new_host = _host(sides.before), _host(sides.after)
    if old_host and new_host and old_host != new_host:
        route = (*own, "url") if after is not None else ("backend", "agent", "base_url")
        yield sides.risk("RSK08", "high", "requests go to another host", route, old_host, new_host)


def _oauth(sides: Sides, before: object, after: object) -> Iterator[ToolChange]:
    """Yield a change for each additional right of an access token."""
    if not isinstance(before, OAuth2Auth) or not isinstance(after, OAuth2Auth):
        return
    route = (*sides.after.backend.request_route, "auth", "oauth2")
    if more := sorted(set(after.scopes) - set(before.scopes)):
        message = f"the access token may be used for more: {', '.join(more)}"
        both = " ".join(before.scopes) or None, " ".join(after.scopes)
        yield sides.risk("RSK08", "high", message, (*route, "scopes"), *both)
    if before.audience != after.audience:
        message = "the access token is for another service"
        yield sides.risk("RSK08", "high", message, (*route, "audience"), before.audience, after.audience)


def _tag(auth: object) -> str | None:
    tag = getattr(auth, "tag", None)
    return tag if isinstance(tag, str) else None


def _host(tool: ToolSpec | None) -> str | None:
    backend = tool.backend if tool else None
    url = backend.request.url if backend and backend.request else None
    url = backend.base_url if isinstance(backend, AgentBackend) else url
    return f"{url.scheme}://{url.host}:{url.port}" if isinstance(url, Url) else None


@risk_rule("RSK11")
def check_data_flows(sides: Sides) -> Iterator[ToolChange]:
    """Report a tool that can now, with the tools that it calls, read private data and send it to other hosts."""
    before = _data_access(sides.state_before, [sides.old.spec.name] if sides.old else [])
    if sides.old and not all(before) and all(_data_access(sides.state_after, [sides.after.name])):
        message = "a call may now read private data and send it to other hosts"
        yield sides.risk("RSK11", "high", message, ("sandbox",))


def toolset_data_flows(sides: Sides) -> Iterator[ToolChange]:
    """Yield a change for each toolset that can do more because of the tool."""
    for name, members in sorted(sides.state_after.toolsets.items()):
        mine = _data_access(sides.state_after, [sides.after.name])
        if sides.after.name not in members or not any(mine) or not all(_data_access(sides.state_after, members)):
            continue
        old_access = _data_access(sides.state_before, sides.state_before.toolsets.get(name, ()))
        if any(part and not before for part, before in zip(mine, old_access, strict=True)):
            message = f"together with this tool, the toolset {name} may read private data and send it to other hosts"
            yield sides.risk("RSK11", "high", message, ("toolsets", name))


def toolset_access(sides: Sides) -> Iterator[ToolChange]:
    """Yield a change for each existing toolset that the tool joined and that can do more because of it."""
    after = sides.permissions_after
    for name, members in sorted(sides.state_after.toolsets.items()):
        old_members = sides.state_before.toolsets.get(name, {})
        joined = sides.after.name in members and not (sides.old and sides.old.spec.name in old_members)
        tools = [sides.state_before.by_name[each] for each in old_members]
        if not joined or not tools:
            continue
        before = [permissions_of(tool, sides.state_before.by_name) for tool in tools]
        old_hosts = [host.value for each in before for host in each.hosts]
        old_power = max((POWER[mode.value] for each in before for mode in each.workspaces), default=0)
        old_secrets = {secret.value.name for each in before for secret in each.secrets}
        more = [
            *(
                f"reach {format_destination(host.value)}"
                for host in after.hosts
                if not any(covers(other, host.value) for other in old_hosts)
            ),
            *(f"use the workspace ({mode.value})" for mode in after.workspaces if POWER[mode.value] > old_power),
            *(f"use the secret {each.value.name}" for each in after.secrets if each.value.name not in old_secrets),
        ]
        if all(tool.annotations.read_only for tool in tools) and not sides.after.annotations.read_only:
            more.append("call a tool that is not read-only")
        if more:
            message = f"with this tool, the users of the toolset {name} can now also {', '.join(more)}"
            yield sides.risk("RSK11", "high", message, ("toolsets", name))


def _data_access(state: State, names: Iterable[str]) -> tuple[bool, bool]:
    """Return whether these tools can read private data, and whether they can connect to unlisted hosts."""
    all_of = [permissions_of(tool, state.by_name) for name in names if (tool := state.by_name.get(name))]
    has_private = any(each.workspaces or each.secrets for each in all_of)
    reaches_anyone = any(host.value.kind != "exact" for each in all_of for host in each.hosts)
    return has_private, reaches_anyone

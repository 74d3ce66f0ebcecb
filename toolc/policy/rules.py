"""Check everything that a call of a tool may do against a policy, with one function per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from toolc.dataclass import dataclass
from toolc.model.call_graph import ToolLookup
from toolc.model.destinations import covers, format_destination
from toolc.model.errors import PolicyError
from toolc.model.permissions import OWN, Grant, Permissions, format_permissions, permissions_of
from toolc.model.spec.composed_backends import AgentBackend, CompositeBackend
from toolc.model.spec.http_backend import OAuth2Auth, Url
from toolc.model.spec.policy import ISOLATION, Policy, PolicyKey, path_matches
from toolc.model.spec.sandbox import Destination, Lifetime
from toolc.model.spec.tool import ToolSpec

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Something in a tool that a policy does not allow.

    ``route`` is the place in the spec, or the step that adds the permission. For a host, ``destination`` is set,
    because several hosts can have the same place.
    """

    key: PolicyKey
    message: str
    route: tuple[str | int, ...]
    hint: str
    destination: Destination | None = None


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A tool, the permissions of its calls, and the policy to check."""

    tool: ToolSpec
    permissions: Permissions
    tools: ToolLookup
    policy: Policy

    def violation(
        self, key: PolicyKey, granted: Grant[T], message: str, route: tuple[str | int, ...], allowed: Iterable[str]
    ) -> Violation:
        """Return the violation for a permission. ``allowed`` are the values that the policy allows."""
        steps = [step for step in granted.by if step != OWN]
        is_own = OWN in granted.by
        return Violation(
            key=key,
            message=message if is_own else f"{message} (by {', '.join(steps)})",
            route=route if is_own else _step(self.tool, steps[0]),
            hint=f"{self.policy.path} allows {', '.join(allowed) or 'none'}",
            destination=granted.value if isinstance(granted.value, Destination) else None,
        )


def violations(tool: ToolSpec, tools: ToolLookup, policies: Iterable[Policy]) -> Iterator[Violation]:
    """Yield all violations of ``policies`` by ``tool``. ``tools`` contains the tools that it calls."""
    permissions = None
    for policy in policies:
        permissions = permissions or permissions_of(tool, tools)
        request = PolicyRequest(tool, permissions, tools, policy)
        for rule in _RULES:
            yield from rule(request)


def enforce_policies(tool: ToolSpec, tools: ToolLookup, policies: Iterable[Policy]) -> None:
    """Raise ``PolicyError`` with all violations of ``policies`` by ``tool``, if there are any."""
    lines = [f"\n  {each.message}; {each.hint}" for each in violations(tool, tools, policies)]
    if lines:
        raise PolicyError(f"the tool {tool.name} was not called, because a policy does not allow it:{''.join(lines)}")


def _limits(request: PolicyRequest) -> Iterator[Violation]:
    maximums = {limit.name: limit for limit in request.policy.limits}
    for each in request.permissions.limits:
        allowed = maximums.get(each.value.name)
        if allowed and each.value.amount > allowed.amount:
            value = format_permissions(each.value)
            route = ("sandbox", "limits", value.partition(":")[0])
            message = f"{value} is more than {request.policy.path} allows"
            yield request.violation("limits", each, message, route, [f"{format_permissions(allowed)} or less"])


def _hosts(request: PolicyRequest) -> Iterator[Violation]:
    hosts, policy = request.policy.hosts, request.policy
    for each in request.permissions.hosts:
        name = "any public address" if each.value.kind == "public" else format_destination(each.value)
        if (each.value.kind == "public" and not policy.public_egress) or (
            hosts is not None and not any(covers(host, each.value) for host in hosts)
        ):
            allowed = ["only named hosts"] if hosts is None else map(format_destination, hosts)
            message = f"a call may reach {name}, which {policy.path} does not allow"
            yield request.violation("hosts", each, message, _host_route(request.tool, each.value), allowed)


def _host_route(tool: ToolSpec, destination: Destination) -> tuple[str | int, ...]:
    backend = tool.backend
    if destination in tool.sandbox.network.allow:
        return ("sandbox", "network", "allow")
    if isinstance(backend, AgentBackend):
        return ("backend", "agent", "base_url")
    request = backend.request
    if request is not None and isinstance(request.auth, OAuth2Auth):
        token, url = request.auth.token_url, request.url
        is_url = isinstance(url, Url) and (url.host, url.port) == (destination.host, destination.port)
        if not is_url and (token.host, token.port) == (destination.host, destination.port):
            return (*backend.request_route, "auth", "oauth2", "token_url")
    return (*backend.request_route, "url")


def _images(request: PolicyRequest) -> Iterator[Violation]:
    patterns = request.policy.images
    for each in request.permissions.images:
        # None is toolc's own base image, which is part of a release, so the spec does not choose it.
        if patterns is None or each.value is None or any(path_matches(one, each.value) for one in patterns):
            continue
        key = "image" if request.tool.sandbox.build is None else "build"
        message = f"a call runs in the image {each.value!r}, which {request.policy.path} does not allow"
        yield request.violation("images", each, message, ("sandbox", key), patterns)


def _require(request: PolicyRequest) -> Iterator[Violation]:
    for key in request.policy.require:
        value: object = request.tool
        for step in key.split("."):
            value = getattr(value, step)
        if value is None or value == ():
            message = f"{request.policy.path} requires '{key}', which this tool does not declare"
            yield Violation(key="require", message=message, route=("name",), hint=f"add {key}")


def _backends(request: PolicyRequest) -> Iterator[Violation]:
    kinds = request.policy.backends
    called = ((each.by, request.tools.get(each.value)) for each in request.permissions.tools)
    for by, tool in [((OWN,), request.tool), *called]:
        if kinds is not None and tool is not None and tool.backend.tag not in kinds:
            tag = tool.backend.tag
            message = f"the tool has a '{tag}' backend, which {request.policy.path} does not allow"
            yield request.violation("backends", Grant(tool.name, by), message, ("backend", tag), kinds)


def _expose(request: PolicyRequest) -> Iterator[Violation]:
    ways, policy = request.policy.expose, request.policy.path
    for each in request.permissions.secrets:
        secret = each.value
        if ways is not None and secret.expose not in ways:
            message = f"the secret {secret.name} has 'expose: {secret.expose}', which {policy} does not allow"
            yield request.violation("expose", each, message, ("sandbox", "secrets", secret.name, "expose"), ways)


def _workspace(request: PolicyRequest) -> Iterator[Violation]:
    modes = request.policy.workspace
    for each in request.permissions.workspaces:
        if modes is not None and each.value not in modes:
            message = f"a call has a workspace in mode '{each.value}', which {request.policy.path} does not allow"
            yield request.violation("workspace", each, message, ("sandbox", "workspace"), modes)


_LIFETIMES: Final[dict[Lifetime, str]] = {
    "call": "calls have one sandbox per call",
    "fork": "calls are processes of one fork server",
    "session": "calls have one sandbox per session",
}


def _lifetime(request: PolicyRequest) -> Iterator[Violation]:
    lifetimes = request.policy.lifetime
    for each in request.permissions.lifetimes:
        if lifetimes is not None and each.value not in lifetimes:
            message = f"{_LIFETIMES[each.value]}, which {request.policy.path} does not allow"
            yield request.violation("lifetime", each, message, ("sandbox", "lifetime"), lifetimes)


def _isolation(request: PolicyRequest) -> Iterator[Violation]:
    policy = request.policy
    for user in request.permissions.users:
        if policy.run_as is not None and user.value != policy.run_as:
            message = f"a call may run as root, which {policy.path} does not allow"
            allowed = [f"only run_as: {policy.run_as}"]
            yield request.violation("isolation", user, message, ("sandbox", "run_as"), allowed)
    for each in request.permissions.isolation:
        if ISOLATION.index(each.value) < ISOLATION.index(policy.min_isolation):
            message = f"min_isolation: {each.value} is weaker than {policy.path} allows"
            allowed = [f"{policy.min_isolation} or stronger"]
            yield request.violation("isolation", each, message, ("sandbox", "min_isolation"), allowed)


_RULES: Final[tuple[Callable[[PolicyRequest], Iterator[Violation]], ...]] = (
    _limits, _hosts, _images, _require, _backends, _expose, _workspace, _isolation, _lifetime,
)  # fmt: skip


def _step(tool: ToolSpec, name: str) -> tuple[str | int, ...]:
    """Return the position in the spec of a composite's step, or of an agent's tool, with this name."""
    backend = tool.backend
    if isinstance(backend, CompositeBackend):
        ids = [step.id for step in backend.steps]
        return ("backend", "composite", "steps", ids.index(name), "tool")
    assert isinstance(backend, AgentBackend)  # other backends have no steps
    return ("backend", "agent", "tools", backend.tools.index(name))

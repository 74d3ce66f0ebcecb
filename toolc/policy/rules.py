"""Checks a tool against a policy: one function per key, for everything that a call of the tool may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from toolc.model.call_graph import ToolLookup
from toolc.model.destinations import covers, format_destination
from toolc.model.permissions import OWN, Grant, Permissions, format_permissions, permissions_of
from toolc.model.spec.composed_backends import AgentBackend, CompositeBackend
from toolc.model.spec.http_backend import HttpBackend, OAuth2Auth, Url
from toolc.model.spec.sandbox import Destination
from toolc.model.spec.tool import ToolSpec
from toolc.policy.policy import ISOLATION, Policy, PolicyError, PolicyKey, path_matches

__all__ = ["Violation", "enforce_policies", "violations"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Something in a tool that a policy does not allow.

    ``route`` is the place in the spec, or the step that adds the permission. ``destination`` is set for a host,
    because several hosts can have the same place.
    """

    key: PolicyKey
    message: str
    route: tuple[str | int, ...]
    hint: str
    destination: Destination | None = None


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A tool, the permissions of a call of it, and the policy to check."""

    tool: ToolSpec
    has: Permissions
    tools: ToolLookup
    policy: Policy

    def told(
        self, key: PolicyKey, granted: Grant[T], message: str, route: tuple[str | int, ...], allowed: Iterable[str]
    ) -> Violation:
        """Return the violation for a permission. ``allowed`` is what the policy allows instead."""
        steps = [step for step in granted.by if step != OWN]
        by = "" if OWN in granted.by else f" (by {', '.join(steps)})"
        return Violation(
            key=key,
            message=f"{message}{by}",
            route=route if OWN in granted.by else _step(self.tool, steps[0]),
            hint=f"{self.policy.path} allows {', '.join(allowed) or 'none'}",
            destination=granted.value if isinstance(granted.value, Destination) else None,
        )


def violations(tool: ToolSpec, tools: ToolLookup, policies: Iterable[Policy]) -> Iterator[Violation]:
    """Yield all violations of ``policies`` by ``tool``. ``tools`` has the tools that it calls."""
    has = None
    for policy in policies:
        has = has or permissions_of(tool, tools)
        asked = PolicyRequest(tool, has, tools, policy)
        for rule in _RULES:
            yield from rule(asked)


def enforce_policies(tool: ToolSpec, tools: ToolLookup, policies: Iterable[Policy]) -> None:
    """Raise ``PolicyError`` with all violations of ``policies`` by ``tool``, if there are any."""
    found = [f"{each.message}; {each.hint}" for each in violations(tool, tools, policies)]
    if found:
        lines = "".join(f"\n  {each}" for each in found)
        raise PolicyError(f"the tool {tool.name} is not called, since a policy does not allow it:{lines}")


def _limits(asked: PolicyRequest) -> Iterator[Violation]:
    most = {limit.name: limit for limit in asked.policy.limits}
    for each in asked.has.limits:
        allowed = most.get(each.value.name)
        if allowed and each.value.amount > allowed.amount:
            name = format_permissions(each.value).partition(":")[0]
            words = f"{format_permissions(each.value)} is more than {asked.policy.path} allows"
            yield asked.told(
                "limits", each, words, ("sandbox", "limits", name), [f"{format_permissions(allowed)} or less"]
            )


def _hosts(asked: PolicyRequest) -> Iterator[Violation]:
    hosts, policy = asked.policy.hosts, asked.policy
    for each in asked.has.hosts:
        name = "any public address" if each.value.kind == "public" else format_destination(each.value)
        if (each.value.kind == "public" and not policy.public_egress) or (
            hosts is not None and not any(covers(host, each.value) for host in hosts)
        ):
            allowed = ["hosts that are named"] if hosts is None else map(format_destination, hosts)
            words = f"a call may reach {name}, which {policy.path} does not allow"
            yield asked.told("hosts", each, words, _host_route(asked.tool, each.value), allowed)


def _host_route(tool: ToolSpec, destination: Destination) -> tuple[str | int, ...]:
    backend = tool.backend
    if destination in tool.sandbox.network.allow:
        return ("sandbox", "network", "allow")
    if isinstance(backend, AgentBackend):
        return ("backend", "agent", "base_url")
    if isinstance(backend, HttpBackend) and isinstance(backend.auth, OAuth2Auth):
        token, url = backend.auth.token_url, backend.url
        is_url = isinstance(url, Url) and (url.host, url.port) == (destination.host, destination.port)
        if not is_url and (token.host, token.port) == (destination.host, destination.port):
            return ("backend", "http", "auth", "oauth2", "token_url")
    return ("backend", "http", "url")


def _images(asked: PolicyRequest) -> Iterator[Violation]:
    patterns = asked.policy.images
    for each in asked.has.images:
        # None is toolc's own base image, which is part of a release, so the spec does not choose it.
        if patterns is None or each.value is None or any(path_matches(one, each.value) for one in patterns):
            continue
        is_built = asked.tool.sandbox.build is not None
        words = f"a call runs in the image {each.value!r}, which {asked.policy.path} does not allow"
        yield asked.told("images", each, words, ("sandbox", "build" if is_built else "image"), patterns)


def _require(asked: PolicyRequest) -> Iterator[Violation]:
    for key in asked.policy.require:
        value: object = asked.tool
        for step in key.split("."):
            value = getattr(value, step)
        if value is None or value == ():
            yield Violation(
                key="require",
                message=f"{asked.policy.path} requires '{key}', and this tool does not say it",
                route=("name",),
                hint=f"add {key}",
            )


def _backends(asked: PolicyRequest) -> Iterator[Violation]:
    kinds = asked.policy.backends
    called = ((each.by, asked.tools.get(each.value)) for each in asked.has.tools)
    for by, tool in [((OWN,), asked.tool), *called]:
        if kinds is not None and tool is not None and tool.backend.tag not in kinds:
            tag = tool.backend.tag
            words = f"a call runs a backend of the kind '{tag}', which {asked.policy.path} does not allow"
            yield asked.told("backends", Grant(tool.name, by), words, ("backend", tag), kinds)


def _expose(asked: PolicyRequest) -> Iterator[Violation]:
    ways = asked.policy.expose
    for each in asked.has.secrets:
        secret = each.value
        if ways is not None and secret.expose not in ways:
            said = f"the secret {secret.name} has 'expose: {secret.expose}'"
            words = f"{said}, which {asked.policy.path} does not allow"
            yield asked.told("expose", each, words, ("sandbox", "secrets", secret.name, "expose"), ways)


def _workspace(asked: PolicyRequest) -> Iterator[Violation]:
    modes = asked.policy.workspace
    for each in asked.has.workspaces:
        if modes is not None and each.value not in modes:
            words = f"a call has a workspace of the mode '{each.value}', which {asked.policy.path} does not allow"
            yield asked.told("workspace", each, words, ("sandbox", "workspace"), modes)


def _isolation(asked: PolicyRequest) -> Iterator[Violation]:
    policy = asked.policy
    for user in asked.has.users:
        if policy.run_as is not None and user.value != policy.run_as:
            words = f"a call may run as root, which {policy.path} does not allow"
            yield asked.told("isolation", user, words, ("sandbox", "run_as"), [f"only run_as: {policy.run_as}"])
    for each in asked.has.isolation:
        if ISOLATION.index(each.value) < ISOLATION.index(policy.min_isolation):
            words = f"min_isolation: {each.value} is weaker than {policy.path} allows"
            strong = [f"{policy.min_isolation} or stronger"]
            yield asked.told("isolation", each, words, ("sandbox", "min_isolation"), strong)


def _lifetime(asked: PolicyRequest) -> Iterator[Violation]:
    lifetimes = asked.policy.lifetime
    for each in asked.has.lifetimes:
        if lifetimes is not None and each.value not in lifetimes:
            words = f"calls have a sandbox for each {each.value}, which {asked.policy.path} does not allow"
            yield asked.told("lifetime", each, words, ("sandbox", "lifetime"), lifetimes)


_RULES: Final[tuple[Callable[[PolicyRequest], Iterator[Violation]], ...]] = (
    _limits, _hosts, _images, _require, _backends, _expose, _workspace, _isolation, _lifetime,
)  # fmt: skip


def _step(tool: ToolSpec, name: str) -> tuple[str | int, ...]:
    """Return the place in the spec of a composite's step, or of an agent's tool, with this name."""
    backend = tool.backend
    if isinstance(backend, CompositeBackend):
        ids = [step.id for step in backend.steps]
        return ("backend", "composite", "steps", ids.index(name), "tool")
    assert isinstance(backend, AgentBackend)  # other backends have no steps
    return ("backend", "agent", "tools", backend.tools.index(name))

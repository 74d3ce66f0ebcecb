"""What a tool may do: its own sandbox, and what the tools that it calls may do, with the step that brings it.

It is read from specs alone, so a review of a call's effects needs no engine and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from toolc.model.call_graph import ToolLookup
from toolc.model.destinations import show_destination
from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import PythonBackend
from toolc.model.spec.composed_backends import AgentBackend, CompositeBackend
from toolc.model.spec.http_backend import HttpBackend, OAuth2Auth, Url
from toolc.model.spec.sandbox import (
    Destination,
    Lifetime,
    Limits,
    MinIsolation,
    SecretSpec,
    TransactionSpec,
    WorkspaceMode,
)
from toolc.model.spec.tool import ToolSpec

__all__ = [
    "OWN",
    "Grant",
    "Limit",
    "Permissions",
    "format_permissions",
    "permissions_of",
]

T = TypeVar("T")

OWN: Final = ""
"""What stands in ``Granted.by`` for what a tool has by itself, not by a step."""

User: TypeAlias = Literal["any", "nonroot"]
"""As whom a call runs: ``any`` may be the user 0 of the sandbox."""


_UNITS: Final = {
    "bytes": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
    "ms": ((60_000, "m"), (1000, "s"), (1, "ms")),
}
"""The units that a spec writes, the largest first."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that one call may use: ``name`` as in ``toolc.model.spec.sandbox.Limits``, with its unit."""

    name: str
    amount: float


@dataclass(frozen=True, slots=True)
class Grant(Generic[T]):
    """One thing that a tool may have. ``by`` are the ids of the steps that bring it, and ``OWN``.

    A sub-agent's steps are the names of its tools. A step that calls others brings what they bring.
    """

    value: T
    by: tuple[str, ...] = (OWN,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """All that one call of a tool may do, each part sorted.

    ``tools`` are the others that it may call, ``missing`` the names among them that no tool has. ``images`` has
    None for the release's own base image. A tool without a workspace has no entry in ``workspaces``. ``limits``
    has the highest of each, but for the time, which is the tool's own: it covers all that it calls.
    """

    tools: tuple[Grant[str], ...] = ()
    missing: tuple[Grant[str], ...] = ()
    hosts: tuple[Grant[Destination], ...] = ()
    secrets: tuple[Grant[SecretSpec], ...] = ()
    workspaces: tuple[Grant[WorkspaceMode], ...] = ()
    transactions: tuple[Grant[TransactionSpec], ...] = ()
    images: tuple[Grant[str | None], ...] = ()
    requirements: tuple[Grant[str], ...] = ()
    users: tuple[Grant[User], ...] = ()
    isolation: tuple[Grant[MinIsolation], ...] = ()
    lifetimes: tuple[Grant[Lifetime], ...] = ()
    limits: tuple[Grant[Limit], ...] = ()

    def to_json(self) -> JsonObject:
        """Each part as a list of ``{"value": ..., "by": [...]}``, values as a spec writes them."""
        return {
            part.name: [
                {"value": None if each.value is None else format_permissions(each.value), "by": [*each.by]}
                for each in getattr(self, part.name)
            ]
            for part in fields(self)
        }


def permissions_of(tool: ToolSpec, tools: ToolLookup) -> Permissions:
    """What a call of ``tool`` may do; ``tools`` has those that it calls. Circles of calls end where they close."""
    return _Reading(tools, {}).of(tool)


def format_permissions(value: object) -> str:
    """A granted value as people read it, in the words of a spec."""
    match value:
        case None:
            return "the base image"
        case Destination():
            return show_destination(value)
        case SecretSpec():
            where = f" for {', '.join(value.hosts)}" if value.hosts else ""
            return f"{value.name}{where} ({value.expose})"
        case TransactionSpec():
            return f"commit: {value.commit}" + (f", writes: {', '.join(value.writes)}" if value.writes else "")
        case Limit():
            return _limit(value)
        case _:
            return str(value)


def _limit(limit: Limit) -> str:
    name, _, unit = limit.name.rpartition("_")
    if unit not in _UNITS:
        return f"{limit.name}: {limit.amount:g}"
    amount = int(limit.amount)
    largest = next(each for each in _UNITS[unit] if amount % each[0] == 0)
    return f"{name}: {amount // largest[0]}{largest[1]}"


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads the authority of tools, each once; one that is being read has none yet, which ends a circle."""

    tools: ToolLookup
    known: dict[str, Permissions]

    def of(self, tool: ToolSpec) -> Permissions:
        if tool.name not in self.known:
            self.known[tool.name] = Permissions()
            parts = [(OWN, _own(tool)), *((step, self._called(name)) for step, name in _steps(tool))]
            self.known[tool.name] = _union(parts, tool.sandbox.limits.timeout_ms)
        return self.known[tool.name]

    def _called(self, name: str) -> Permissions:
        each = self.tools.get(name)
        if each is None:
            return Permissions(missing=(Grant(name),))
        theirs = self.of(each)
        return replace(theirs, tools=(Grant(each.name), *theirs.tools))


def _union(parts: Sequence[tuple[str, Permissions]], timeout_ms: int) -> Permissions:
    """All that these parts have, each said by whom it is brought."""
    limits = _highest(_merged([(by, each.limits) for by, each in parts]))
    return Permissions(
        tools=_merged([(by, each.tools) for by, each in parts]),
        missing=_merged([(by, each.missing) for by, each in parts]),
        hosts=_merged([(by, each.hosts) for by, each in parts]),
        secrets=_merged([(by, each.secrets) for by, each in parts]),
        workspaces=_merged([(by, each.workspaces) for by, each in parts]),
        transactions=_merged([(by, each.transactions) for by, each in parts]),
        images=_merged([(by, each.images) for by, each in parts]),
        requirements=_merged([(by, each.requirements) for by, each in parts]),
        users=_merged([(by, each.users) for by, each in parts]),
        isolation=_merged([(by, each.isolation) for by, each in parts]),
        lifetimes=_merged([(by, each.lifetimes) for by, each in parts]),
        limits=(*limits, Grant(Limit("timeout_ms", timeout_ms))),
    )


def _merged(parts: Iterable[tuple[str, Iterable[Grant[T]]]]) -> tuple[Grant[T], ...]:
    found: dict[T, dict[str, None]] = {}
    for by, granted in parts:
        for each in granted:
            found.setdefault(each.value, {})[by] = None
    return tuple(Grant(value, tuple(found[value])) for value in sorted(found, key=format_permissions))


def _highest(limits: Sequence[Grant[Limit]]) -> Iterator[Grant[Limit]]:
    """The highest of each limit but for the time."""
    names = sorted({each.value.name for each in limits} - {"timeout_ms"})
    for name in names:
        yield max((each for each in limits if each.value.name == name), key=lambda each: each.value.amount)


def _steps(tool: ToolSpec) -> Iterator[tuple[str, str]]:
    backend = tool.backend
    if isinstance(backend, CompositeBackend):
        yield from ((step.id, step.tool) for step in backend.steps)
    elif isinstance(backend, AgentBackend):
        yield from ((name, name) for name in backend.tools)


def _own(tool: ToolSpec) -> Permissions:
    """What a tool has by itself. A composite has nothing, and a sub-agent runs no code, so it has no sandbox."""
    sandbox, backend = tool.sandbox, tool.backend
    if isinstance(backend, CompositeBackend):
        return Permissions()
    reached = Permissions(hosts=_granted(_destinations(tool)), secrets=_granted(sandbox.secrets))
    if isinstance(backend, AgentBackend):
        return reached
    return replace(
        reached,
        workspaces=_granted([sandbox.workspace] if sandbox.workspace != "none" else []),
        transactions=_granted([sandbox.transaction] if sandbox.transaction else []),
        images=_granted([f"build: {sandbox.build.folder}" if sandbox.build else sandbox.image]),
        requirements=_granted(backend.requirements if isinstance(backend, PythonBackend) else ()),
        users=_granted([sandbox.run_as or "any"]),
        isolation=_granted([sandbox.min_isolation]),
        lifetimes=_granted([sandbox.lifetime]),
        limits=_granted(Limit(each.name, getattr(sandbox.limits, each.name)) for each in fields(Limits)),
    )


def _granted(values: Iterable[T]) -> tuple[Grant[T], ...]:
    return tuple(map(Grant, values))


def _destinations(tool: ToolSpec) -> Iterator[Destination]:
    yield from tool.sandbox.network.allow
    for each in _urls(tool):
        if isinstance(each, Url):
            yield Destination(kind="exact", host=each.host, port=each.port)


def _urls(tool: ToolSpec) -> tuple[object, ...]:
    """The URLs that a backend names by itself: their hosts may be reached whatever the list says."""
    backend = tool.backend
    if isinstance(backend, HttpBackend):
        return (backend.url, backend.auth.token_url if isinstance(backend.auth, OAuth2Auth) else None)
    return (backend.base_url,) if isinstance(backend, AgentBackend) else ()

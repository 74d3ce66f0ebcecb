"""The permissions of a tool and of the tools that it calls, each with the step that adds it.

Permissions are computed from specs only, so a review needs no engine and runs no code.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from toolc.dataclass import dataclass, replace
from toolc.model.call_graph import ToolLookup
from toolc.model.destinations import format_destination
from toolc.model.json_schema import JsonObject
from toolc.model.spec import sandbox as spec
from toolc.model.spec.http_backend import Url
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import render_duration, render_size

T = TypeVar("T")

OWN: Final = ""
"""The entry of ``Grant.by`` for a permission that the tool itself has, not one of its steps."""

User: TypeAlias = Literal["any", "nonroot"]
"""The user as which a call runs. ``any`` may be user 0 of the sandbox."""


@dataclass(frozen=True, slots=True)
class Grant(Generic[T]):
    """One permission of a tool. ``by`` has the ids of the steps that add it, and ``OWN`` for the tool itself.

    The steps of an agent are the names of its tools. A step whose tool calls others also adds their permissions.
    """

    value: T
    by: tuple[str, ...] = (OWN,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """All permissions of one call of a tool. Each part is sorted.

    ``tools`` are the tools that it may call, and ``missing`` are the names among them that do not exist. ``images`` has
    None for the base image of the release. A tool without a workspace has no entry in ``workspaces``. ``limits`` has
    the highest value of each limit, except that the timeout is the tool's own, which includes all calls that it makes.
    """

    tools: tuple[Grant[str], ...] = ()
    missing: tuple[Grant[str], ...] = ()
    hosts: tuple[Grant[spec.Destination], ...] = ()
    secrets: tuple[Grant[spec.SecretSpec], ...] = ()
    workspaces: tuple[Grant[spec.WorkspaceMode], ...] = ()
    transactions: tuple[Grant[spec.TransactionSpec], ...] = ()
    images: tuple[Grant[str | None], ...] = ()
    requirements: tuple[Grant[str], ...] = ()
    users: tuple[Grant[User], ...] = ()
    isolation: tuple[Grant[spec.MinIsolation], ...] = ()
    lifetimes: tuple[Grant[spec.Lifetime], ...] = ()
    limits: tuple[Grant[spec.Limit], ...] = ()

    def to_json(self) -> JsonObject:
        """Return each part as a list of ``{"value": ..., "by": [...]}``, with values as written in a spec."""
        return {
            part.name: [
                {"value": None if each.value is None else format_permissions(each.value), "by": [*each.by]}
                for each in self.displayed(part.name)
            ]
            for part in fields(self)
        }

    def displayed(self, part: str) -> tuple[Grant[object], ...]:
        """Return a part without the limits that the spec does not set."""
        granted: tuple[Grant[object], ...] = getattr(self, part)
        return tuple(
            each for each in granted if not (isinstance(each.value, spec.Limit) and each.value.amount == math.inf)
        )


def permissions_of(tool: ToolSpec, tools: ToolLookup) -> Permissions:
    """Return the permissions of a call of ``tool``, counting recursive calls once. ``tools`` has the called tools."""
    return _Collector(tools, {}).of(tool)


def format_permissions(value: object) -> str:
    """Return a granted value as readable text, as written in a spec."""
    match value:
        case None:
            return "the base image"
        case spec.Destination():
            return format_destination(value)
        case spec.SecretSpec():
            where = f" for {', '.join(value.hosts)}" if value.hosts else ""
            return f"{value.name}{where} ({value.expose})"
        case spec.TransactionSpec():
            return f"commit: {value.commit}" + (f", writes: {', '.join(value.writes)}" if value.writes else "")
        case spec.Limit():
            return f"{limit_key(value.name)}: {format_amount(value)}"
        case _:
            return str(value)


def limit_key(name: str) -> str:
    """Return the key of a limit in a spec, without the unit that the name of its field has."""
    return name.removesuffix("_ms").removesuffix("_bytes")


def format_amount(limit: spec.Limit) -> str:
    """Return the amount of a limit as a spec writes it: ``8GiB``, ``90s``, ``1.5``."""
    if limit.amount == math.inf:
        return "no limit"
    if limit.name.endswith("_bytes"):
        return render_size(limit.amount)
    return render_duration(limit.amount) if limit.name.endswith("_ms") else f"{limit.amount:g}"


@dataclass(frozen=True, slots=True)
class _Collector:
    """Collects the permissions of tools, once per tool.

    A tool that is being processed has no permissions yet, which ends the recursion for tools that call each other.
    """

    tools: ToolLookup
    known: dict[str, Permissions]

    def of(self, tool: ToolSpec) -> Permissions:
        if tool.name not in self.known:
            self.known[tool.name] = Permissions()
            parts = [(OWN, _own(tool)), *((step, self._called(name)) for step, name in tool.backend.calls)]
            self.known[tool.name] = _union(parts, tool.sandbox.limits.timeout_ms)
        return self.known[tool.name]

    def _called(self, name: str) -> Permissions:
        each = self.tools.get(name)
        if each is None:
            return Permissions(missing=(Grant(name),))
        theirs = self.of(each)
        return replace(theirs, tools=(Grant(each.name), *theirs.tools))


def _union(parts: Sequence[tuple[str, Permissions]], timeout_ms: int) -> Permissions:
    """Return the permissions of all parts, each with the steps that add it."""
    merged = {
        part.name: _merged([(by, getattr(each, part.name)) for by, each in parts]) for part in fields(Permissions)
    }
    return Permissions(
        **merged | {"limits": (*_highest(merged["limits"]), Grant(spec.Limit("timeout_ms", timeout_ms)))}
    )


def _merged(parts: Iterable[tuple[str, Iterable[Grant[T]]]]) -> tuple[Grant[T], ...]:
    steps_by_value: dict[T, dict[str, None]] = {}
    for by, granted in parts:
        for each in granted:
            steps_by_value.setdefault(each.value, {})[by] = None
    return tuple(Grant(value, tuple(steps_by_value[value])) for value in sorted(steps_by_value, key=format_permissions))


def _highest(limits: Sequence[Grant[spec.Limit]]) -> Iterator[Grant[spec.Limit]]:
    """Yield the highest value of each limit except the timeout."""
    for name in sorted({each.value.name for each in limits} - {"timeout_ms"}):
        yield max((each for each in limits if each.value.name == name), key=lambda each: each.value.amount)


def _own(tool: ToolSpec) -> Permissions:
    """Return the permissions of a tool without those of the tools that it calls.

    A composite has no permissions of its own. An agent runs no code of its tool, so it has no sandbox.
    """
    sandbox, backend = tool.sandbox, tool.backend
    reached = Permissions(hosts=_granted(_destinations(tool)), secrets=_granted(sandbox.secrets))
    if backend.only_calls:
        return reached if backend.urls else Permissions()
    return replace(
        reached,
        workspaces=_granted([sandbox.workspace] if sandbox.workspace != "none" else []),
        transactions=_granted([sandbox.transaction] if sandbox.transaction else []),
        images=_granted([f"build: {sandbox.build.folder}" if sandbox.build else sandbox.image]),
        requirements=_granted(backend.packages),
        users=_granted([sandbox.run_as or "any"]),
        isolation=_granted([sandbox.min_isolation]),
        lifetimes=_granted([sandbox.lifetime]),
        limits=_granted(_limits(sandbox)),
    )


def _limits(sandbox: spec.SandboxSpec) -> Iterator[spec.Limit]:
    for each in fields(spec.Limits):
        amount = getattr(sandbox.limits, each.name)
        if amount is not None:
            yield spec.Limit(each.name, amount)
        elif sandbox.workspace in spec.WRITABLE:
            yield spec.Limit(each.name, math.inf)


def _granted(values: Iterable[T]) -> tuple[Grant[T], ...]:
    return tuple(map(Grant, values))


def _destinations(tool: ToolSpec) -> Iterator[spec.Destination]:
    yield from tool.sandbox.network.allow
    for each in tool.backend.urls:
        if isinstance(each, Url):
            yield spec.Destination(kind="exact", host=each.host, port=each.port)

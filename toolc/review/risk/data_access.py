"""Risks of access to data: RSK02 (workspace), RSK06 (secrets), RSK19 (public credentials) and RSK22 (whose data)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from toolc.compiler.templates.expressions import templates_in
from toolc.dataclass import dataclass, replace
from toolc.model.destinations import covers, format_destination
from toolc.model.json_schema import JsonValue
from toolc.model.permissions import Grant, Permissions, format_permissions
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.http_backend import OAuth2Auth, Url
from toolc.model.spec.sandbox import Commit, Destination, Expose, SecretSpec, TransactionSpec, WorkspaceMode
from toolc.model.spec.tool import CallerParameter, ToolSpec
from toolc.model.template import Template
from toolc.review.model.change import Grade, Route, ToolChange
from toolc.review.model.schema_node import to_json_text
from toolc.review.model.state import Reviewed
from toolc.review.model.text_diff import format_route, stored_values
from toolc.review.risk.risk_rule import Sides, risk_rule, steps_suffix

_ROUTE: Final = ("sandbox", "workspace")
POWER: Final[dict[WorkspaceMode, int]] = {"none": 0, "ro": 1, "transaction": 2, "rw": 3}
"""The access that each mode of a workspace gives, least first."""

_COMMITS: Final[dict[Commit, int]] = {"never": 0, "ask": 1, "success": 2, "always": 3}

_EXPOSURE: Final[dict[Expose, int]] = {"broker": 0, "file": 1, "env": 2}
"""The exposures of a secret, least first: to no code of the tool, to code that opens a file, to every process."""

_READERS: Final[dict[Expose, str]] = {
    "broker": "", "file": "in a file in the sandbox", "env": "in the environment of every process in the sandbox",
}  # fmt: skip


@risk_rule("RSK02")
def check_workspace(sides: Sides) -> Iterator[ToolChange]:
    """Report a workspace that is new or now writable, and a transaction that now commits in more cases."""
    before, after = _mode(sides.permissions_before), _mode(sides.permissions_after)
    if POWER[after] > POWER[before]:
        by = next((steps_suffix(each) for each in sides.permissions_after.workspaces if each.value == after), "")
        yield sides.risk("RSK02", "critical", _workspace_message(before, after) + by, _ROUTE, before, after)
    transactions = [each.value for each in sides.permissions_before.transactions]
    for each in sides.permissions_after.transactions:
        if transactions and not any(_allows(other, each.value) for other in transactions):
            message = _transaction_message(transactions, each.value) + steps_suffix(each)
            both = "; ".join(map(format_permissions, transactions)), format_permissions(each.value)
            yield sides.risk("RSK02", "high", message, _ROUTE, *both)


def _workspace_message(before: WorkspaceMode, after: WorkspaceMode) -> str:
    if before == "transaction":
        return "changes of the workspace can no longer be undone, because they are made without a transaction"
    verb = "read" if after == "ro" else "change"
    return f"a call may now {verb} the files of the workspace"


def _transaction_message(before: Sequence[TransactionSpec], after: TransactionSpec) -> str:
    if any(_COMMITS[each.commit] >= _COMMITS[after.commit] for each in before):
        return "a call may now change more files of the workspace"
    return "changes of the workspace are committed in more cases"


def _mode(permissions: Permissions) -> WorkspaceMode:
    modes: list[WorkspaceMode] = ["none", *(each.value for each in permissions.workspaces)]
    return max(modes, key=POWER.__getitem__)


def _allows(wide: TransactionSpec, narrow: TransactionSpec) -> bool:
    if _COMMITS[wide.commit] < _COMMITS[narrow.commit]:
        return False
    return not wide.writes or (
        bool(narrow.writes) and all(any(_covers(pattern, each) for pattern in wide.writes) for each in narrow.writes)
    )


def _covers(pattern: str, narrow: str) -> bool:
    """Return whether a file pattern is certain to match all files that another one matches."""
    return pattern in {narrow, "**"} or (pattern.endswith("/**") and narrow.startswith(pattern.removesuffix("**")))


@risk_rule("RSK06")
def check_secrets(sides: Sides) -> Iterator[ToolChange]:
    """Report a secret that is new, may be sent to more hosts or into the sandbox, or has a new use."""
    old_secrets, new_secrets = _by_name(sides.permissions_before), _by_name(sides.permissions_after)
    old_receivers, new_receivers = receivers(sides.before) if sides.before else {}, receivers(sides.after)
    for name, granted in new_secrets.items():
        found = _Secret(sides, granted, old_secrets.get(name, ()))
        yield from found.changes(old_receivers.get(name, ()), new_receivers.get(name, ()))
    if sides.old is not None:
        old_places, new_places = _secret_places(sides.old), _secret_places(sides.new)
        for name, place in sorted(new_places - old_places):
            if any(name == other for other, _ in old_places):
                message = f"the secret {name} is now also used in {place}"
                yield sides.risk("RSK06", "high", message, ("backend",), None, place, subject=name)


def _by_name(permissions: Permissions) -> dict[str, tuple[Grant[SecretSpec], ...]]:
    """Return the grants of each secret. Steps may have the same secret for different hosts."""
    found: dict[str, tuple[Grant[SecretSpec], ...]] = {}
    for each in permissions.secrets:
        found[each.value.name] = (*found.get(each.value.name, ()), each)
    return found


@dataclass(frozen=True, slots=True)
class _Secret:
    """One secret of a call: its grants after and before the change. ``old`` is empty for a new secret."""

    sides: Sides
    new: Sequence[Grant[SecretSpec]]
    old: Sequence[Grant[SecretSpec]]

    def changes(self, before: Iterable[Destination], after: Iterable[Destination]) -> Iterator[ToolChange]:
        """Yield the changes of a secret. ``before`` and ``after`` are the destinations that can receive the value."""
        name = self.new[0].value.name
        gained = [each for each in after if not any(covers(other, each) for other in before)]
        if not self.old:
            has_destination = bool(gained) or any(each.value.hosts for each in self.new)
            grade: Grade = "critical" if has_destination else "high"
            yield self._change(grade, f"a call receives the secret {name}", self.new)
            return
        yield from self._hosts(name, before, gained)
        levels = [_EXPOSURE[each.value.expose] for each in self.old]
        exposed = [each for each in self.new if _EXPOSURE[each.value.expose] > max(levels)]
        if exposed:
            readers = _READERS[max((each.value.expose for each in exposed), key=_EXPOSURE.__getitem__)]
            yield self._change("high", f"the value of the secret {name} is now available {readers}", exposed)

    def _hosts(self, name: str, before: Iterable[Destination], gained: Sequence[Destination]) -> Iterator[ToolChange]:
        """Yield a change for additional destinations that may receive the value."""
        # A value that was in the sandbox could be sent to every host of the tool.
        reached = {each.host for each in before if each.kind == "exact"}
        old_hosts = {host for each in self.old for host in each.value.hosts} | reached
        listed = [each for each in self.new if {*each.value.hosts} - old_hosts]
        hosts = {host for each in listed for host in each.value.hosts} - old_hosts
        unlisted = [format_destination(each) for each in gained if each.host not in hosts]
        if hosts or unlisted:
            where = ", ".join(sorted([*hosts, *unlisted]))
            yield self._change("critical", f"the secret {name} may now be sent to {where}", listed or self.new)

    def _change(self, grade: Grade, message: str, granted: Sequence[Grant[SecretSpec]]) -> ToolChange:
        before = "; ".join(format_permissions(each.value) for each in self.old) or None
        after = "; ".join(format_permissions(each.value) for each in self.new)
        is_own = any(not steps_suffix(each) for each in granted)
        suffix = "" if is_own else steps_suffix(granted[0])
        route = ("sandbox", "secrets", self.new[0].value.name)
        change = self.sides.risk("RSK06", grade, f"{message}{suffix}", route, before, after)
        return replace(change, grade=grade)  # a new tool may send the secret of another one to its own host


def receivers(tool: ToolSpec) -> dict[str, tuple[Destination, ...]]:
    """Return the destinations that can receive each secret of a tool, without those of the tools that it calls.

    A value inside the sandbox can be sent to every destination of the tool. Other secrets have destinations only if
    requests contain them.
    """
    inside = {each.name: tool.sandbox.network.allow for each in tool.sandbox.secrets if each.expose != "broker"}
    backend = tool.backend
    if isinstance(backend, AgentBackend) and backend.api_key is not None:
        return inside | {name: _destination(backend.base_url) for name in backend.api_key.secrets}
    request = backend.request
    if request is None:
        return inside
    token_url = request.auth.token_url if isinstance(request.auth, OAuth2Auth) else request.url
    found: dict[str, tuple[Destination, ...]] = dict(inside)
    parts = (request.query, request.headers, request.cookies, request.body)
    for part, url in ((parts, request.url), (request.auth, token_url)):
        for name in (name for template in templates_in(part) for name in template.secrets):
            found[name] = (*found.get(name, ()), *(_destination(url) or tool.sandbox.network.allow))
    return found


def _destination(url: Url | Template) -> tuple[Destination, ...]:
    """Return the destination of a URL, or nothing if the caller chooses the URL."""
    return (Destination(kind="exact", host=url.host, port=url.port),) if isinstance(url, Url) else ()


def _secret_places(tool: Reviewed) -> frozenset[tuple[str, str]]:
    """Return each secret with the part of the backend that names it, such as ``headers`` or ``query``."""
    found: set[tuple[str, str]] = set()
    for route, value in stored_values(tool, ("backend", "sandbox")):
        if name := _secret_name(value):
            found.add((name, ".".join(str(step) for step in route if isinstance(step, str))[:200]))
    return frozenset(found)


def _secret_name(value: JsonValue) -> str:
    """Return the name of the secret in a stored placeholder, or ``""`` for any other value."""
    if isinstance(value, dict) and value.get("name") == "secrets":
        keys = value.get("keys")
        return str(keys[0]) if isinstance(keys, list) and keys else ""
    return ""


@risk_rule("RSK19")
def check_public_credentials(sides: Sides) -> Iterator[ToolChange]:
    """Report each literal credential that is newly declared public, or that has another value or reason."""
    old = dict(_public_credentials(sides.old)) if sides.old else {}
    for route, (value, reason) in _public_credentials(sides.new):
        was = old.get(route)
        place = format_route(route)
        before, after = was and _as_declared(*was), _as_declared(value, reason)
        if was is None:
            message = f"a credential is declared public in {place}: {reason}"
            yield sides.risk("RSK19", "high", message, route, before, after)
        elif was[0] != value:
            message = f"the public credential in {place} has another value: {reason}"
            yield sides.risk("RSK19", "high", message, route, before, after)
        elif was[1] != reason:
            message = f"the public credential in {place} has another reason: {reason}"
            yield sides.risk("RSK19", "low", message, route, before, after)


def _public_credentials(tool: Reviewed) -> Iterator[tuple[Route, tuple[str, str]]]:
    """Yield the route, the value and the reason of each credential that is declared public."""
    for route, value in stored_values(tool, ("backend", "sandbox")):
        if isinstance(value, dict) and value.keys() == {"public", "reason"}:
            yield _route_in_spec(tool, route), (str(value["public"]), str(value["reason"]))


def _route_in_spec(tool: Reviewed, route: Route) -> Route:
    """Return the route in the spec for a stored route. Lists of fields become maps, and the last key is the field."""
    names: list[str | int] = []
    value: JsonValue = tool.stored
    for step in route:
        if isinstance(value, dict) and isinstance(step, str):
            value = value[step]
            if step in {"entries", "value", "items"} or (isinstance(value, dict) and value.keys() == {"entries"}):
                continue
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
            named = value.get("name", value.get("key")) if isinstance(value, dict) else None
            step = named if isinstance(named, str) else step  # noqa: PLW2901  the step of the spec
        names.append(step)
    return tuple("env" if step == "secret_env" else step for step in names)


def _as_declared(value: str, reason: str) -> str:
    return f"{{public: {value}, reason: {reason}}}"


@risk_rule("RSK22")
def check_caller(sides: Sides) -> Iterator[ToolChange]:
    """Report parameters that the host no longer takes from the caller, or takes differently."""
    if sides.before is None:
        return
    before, after = ({each.name: each for each in side.caller} for side in (sides.before, sides.after))
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            grade, message = _caller_change(name, old, new, sides.after)
            yield sides.risk("RSK22", grade, message, ("parameters", name), _text(old), _text(new), subject=name)


def _text(parameter: CallerParameter | None) -> str | None:
    return to_json_text({"from": f"caller.{parameter.claim}", **parameter.schema}) if parameter else None


def _caller_change(
    name: str, before: CallerParameter | None, after: CallerParameter | None, tool: ToolSpec
) -> tuple[Grade, str]:
    """Return the grade and the message of a change."""
    if before is None:
        return "low", f"the host takes '{name}' from the caller and refuses calls of others"
    if after is None and name in tool.parameters.properties:
        return "high", f"callers can choose '{name}', which the host took from the caller"
    if after is None:
        return "high", f"the tool no longer gets '{name}' from the caller"
    if before.claim != after.claim:
        return "high", f"the host takes '{name}' from something else that it knows about the caller"
    return "medium", f"other values of '{name}' from the caller may be valid"

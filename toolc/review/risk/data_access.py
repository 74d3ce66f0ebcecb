"""Risks of access to data: RSK02 (workspace), RSK06 (secrets) and RSK19 (credentials that are declared public)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.model.json_schema import JsonValue
from toolc.model.permissions import Permissions, format_permissions
from toolc.model.spec.sandbox import Commit, Expose, TransactionSpec
from toolc.review.model.change import Route, ToolChange
from toolc.review.model.state import Reviewed
from toolc.review.model.text_diff import format_route, leaves
from toolc.review.risk.base import Sides, risk_rule, steps_suffix

_ROUTE: Final = ("sandbox", "workspace")
_POWER: Final = {"none": 0, "ro": 1, "transaction": 2, "rw": 3}
_COMMITS: Final[dict[Commit, int]] = {"never": 0, "ask": 1, "success": 2, "always": 3}

_EXPOSES: Final[dict[Expose, int]] = {"broker": 0, "env": 1, "file": 1}


@risk_rule("RSK02")
def check_workspace(sides: Sides) -> Iterator[ToolChange]:
    """Report a workspace that is new or can be written to, and changes that are committed more easily."""
    before, after = _mode(sides.permissions_before), _mode(sides.permissions_after)
    if _POWER[after] > _POWER[before]:
        by = next((steps_suffix(each) for each in sides.permissions_after.workspaces if each.value == after), "")
        verb = "read" if after == "ro" else "change"
        message = f"a call may now {verb} the files of the workspace{by}"
        yield sides.risk("RSK02", "critical", message, _ROUTE, before, after)
    transactions = [each.value for each in sides.permissions_before.transactions]
    for each in sides.permissions_after.transactions:
        if transactions and not any(_allows(other, each.value) for other in transactions):
            message = f"changes of the workspace are committed in more cases{steps_suffix(each)}"
            yield sides.risk(
                "RSK02",
                "high",
                message,
                _ROUTE,
                "; ".join(map(format_permissions, transactions)),
                format_permissions(each.value),
            )


def _mode(permissions: Permissions) -> str:
    return max((each.value for each in permissions.workspaces), key=_POWER.__getitem__, default="none")


def _allows(wide: TransactionSpec, narrow: TransactionSpec) -> bool:
    if _COMMITS[wide.commit] < _COMMITS[narrow.commit]:
        return False
    return not wide.writes or (bool(narrow.writes) and set(narrow.writes) <= set(wide.writes))


@risk_rule("RSK06")
def check_secrets(sides: Sides) -> Iterator[ToolChange]:
    """Report a secret that is new, may be sent to more hosts or into the sandbox, or is used in other places."""
    old_secrets = {each.value.name: each.value for each in sides.permissions_before.secrets}
    for each in sides.permissions_after.secrets:
        before, after = old_secrets.get(each.value.name), each.value
        route = ("sandbox", "secrets", after.name)
        if before is None:
            message = f"a call receives the secret {after.name}{steps_suffix(each)}"
            yield sides.risk("RSK06", "high", message, route, None, format_permissions(after))
        elif set(after.hosts) - set(before.hosts):
            hosts = ", ".join(sorted(set(after.hosts) - set(before.hosts)))
            message = f"the secret {after.name} may now be sent to {hosts}{steps_suffix(each)}"
            yield sides.risk("RSK06", "high", message, route, format_permissions(before), format_permissions(after))
        elif _EXPOSES[after.expose] > _EXPOSES[before.expose]:
            message = f"the value of the secret {after.name} is now available inside the sandbox{steps_suffix(each)}"
            yield sides.risk("RSK06", "high", message, route, format_permissions(before), format_permissions(after))
    if sides.old is not None:
        old_places, new_places = _secret_places(sides.old), _secret_places(sides.new)
        for name, place in sorted(new_places - old_places):
            if any(name == other for other, _ in old_places):
                message = f"the secret {name} is now also used in {place}"
                yield sides.risk("RSK06", "high", message, ("backend",), None, place, subject=name)


def _secret_places(tool: Reviewed) -> frozenset[tuple[str, str]]:
    """Return each secret with the part of the backend that names it, as ``headers`` or ``query``."""
    found: set[tuple[str, str]] = set()
    for route, value in leaves(tool, ("backend", "sandbox")):
        if name := _secret_name(value):
            found.add((name, ".".join(str(step) for step in route if isinstance(step, str))[:200]))
    return frozenset(found)


def _secret_name(value: JsonValue) -> str:
    """Return the name of the secret that a stored placeholder names; empty for anything else."""
    if isinstance(value, dict) and value.get("name") == "secrets":
        keys = value.get("keys")
        return str(keys[0]) if isinstance(keys, list) and keys else ""
    return ""


@risk_rule("RSK19")
def check_public_credentials(sides: Sides) -> Iterator[ToolChange]:
    """Report each literal credential that is declared public, and each other value or reason of one."""
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
    for route, value in leaves(tool, ("backend", "sandbox")):
        if isinstance(value, dict) and value.keys() == {"public", "reason"}:
            yield _route_in_spec(tool, route), (str(value["public"]), str(value["reason"]))


def _route_in_spec(tool: Reviewed, route: Route) -> Route:
    """Return a route of the spec for a stored one: lists of fields become maps, and the last key is the field."""
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

"""Risks of access to data: RSK02 (workspace) and RSK06 (secrets)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.model.json_schema import JsonValue
from toolc.model.permissions import Permissions, format_permissions
from toolc.model.spec.sandbox import Commit, Expose, TransactionSpec
from toolc.review.model.change import ToolChange
from toolc.review.model.state import Reviewed
from toolc.review.model.text_diff import leaves
from toolc.review.risk.base import Sides, risk_rule, steps_suffix

_ROUTE: Final = ("sandbox", "workspace")
_POWER: Final = {"none": 0, "ro": 1, "transaction": 2, "rw": 3}
_COMMITS: Final[dict[Commit, int]] = {"never": 0, "ask": 1, "success": 2, "always": 3}


@risk_rule("RSK02")
def check_workspace(sides: Sides) -> Iterator[ToolChange]:
    """Report a workspace that is new or can be written to, and changes that are committed more easily."""
    before, after = _mode(sides.permissions_before), _mode(sides.permissions_after)
    if _POWER[after] > _POWER[before]:
        by = next((steps_suffix(each) for each in sides.permissions_after.workspaces if each.value == after), "")
        verb = "read" if after == "ro" else "change"
        message = f"a call may now {verb} the files of the workspace{by}"
        yield sides.risk("RSK02", "critical", message, _ROUTE, before, after)
    had = [each.value for each in sides.permissions_before.transactions]
    for each in sides.permissions_after.transactions:
        if had and not any(_allows(other, each.value) for other in had):
            message = f"changes of the workspace are committed in more cases{steps_suffix(each)}"
            yield sides.risk(
                "RSK02",
                "high",
                message,
                _ROUTE,
                "; ".join(map(format_permissions, had)),
                format_permissions(each.value),
            )


def _mode(permissions: Permissions) -> str:
    return max((each.value for each in permissions.workspaces), key=_POWER.__getitem__, default="none")


def _allows(wide: TransactionSpec, narrow: TransactionSpec) -> bool:
    if _COMMITS[wide.commit] < _COMMITS[narrow.commit]:
        return False
    return not wide.writes or (bool(narrow.writes) and set(narrow.writes) <= set(wide.writes))


_EXPOSES: Final[dict[Expose, int]] = {"broker": 0, "env": 1, "file": 1}


@risk_rule("RSK06")
def check_secrets(sides: Sides) -> Iterator[ToolChange]:
    """Report a secret that is new, may be sent to more hosts or into the sandbox, or is used in other places."""
    had = {each.value.name: each.value for each in sides.permissions_before.secrets}
    for each in sides.permissions_after.secrets:
        was, now = had.get(each.value.name), each.value
        route = ("sandbox", "secrets", now.name)
        if was is None:
            message = f"a call receives the secret {now.name}{steps_suffix(each)}"
            yield sides.risk("RSK06", "high", message, route, None, format_permissions(now))
        elif set(now.hosts) - set(was.hosts):
            hosts = ", ".join(sorted(set(now.hosts) - set(was.hosts)))
            message = f"the secret {now.name} may now be sent to {hosts}{steps_suffix(each)}"
            yield sides.risk("RSK06", "high", message, route, format_permissions(was), format_permissions(now))
        elif _EXPOSES[now.expose] > _EXPOSES[was.expose]:
            message = f"the value of the secret {now.name} is now available inside the sandbox{steps_suffix(each)}"
            yield sides.risk("RSK06", "high", message, route, format_permissions(was), format_permissions(now))
    if sides.old is not None:
        before, after = _secret_places(sides.old), _secret_places(sides.new)
        for name, place in sorted(after - before):
            if any(name == other for other, _ in before):
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

"""Compares policies: finds the limits that were removed or relaxed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.destinations import covers, format_destination
from toolc.model.permissions import format_permissions
from toolc.model.source import Span
from toolc.model.spec.policy import ISOLATION, Approval, ArgumentRules, Policy

_EMPTY: Final = Policy()
_KEYS: Final = tuple(field.name for field in fields(Policy) if field.name not in {"path", "places"})


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A limit that was removed or relaxed: its key, the path of the policy, and its text before and after.

    ``after`` is None if the key was removed. ``old`` is the previous position. ``new`` is the current position of the
    key, or of its policy if the key was removed, or None if the policy was removed.
    """

    key: str
    path: str
    before: str
    after: str | None
    old: Span
    new: Span | None


def relaxations(old: Sequence[Policy], new: Sequence[Policy]) -> Iterator[Relaxation]:
    """Yield the limits of ``old`` that no policy in ``new`` keeps. All policies of a list apply together."""
    for policy in old:
        for key in _KEYS:
            if _is_set(policy, key) and not any(_keeps(key, policy, each) for each in new):
                now = next((each for each in new if each.path == policy.path), None)
                after = _text(now, key) if now and _is_set(now, key) else None
                spans = policy.span(key), now.span(key) if now else None
                yield Relaxation(key, policy.path, _text(policy, key), after, *spans)


def _is_set(policy: Policy, key: str) -> bool:
    return bool(getattr(policy, key) != getattr(_EMPTY, key))


def _keeps(key: str, old: Policy, new: Policy) -> bool:
    """Return whether ``new`` allows no more than ``old`` for this key."""
    match key:
        case "limits":
            most = {limit.name: limit.amount for limit in new.limits}
            return all(most.get(limit.name, limit.amount + 1) <= limit.amount for limit in old.limits)
        case "hosts":
            return new.hosts is not None and all(
                any(covers(allowed, host) for allowed in old.hosts or ()) for host in new.hosts
            )
        case "public_egress":
            return not new.public_egress or (new.hosts is not None and all(host.kind != "public" for host in new.hosts))
        case "require" | "approvals":
            return set(getattr(old, key)) <= set(getattr(new, key))
        case "min_isolation":
            return ISOLATION.index(new.min_isolation) >= ISOLATION.index(old.min_isolation)
        case "arguments":
            return not new.arguments.json_text
        case "run_as":
            return new.run_as == old.run_as
        case _:
            now = getattr(new, key)
            return now is not None and set(now) <= set(getattr(old, key))


def _text(policy: Policy, key: str) -> str:
    """Return the value of a key as short text."""
    value = getattr(policy, key)
    if isinstance(value, ArgumentRules):
        return f"json_text: {str(value.json_text).lower()}"
    if not isinstance(value, tuple):
        return str(value).lower() if isinstance(value, bool) else str(value)
    show = _FORMATS.get(key, str)
    return ", ".join(map(show, value)) or "none"


def _approval(each: Approval) -> str:
    about = [*each.risks, *each.paths, *each.tags]
    return f"{' '.join(each.by)} for {' '.join(about) or 'all'}"


_FORMATS: Final[dict[str, Callable[..., str]]] = {
    "limits": format_permissions, "hosts": format_destination, "approvals": _approval,
}  # fmt: skip

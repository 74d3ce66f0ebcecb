"""RSK06: a call is given a secret, or one goes where it did not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.authority import shown
from toolc.review.change import Change
from toolc.review.differences import leaves
from toolc.review.risk.sides import Sides, brought
from toolc.review.state import Reviewed
from toolc.schema import JsonValue
from toolc.spec import Expose, Secret

RULE: Final = "RSK06"

_EXPOSES: Final[dict[Expose, int]] = {"broker": 0, "env": 1, "file": 1}


def check(sides: Sides) -> Iterator[Change]:
    """A secret that is new, may go to more hosts or into the sandbox, or stands in other places."""
    had = {each.value.name: each.value for each in sides.had.secrets}
    for each in sides.has.secrets:
        was, now = had.get(each.value.name), each.value
        route = ("sandbox", "secrets", now.name)
        if was is None:
            words = f"a call is given the secret {now.name}{brought(each)}"
            yield sides.risk(RULE, "high", words, route, None, shown(now))
        elif set(now.hosts) - set(was.hosts):
            hosts = ", ".join(sorted(set(now.hosts) - set(was.hosts)))
            words = f"the secret {now.name} may now go to {hosts}{brought(each)}"
            yield sides.risk(RULE, "high", words, route, shown(was), shown(now))
        elif _is_nearer(was, now):
            words = f"the value of the secret {now.name} is now inside the sandbox{brought(each)}"
            yield sides.risk(RULE, "high", words, route, shown(was), shown(now))
    if sides.old is not None:
        before, after = _places(sides.old), _places(sides.new)
        for name, place in sorted(after - before):
            if any(name == other for other, _ in before):
                words = f"the secret {name} now stands in {place} too"
                yield sides.risk(RULE, "high", words, ("backend",), None, place)


def _is_nearer(was: Secret, now: Secret) -> bool:
    return _EXPOSES[now.expose] > _EXPOSES[was.expose]


def _places(tool: Reviewed) -> frozenset[tuple[str, str]]:
    """Each secret with the part of the backend that names it, as ``headers`` or ``query``."""
    found: set[tuple[str, str]] = set()
    for route, value in leaves(tool, ("backend", "sandbox")):
        if name := _secret(value):
            found.add((name, ".".join(str(step) for step in route if isinstance(step, str))[:200]))
    return frozenset(found)


def _secret(value: JsonValue) -> str:
    """The name of the secret that a stored placeholder names; empty for anything else."""
    if isinstance(value, dict) and value.get("name") == "secrets":
        keys = value.get("keys")
        return str(keys[0]) if isinstance(keys, list) and keys else ""
    return ""

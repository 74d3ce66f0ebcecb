"""RSK05: a call may use more, or be made more often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from toolc.review.change import Change
from toolc.review.risk.sides import Sides, brought
from toolc.spec import Limits, ToolSpec
from toolc.spec_agent import AgentBackend

RULE: Final = "RSK05"

_KEYS: Final = {each.name: each.name.removesuffix("_ms").removesuffix("_bytes") for each in fields(Limits)}


_SIZES: Final = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


def check(sides: Sides) -> Iterator[Change]:
    """Each limit that is higher than it was; of a new tool, than format 1's own."""
    own = {each.name: float(getattr(Limits(), each.name)) for each in fields(Limits)}
    had = {each.value.name: each.value.amount for each in sides.had.limits} if sides.old else own
    for each in sides.has.limits:
        name, amount = each.value.name, each.value.amount
        before = had.get(name, own[name])
        if amount > before:
            was, now = shown_amount(name, before), shown_amount(name, amount)
            words = f"a call may use more: {_KEYS[name]} went from {was} to {now}{brought(each)}"
            yield sides.risk(RULE, "medium", words, ("sandbox", "limits", _KEYS[name]), was, now)
    before_tries, after_tries = _attempts(sides.was), _attempts(sides.now)
    if after_tries > before_tries:
        words = "a call that failed is made again more often"
        yield sides.risk(RULE, "medium", words, ("retry",), str(before_tries), str(after_tries))
    yield from _agent(sides)


def shown_amount(name: str, amount: float) -> str:
    """An amount as a spec writes it: ``8GiB``, ``90s``, ``1.5``."""
    if name.endswith("_bytes"):
        unit, size = next((unit, size) for unit, size in _SIZES if amount % size == 0)
        return f"{int(amount // size)}{unit}"
    if name.endswith("_ms"):
        return f"{int(amount // 1000)}s" if amount % 1000 == 0 else f"{int(amount)}ms"
    return f"{amount:g}"


def _attempts(tool: ToolSpec | None) -> int:
    return tool.retry.attempts if tool and tool.retry else 1


def _agent(sides: Sides) -> Iterator[Change]:
    was, now = sides.was.backend if sides.was else None, sides.now.backend
    if not isinstance(was, AgentBackend) or not isinstance(now, AgentBackend):
        return
    for name in ("max_turns", "max_tokens", "token_budget"):
        before, after = getattr(was, name), getattr(now, name)
        if after > before:
            words = f"the sub-agent may do more: {name} went from {before} to {after}"
            yield sides.risk(RULE, "medium", words, ("backend", "agent", name), str(before), str(after))

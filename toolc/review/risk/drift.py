"""RSK10: a model reads other words. Whoever writes them steers it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolc.compiler.checks.model_text import first_hidden, first_order
from toolc.review.change import Change, Grade, Route
from toolc.review.risk.sides import Sides
from toolc.review.surface import shown, texts

RULE: Final = "RSK10"

_COMMANDING: Final = re.compile(
    r"\b(?:always|never|must|before (?:using|calling)|first call|instead of)\b", re.IGNORECASE
)
_HOST: Final = re.compile(
    r"\b(?:https?://\S+|(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|ai|app|xyz|info|co)\b)", re.IGNORECASE
)
_STRUCTURE: Final = frozenset({"type", "required", "format", "$schema", "$ref"})
_DIALECT: Final = re.compile(r"https?://json-schema\.org/[\w/.-]*#?")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")


def check(sides: Sides) -> Iterator[Change]:
    """Each string that changed, graded by what is new in it. Of a new tool only grave words are told."""
    before = texts(sides.old) if sides.old else {}
    others = (sides.after.names | sides.after.tools.keys()) - {sides.now.name}
    for route, now in texts(sides.new).items():
        was = before.get(route, "")
        if was == now or route == ("name",) or (route[-1] == "$schema" and _DIALECT.fullmatch(now)):
            continue
        grade, why = _judged(was, now, others)
        if why or (sides.old is not None and not _is_structure(route)):
            words = f"the model reads other words at {shown(route)}{why}"
            yield replace(sides.risk(RULE, grade, words, route, was, now), kind="surface")


def _is_structure(route: Route) -> bool:
    """Whether it is a word that the contract's rules tell of, such as a type, and no sentence."""
    named = [step for step in route if isinstance(step, str)]
    return route[0] in {"parameters", "result_schema"} and named[-1] in _STRUCTURE


def _judged(was: str, now: str, others: frozenset[str] | set[str]) -> tuple[Grade, str]:
    """The grade, and in words what raised it."""
    if hidden := first_hidden(now):
        return "critical", f", with a character that cannot be seen ({hidden})"
    if (order := first_order(now)) and order != first_order(was):
        return "critical", f", which give the model orders: '{order}'"
    if new := _new(_HOST, was, now):
        return "high", f", which name {new}"
    if _new(_BASE64, was, now):
        return "high", ", with text that nobody can read"
    named = sorted(name for name in (_words(now) - _words(was)) & others if len(name) > 3)
    if named:
        return "high", f", which name the tool {named[0]}"
    if new := _new(_COMMANDING, was, now):
        return "high", f", which say '{new}'"
    return "medium", ""


def _new(pattern: re.Pattern[str], was: str, now: str) -> str:
    """The first match in ``now`` that ``was`` does not have; empty where there is none."""
    before = {match.lower() for match in pattern.findall(was)}
    return next((match for match in pattern.findall(now) if match.lower() not in before), "")


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w-]+", text))

"""Risks of text and metadata: RSK09 (annotations), RSK10 (text that a model reads) and RSK12 (tags)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolc.compiler.checks.model_text import first_instruction, first_invisible
from toolc.review.model.change import Grade, Route, ToolChange
from toolc.review.model.text_diff import format_route, texts
from toolc.review.risk.base import Sides, risk_rule

_COMMANDING: Final = re.compile(
    r"\b(?:always|never|must|before (?:using|calling)|first call|instead of)\b", re.IGNORECASE
)
_HOST: Final = re.compile(
    r"\b(?:https?://\S+|(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|ai|app|xyz|info|co)\b)", re.IGNORECASE
)
_STRUCTURE: Final = frozenset({"type", "required", "format", "$schema", "$ref"})
_DIALECT: Final = re.compile(r"https?://json-schema\.org/[\w/.-]*#?")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")


@risk_rule("RSK10")
def check_model_text(sides: Sides) -> Iterator[ToolChange]:
    """Report each string that changed, graded by what is new in it. For a new tool only high grades are reported."""
    before = texts(sides.old) if sides.old else {}
    others = (sides.state_after.names | sides.state_after.tools.keys()) - {sides.after.name}
    for route, now in texts(sides.new).items():
        was = before.get(route, "")
        if was == now or route == ("name",) or (route[-1] == "$schema" and _DIALECT.fullmatch(now)):
            continue
        grade, reason = _grade_text(was, now, others)
        if reason or (sides.old is not None and not _is_structure(route)):
            message = f"the text for the model changed at {format_route(route)}{reason}"
            yield replace(sides.risk("RSK10", grade, message, route, was, now), kind="surface")


def _is_structure(route: Route) -> bool:
    """Return whether the string is a keyword value that contract rules report, such as a type."""
    named = [step for step in route if isinstance(step, str)]
    return route[0] in {"parameters", "result_schema"} and named[-1] in _STRUCTURE


def _grade_text(was: str, now: str, others: frozenset[str] | set[str]) -> tuple[Grade, str]:
    """Return the grade, and a text with the reason for it."""
    if hidden := first_invisible(now):
        return "critical", f", with an invisible character ({hidden})"
    if (order := first_instruction(now)) and order != first_instruction(was):
        return "critical", f", with an instruction to the model: '{order}'"
    if new := _new_match(_HOST, was, now):
        return "high", f", and now names {new}"
    if _new_match(_BASE64, was, now):
        return "high", ", with encoded text"
    named = sorted(name for name in (_words(now) - _words(was)) & others if len(name) > 3)
    if named:
        return "high", f", and now names the tool {named[0]}"
    if new := _new_match(_COMMANDING, was, now):
        return "high", f", and now says '{new}'"
    return "medium", ""


def _new_match(pattern: re.Pattern[str], was: str, now: str) -> str:
    """Return the first match in ``now`` that ``was`` does not have; empty where there is none."""
    before = {match.lower() for match in pattern.findall(was)}
    return next((match for match in pattern.findall(now) if match.lower() not in before), "")


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w-]+", text))


_HINTS: Final = ("read_only", "destructive", "idempotent", "open_world")
_HINT_TEXTS: Final = {None: "nothing", True: "true", False: "false"}


@risk_rule("RSK09")
def check_annotations(sides: Sides) -> Iterator[ToolChange]:
    """Report each annotation that changed, and a confirmation that is no longer required."""
    was, now = sides.before, sides.after
    if was is None:
        return
    for name in _HINTS:
        before, after = getattr(was.annotations, name), getattr(now.annotations, name)
        if before != after:
            message = f"the annotation {name} for clients changed"
            yield sides.risk("RSK09", "high", message, ("annotations", name), _HINT_TEXTS[before], _HINT_TEXTS[after])
    if was.confirm and not now.confirm:
        yield sides.risk("RSK09", "high", "a call no longer needs confirmation", ("confirm",), "true", "false")


def check_tags(sides: Sides) -> Iterator[ToolChange]:
    """Yield each tag that a tool lost and, with the lowest grade, each tag that it gained."""
    if sides.before is None:
        return
    before, after = sides.before.tags, sides.after.tags
    for tag in before:
        if tag not in after:
            message = f"the tag {tag} was removed: deny-lists and approvals that use it no longer apply"
            yield sides.risk("RSK12", "high", message, ("tags",), tag, None)
    for tag in after:
        if tag not in before:
            yield sides.risk("RSK12", "low", f"the tag {tag} was added", ("tags",), None, tag)

"""Risks of text and metadata: RSK09 (annotations), RSK10 (text that a model reads) and RSK12 (tags)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.model_text import first_invisible, first_markup
from toolc.data.instruction_phrases import first_instruction
from toolc.model.spec.tool import SURFACE, Annotations
from toolc.model.text import lazy_re
from toolc.review.model.change import Grade, Route, ToolChange
from toolc.review.model.state import Reviewed
from toolc.review.model.text_diff import format_route, stored_values, texts
from toolc.review.risk.risk_rule import Sides, risk_rule

_COMMANDING: Final = lazy_re(r"(?i)\b(?:always|never|must|before (?:using|calling)|first call|instead of)\b")
_ABOUT_VALUES: Final = lazy_re(
    r"(?i)\bmust (?:not )?be(?= (?:an?|in|at|of|on|one|within|between|from|empty|unique|positive|negative|non[\w-]*"
    r"|less|greater|larger|smaller|shorter|longer|short|valid|relative|absolute|lower\w*|upper\w*|numeric|present|different"
    r"|sorted|equal|ISO|UTC|ASCII|UTF|\d+)\b)"
    r"|\b(?:never|always)(?= (?:an?|in|empty|null|negative|positive|longer|shorter|larger|smaller|sorted|present"
    r"|returns?|the same)\b)"
)
"""The same words where they describe a value and do not instruct a model, as in ``must be at least 1``."""

_HOST: Final = lazy_re(
    r"(?i)\b(?:https?://\S+|(?:[a-z0-9-]{1,63}\.){1,40}"  # bounded, so that a long text takes linear time
    r"(?:com|net|org|edu|gov|io|dev|ai|app|xyz|info|biz|co|me|cc|tk|ru|su|cn|hk|tw|jp"
    r"|kr|in|ir|de|fr|uk|eu|nl|it|es|pt|ch|at|se|no|fi|dk|cz|ua|tr|br|mx|ar|au|nz|ca|us|to|gg|tv|ws|link|site|online|top"
    r"|club|shop|store|cloud|page|live|host|fun|icu|click|space|website|tech)\b)"
)
_CONFIDENTIAL: Final = lazy_re(
    r"(?i)\b(?:passwords?|passphrases?|credentials?|private keys?|ssh keys?|api[ -]?keys?|(?:access|session|bearer)"
    r" tokens?|credit cards?|card numbers?|cvv|social security|system prompts?|(?:chat|conversation) history"
    r"|(?:previous|earlier|other) messages)\b"
)
"""Private data that a text may ask a model to include."""

_STRUCTURE: Final = frozenset({"type", "required", "format", "$schema", "$ref"})
_DIALECT: Final = lazy_re(r"https?://json-schema\.org/[\w/.-]*#?")
_PLAIN_NAME: Final = lazy_re(r"[\w$.-]{1,64}")
_LONGEST_ROUTE: Final = 200
"""The maximum length of a place in a message, in characters. Keys of a schema can be long."""

_BASE64: Final = lazy_re(r"[A-Za-z0-9+/]{40,}={0,2}")

_DEFAULTS: Final = {"read_only": "false", "destructive": "true", "idempotent": "false", "open_world": "true"}
"""The values of annotations that are not set, as the Model Context Protocol defines them for tools."""


@risk_rule("RSK10")
def check_model_text(sides: Sides) -> Iterator[ToolChange]:
    """Report each string that changed, graded by what is new in it.

    For a new tool, for keys and for the result template, only high grades are reported. Other rules report the rest.
    """
    others = sides.state_after.tools.keys() - {sides.after.name}
    for find in (texts, _keys_and_template):
        old_texts = find(sides.old) if sides.old else {}
        for route, after in find(sides.new).items():
            before = old_texts.get(route, "")
            if before == after or route == ("name",) or (route[-1] == "$schema" and _DIALECT.fullmatch(after)):
                continue
            grade, reason = _grade_text(before, after, others, is_new_tool=sides.old is None)
            if reason or (find is texts and sides.old is not None and not _is_structure(route)):
                message = f"the text for the model changed at {format_route(route)[:_LONGEST_ROUTE]}{reason}"
                yield sides.risk("RSK10", grade, message, route, before, after)


def _keys_and_template(tool: Reviewed) -> dict[Route, str]:
    """Return the keys that are not plain names, and the result template, by their routes."""
    found: dict[Route, str] = {
        (*route, key): key
        for route, value in stored_values(tool, SURFACE)
        for key in (value if isinstance(value, dict) else ())
        if not _PLAIN_NAME.fullmatch(key)
    }
    template = tool.spec.result.template
    return found if template is None else found | {("result", "template"): template}


def _is_structure(route: Route) -> bool:
    """Return whether the string is the value of a keyword that contract rules report, such as a type."""
    named = [step for step in route if isinstance(step, str)]
    return route[0] in {"parameters", "result_schema"} and named[-1] in _STRUCTURE


def _grade_text(before: str, after: str, others: frozenset[str] | set[str], *, is_new_tool: bool) -> tuple[Grade, str]:
    """Return the grade, and a text with the reason for it."""
    if hidden := first_invisible(after):
        return "critical", f", with an invisible character ({hidden})"
    if (markup := first_markup(after)) and markup != first_markup(before):
        return "critical", f": it {markup}"
    if (order := first_instruction(after)) and order != first_instruction(before):
        return "critical", f", with an instruction to the model: '{order}'"
    if new := _new_match(_HOST, before, after):
        return "high", f", and now names {new}"
    if _new_match(_BASE64, before, after):
        return "high", ", with encoded text"
    named = sorted(name for name in (_words(after) - _words(before)) & others if len(name) > 3)
    if named:
        return "high", f", and now names the tool {named[0]}"
    if new := _new_match(_COMMANDING, *(_ABOUT_VALUES.sub("", each) for each in (before, after))):
        return "high", f", and now says '{new}'"
    if not is_new_tool and (new := _new_match(_CONFIDENTIAL, before, after)):
        return "high", f", and now names '{new}'"
    return "medium", ""


def _new_match(pattern: re.Pattern[str], before: str, after: str) -> str:
    """Return the first match in ``after`` that ``before`` does not have, or ``""`` if there is none."""
    known = {match.lower() for match in pattern.findall(before)}
    return next((match for match in pattern.findall(after) if match.lower() not in known), "")


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w-]+", text))


@risk_rule("RSK09")
def check_annotations(sides: Sides) -> Iterator[ToolChange]:
    """Report more dangerous effective annotations of a tool, and a confirmation that is no longer required."""
    before, after = sides.before, sides.after
    if before is None:
        return
    for name, grade, message in _dangers(before.annotations, after.annotations):
        old, new = (_hint(each.annotations, name) for each in (before, after))
        yield sides.risk("RSK09", grade, message, ("annotations", name), old, new)
    if before.confirm and not after.confirm:
        yield sides.risk("RSK09", "high", "a call no longer needs confirmation", ("confirm",), "true", "false")


def _dangers(before: Annotations, after: Annotations) -> Iterator[tuple[str, Grade, str]]:
    """Yield the name, grade and message of each annotation whose effective value is more dangerous.

    An annotation that is not set has its default in MCP. In a read-only tool, ``destructive`` and ``idempotent`` have
    no meaning.
    """
    is_read_only, was_read_only = bool(after.read_only), bool(before.read_only)
    if was_read_only and not is_read_only:
        detail = "" if after.destructive is False else " and may delete or replace data"
        yield "read_only", "high", f"the tool is no longer read-only{detail}"
    elif not is_read_only:
        if before.destructive is False and after.destructive is not False:
            yield "destructive", "high", "the tool may now delete or replace data"
        if before.idempotent and not after.idempotent:
            yield "idempotent", "medium", "calling the tool twice may now have a different effect from calling it once"
    if before.open_world is False and after.open_world is not False:
        yield "open_world", "high", "the tool may now interact with external systems"


def _hint(annotations: Annotations, name: str) -> str:
    value = getattr(annotations, name)
    return ("true" if value else "false") if value is not None else f"not set, so {_DEFAULTS[name]}"


def check_tags(sides: Sides) -> Iterator[ToolChange]:
    """Yield each tag that a tool lost and, with the lowest grade, each tag that it gained."""
    if sides.before is None:
        return
    before, after = sides.before.tags, sides.after.tags
    for tag in before:
        if tag not in after:
            message = f"the tag {tag} was removed, so deny-lists and approvals that use it no longer apply"
            yield sides.risk("RSK12", "high", message, ("tags",), tag, None)
    for tag in after:
        if tag not in before:
            yield sides.risk("RSK12", "low", f"the tag {tag} was added", ("tags",), None, tag)

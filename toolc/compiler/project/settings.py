"""Decide which findings are reported and with which severity, from project and command-line settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from toolc.dataclass import dataclass, field, replace
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics, Severity
from toolc.model.names import close_match
from toolc.model.source import Span
from toolc.model.text import lazy_re

if TYPE_CHECKING:
    from toolc.model.spec.policy import Policy

_FORM: Final = lazy_re(r"TC[0-9]{0,3}")
_NUMBERS: Final = tuple(sorted({code.number for code in codes.ALL}))


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """A maximum number of tokens, and its place in the project file, or None if only a base sets it."""

    tokens: int
    span: Span | None = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings for warnings. A code may be a prefix: ``TC2`` matches every code that starts with it.

    - ``select``: if not empty, only these codes are reported, including codes that are off by default.
    - ``severity``: the severity of a code; None turns it off, another value turns it on.
    - ``ignore``: codes to turn off.
    - ``hosts``: hosts whose URLs, and those of their subdomains, may occur in texts for a model (TC214).
    - ``max_tokens``: the token budgets of each ``tool``, each ``toolset`` and the ``registry`` (TC707).
    - ``policies``: policies in addition to those of the project files. A violation is an error.

    If several prefixes match, the longest applies; for equal lengths, ``ignore`` wins over ``select``. Codes that
    are errors by default prevent compilation and cannot be changed.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity | None] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    max_tokens: Mapping[str, TokenBudget] = field(default_factory=dict)
    policies: tuple[Policy, ...] = ()


NO_SETTINGS: Final = Settings()
"""The default settings."""


def severity_of(code: Code, layers: Sequence[Settings]) -> Severity | None:
    """Return the severity of ``code`` after applying ``layers`` in order, or None if it is not reported."""
    if code.severity is Severity.ERROR:
        return Severity.ERROR
    level: Severity = code.severity
    on = code.enabled
    for layer in layers:
        selected = _longest(code, layer.select)
        chosen = _longest(code, layer.severity)
        ignored = _longest(code, layer.ignore)
        if layer.select:
            on = bool(selected)
        if chosen:
            chosen_level = layer.severity[chosen]
            level, on = chosen_level or level, chosen_level is not None
        if ignored and len(ignored) >= max(len(selected), len(chosen)):
            on = False
    return level if on else None


def numbers_on(layers: Sequence[Settings]) -> frozenset[str]:
    """Return the code numbers for which at least one finding could be reported."""
    return frozenset(code.number for code in codes.ALL if severity_of(code, layers))


def apply(diagnostics: Diagnostics, layers_of: Callable[[str], Sequence[Settings]]) -> Diagnostics:
    """Return the findings to report, with the severity that the settings of their file assign."""

    def adjust(finding: Diagnostic) -> Diagnostic | None:
        severity = severity_of(finding.code, layers_of(finding.span.path))
        if severity is None or severity is finding.code.severity:
            return finding if severity else None
        return replace(finding, code=replace(finding.code, severity=severity))

    return diagnostics.map(adjust)


@dataclass(frozen=True, slots=True)
class InvalidCode:
    """The reason why a code in settings is invalid. ``unknown`` is true if no code has that number."""

    message: str
    hint: str
    unknown: bool


def invalid_code(text: str, *, turns_off: bool) -> InvalidCode | None:
    """Return why ``text`` is not a valid code or prefix, or None. ``turns_off``: the setting turns the codes off."""
    matched = [code for code in codes.ALL if code.number.startswith(text)] if _FORM.fullmatch(text) else []
    if text in codes.RETIRED:  # a project that has turned it off need not change
        return None if turns_off else InvalidCode(f"{text} is no longer a check", "remove it", unknown=True)
    if not matched:
        upper = text.upper()
        if upper != text and invalid_code(upper, turns_off=False) is None:
            return InvalidCode(f"there is no code '{text[:40]}'", f"did you mean '{upper}'?", unknown=True)
        candidates = [number for number in _NUMBERS if number.startswith(upper[:3])]
        near = close_match(upper, candidates)
        form = "a code has the form TC204; TC2 means all codes that start with it"
        hint = f"did you mean '{near}'?" if near else form
        return InvalidCode(f"there is no code '{text[:40]}'", hint, unknown=True)
    if turns_off and all(code.severity is Severity.ERROR for code in matched):
        is_one = len(text) == len(matched[0].number)
        what = f"{text} is an error that prevents" if is_one else f"all of {text} are errors that prevent"
        return InvalidCode(f"{what} compilation and cannot be ignored", "fix what it reports", unknown=False)
    return None


def _longest(code: Code, prefixes: Mapping[str, object] | Sequence[str]) -> str:
    return max((each for each in prefixes if code.number.startswith(each)), key=len, default="")

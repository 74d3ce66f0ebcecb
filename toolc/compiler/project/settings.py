"""Which findings are reported, and how bad they are: a project's choices, and the command line's after them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostic, Diagnostics, Severity

if TYPE_CHECKING:
    from toolc.policy.policy import Policy

__all__ = [
    "NO_SETTINGS",
    "Settings",
    "complaint",
    "severity_of",
]


HOST: Final = r"^[a-z0-9-]+(\.[a-z0-9-]+)*$"
"""What a host of ``lint.hosts`` looks like."""

_FORM: Final = re.compile(r"TC[0-9]{0,3}")
_NUMBERS: Final = tuple(sorted({code.number for code in codes.ALL}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Choices about warnings. Codes may be prefixes: ``TC2`` is every code that starts so.

    ``select``, where it is not empty, names the only ones to report (those that are off among them);
    ``severity`` says how bad one is, None for off, and turns one on; ``ignore`` turns off. Where several
    match, the longest does; between ``select`` and ``ignore`` of one length, ``ignore``. What is an error
    by itself keeps specs from being compiled, and no settings change that. ``hosts`` are those whose URLs may
    stand in words for a model (TC214), each with the names below it. ``policies`` hold besides those of the project
    files: what they do not allow is an error.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity | None] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()


NO_SETTINGS: Final = Settings()
"""What holds where nobody chose anything."""


def severity_of(code: Code, layers: Sequence[Settings]) -> Severity | None:
    """How bad a finding with ``code`` is after each of ``layers`` in turn; None where it is not reported."""
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
            wanted = layer.severity[chosen]
            level, on = wanted or level, wanted is not None
        if ignored and len(ignored) >= max(len(selected), len(chosen)):
            on = False
    return level if on else None


def numbers_on(layers: Sequence[Settings]) -> frozenset[str]:
    """The numbers of which at least one finding could be reported."""
    return frozenset(code.number for code in codes.ALL if severity_of(code, layers))


def apply(diagnostics: Diagnostics, layers_of: Callable[[str], Sequence[Settings]]) -> Diagnostics:
    """The findings that are reported, each as bad as the settings for its file say."""

    def judge(found: Diagnostic) -> Diagnostic | None:
        severity = severity_of(found.code, layers_of(found.span.path))
        if severity is None or severity is found.code.severity:
            return found if severity else None
        return replace(found, code=replace(found.code, severity=severity))

    return diagnostics.map(judge)


@dataclass(frozen=True, slots=True)
class InvalidCode:
    """What is wrong with a code in settings; ``unknown`` where there is none of that number."""

    message: str
    hint: str
    unknown: bool


def complaint(text: str, *, turns_off: bool) -> InvalidCode | None:
    """What is wrong with ``text`` as a code or a prefix of codes; ``turns_off`` where it would ignore them."""
    matched = [code for code in codes.ALL if code.number.startswith(text)] if _FORM.fullmatch(text) else []
    if not matched:
        wanted = text.upper()
        if wanted != text and complaint(wanted, turns_off=False) is None:
            return InvalidCode(f"there is no code '{text[:40]}'", f"did you mean '{wanted}'?", unknown=True)
        hundred = [number for number in _NUMBERS if number.startswith(wanted[:3])]
        from difflib import get_close_matches  # only for what is misspelt

        near = get_close_matches(wanted, hundred, n=1)
        hint = f"did you mean '{near[0]}'?" if near else "a code is like TC204, and TC2 is all that start so"
        return InvalidCode(f"there is no code '{text[:40]}'", hint, unknown=True)
    if turns_off and all(code.severity is Severity.ERROR for code in matched):
        what = f"{text} is an error" if len(text) == len(matched[0].number) else f"all of {text} are errors"
        return InvalidCode(f"{what} that keeps specs from being compiled, and cannot be ignored",
                         "mend what it reports", unknown=False)  # fmt: skip
    return None


def _longest(code: Code, prefixes: Mapping[str, object] | Sequence[str]) -> str:
    return max((each for each in prefixes if code.number.startswith(each)), key=len, default="")

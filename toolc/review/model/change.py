"""What a review is made of: changes, each with its kind, its grade, and its line on both sides."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolc.model.json_schema import JsonValue
from toolc.model.source import Span

Kind: TypeAlias = Literal["contract", "risk", "surface", "provider"]
"""What it is about: what callers send and get, what a call may do, what a model reads, what a provider takes."""

Grade: TypeAlias = Literal["critical", "high", "breaking", "medium", "warning", "low", "compatible"]
"""How much a change asks of a reviewer. Contracts and providers have ``breaking``, ``warning``, ``compatible``."""

GRADES: Final[tuple[Grade, ...]] = ("critical", "high", "breaking", "medium", "warning", "low", "compatible")
"""From the one that asks most to the one that asks least."""

Route: TypeAlias = tuple[str | int, ...]
"""Keys and indices from a tool's map in its spec to a value, as ``("sandbox", "network", "allow", 0)``."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A value that the schema before accepts and the one after refuses, or the other way round for a result.

    Both have judged it; ``refusal`` are the words of the one that refuses.
    """

    value: JsonValue
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChange:
    """One change of one tool.

    ``rule`` is stable and never reused (``RSK01``, ``CON101``); ``path`` is where in the tool, as the spec says
    it; ``before`` and ``after`` are what stands there, as short text, None where nothing does. ``old`` and ``new``
    are the lines of the specs, None where a state has none (a registry file). ``cause`` says which other file
    brought the change, where it is not the spec's own text. A breaking change has a ``witness``, or
    ``no_witness`` says why there is none. ``approvers`` are those whom a policy names for it.
    """

    kind: Kind
    rule: str
    grade: Grade
    message: str
    path: Route = ()
    before: str | None = None
    after: str | None = None
    old: Span | None = None
    new: Span | None = None
    cause: str = ""
    witness: Counterexample | None = None
    no_witness: str = ""
    approvers: tuple[str, ...] = ()


_LENGTH: Final = 12
"""Hex digits of a fingerprint: short enough to be written by hand, and 48 bits are enough for one review."""


def fingerprint(tool: str, change: ToolChange) -> str:
    """The fingerprint of a change of the tool called ``tool``."""
    known = [change.rule, tool, [*change.path], change.grade, change.message, change.before, change.after]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:_LENGTH]


Side: TypeAlias = Literal["input", "output"]

"""The changes of a review. Each has a kind, a grade, and its line in both states."""

from __future__ import annotations

import hashlib
import json
from typing import Final, Literal, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonValue
from toolc.model.source import Span

Kind: TypeAlias = Literal["contract", "risk", "surface", "provider"]
"""The subject of a change: what callers send and receive, what a call may do, text for models, losses of a provider."""

Grade: TypeAlias = Literal["critical", "high", "breaking", "medium", "warning", "low", "compatible"]
"""How much attention a change needs. Contracts and providers use ``breaking``, ``warning`` and ``compatible``."""

GRADES: Final[tuple[Grade, ...]] = ("critical", "high", "breaking", "medium", "warning", "low", "compatible")
"""The grades, most severe first."""

Route: TypeAlias = tuple[str | int, ...]
"""Keys and indices from a tool's mapping in its spec to a value, such as ``("sandbox", "network", "allow", 0)``."""

_LENGTH: Final = 12
"""The number of hex digits of a fingerprint, which can be copied by hand. 48 bits suffice for one review."""

_KINDS: Final[dict[str, Kind]] = {"CON": "contract", "RSK": "risk", "SUR": "surface", "PRV": "provider"}

Side: TypeAlias = Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A value that the old schema accepts and the new one rejects, or for a result the other way round.

    It was validated against both schemas. ``refusal`` is the error message of the schema that rejects it.
    """

    value: JsonValue
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChange:
    """One change of one tool.

    ``rule`` is stable and never reused (``RSK01``, ``CON101``). ``path`` is the place in the tool, as in the spec.
    ``before`` and ``after`` are the values there as text, or None if there is no value. ``direction`` (``narrower``,
    ``wider``, ``added``) distinguishes changes with the same values. ``subject`` (a property, file, secret or tool)
    distinguishes changes that have the same path as well. Both are part of the fingerprint. ``old`` and ``new`` are the
    lines of the specs, or None if a state has no lines (a registry file). ``cause`` is the file that caused the change,
    unless it is the spec itself. A breaking change has a ``witness``, or ``no_witness`` says why there is none.
    ``approvers`` are the users and teams that a policy names for the change.
    """

    rule: str
    grade: Grade
    message: str
    path: Route = ()
    before: str | None = None
    after: str | None = None
    direction: str = ""
    subject: str = ""
    old: Span | None = None
    new: Span | None = None
    cause: str = ""
    witness: Counterexample | None = None
    no_witness: str = ""
    approvers: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of the change, which is that of its rule."""
        return kind_of(self.rule)


def kind_of(rule: str) -> Kind:
    """Return the kind of a rule from its number. RSK10 is about text for models."""
    return "surface" if rule == "RSK10" else _KINDS[rule[:3]]


def fingerprint(tool: str, change: ToolChange) -> str:
    """Return the fingerprint of a change of the tool called ``tool``. It does not depend on the message.

    In a change of a provider, the values are messages too. The places of the losses are therefore in its subject.
    """
    values = () if change.kind == "provider" else (change.before, change.after)
    parts = [change.rule, tool, [*change.path], values, change.direction, change.subject]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_LENGTH]

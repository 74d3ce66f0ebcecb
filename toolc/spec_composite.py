"""``backend.composite``: calls of other tools. See ``toolc.spec`` for the rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from toolc.template_json import JsonMap

Strategy: TypeAlias = Literal["sequential", "parallel", "conditional", "pipeline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a composite: a call of ``tool``, where ``condition`` (``if:``, JMESPath) holds.

    ``args`` may name the composite's own parameters, and the results of steps that end before this one.
    """

    id: str
    tool: str
    args: JsonMap = field(default_factory=lambda: JsonMap(entries=()))
    condition: str | None = None
    continue_on_error: bool = False
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeBackend:
    """``backend.composite``: calls of other tools of the same registry."""

    tag: ClassVar[Literal["composite"]] = "composite"
    strategy: Strategy
    steps: tuple[Step, ...]

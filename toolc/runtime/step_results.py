"""What came of a composite's steps: as other steps see it, as the result says it, and as ``details`` list it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Text, ToolFailure, ToolResult
from toolc.model.spec.composed_backends import Step

_END: Final = "\n"

StepOutcome: TypeAlias = Literal["success", "failure", "skipped", "cancelled"]
"""In GitHub Actions' words (``steps.ID.outcome``): of the step itself, whether or not others go on after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One step and what came of it; ``result`` is None where no call was made, ``call_id`` is empty then."""

    step: Step
    outcome: StepOutcome
    result: ToolResult | None = None
    call_id: str = ""
    duration_ms: float = 0.0

    @property
    def data(self) -> JsonValue:
        """What the step gave: its structured data, or its text where it has none. None where it did not succeed."""
        if self.result is None or self.outcome != "success":
            return None
        return self.result.structured[0] if self.result.structured else self.result.text

    @property
    def stops(self) -> bool:
        """Whether the composite is over with this step, without those that follow."""
        return self.outcome == "cancelled" or (self.outcome == "failure" and not self.step.continue_on_error)

    def seen(self) -> JsonObject:
        """The step as templates and conditions see it, under ``steps.ID``."""
        error = self.result.error if self.result else None
        return {
            "outcome": self.outcome,
            "outputs": self.data,
            "text": self.result.text if self.result else None,
            "error": {"kind": error.kind, "message": error.message} if error else None,
        }

    def to_json(self) -> JsonObject:
        """The step as ``details.steps`` lists it."""
        error = self.result.error if self.result else None
        return {
            "id": self.step.id,
            "tool": self.step.tool,
            "outcome": self.outcome,
            "is_error": error is not None,
            "error": error.kind if error else None,
            "call_id": self.call_id or None,
            "duration_ms": round(self.duration_ms, 3),
        }


def of_all(ran: Sequence[Ran]) -> ToolResult:
    """The result of steps of which each counts: their outputs by id, and their content one after the other."""
    stopped = _stopped(ran)
    if stopped is not None:
        return stopped
    content: list[Content] = []
    words = ""
    for each in ran:
        if each.result is None:
            continue
        words += f"{each.step.id}: {each.result.text.removesuffix(_END)}{_END}"
        if others := [block for block in each.result.content if not isinstance(block, Text)]:
            content += [Text(words), *others]
            words = ""
    content += [Text(words)] if words else []
    outputs: JsonObject = {each.step.id: each.data for each in ran}
    return ToolResult(content=tuple(content), structured=(outputs,), details=_details(ran))


def of_last(ran: Sequence[Ran]) -> ToolResult:
    """The result of steps of which the last one that succeeded counts: what it gave, as it gave it."""
    stopped = _stopped(ran)
    if stopped is not None:
        return stopped
    last = next((each.result for each in reversed(ran) if each.outcome == "success" and each.result), None)
    if last is None:
        words = f"no step ran to its end: {', '.join(f'{each.step.id} {each.outcome}' for each in ran)}"
        return ToolResult(content=(Text(words),), details=_details(ran))
    return replace(last, details=_details(ran))


def _stopped(ran: Sequence[Ran]) -> ToolResult | None:
    """The failure of the first step that ended the composite; a cancellation counts only where nothing failed."""
    over = [each for each in ran if each.stops]
    failed = next((each for each in over if each.outcome == "failure"), over[0] if over else None)
    if failed is None:
        return None
    error = failed.result.error if failed.result else None
    kind = error.kind if error else "cancelled"
    message = f"step '{failed.step.id}' ({failed.step.tool}): {error.message if error else 'cancelled'}"
    words = f"step '{failed.step.id}' ({failed.step.tool}): {failed.result.text}" if failed.result else message
    return ToolResult(content=(Text(words),), error=ToolFailure(kind, message), details=_details(ran))


def _details(ran: Sequence[Ran]) -> JsonObject:
    return {"steps": [each.to_json() for each in ran]}

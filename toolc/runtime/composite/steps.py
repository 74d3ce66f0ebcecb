"""Conditions, arguments, and results of the steps of a composite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.visitor import Options, TreeInterpreter

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Text, ToolFailure, ToolResult
from toolc.model.spec.composed_backends import Step
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import STEPS, JsonEntry, JsonList, JsonMap, JsonTemplate, Placeholder, Template, render_json

MAX_WORK: Final = 1_000_000
"""How many steps an evaluation may take and values it may create, in total: about one second."""

MAX_TEXT: Final = 16 * 1024 * 1024
"""The longest text that ``join`` may create, in characters."""

_CHARACTERS: Final = 1000
"""How many characters count as one value."""


class ConditionError(Exception):
    """An expression that cannot be applied to the values; ``str(error)`` says why, in one line."""


def holds(expression: str, values: JsonObject) -> bool:
    """Return whether the value of ``expression`` is not false, null, or empty. Raises ``ConditionError``."""
    try:
        found: JsonValue = _Bounded().visit(jmespath.compile(expression).parsed, values)
    except (JMESPathError, RecursionError, TypeError, ValueError, OverflowError) as error:
        words = " ".join(str(error).split())[:200]
        raise ConditionError(f"{expression[:100]} cannot be applied to the data: {words}") from None
    # The truth values of JMESPath, in which 0 is true.
    return not (found is None or found is False or found in ("", [], {}))


class _Bounded(TreeInterpreter):
    """An interpreter that raises ``ConditionError`` after ``MAX_WORK``."""

    def __init__(self) -> None:
        super().__init__(Options(custom_functions=_Measured()))
        self._left = MAX_WORK

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:  # the library's signature
        found = super().visit(node, *args, **kwargs)
        self._left -= 1
        if isinstance(found, list | dict):
            self._left -= len(found)
        elif isinstance(found, str):
            self._left -= len(found) // _CHARACTERS
        if self._left < 0:
            raise ConditionError("the values are too large for this condition")
        return found


class _Measured(Functions):
    """The functions of JMESPath, which may not create a text longer than ``MAX_TEXT``."""

    def call_function(self, function_name: str, resolved_args: Any) -> Any:  # as above
        if function_name == "join" and _joined_size(resolved_args) > MAX_TEXT:
            raise ConditionError("the values are too large for this condition")
        return super().call_function(function_name, resolved_args)


def _joined_size(arguments: list[object]) -> int:
    match arguments:
        case [str() as glue, list() as items]:
            return len(glue) * len(items) + sum(len(each) for each in items if isinstance(each, str))
        case _:
            return 0


_END: Final = "\n"

StepOutcome: TypeAlias = Literal["success", "failure", "skipped", "cancelled"]
"""Outcomes as in GitHub Actions (``steps.ID.outcome``): the step's own, regardless of ``continue_on_error``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """A step and its result. Without a call, ``result`` is None and ``call_id`` is empty."""

    step: Step
    outcome: StepOutcome
    result: ToolResult | None = None
    call_id: str = ""
    duration_ms: float = 0.0

    @property
    def data(self) -> JsonValue:
        """The step's structured data, or its text if it has none. None if the step did not succeed."""
        if self.result is None or self.outcome != "success":
            return None
        return self.result.structured[0] if self.result.structured else self.result.text

    @property
    def stops(self) -> bool:
        """Whether the composite ends with this step, without running the following ones."""
        return self.outcome == "cancelled" or (self.outcome == "failure" and not self.step.continue_on_error)

    def seen(self) -> JsonObject:
        """Return the value of ``steps.ID`` in templates and conditions."""
        error = self.result.error if self.result else None
        return {
            "outcome": self.outcome,
            "outputs": self.data,
            "text": self.result.text if self.result else None,
            "error": {"kind": error.kind, "message": error.message} if error else None,
        }

    def to_json(self) -> JsonObject:
        """Return the entry in ``details.steps``."""
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


def of_all(ran: Sequence[StepResult]) -> ToolResult:
    """Return the combined result of all steps: their outputs by id, and their content in order."""
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


def of_last(ran: Sequence[StepResult]) -> ToolResult:
    """Return the result of the last step that succeeded."""
    stopped = _stopped(ran)
    if stopped is not None:
        return stopped
    last = next((each.result for each in reversed(ran) if each.outcome == "success" and each.result), None)
    if last is None:
        words = f"no step ran to its end: {', '.join(f'{each.step.id} {each.outcome}' for each in ran)}"
        return ToolResult(content=(Text(words),), details=_details(ran))
    return replace(last, details=_details(ran))


def _stopped(ran: Sequence[StepResult]) -> ToolResult | None:
    """Return the failure of the step that ended the composite, if any. Failures precede cancellations."""
    over = [each for each in ran if each.stops]
    failed = next((each for each in over if each.outcome == "failure"), over[0] if over else None)
    if failed is None:
        return None
    error = failed.result.error if failed.result else None
    kind = error.kind if error else "cancelled"
    message = f"step '{failed.step.id}' ({failed.step.tool}): {error.message if error else 'cancelled'}"
    words = f"step '{failed.step.id}' ({failed.step.tool}): {failed.result.text}" if failed.result else message
    return ToolResult(content=(Text(words),), error=ToolFailure(kind, message), details=_details(ran))


def _details(ran: Sequence[StepResult]) -> JsonObject:
    return {"steps": [each.to_json() for each in ran]}


_RESULTS: Final = frozenset({"outputs", "text"})


def arguments_of(step: Step, arguments: JsonObject, ran: Mapping[str, StepResult]) -> JsonObject:
    """Return the arguments of ``step``. Omits keys whose template refers to an absent argument or result.

    Raises ``TemplateError``.
    """
    seen: JsonObject = {name: each.seen() for name, each in ran.items()}
    found: JsonValue = render_json(_present(step.args, ran), {**arguments, STEPS: seen})
    assert isinstance(found, dict)
    return found


def handed_on(arguments: JsonObject, before: StepResult, called: Sequence[ToolSpec]) -> JsonObject:
    """Return ``arguments`` with the output of the step ``before`` as the only missing required parameter.

    A string parameter receives the text, any other the data. The output of a tool cannot influence which parameter
    it becomes, and cannot set another one.
    """
    for tool in called:
        open_to_it = sorted(tool.parameters.required - arguments.keys())
        if len(open_to_it) == 1:
            name = open_to_it[0]
            takes_text = tool.parameters.properties.get(name, {}).get("type") == "string"
            text = before.result.text if before.result else ""
            return {**arguments, name: text if takes_text else before.data}
    return arguments


def _present(template: JsonTemplate, ran: Mapping[str, StepResult]) -> JsonTemplate:
    """Return ``template`` without keys, at any depth, whose text refers to a missing result."""
    match template:
        case JsonMap(entries=entries):
            kept = (entry for entry in entries if _is_there(entry, ran))
            return JsonMap(entries=tuple(replace(entry, value=_present(entry.value, ran)) for entry in kept))
        case JsonList(items=items):
            return JsonList(items=tuple(_present(item, ran) for item in items))
        case _:
            return template


def _is_there(entry: JsonEntry, ran: Mapping[str, StepResult]) -> bool:
    parts = entry.value.parts if isinstance(entry.value, Template) else ()
    named = [part.keys[:2] for part in parts if isinstance(part, Placeholder) and part.name == STEPS]
    return not any(keys[-1] in _RESULTS and ran[keys[0]].seen()[keys[-1]] is None for keys in named)

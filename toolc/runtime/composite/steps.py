"""The conditions, arguments and results of a composite's steps."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.visitor import Options, TreeInterpreter

from toolc.dataclass import dataclass, replace
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Text, ToolFailure, ToolResult
from toolc.model.spec.composed_backends import Step
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import STEPS, JsonEntry, JsonList, JsonMap, JsonTemplate, Placeholder, Template, render_json

MAX_WORK: Final = 1_000_000
"""The maximum number of steps and created values of one evaluation, in total. It is about one second of work."""

MAX_TEXT: Final = 16 * 1024 * 1024
"""The longest text that ``join`` may create, in characters. It is the largest body of an HTTP tool."""

_CHARACTERS: Final = 1000
"""The number of characters that count as one created value.

Copying that many takes about as long as a step of the interpreter.
"""

_NEWLINE: Final = "\n"

StepOutcome: TypeAlias = Literal["success", "failure", "skipped", "cancelled"]
"""The outcome of a step itself, regardless of ``continue_on_error``. Values as in GitHub Actions."""

_RESULTS: Final = frozenset({"outputs", "text"})


class ConditionError(Exception):
    """An expression cannot be applied to the values. ``str(error)`` says why, in one line."""


def is_true(expression: str, values: JsonObject) -> bool:
    """Return whether ``expression`` is true, which means not false, null or empty. Raises ``ConditionError``."""
    try:
        result: JsonValue = _BoundedInterpreter().visit(jmespath.compile(expression).parsed, values)
    except (JMESPathError, RecursionError, TypeError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConditionError(f"{expression[:100]} cannot be applied to the data: {reason}") from None
    # The truth values of JMESPath, in which 0 is true.
    return not (result is None or result is False or result in ("", [], {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """A step and its result. If the step made no call, ``result`` is None and ``call_id`` is empty."""

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
        if self.result.details.get("returned_nothing"):
            return ""
        return self.result.structured[0] if self.result.structured else self.result.text

    @property
    def stops(self) -> bool:
        """Whether the composite ends with this step and skips the following ones."""
        return self.outcome == "cancelled" or (self.outcome == "failure" and not self.step.continue_on_error)

    def to_template_value(self) -> JsonObject:
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


def combined_result(ran: Sequence[StepResult]) -> ToolResult:
    """Combine the results of all steps: their outputs by id, and their content in order."""
    if (stopped := _stopped(ran)) is not None:
        return stopped
    content: list[Content] = []
    text = ""
    for each in ran:
        if each.result is None:
            continue
        text += f"{each.step.id}: {each.result.text.removesuffix(_NEWLINE)}{_NEWLINE}"
        if others := [block for block in each.result.content if not isinstance(block, Text)]:
            content += [Text(text), *others]
            text = ""
    content += [Text(text)] if text else []
    outputs: JsonObject = {each.step.id: each.data for each in ran}
    return ToolResult(content=tuple(content), structured=(outputs,), details=_details(ran))


def last_result(ran: Sequence[StepResult]) -> ToolResult:
    """Return the result of the last step that succeeded."""
    if (stopped := _stopped(ran)) is not None:
        return stopped
    last = next((each.result for each in reversed(ran) if each.outcome == "success" and each.result), None)
    if last is None:
        text = f"no step succeeded: {', '.join(f'{each.step.id} {each.outcome}' for each in ran)}"
        return ToolResult(content=(Text(text),), details=_details(ran))
    return replace(last, details=_details(ran))


def arguments_of(step: Step, arguments: JsonObject, ran: Mapping[str, StepResult]) -> JsonObject:
    """Return the arguments of ``step``. Keys whose template has no value are omitted. Raises ``TemplateError``."""
    seen: JsonObject = {name: each.to_template_value() for name, each in ran.items()}
    found: JsonValue = render_json(_without_missing(step.args, ran), {**arguments, STEPS: seen})
    assert isinstance(found, dict)
    return found


def forwarded(arguments: JsonObject, before: StepResult, called: Sequence[ToolSpec]) -> JsonObject:
    """Return ``arguments`` with the output of the step ``before`` as the only missing required parameter.

    A string parameter receives the text, and any other the data. The output of a tool cannot choose its parameter, or
    set another one.
    """
    for tool in called:
        missing = sorted(tool.parameters.required - arguments.keys())
        if len(missing) == 1:
            name = missing[0]
            is_string = tool.parameters.properties.get(name, {}).get("type") == "string"
            text = before.result.text if before.result else ""
            return {**arguments, name: text if is_string else before.data}
    return arguments


class _BoundedInterpreter(TreeInterpreter):
    """An interpreter of JMESPath that raises ``ConditionError`` after ``MAX_WORK`` steps."""

    def __init__(self) -> None:
        super().__init__(Options(custom_functions=_BoundedFunctions()))
        self._left = MAX_WORK

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:  # the library's signature
        value = super().visit(node, *args, **kwargs)
        self._left -= 1
        if isinstance(value, list | dict):
            self._left -= len(value)
        elif isinstance(value, str):
            self._left -= len(value) // _CHARACTERS
        if self._left < 0:
            raise ConditionError("the values are too large for this condition")
        return value


class _BoundedFunctions(Functions):
    """The functions of JMESPath, which must not create a text longer than ``MAX_TEXT``."""

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


def _stopped(ran: Sequence[StepResult]) -> ToolResult | None:
    """Return the failure of the step that ended the composite, if any. A failure is preferred to a cancellation."""
    stopping = [each for each in ran if each.stops]
    failed = next((each for each in stopping if each.outcome == "failure"), stopping[0] if stopping else None)
    if failed is None:
        return None
    error = failed.result.error if failed.result else None
    kind = error.kind if error else "cancelled"
    message = f"step '{failed.step.id}' ({failed.step.tool}): {error.message if error else 'cancelled'}"
    text = f"step '{failed.step.id}' ({failed.step.tool}): {failed.result.text}" if failed.result else message
    return ToolResult(content=(Text(text),), error=ToolFailure(kind, message), details=_details(ran))


def _details(ran: Sequence[StepResult]) -> JsonObject:
    return {"steps": [each.to_json() for each in ran]}


def _without_missing(template: JsonTemplate, ran: Mapping[str, StepResult]) -> JsonTemplate:
    """Return ``template`` without the keys, at any depth, whose text refers to a missing result."""
    match template:
        case JsonMap(entries=entries):
            kept = (entry for entry in entries if _has_results(entry, ran))
            return JsonMap(entries=tuple(replace(entry, value=_without_missing(entry.value, ran)) for entry in kept))
        case JsonList(items=items):
            return JsonList(items=tuple(_without_missing(item, ran) for item in items))
        case _:
            return template


def _has_results(entry: JsonEntry, ran: Mapping[str, StepResult]) -> bool:
    parts = entry.value.parts if isinstance(entry.value, Template) else ()
    named = [part.keys[:2] for part in parts if isinstance(part, Placeholder) and part.name == STEPS]
    return not any(keys[-1] in _RESULTS and ran[keys[0]].to_template_value()[keys[-1]] is None for keys in named)

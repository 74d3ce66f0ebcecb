"""The arguments of a composite's step: from its own, from those of the composite, and from other steps' results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import Step
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import STEPS, JsonEntry, JsonList, JsonMap, JsonTemplate, Placeholder, Template, fill
from toolc.runtime.step_results import Ran

_RESULTS: Final = frozenset({"outputs", "text"})


def arguments_of(step: Step, arguments: JsonObject, ran: Mapping[str, Ran]) -> JsonObject:
    """What ``step`` passes on. Left out is what names an absent argument, or the result of a step without one.

    Raises ``TemplateError``.
    """
    seen: JsonObject = {name: each.seen() for name, each in ran.items()}
    found: JsonValue = fill(_present(step.args, ran), {**arguments, STEPS: seen})
    assert isinstance(found, dict)
    return found


def handed_on(arguments: JsonObject, before: Ran, called: Sequence[ToolSpec]) -> JsonObject:
    """``arguments`` with what the step ``before`` gave as the one parameter that is required and not among them.

    A parameter that is a string takes it as text, any other as data. What a tool wrote decides nothing else: not
    which parameter it becomes, and no other one.
    """
    for tool in called:
        open_to_it = sorted(tool.parameters.required - arguments.keys())
        if len(open_to_it) == 1:
            name = open_to_it[0]
            takes_text = tool.parameters.properties.get(name, {}).get("type") == "string"
            text = before.result.text if before.result else ""
            return {**arguments, name: text if takes_text else before.data}
    return arguments


def _present(template: JsonTemplate, ran: Mapping[str, Ran]) -> JsonTemplate:
    """``template`` without the keys, at any depth, whose own text names a result that is not there."""
    match template:
        case JsonMap(entries=entries):
            kept = (entry for entry in entries if _is_there(entry, ran))
            return JsonMap(entries=tuple(replace(entry, value=_present(entry.value, ran)) for entry in kept))
        case JsonList(items=items):
            return JsonList(items=tuple(_present(item, ran) for item in items))
        case _:
            return template


def _is_there(entry: JsonEntry, ran: Mapping[str, Ran]) -> bool:
    parts = entry.value.parts if isinstance(entry.value, Template) else ()
    named = [part.keys[:2] for part in parts if isinstance(part, Placeholder) and part.name == STEPS]
    return not any(keys[-1] in _RESULTS and ran[keys[0]].seen()[keys[-1]] is None for keys in named)

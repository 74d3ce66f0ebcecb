"""What a composite's steps can be given, and what they give: the shapes of what templates name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolc.compiler.value_shapes import ANYTHING, TEXT, Shape
from toolc.schema import JsonObject, Schema
from toolc.spec import ShellBackend, ToolSpec
from toolc.spec_composite import CompositeBackend
from toolc.spec_http import HttpBackend
from toolc.template import STEPS, Placeholder, Template

_FIXED: Final[Mapping[str, Shape]] = {
    "text": TEXT,
    "outcome": TEXT,
    "error": Shape(
        {
            "type": ["object", "null"],
            "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
            "additionalProperties": False,
        },
        {},
    ),
}


@dataclass(frozen=True, slots=True)
class NoSuchKeyError(Exception):
    """A placeholder that names a key which nothing has there: ``key``, where only ``known`` are."""

    key: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Known:
    """What the templates of a step can name: the composite's parameters, and steps by their ids.

    A step whose tool is not known gives anything.
    """

    parameters: Schema
    steps: Mapping[str, ToolSpec | None]

    def shape(self, template: Template) -> Shape:
        """What a template can become. Raises ``NoSuchKeyError``."""
        sole = template.sole
        for part in template.parts:
            if isinstance(part, Placeholder):
                found = self._named(part)
                if part is sole and not part.filters:
                    return found
        return TEXT

    def may_be_absent(self, template: Template) -> str:
        """The parameter that ``template`` names and a call may lack; empty where it names none."""
        names = sorted(name for name in template.names if self.parameters.may_be_absent(name))
        return names[0] if names else ""

    def _named(self, placeholder: Placeholder) -> Shape:
        keys = list(placeholder.keys)
        if placeholder.name == STEPS:
            step, what, *keys = keys
            found = outputs(self.steps.get(step)) if what == "outputs" else _FIXED.get(what, ANYTHING)
        else:
            found = Shape(self.parameters.properties.get(placeholder.name, {}), self.parameters.value)
        for key in keys:
            if found.keys is not None and key not in found.keys:
                raise NoSuchKeyError(key, found.keys)
            if "object" not in found.types:
                raise NoSuchKeyError(key, frozenset())
            found = found.key(key)
        return found


def outputs(tool: ToolSpec | None) -> Shape:
    """What a tool gives, as ``toolc.runtime.step_results.Ran.data`` has it."""
    if tool is None:
        return ANYTHING
    if tool.result_schema is not None:
        return Shape.of(tool.result_schema)
    backend = tool.backend
    if isinstance(backend, ShellBackend | HttpBackend):
        gives_text = tool.result.format != "json" and tool.result.select is None
        return TEXT if gives_text else ANYTHING
    if isinstance(backend, CompositeBackend) and backend.strategy in {"sequential", "parallel"}:
        ids: JsonObject = {step.id: {} for step in backend.steps}
        return Shape({"type": "object", "properties": ids, "additionalProperties": False}, {})
    return ANYTHING

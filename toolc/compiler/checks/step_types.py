"""Compare the types of values in composites: the arguments of a step, and the parameters of its tool.

Only declared types are compared. Keys of outputs, and placeholders within maps and lists, are left to the call, which
validates the arguments of each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.schema.check_schema import check_instance
from toolc.compiler.schema.type_names import TYPE_WORDS, TYPES, declared_types
from toolc.compiler.templates.expressions import templates_in
from toolc.dataclass import dataclass
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import Scalar
from toolc.document.suggestions import quote_names, suggestion
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.json_schema import Schema
from toolc.model.source import Span
from toolc.model.spec.code_backends import ShellBackend
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import STEPS, Placeholder, Template
from toolc.validation.validate import SchemaValidator

_ANY: Final = frozenset(TYPES)
_TEXT: Final = frozenset({"string"})
_OF_STEPS: Final[Mapping[str, frozenset[str]]] = {
    "text": _TEXT, "outcome": _TEXT, "error": frozenset({"object", "null"}),
}  # fmt: skip
_DEFINED: Final = ("$defs", "definitions")


def output_types(tool: ToolSpec | None) -> frozenset[str]:
    """Return the types of the output of a tool, as in ``toolc.runtime.composite.steps.StepResult.data``."""
    if tool is None:
        return _ANY
    if tool.result_schema is not None:
        return declared_types(tool.result_schema.value)
    if isinstance(tool.backend, ShellBackend | HttpBackend):
        return _TEXT if tool.result.format != "json" and tool.result.select is None else _ANY
    if isinstance(tool.backend, CompositeBackend) and tool.backend.strategy in {"sequential", "parallel"}:
        return frozenset({"object"})
    return _ANY


def _describe(types: frozenset[str]) -> str:
    """Return types as text for a message: ``a string or null``."""
    return " or ".join(TYPE_WORDS[each] for each in sorted(types - ({"integer"} if "number" in types else set())))


@dataclass(frozen=True, slots=True)
class StepArguments:
    """The arguments of the step ``index`` of a composite, as far as they could be decoded.

    ``tools`` are the tools that it may call, by name. ``returning`` are the tools whose output type is known.
    """

    tool: LocatedTool
    backend: CompositeBackend
    index: int
    tools: Mapping[str, ToolSpec]
    returning: Mapping[str, ToolSpec]

    def findings(self) -> Iterator[Diagnostic]:
        """Yield a finding for each argument that is missing, unknown, or of a type that the called tool rejects."""
        node = self.tool.node_at(*self._route, "args")
        if node is not None and not isinstance(node, MappingNode):
            return
        passed = frozenset(node.by_key) if node is not None else frozenset[str]()
        yield from self._unknown(passed)
        yield from self._missing(passed)
        for entry in self._step.args.entries:
            if not any(isinstance(part, Placeholder) for each in templates_in(entry.value) for part in each.parts):
                yield from self._constant(entry.key)
            elif isinstance(entry.value, Template):
                yield from self._template(entry.key, entry.value)

    @property
    def _step(self) -> Step:
        return self.backend.steps[self.index]

    @property
    def _parameters(self) -> Schema:
        return self.tools[self._step.tool].parameters

    def _unknown(self, passed: frozenset[str]) -> Iterator[Diagnostic]:
        declared = self._parameters.properties
        for name in sorted(passed & {each.name for each in self.tools[self._step.tool].caller}):
            message = f"'{self._step.tool}' takes '{name}' from the caller, so a step cannot pass it"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._key_span(name), "remove it: the step has the caller")
            passed -= {name}
        if self._parameters.value.get("additionalProperties") is not False:
            return
        for name in sorted(passed - declared.keys()):
            message = f"'{self._step.tool}' has no parameter '{name}'"
            hint = suggestion(name, declared, "its parameters are", "it has no parameters")
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._key_span(name), hint)

    def _missing(self, passed: frozenset[str]) -> Iterator[Diagnostic]:
        missing = sorted(self._parameters.required - passed)
        if self.backend.strategy == "pipeline" and self.index:
            yield from self._pipeline_input(missing, are_read=len(passed) == len(self._step.args.entries))
            return
        for name in missing:
            message = f"'{self._step.tool}' requires '{name}', which this step does not pass"
            hint = f"add it to the step's args, e.g. args: {{{name}: …}}"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._span("tool"), hint)

    def _pipeline_input(self, missing: Sequence[str], *, are_read: bool) -> Iterator[Diagnostic]:
        """Report a pipeline step unless exactly one parameter, of a matching type, remains for the output."""
        tool = self._step.tool
        if len(missing) > 1:
            message = f"a pipeline passes one value, but '{tool}' requires {quote_names(missing)}"
            hint = "set all but one of them in the step's args"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._span("tool"), hint)
        elif (
            are_read
            and not missing
            and not any(
                isinstance(part, Placeholder) and part.name == STEPS
                for template in templates_in(self._step.args)
                for part in template.parts
            )
        ):
            message = f"'{tool}' does not use the output of the previous step"
            hint = "remove the parameter that receives it from args, or use {{ steps.ID.outputs }}"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._span("tool"), hint)
        for name in missing[:1]:
            expected = declared_types(self._parameters.properties.get(name, {}))
            got = output_types(self.returning.get(self.backend.steps[self.index - 1].tool))
            # Any output can be passed as text, see ``toolc.runtime.composite.steps``.
            if len(missing) == 1 and expected != _TEXT and expected.isdisjoint(got):
                message = f"{tool}.{name} is {_describe(expected)}, but the previous step returns {_describe(got)}"
                hint = "add a step between them that converts the value"
                yield Diagnostic(codes.STEP_ARGUMENTS, message, self._span("tool"), hint)

    def _constant(self, name: str) -> Iterator[Diagnostic]:
        node = self.tool.node_at(*self._route, "args", name)
        schema, root = self._parameters.properties.get(name, {}), self._parameters.value
        if node is not None and isinstance(schema, dict):
            diagnostics = Diagnostics()
            # Includes the definitions that its references use.
            validator = SchemaValidator({**{key: root[key] for key in _DEFINED if key in root}, **schema})
            findings = Findings(self.tool.source, diagnostics)
            check_instance(node, validator, f"{self._step.tool}.{name}", codes.STEP_ARGUMENTS, findings)
            yield from diagnostics.sorted()

    def _template(self, name: str, value: Template) -> Iterator[Diagnostic]:
        expected, got = declared_types(self._parameters.properties.get(name, {})), self._types(value)
        if expected.isdisjoint(got):
            written = self._source_text(name)
            message = f"{self._step.tool}.{name} is {_describe(expected)}, but '{written}' is {_describe(got)}"
            hint = "" if value.sole_placeholder else "a placeholder without other text, in quotes, keeps its type"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._value_span(name), hint)
        own = self.tool.spec.all_parameters
        absent = sorted(each for each in value.names if own.may_be_absent(each))
        if absent and name in self._parameters.required:
            message = f"'{self._step.tool}' requires '{name}', but the parameter '{absent[0]}' may be absent"
            hint = f"make '{absent[0]}' required, or give it a default"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._value_span(name), hint)

    def _types(self, value: Template) -> frozenset[str]:
        """Return the types of a template's value. A template is text unless it is a placeholder without filters."""
        sole = value.sole_placeholder
        if sole is None or sole.filters:
            return _TEXT
        if sole.name != STEPS:
            return _ANY if sole.keys else declared_types(self.tool.spec.all_parameters.properties.get(sole.name, {}))
        step, what, *keys = sole.keys
        if keys or what != "outputs":
            return _ANY if keys else _OF_STEPS.get(what, _ANY)
        called = {each.id: each.tool for each in self.backend.steps}
        return output_types(self.returning.get(called.get(step, "")))

    @property
    def _route(self) -> tuple[str | int, ...]:
        return ("backend", "composite", "steps", self.index)

    def _span(self, *route: str | int) -> Span:
        return self.tool.span(*self._route, *route)

    def _key_span(self, name: str) -> Span:
        node = self.tool.node_at(*self._route, "args")
        entry = node.entry(name) if isinstance(node, MappingNode) else None
        return entry.key_span if entry else self._span("args")

    def _source_text(self, name: str) -> str:
        node = self.tool.node_at(*self._route, "args", name)
        return str(node.value)[:80] if isinstance(node, Scalar) else ""

    def _value_span(self, name: str) -> Span:
        """Return the span of a template without the quotes around it."""
        return self.tool.source.locate(self._span("args", name), self._source_text(name))

"""Types of the values in composites: what steps receive and return, and which arguments a tool accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.schema.check_schema import check_instance
from toolc.compiler.schema.shapes import ANYTHING, TEXT, Shape, describe_types
from toolc.compiler.templates.expressions import templates_in
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import Scalar
from toolc.document.suggestions import quote_names, suggestion
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.source import Span
from toolc.model.spec.code_backends import ShellBackend
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import STEPS, JsonList, JsonMap, JsonTemplate, Placeholder, Template
from toolc.validation.validate import SchemaValidator

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

_DEFINED: Final = ("$defs", "definitions")


@dataclass(frozen=True, slots=True)
class NoSuchKeyError(Exception):
    """Raised if a placeholder names a missing key: ``key`` is its name, and ``known`` are the existing keys."""

    key: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class StepScope:
    """The parameters of a composite, and its earlier steps by id, that a step's templates can use."""

    parameters: Schema
    steps: Mapping[str, ToolSpec | None]

    def shape(self, template: Template) -> Shape:
        """Return the type of the value of a template. Raises ``NoSuchKeyError`` if a key does not exist."""
        sole = template.sole_placeholder
        for part in template.parts:
            if isinstance(part, Placeholder):
                of_part = self._placeholder_shape(part)
                if part is sole and not part.filters:
                    return of_part
        return TEXT

    def may_be_absent(self, template: Template) -> str:
        """Return the parameter in ``template`` that a call may omit, or an empty string."""
        names = sorted(name for name in template.names if self.parameters.may_be_absent(name))
        return names[0] if names else ""

    def _placeholder_shape(self, placeholder: Placeholder) -> Shape:
        keys = list(placeholder.keys)
        if placeholder.name == STEPS:
            step, what, *keys = keys
            shape = outputs(self.steps.get(step)) if what == "outputs" else _FIXED.get(what, ANYTHING)
        else:
            shape = Shape(self.parameters.properties.get(placeholder.name, {}), self.parameters.value)
        for key in keys:
            if shape.keys is not None and key not in shape.keys:
                raise NoSuchKeyError(key, shape.keys)
            if "object" not in shape.types:
                raise NoSuchKeyError(key, frozenset())
            shape = shape.key(key)
        return shape


def outputs(tool: ToolSpec | None) -> Shape:
    """Return the type of the output of a tool, as in ``toolc.runtime.composite.steps.StepResult.data``."""
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


@dataclass(frozen=True, slots=True)
class StepArguments:
    """The arguments of the step ``index`` of a composite, as far as they could be decoded.

    ``tools`` are the tools that it may call, by name; ``returning`` are the tools whose output type is known.
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
        given = {entry.key: entry.value for entry in self._step.args.entries}
        yield from self._unknown(passed)
        yield from self._missing(passed)
        for name, value in given.items():
            expected = Shape(self._parameters.properties.get(name, {}), self._parameters.value)
            yield from self._type_findings(value, expected, f"{self._step.tool}.{name}", ("args", name))
            if name in self._parameters.required:
                yield from self._absent_argument(name, value)

    @property
    def _step(self) -> Step:
        return self.backend.steps[self.index]

    @property
    def _parameters(self) -> Schema:
        return self.tools[self._step.tool].parameters

    @property
    def _scope(self) -> StepScope:
        steps = {step.id: self.returning.get(step.tool) for step in self.backend.steps}
        return StepScope(self.tool.spec.parameters, steps)

    def _unknown(self, passed: frozenset[str]) -> Iterator[Diagnostic]:
        declared = self._parameters.properties
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
            message = f"a pipeline passes on one value, but '{tool}' requires {quote_names(missing)}"
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
            expected = Shape(self._parameters.properties.get(name, {}), self._parameters.value).types
            got = outputs(self.returning.get(self.backend.steps[self.index - 1].tool)).types
            # Any output can be passed as text, see ``toolc.runtime.composite.steps``.
            if len(missing) == 1 and expected != {"string"} and expected.isdisjoint(got):
                message = (
                    f"{tool}.{name} is {describe_types(expected)}, but the previous step returns {describe_types(got)}"
                )
                hint = "add a step between them that converts the value"
                yield Diagnostic(codes.STEP_ARGUMENTS, message, self._span("tool"), hint)

    def _type_findings(
        self, value: JsonTemplate, expected: Shape, what: str, route: tuple[str | int, ...]
    ) -> Iterator[Diagnostic]:
        if not any(template.sole_placeholder or len(template.parts) > 1 for template in templates_in(value)):
            yield from self._constant_type(expected, what, route)
        elif isinstance(value, Template):
            yield from self._template_type(value, expected, what, route)
        elif isinstance(value, JsonMap):
            if "object" not in expected.types:
                yield self._mismatch(what, expected, "this is a map", route)
            for entry in value.entries:
                yield from self._type_findings(
                    entry.value, expected.key(entry.key), f"{what}.{entry.key}", (*route, entry.key)
                )
        elif isinstance(value, JsonList):
            if "array" not in expected.types:
                yield self._mismatch(what, expected, "this is a list", route)
            for at, item in enumerate(value.items):
                yield from self._type_findings(item, expected.item, f"{what}[{at}]", (*route, at))

    def _constant_type(self, expected: Shape, what: str, route: tuple[str | int, ...]) -> Iterator[Diagnostic]:
        node = self.tool.node_at(*self._route, *route)
        if node is not None and isinstance(expected.schema, dict):
            diagnostics = Diagnostics()
            # Includes the definitions that its references use.
            validator = SchemaValidator(
                {**{key: expected.root[key] for key in _DEFINED if key in expected.root}, **expected.schema}
            )
            check_instance(node, validator, what, codes.STEP_ARGUMENTS, Findings(self.tool.source, diagnostics))
            yield from diagnostics.sorted()

    def _template_type(
        self, value: Template, expected: Shape, what: str, route: tuple[str | int, ...]
    ) -> Iterator[Diagnostic]:
        try:
            got = self._scope.shape(value).types
        except NoSuchKeyError as error:
            hint = suggestion(error.key, error.known, "the keys are", "it is not a map")
            message = f"this value has no key '{error.key}'"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._value_span(route), hint)
            return
        if expected.types.isdisjoint(got):
            hint = "" if value.sole_placeholder else "a placeholder without other text, in quotes, keeps its type"
            yield self._mismatch(what, expected, f"'{self._source_text(route)}' is {describe_types(got)}", route, hint)

    def _absent_argument(self, name: str, value: JsonTemplate) -> Iterator[Diagnostic]:
        absent = self._scope.may_be_absent(value) if isinstance(value, Template) else ""
        if absent:
            message = f"'{self._step.tool}' requires '{name}', but the parameter '{absent}' may be absent"
            hint = f"make '{absent}' required, or give it a default"
            yield Diagnostic(codes.STEP_ARGUMENTS, message, self._value_span(("args", name)), hint)

    def _mismatch(
        self, what: str, expected: Shape, got: str, route: tuple[str | int, ...], hint: str = ""
    ) -> Diagnostic:
        message = f"{what} is {describe_types(expected.types)}, but {got}"
        return Diagnostic(codes.STEP_ARGUMENTS, message, self._value_span(route), hint)

    @property
    def _route(self) -> tuple[str | int, ...]:
        return ("backend", "composite", "steps", self.index)

    def _span(self, *route: str | int) -> Span:
        return self.tool.span(*self._route, *route)

    def _key_span(self, name: str) -> Span:
        node = self.tool.node_at(*self._route, "args")
        entry = node.entry(name) if isinstance(node, MappingNode) else None
        return entry.key_span if entry else self._span("args")

    def _source_text(self, route: tuple[str | int, ...]) -> str:
        node = self.tool.node_at(*self._route, *route)
        return str(node.value)[:80] if isinstance(node, Scalar) else ""

    def _value_span(self, route: tuple[str | int, ...]) -> Span:
        """Return the span of a template without the quotes around it."""
        return self.tool.source.locate(self._span(*route), self._source_text(route))

"""Define a tool in Python with the decorator ``tool`` or the builder ``define``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypedDict, Unpack, get_type_hints, overload

from toolc.compiler.text_analysis.docstrings import read_docstring
from toolc.dataclass import dataclass, replace
from toolc.functions.composed import DefinedStep, SourceLocation, compose
from toolc.functions.tools import ComposedTool, FunctionTool, Traits, check_description, check_parameters, make_tool
from toolc.functions.type_hints import Hint, HintError, json_default, object_schema, read_hint
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.registry import RegisteredTool
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.composed_backends import AgentProvider, Strategy
from toolc.runtime import argument_checks

CONTEXT: Final = "ctx"
"""The name of the function parameter that receives the context of the call instead of an argument."""

_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object")
_NAMED: Final = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})

Function = Callable[..., object]


@overload
def tool(function: Function, /) -> FunctionTool: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, **traits: Unpack[Traits]
) -> Callable[[Function], FunctionTool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **traits: Unpack[Traits],
) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Define a tool from a function: ``@tool``, or ``@tool(name="...", timeout=5)``.

    The schema comes from the type hints (see ``toolc.functions.type_hints``), and the descriptions come from the
    docstring. A parameter ``ctx`` receives the context of the call. Raises ``UsageError`` if a part is missing or has
    no JSON form.
    """
    if function is None:
        return lambda each: _from_function(each, name, description, traits)
    return _from_function(function, name, description, traits)


def registered(tool: object) -> RegisteredTool:
    """Return a defined tool, or a function made a tool as with ``@tool``. Raises ``UsageError`` for anything else."""
    if isinstance(tool, FunctionTool | ComposedTool):
        return tool.registered()
    if isinstance(tool, Definition):
        raise UsageError(
            f"the definition of {tool.name!r} is incomplete; end it with .handler(...), .composite(...) or .agent(...)"
        )
    if not callable(tool):
        raise UsageError(f"a {type(tool).__name__} is not a tool; add a function, a tool, or a registry")
    return _from_function(tool, None, None, {}).registered()


def define(
    name: str, description: str, *, parameters: JsonObject | None = None, **traits: Unpack[Traits]
) -> Definition:
    """Start the definition of a tool. ``handler``, ``composite`` or ``agent`` completes it.

    ``parameters`` is a JSON Schema of type object. It replaces calls of ``param``. Raises ``UsageError`` if an argument
    is invalid.
    """
    argument_checks.text("a tool's name", name)
    check_description(name, description)
    if parameters is not None:
        if not isinstance(parameters, dict):
            raise UsageError(
                f"tool {name!r}: parameters must be a JSON Schema of type object, not {parameters!r:.60}; "
                "pass a dict, or omit it and use .param(...)"
            )
        check_parameters(name, parameters)
    return Definition(name=name, description=description, schema=parameters, traits=traits)


class AgentKeys(TypedDict, total=False):
    """The optional keys of ``backend.agent``, as in a spec."""

    base_url: str
    api_key: str
    parallel: bool
    max_turns: int
    max_tokens: int
    token_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """An incomplete tool. It is immutable, so each method returns a new definition, or the complete tool.

    ``handler`` completes it with a function, ``composite`` with calls of other tools, and ``agent`` with a model.
    """

    name: str
    description: str
    schema: JsonObject | None = None
    traits: Traits
    hints: tuple[tuple[str, Hint], ...] = ()
    required: tuple[str, ...] = ()

    def param(
        self, name: str, kind: object, description: str = "", *, enum: list[JsonValue] | None = None
    ) -> Definition:
        """Add a required parameter.

        ``kind`` is a JSON Schema type (``"string"``) or a type hint. Raises ``UsageError`` if an argument is invalid.
        """
        return replace(self._with(name, kind, description, enum), required=(*self.required, name))

    def param_opt(
        self,
        name: str,
        kind: object,
        description: str = "",
        *,
        enum: list[JsonValue] | None = None,
        default: JsonValue = None,
    ) -> Definition:
        """Add an optional parameter. If a call omits it, the handler receives ``default``, unless it is None."""
        keywords: JsonObject = {} if default is None else {"default": default}
        return self._with(name, kind, description, enum, keywords)

    def handler(self, function: Function) -> FunctionTool:
        """Return a tool that calls ``function`` with keyword arguments.

        Raises ``UsageError`` if the function does not accept the parameters.
        """
        argument_checks.function(f"tool {self.name!r}: its handler", function)
        schema = self._parameters()
        properties = schema.get("properties")
        taken = properties if isinstance(properties, dict) else {}
        required = [name for name in taken if not Schema(schema).may_be_absent(name)]
        wants_context = _check_signature(self.name, function, [*taken], required)
        backend = _backend(function, dict(self.hints), wants_context=wants_context)
        return make_tool(self.name, self.description, schema, backend, self.traits)

    def composite(self, strategy: Strategy, *steps: DefinedStep) -> ComposedTool:
        """Return a composite that calls other tools of its registry, as in a spec.

        The called tools are looked up when the composite is added to a registry. Raises ``SpecError`` if the same
        spec would have errors, and ``UsageError`` for values that are not JSON.
        """
        for each in steps:
            argument_checks.of_type(f"tool {self.name!r}: each step", each, DefinedStep, "a return value of step(...)")
        backend = {"composite": {"strategy": strategy, "steps": steps}}
        return self._composed(backend, None, SourceLocation.of_caller())

    def agent(
        self,
        *,
        provider: AgentProvider,
        model: str,
        instructions: str,
        tools: Sequence[str] = (),
        secrets: Mapping[str, object] | None = None,
        **keys: Unpack[AgentKeys],
    ) -> ComposedTool:
        """Return a sub-agent that can call ``tools`` of its registry.

        The other arguments are the keys of ``backend.agent`` in a spec, and ``secrets`` is ``sandbox.secrets``. Raises
        the same errors as ``composite``.
        """
        agent = {"provider": provider, "model": model, "instructions": instructions, "tools": tools, **keys}
        return self._composed({"agent": agent}, secrets, SourceLocation.of_caller())

    def _composed(self, backend: Mapping[str, object], secrets: object, location: SourceLocation) -> ComposedTool:
        interface: JsonObject = {"name": self.name, "description": self.description, "parameters": self._parameters()}
        return compose(interface, backend, self.traits, secrets, location)

    def _parameters(self) -> JsonObject:
        if self.schema is None:
            return object_schema(dict(self.hints), self.required)
        # A schema accepts only the properties it names, unless it states otherwise.
        is_open = {"additionalProperties", "unevaluatedProperties"} & self.schema.keys()
        return dict(self.schema) if is_open else {**self.schema, "additionalProperties": False}

    def _with(
        self,
        name: str,
        kind: object,
        description: str,
        enum: list[JsonValue] | None,
        keywords: JsonObject | None = None,
    ) -> Definition:
        where = f"tool {self.name!r}: a parameter's"
        argument_checks.text(f"{where} name", name)
        argument_checks.text(f"{where} description", description)
        argument_checks.json_value(f"{where} enum", [*argument_checks.sequence(f"{where} enum", enum or [], "values")])
        argument_checks.json_value(f"{where} default", (keywords or {}).get("default"))
        if self.schema is not None:
            raise UsageError(f"tool {self.name!r} already has a schema; add the parameter {name!r} to it")
        if any(name == each for each, _ in self.hints):
            raise UsageError(f"tool {self.name!r} already has a parameter {name!r}")
        described: JsonObject = {"description": description} if description else {}
        choices: JsonObject = {"enum": enum} if enum is not None else {}
        hint = _kind(self.name, name, kind)
        hint = Hint(hint.schema | described | choices | (keywords or {}), hint.load)
        return replace(self, hints=(*self.hints, (name, hint)))


def _from_function(function: Function, name: str | None, description: str | None, traits: Traits) -> FunctionTool:
    argument_checks.function("the argument of @tool", function)
    docstring = read_docstring(inspect.getdoc(function))
    name = name or _name(function)
    hints, required, wants_context = {}, [], False
    for each, hint in _hints(function).items():
        if each.name == CONTEXT:
            wants_context = True
            continue
        hints[each.name] = _parameter(function, each, hint, docstring.arguments.get(each.name))
        if each.default is each.empty:
            required.append(each.name)
    backend = _backend(function, hints, wants_context=wants_context)
    return make_tool(name, description or docstring.description, object_schema(hints, required), backend, traits)


def _backend(function: Function, hints: Mapping[str, Hint], *, wants_context: bool) -> HostFunction:
    loads = {name: hint.load for name, hint in hints.items() if hint.load}
    return HostFunction(function=function, loads=loads, context=CONTEXT if wants_context else None)


def _hints(function: Function) -> dict[inspect.Parameter, object]:
    try:
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise UsageError(f"{_location(function)}: its type hints cannot be read: {error}") from None
    return {each: hints.get(each.name, each.empty) for each in parameters}


def _parameter(function: Function, each: inspect.Parameter, hint: object, description: str | None) -> Hint:
    where = f"{_location(function)}: the parameter {each.name!r}"
    if each.kind not in _NAMED:
        raise UsageError(f"{where} cannot be passed by name; declare each parameter of a tool individually, by name")
    if hint is each.empty:
        raise UsageError(f"{where} has no type hint; write, for example, {each.name}: str")
    try:
        read = read_hint(hint)
    except HintError as error:
        raise UsageError(f"{where}: {error}") from None
    described: JsonObject = {"description": description} if description and "description" not in read.schema else {}
    default = json_default(each.default)
    keywords: JsonObject = {"default": default[0]} if default else {}
    return Hint(read.schema | described | keywords, read.load)


def _kind(tool_name: str, name: str, kind: object) -> Hint:
    where = f"tool {tool_name!r}, parameter {name!r}"
    if isinstance(kind, str):
        if kind not in _TYPES:
            raise UsageError(f"{where}: {kind!r} is not a JSON Schema type; use one of: {', '.join(_TYPES)}")
        return Hint({"type": kind})
    try:
        return read_hint(kind)
    except HintError as error:
        raise UsageError(f"{where}: {error}") from None


def _check_signature(name: str, function: Function, parameters: list[str], required: list[str]) -> bool:
    """Return whether the function has a parameter for the context.

    Raises ``UsageError`` if it does not accept all ``parameters``, or requires any that are not in ``required``.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False  # a built-in function without a signature
    wants_context = CONTEXT in signature.parameters and CONTEXT not in parameters
    for names in (parameters, required):
        try:
            signature.bind(**dict.fromkeys([*names, CONTEXT] if wants_context else names))
        except TypeError as error:
            remedy = "; give optional parameters a default, in param_opt(default=...) or in the handler"
            raise UsageError(
                f"tool {name!r}: its handler at {_location(function)} cannot be called with the keywords "
                f"{', '.join(names) or '(none)'}: {error}{remedy if names is required else ''}"
            ) from None
    return wants_context


def _location(function: Function) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: {_name(function)}" if code else _name(function)


def _name(function: Function) -> str:
    return str(getattr(function, "__name__", type(function).__name__))

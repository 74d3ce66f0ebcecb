"""Two ways to define a tool: by decorator, from a function's own words, or by builder, parameter by parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypedDict, Unpack, get_type_hints, overload

from toolc.functions.composed import DefinedStep, SourceLocation
from toolc.functions.tool import ComposedTool, FunctionTool, Traits, check_description, check_parameters, make_tool
from toolc.functions.type_hints import Hint, HintError, json_default, read_docstring, read_hint
from toolc.model import argument_checks
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.composed_backends import AgentProvider, Strategy

__all__ = ["Definition", "define", "tool"]

CONTEXT: Final = "ctx"
"""The function's parameter that is no tool parameter: it gets the call's context."""

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
    """Make a tool of a function: ``@tool``, or ``@tool(name="...", timeout=5)``.

    Its name, description and parameters are the function's: type hints give the schema (see
    ``toolc.functions.type_hints``), the docstring the words. A parameter ``ctx`` is no parameter of the tool.
    Raises
    ``UsageError`` for what cannot be said to a model.
    """
    if function is None:
        return lambda each: _from_function(each, name, description, traits)
    return _from_function(function, name, description, traits)


def define(
    name: str, description: str, *, parameters: JsonObject | None = None, **traits: Unpack[Traits]
) -> Definition:
    """Begin to define a tool; ``handler``, ``composite`` or ``agent`` makes it.

    ``parameters`` may be a whole JSON Schema of type object. Raises ``UsageError`` for what is none, and for a
    description that says nothing.
    """
    argument_checks.text("a tool's name", name)
    check_description(name, description)
    if parameters is not None:
        if not isinstance(parameters, dict):
            raise UsageError(
                f"tool {name!r}: its parameters are a JSON Schema of type object, and not {parameters!r:.60}; "
                "write a dict, or leave it out and say them with .param(...)"
            )
        check_parameters(name, parameters)
    return Definition(name=name, description=description, schema=parameters, traits=traits)


class AgentKeys(TypedDict, total=False):
    """What a sub-agent may be told beside what it must be: keys of ``backend.agent``, as a spec has them."""

    base_url: str
    api_key: str
    parallel: bool
    max_turns: int
    max_tokens: int
    token_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A tool that is being defined: each method returns a new one.

    ``handler`` makes a function of it, ``composite`` steps that are calls of other tools, and ``agent`` a model.
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
        """A parameter that every call must give.

        ``kind`` is a type of JSON Schema (``"string"``) or a type hint. Raises ``UsageError``.
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
        """A parameter that a call may leave out: the handler then gets ``default``, or nothing where it is None."""
        keywords: JsonObject = {} if default is None else {"default": default}
        return self._with(name, kind, description, enum, keywords)

    def handler(self, function: Function) -> FunctionTool:
        """The tool that calls ``function`` with the arguments as keywords. Raises ``UsageError``."""
        argument_checks.function(f"tool {self.name!r}: its handler", function)
        schema = self._parameters()
        properties = schema.get("properties")
        taken = properties if isinstance(properties, dict) else {}
        given = [name for name in taken if not Schema(schema).may_be_absent(name)]
        wants_context = _check_takes(self.name, function, [*taken], given)
        loads = {name: hint.load for name, hint in self.hints if hint.load}
        backend = HostFunction(function=function, loads=loads, context=CONTEXT if wants_context else None)
        return make_tool(self.name, self.description, schema, backend, self.traits)

    def composite(self, strategy: Strategy, *steps: DefinedStep) -> ComposedTool:
        """The composite that calls other tools of its registry: compiled ones, functions, and other such tools.

        ``strategy`` and what a ``step`` says mean what they mean in a spec. Raises ``SpecError`` with what a check
        of the same spec finds, and ``UsageError`` for what is no JSON. What the steps call is looked for when the
        tool is added to a registry.
        """
        for each in steps:
            argument_checks.of_type(f"tool {self.name!r}: each step", each, DefinedStep, "what step(...) made")
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
        """The sub-agent that answers with the help of ``tools`` of its registry, whatever they are made of.

        The keywords are the keys of ``backend.agent`` in a spec, and ``secrets`` is ``sandbox.secrets`` there.
        Raises what ``composite`` raises.
        """
        said = {"provider": provider, "model": model, "instructions": instructions, "tools": tools, **keys}
        return self._composed({"agent": said}, secrets, SourceLocation.of_caller())

    def _composed(self, backend: Mapping[str, object], secrets: object, place: SourceLocation) -> ComposedTool:
        from toolc.functions.composed import compose  # which needs the compiler, and functions do not

        about: JsonObject = {"name": self.name, "description": self.description, "parameters": self._parameters()}
        return compose(about, backend, self.traits, secrets, place)

    def _parameters(self) -> JsonObject:
        return _closed(self.schema) if self.schema is not None else _object(dict(self.hints), self.required)

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
            raise UsageError(f"tool {self.name!r} has a whole schema already; put the parameter {name!r} in there")
        if any(name == each for each, _ in self.hints):
            raise UsageError(f"tool {self.name!r} has a parameter {name!r} already")
        said: JsonObject = {"description": description} if description else {}
        choices: JsonObject = {"enum": enum} if enum is not None else {}
        hint = _kind(self.name, name, kind)
        hint = Hint(hint.schema | said | choices | (keywords or {}), hint.load)
        return replace(self, hints=(*self.hints, (name, hint)))


def _from_function(function: Function, name: str | None, description: str | None, traits: Traits) -> FunctionTool:
    argument_checks.function("a tool that is made with @tool", function)
    words = read_docstring(inspect.getdoc(function))
    name = name or _name(function)
    hints, required, wants_context = {}, [], False
    for each, hint in _hints(function).items():
        if each.name == CONTEXT:
            wants_context = True
            continue
        hints[each.name] = _parameter(function, each, hint, words.arguments.get(each.name))
        if each.default is each.empty:
            required.append(each.name)
    loads = {each: hint.load for each, hint in hints.items() if hint.load}
    backend = HostFunction(function=function, loads=loads, context=CONTEXT if wants_context else None)
    return make_tool(name, description or words.description, _object(hints, required), backend, traits)


def _hints(function: Function) -> dict[inspect.Parameter, object]:
    try:
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise UsageError(f"{_place(function)}: its type hints cannot be read: {error}") from None
    return {each: hints.get(each.name, each.empty) for each in parameters}


def _parameter(function: Function, each: inspect.Parameter, hint: object, words: str | None) -> Hint:
    where = f"{_place(function)}: the parameter {each.name!r}"
    if each.kind not in _NAMED:
        raise UsageError(f"{where} is not passed by name; a tool's parameters have names and are listed one by one")
    if hint is each.empty:
        raise UsageError(f"{where} has no type hint, which the model needs; write e.g. {each.name}: str")
    try:
        read = read_hint(hint)
    except HintError as error:
        raise UsageError(f"{where}: {error}") from None
    said: JsonObject = {"description": words} if words and "description" not in read.schema else {}
    default = json_default(each.default)
    keywords: JsonObject = {"default": default[0]} if default else {}
    return Hint(read.schema | said | keywords, read.load)


def _kind(tool_name: str, name: str, kind: object) -> Hint:
    where = f"tool {tool_name!r}, parameter {name!r}"
    if isinstance(kind, str):
        if kind not in _TYPES:
            raise UsageError(f"{where}: {kind!r} is no type of JSON Schema; use one of: {', '.join(_TYPES)}")
        return Hint({"type": kind})
    try:
        return read_hint(kind)
    except HintError as error:
        raise UsageError(f"{where}: {error}") from None


def _check_takes(name: str, function: Function, parameters: list[str], given: list[str]) -> bool:
    """Whether the function wants the context too.

    Raises ``UsageError`` where it does not take the parameters, or needs more than those that are always given.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False  # a built-in one, which does not say
    wants_context = CONTEXT in signature.parameters and CONTEXT not in parameters
    for names in (parameters, given):
        try:
            signature.bind(**dict.fromkeys([*names, CONTEXT] if wants_context else names))
        except TypeError as error:
            remedy = "; give what a call may leave out a default, in param_opt(default=...) or in the handler"
            raise UsageError(
                f"tool {name!r}: its handler at {_place(function)} cannot be called with the keywords "
                f"{', '.join(names) or 'of no parameter'}: {error}{remedy if names is given else ''}"
            ) from None
    return wants_context


def _object(hints: Mapping[str, Hint], required: list[str] | tuple[str, ...]) -> JsonObject:
    return {
        "type": "object",
        "properties": {name: hint.schema for name, hint in hints.items()},
        "required": [*required],
        "additionalProperties": False,
    }


def _closed(schema: JsonObject) -> JsonObject:
    """A whole schema, which takes nothing that it does not name unless it says otherwise."""
    is_open = {"additionalProperties", "unevaluatedProperties"} & schema.keys()
    return dict(schema) if is_open else {**schema, "additionalProperties": False}


def _place(function: Function) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: {_name(function)}" if code else _name(function)


def _name(function: Function) -> str:
    return str(getattr(function, "__name__", type(function).__name__))

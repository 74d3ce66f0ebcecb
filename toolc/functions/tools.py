"""Functions, composites and sub-agents of a program as tools, whose definitions are checked when they are created."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Final, TypedDict

from toolc.dataclass import dataclass, replace
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.names import IDENTIFIER, TOOL_NAME
from toolc.model.registry import RegisteredTool
from toolc.model.registry_io import digests
from toolc.model.spec.code_backends import Argv, HostFunction, ShellBackend
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.spec.tool import Annotations, ToolSpec
from toolc.runtime import argument_checks
from toolc.validation.validate import schema_problem

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool

DEFAULT_TIMEOUT: Final = 30.0
"""The default timeout of a call, in seconds. It is the same as for compiled tools."""

_NO_BACKEND: Final = ShellBackend(command=Argv(elements=()))
"""Replaces the backend in the computation of the surface digest, which does not cover the backend."""


class Traits(TypedDict, total=False):
    """The options of a tool in addition to its name, description and parameters.

    ``timeout`` is in seconds and defaults to 30. ``read_only`` to ``open_world`` are the hints of MCP. With
    ``confirm``, a user must approve each call. ``result_schema`` is the JSON Schema of the tool's structured data.
    """

    label: str
    aliases: Sequence[str]
    tags: Sequence[str]
    examples: Sequence[JsonObject]
    timeout: float
    confirm: bool
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    result_schema: JsonObject


_OPTIONS: Final = ("name", "description", *Traits.__annotations__)


@dataclass(frozen=True, slots=True)
class _ProgramTool:
    """A tool that a program defines, for ``Registry.add``."""

    spec: ToolSpec

    @property
    def name(self) -> str:
        """The name that the model uses in calls."""
        return self.spec.name

    def registered(self) -> RegisteredTool:
        """Return the tool as stored in a registry, without an effect digest, because a program cannot be reviewed."""
        surface = digests(replace(self.spec, backend=_NO_BACKEND)).surface
        return RegisteredTool(spec=self.spec, surface_digest=surface, effect_digest="")


@dataclass(frozen=True, slots=True)
class FunctionTool(_ProgramTool):
    """A function of this program as a tool, for ``Registry.add``. You can still call it as a function."""

    function: Callable[..., object]

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function without the checks of a tool call."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<FunctionTool: {self.name}, which runs in this process>"


@dataclass(frozen=True, slots=True)
class ComposedTool(_ProgramTool):
    """A composite or a sub-agent of this program, for ``Registry.add``. It calls tools of its registry.

    ``located`` has the line of the program for each value.
    """

    located: LocatedTool

    def __repr__(self) -> str:
        kind = {"agent": "sub-agent"}.get(self.spec.backend.tag, self.spec.backend.tag)
        return f"<ComposedTool: {self.name}, a {kind} of this program>"


def make_tool(
    name: str, description: str, parameters: JsonObject, backend: HostFunction, traits: Traits
) -> FunctionTool:
    """Check the definition and return the tool. Raises ``UsageError``."""
    check_traits(name, traits)
    names: tuple[object, ...] = (name, *traits.get("aliases", ()))
    for each in names:
        if not (isinstance(each, str) and TOOL_NAME.fullmatch(each)):
            raise UsageError(
                f"{each!r} is not a valid tool name; use 1 to 64 of the characters A-Z a-z 0-9 _ -, and do not start "
                "with a digit or -"
            )
    check_parameters(name, parameters)
    check_description(name, description)
    for what, schema in (("parameters", parameters), ("result_schema", traits.get("result_schema"))):
        if schema is not None and (problem := schema_problem(schema)):
            raise UsageError(f"tool {name!r}: its {what} are not a valid JSON Schema: {problem}")
    return FunctionTool(_spec(name, description.strip(), parameters, backend, traits), backend.function)


def check_traits(name: str, traits: Traits) -> None:
    """Raise ``UsageError`` for an unknown option or an invalid value."""
    if unknown := sorted(traits.keys() - Traits.__annotations__.keys()):
        raise UsageError(f"tool {name!r}: there is no option {unknown[0]!r}; the options are: {', '.join(_OPTIONS)}")
    for option, value in traits.items():
        _CHECKS[option](f"tool {name!r}: {option}", value)


def _timeout(what: str, value: object) -> None:
    argument_checks.seconds(what.replace("timeout", "a timeout"), value)


def _examples(what: str, value: object) -> None:
    for index, each in enumerate(argument_checks.sequence(what, value, "dicts")):
        argument_checks.json_object(f"{what}[{index}]", each)


def _optional(check: Callable[[str, object], object]) -> Callable[[str, object], object]:
    return lambda what, value: None if value is None else check(what, value)


_CHECKS: Final[Mapping[str, Callable[[str, object], object]]] = {
    "label": _optional(argument_checks.text),
    "aliases": argument_checks.string_list,
    "tags": argument_checks.string_list,
    "examples": _examples,
    "timeout": _timeout,
    "confirm": argument_checks.boolean,
    "read_only": _optional(argument_checks.boolean),
    "destructive": _optional(argument_checks.boolean),
    "idempotent": _optional(argument_checks.boolean),
    "open_world": _optional(argument_checks.boolean),
    "result_schema": _optional(argument_checks.json_object),
}
"""The checks of the options' values, by option."""


def _spec(name: str, description: str, parameters: JsonObject, backend: HostFunction, traits: Traits) -> ToolSpec:
    schema = traits.get("result_schema")
    timeout_ms = max(1, round(traits.get("timeout", DEFAULT_TIMEOUT) * 1000))
    return ToolSpec(
        name=name,
        description=description,
        parameters=Schema(deepcopy(parameters)),
        backend=backend,
        label=traits.get("label"),
        aliases=tuple(traits.get("aliases", ())),
        tags=tuple(traits.get("tags", ())),
        examples=tuple(traits.get("examples", ())),
        confirm=traits.get("confirm", False),
        annotations=Annotations(
            read_only=traits.get("read_only"),
            destructive=traits.get("destructive"),
            idempotent=traits.get("idempotent"),
            open_world=traits.get("open_world"),
        ),
        result_schema=None if schema is None else Schema(deepcopy(schema)),
        sandbox=SandboxSpec(limits=Limits(timeout_ms=timeout_ms)),
    )


def check_description(name: str, description: object) -> None:
    """Raise ``UsageError`` unless ``description`` is a string that is not blank."""
    if not (isinstance(description, str) and description.strip()):
        raise UsageError(f"tool {name!r} has no description; write one that tells a model when to call it")
    argument_checks.text(f"tool {name!r}: its description", description)


def check_parameters(name: str, parameters: object) -> None:
    """Raise ``UsageError`` unless ``parameters`` is the schema of an object whose property names are valid."""
    parameters = argument_checks.json_object(f"tool {name!r}: its parameters", parameters)
    properties = parameters.get("properties")
    if parameters.get("type") != "object" or not isinstance(properties, dict):
        raise UsageError(f"tool {name!r}: its parameters must be a schema of type object with properties")
    for each in properties:
        if not IDENTIFIER.fullmatch(each):
            raise UsageError(
                f"tool {name!r}: {each!r} is not a valid parameter name; use 1 to 64 of the characters A-Z a-z 0-9 _, "
                "and do not start with a digit"
            )

"""A function as a tool: what the model sees of it, made sure of when it is defined."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypedDict

from toolc.model import argument_checks
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.registry import RegisteredTool
from toolc.model.registry_file import digests
from toolc.model.spec.code_backends import Argv, HostFunction, ShellBackend
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.spec.tool import Annotations, ToolSpec
from toolc.validation.plain_schema import is_plain_schema

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool

__all__ = ["ComposedTool", "FunctionTool"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

DEFAULT_TIMEOUT: Final = 30.0
"""How long a call may take, in seconds, where nothing else is said: as long as a compiled tool's."""

_NO_BACKEND: Final = ShellBackend(command=Argv(elements=()))
"""Stands in for the backend where a digest is made, which has nothing of a backend."""


class Traits(TypedDict, total=False):
    """What a tool may have beside its name, description and parameters.

    ``timeout`` is in seconds, 30 by default. ``read_only`` to ``open_world`` are MCP's hints; ``confirm`` has a
    person asked before each call; ``result_schema`` is what the tool's data must satisfy.
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
class FunctionTool:
    """A function of this program as a tool, for ``Registry.add``; still to be called as the function it is."""

    spec: ToolSpec
    function: Callable[..., object]

    @property
    def name(self) -> str:
        """The name that the model calls it by."""
        return self.spec.name

    def registered(self) -> RegisteredTool:
        """The tool as a registry has it. Its effect has no digest: nobody can review a running program."""
        surface = digests(replace(self.spec, backend=_NO_BACKEND)).surface
        return RegisteredTool(spec=self.spec, surface_digest=surface, effect_digest="")

    def __call__(self, *args: object, **kwargs: object) -> object:
        """What the function returns, called as if it were no tool."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<FunctionTool: {self.name}, which runs in this process>"


@dataclass(frozen=True, slots=True)
class ComposedTool:
    """A composite or a sub-agent of this program, for ``Registry.add``; it calls tools of the registry it is in.

    ``located`` says which line of the program says what.
    """

    spec: ToolSpec
    located: LocatedTool

    @property
    def name(self) -> str:
        """The name that the model calls it by."""
        return self.spec.name

    def registered(self) -> RegisteredTool:
        """The tool as a registry has it. Its effect has no digest: it is whatever the tools are that it calls."""
        surface = digests(replace(self.spec, backend=_NO_BACKEND)).surface
        return RegisteredTool(spec=self.spec, surface_digest=surface, effect_digest="")

    def __repr__(self) -> str:
        kind = {"agent": "sub-agent"}.get(self.spec.backend.tag, self.spec.backend.tag)
        return f"<ComposedTool: {self.name}, a {kind} of this program>"


def make_tool(
    name: str, description: str, parameters: JsonObject, backend: HostFunction, traits: Traits
) -> FunctionTool:
    """Check what a spec's checks would, and make the tool. Raises ``UsageError``."""
    check_traits(name, traits)
    _check_names((name, *traits.get("aliases", ())))
    check_parameters(name, parameters)
    check_description(name, description)
    for what, schema in (("parameters", parameters), ("result_schema", traits.get("result_schema"))):
        if schema is not None and (problem := _problem(schema)):
            raise UsageError(f"tool {name!r}: its {what} are no JSON Schema: {problem}")
    return FunctionTool(_spec(name, description.strip(), parameters, backend, traits), backend.function)


def check_traits(name: str, traits: Traits) -> None:
    """Raise ``UsageError`` for an option that there is not, and for a value that an option cannot have."""
    if unknown := sorted(traits.keys() - Traits.__annotations__.keys()):
        raise UsageError(f"tool {name!r}: there is no option {unknown[0]!r}; there are: {', '.join(_OPTIONS)}")
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
"""What may stand in each option."""


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


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _check_names(names: Iterable[str]) -> None:
    for each in names:
        if not _is_name(each):
            raise UsageError(
                f"{each!r} is no name of a tool: 1 to 64 of A-Z a-z 0-9 _ - that do not start with a digit or -"
            )


def check_description(name: str, description: object) -> None:
    """Raise ``UsageError`` for what tells a model nothing."""
    if not (isinstance(description, str) and description.strip()):
        raise UsageError(f"tool {name!r} has no description, by which a model decides when to call it; write one")
    argument_checks.text(f"tool {name!r}: its description", description)


def check_parameters(name: str, parameters: object) -> None:
    """Raise ``UsageError`` for what is no schema of an object with properties that a call can name."""
    parameters = argument_checks.json_object(f"tool {name!r}: its parameters", parameters)
    properties = parameters.get("properties")
    if parameters.get("type") != "object" or not isinstance(properties, dict):
        raise UsageError(f"tool {name!r}: its parameters must be a schema of type object with properties")
    for each in properties:
        if not _PARAMETER.fullmatch(each):
            raise UsageError(
                f"tool {name!r}: {each!r} is no name of a parameter: "
                "1 to 64 of A-Z a-z 0-9 _ that do not start with a digit"
            )


def _problem(schema: JsonObject) -> str:
    """What is wrong with a schema; empty where nothing is."""
    if is_plain_schema(schema):
        return ""
    from jsonschema import Draft202012Validator, SchemaError  # a tenth of a second that plain schemas need not cost

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    return ""

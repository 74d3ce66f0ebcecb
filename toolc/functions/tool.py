"""A function as a tool: what the model sees of it, made sure of when it is defined."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final, TypedDict

from toolc.digest import digests
from toolc.errors import UsageError
from toolc.registry import RegisteredTool
from toolc.schema import JsonObject, Schema
from toolc.spec import Annotations, Limits, Sandbox, ShellBackend, ToolSpec
from toolc.spec_backends import Argv
from toolc.spec_function import HostFunction
from toolc.validation.plain_schema import is_plain_schema

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

DEFAULT_TIMEOUT: Final = 30.0
"""How long a call may take, in seconds, where nothing else is said: as long as a compiled tool's."""

_NO_BACKEND: Final = ShellBackend(command=Argv(elements=()))
"""Stands in for a function where a digest is made, which has nothing of a backend."""


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


def make_tool(
    name: str, description: str, parameters: JsonObject, backend: HostFunction, traits: Traits
) -> FunctionTool:
    """Check what a spec's checks would, and make the tool. Raises ``UsageError``."""
    if unknown := sorted(traits.keys() - Traits.__annotations__.keys()):
        raise UsageError(f"tool {name!r}: there is no option {unknown[0]!r}; there are: {', '.join(_OPTIONS)}")
    for option in ("aliases", "tags"):
        _check_list(name, option, traits.get(option, ()))
    _check_names(name, traits.get("aliases", ()), parameters)
    if not _is_said(description):
        raise UsageError(f"tool {name!r} has no description, by which a model decides when to call it; write one")
    timeout = traits.get("timeout", DEFAULT_TIMEOUT)
    if not 0 < timeout < math.inf:
        raise UsageError(f"tool {name!r}: a timeout of {timeout} seconds is none; give a number of them")
    for what, schema in (("parameters", parameters), ("result_schema", traits.get("result_schema"))):
        if schema is not None and (problem := _problem(schema)):
            raise UsageError(f"tool {name!r}: its {what} are no JSON Schema: {problem}")
    return FunctionTool(_spec(name, description.strip(), parameters, backend, traits), backend.function)


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
        sandbox=Sandbox(limits=Limits(timeout_ms=timeout_ms)),
    )


def _check_list(name: str, option: str, given: object) -> None:
    """A text alone would be taken letter by letter."""
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise UsageError(
            f"tool {name!r}: {option} are a list of texts, and not {given!r:.60}; write e.g. {option}=['words']"
        )


def _is_said(words: object) -> bool:
    return isinstance(words, str) and bool(words.strip())


def _is_name(given: object) -> bool:
    return isinstance(given, str) and _NAME.fullmatch(given) is not None


def _check_names(name: str, aliases: Sequence[str], parameters: JsonObject) -> None:
    for each in (name, *aliases):
        if not _is_name(each):
            raise UsageError(
                f"{each!r} is no name of a tool: 1 to 64 of A-Z a-z 0-9 _ - that do not start with a digit or -"
            )
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

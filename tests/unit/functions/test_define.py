"""Tools defined from functions: the specs, the rejected definitions, and that the functions still work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest

from toolc import FunctionTool, UsageError, define, tool
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.tool import Annotations


@tool
def weather(city: Annotated[str, "City name"], units: Literal["metric", "imperial"] = "metric") -> str:
    """Get the weather of a city.

    Args:
        units: How to measure.
    """
    return f"{city}: {units}"


WEATHER: JsonObject = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "City name"},
        "units": {
            "type": "string", "enum": ["metric", "imperial"], "description": "How to measure.", "default": "metric",
        },
    },
    "required": ["city"],
    "additionalProperties": False,
}  # fmt: skip


def test_a_decorated_function_is_a_tool() -> None:
    assert isinstance(weather, FunctionTool)
    assert weather.name == "weather"
    assert weather.spec.description == "Get the weather of a city."
    assert weather.spec.parameters.value == WEATHER
    assert repr(weather) == "<FunctionTool: weather, which runs in this process>"


def test_function_tool_can_be_called() -> None:
    assert weather("Rome", units="imperial") == "Rome: imperial"


def test_builder_and_decorator_define_the_same_spec() -> None:
    built = (
        define("weather", "Get the weather of a city.")
        .param("city", "string", "City name")
        .param_opt("units", str, "How to measure.", enum=["metric", "imperial"], default="metric")
        .handler(lambda city, units: f"{city}: {units}")
    )
    assert built.spec.parameters.value == WEATHER
    assert built.registered().surface_digest == weather.registered().surface_digest
    assert built.registered().effect_digest == ""


def test_definitions_are_immutable() -> None:
    base = define("base", "A base.").param("a", "string")
    one, two = base.param("b", "integer"), base.param("c", "integer")
    assert [name for name, _ in one.hints] == ["a", "b"]
    assert [name for name, _ in two.hints] == ["a", "c"]


def test_parameters_schema_is_copied_and_closed() -> None:
    schema: JsonObject = {"type": "object", "properties": {"host": {"type": "string", "format": "hostname"}}}
    made = define("ping", "Ping a host.", parameters=schema).handler(lambda host="": host)
    assert made.spec.parameters.value == {**schema, "additionalProperties": False}
    schema["properties"] = {}
    assert "host" in made.spec.parameters.properties


def test_context_is_not_a_tool_parameter() -> None:
    @tool(name="wait", description="Wait.", timeout=1.5, label="Wait a bit", tags=["slow"], read_only=True)
    async def other(seconds: float, ctx: object) -> None:
        await asyncio.sleep(seconds)

    assert list(other.spec.parameters.properties) == ["seconds"]
    assert isinstance(other.spec.backend, HostFunction)
    assert other.spec.backend.context == "ctx"
    assert (other.spec.name, other.spec.label, other.spec.tags) == ("wait", "Wait a bit", ("slow",))
    assert other.spec.annotations == Annotations(read_only=True)
    assert other.spec.sandbox.limits.timeout_ms == 1500


def unhinted(city):  # type: ignore[no-untyped-def]
    """Get the weather."""


def several(*cities: str) -> None:
    """Get the weather."""


def silent(city: str) -> None:
    pass


def odd(when: complex) -> None:
    """Get the weather."""


def unknown(city: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Get the weather."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            unhinted,
            r"test_define\.py:\d+: unhinted: the parameter 'city' has no type hint; write, for example, city: str",
        ),
        (several, r"several: the parameter 'cities' cannot be passed by name"),
        (silent, r"tool 'silent' has no description; write one that tells a model when to call it"),
        (odd, r"odd: the parameter 'when': complex has no JSON form"),
        (unknown, r"unknown: its type hints cannot be read: name 'Nowhere' is not defined"),
        (lambda: 1, r"'<lambda>' is not a valid tool name; use 1 to 64 of the characters A-Z a-z 0-9 _ -"),
    ],
)
def test_incomplete_function_is_rejected(function: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        tool(function)  # type: ignore[call-overload]


@pytest.mark.parametrize("option", ["tags", "aliases"])
@pytest.mark.parametrize("given", ["bcd", 3, [3]])
def test_string_instead_of_list_is_rejected(option: str, given: object) -> None:
    traits: Any = {option: given}
    with pytest.raises(UsageError) as raised:
        define("a", "A.", **traits).handler(lambda: 1)
    assert str(raised.value) == (
        f"tool 'a': {option} must be a list of strings; got {given!r}; write e.g. {option}=['words']"
    )


def test_wrong_types_are_usage_errors() -> None:
    nothing: Any = []
    with pytest.raises(UsageError, match=r"tool 'bad': parameters must be a JSON Schema of type object, not \[\];"):
        define("bad", "B.", parameters=nothing)
    with pytest.raises(UsageError, match=r"^a tool's name must be a string; got \[\]"):
        define(nothing, "B.").handler(lambda: 1)
    with pytest.raises(UsageError, match="tool 'bad' has no description"):
        define("bad", nothing)
    with pytest.raises(UsageError, match=r"^tool 'bad': each step must be a return value of step\(...\); got \[\]"):
        define("bad", "B.").composite("sequential", nothing)


PING = define("ping", "Ping a host.").param("host", "string")
NO_OBJECT: JsonObject = {"type": "object", "properties": {}}
BAD_TYPE: JsonObject = {"type": "object", "properties": {"a": {"type": "text"}}}
BAD_PATTERN: JsonObject = {"type": "object", "properties": {"a": {"patternProperties": {"(?i)x": {}}}}}
UNKNOWN: Any = {"retries": 3}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PING.param("n", "int"), "tool 'ping', parameter 'n': 'int' is not a JSON Schema type; use one of"),
        (lambda: PING.param_opt("host", str), "tool 'ping' already has a parameter 'host'"),
        (lambda: PING.param("a b", "string").handler(lambda **all: all), "'a b' is not a valid parameter name"),
        (
            lambda: PING.handler(lambda host, port: (host, port)),
            r"with the keywords host: missing a required argument: 'port'$",
        ),
        (
            lambda: PING.param_opt("n", "integer").handler(lambda host, n: (host, n)),
            r"argument: 'n'; give optional parameters a default, in param_opt\(default=...\) or in the handler$",
        ),
        (lambda: PING.handler(lambda: None), "cannot be called with the keywords host: got an unexpected keyword"),
        (
            lambda: define("x", "X.", parameters=BAD_TYPE).handler(lambda a="": a),
            "tool 'x': its parameters are not a valid JSON Schema: 'text' is not valid under",
        ),
        (
            lambda: define("x", "X.", parameters=BAD_PATTERN).handler(lambda a=None: a),
            r"not a valid JSON Schema: the pattern '\(\?i\)x': '\(\?i\)' does not start a group in ECMA-262",
        ),
        (
            lambda: define("x", "X.", parameters=NO_OBJECT).param("a", "string"),
            "tool 'x' already has a schema; add the parameter 'a' to it",
        ),
        (
            lambda: define("x", "X.", parameters={"type": "string"}),
            "its parameters must be a schema of type object with properties",
        ),
        (lambda: define("x", "X.", timeout=0).handler(lambda: None), "tool 'x': a timeout must be a number of seconds"),
        (
            lambda: define("x", "X.", **UNKNOWN).handler(lambda: None),
            "tool 'x': there is no option 'retries'; the options are: name, description, label",
        ),
    ],
)
def test_invalid_definition_is_rejected(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


@pytest.mark.parametrize("pattern", [r"^\p{Lu}", r"^(?<first>a|b)\k<first>$", r"^\u{1F600}$", "[[a]"])
@pytest.mark.parametrize("kind", ["string", ["string", "null"]])
def test_patterns_of_ecma_262_are_valid_without_a_warning_of_python(pattern: str, kind: JsonValue) -> None:
    parameters: JsonObject = {"type": "object", "properties": {"a": {"type": kind, "pattern": pattern}}}
    tool = define("x", "X.", parameters=parameters).handler(lambda a=None: a)
    assert tool.spec.parameters.properties["a"] == {"type": kind, "pattern": pattern}

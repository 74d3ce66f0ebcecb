"""Tools made of functions: what is read from them, what is refused, and how they are still functions."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import pytest

from toolc import FunctionTool, UsageError, define, tool
from toolc.model.json_schema import JsonObject
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
            "type": "string",
            "enum": ["metric", "imperial"],
            "description": "How to measure.",
            "default": "metric",
        },
    },
    "required": ["city"],
    "additionalProperties": False,
}


def test_a_decorated_function_says_it_all() -> None:
    assert isinstance(weather, FunctionTool)
    assert weather.name == "weather"
    assert weather.spec.description == "Get the weather of a city."
    assert weather.spec.parameters.value == WEATHER
    assert repr(weather) == "<FunctionTool: weather, which runs in this process>"


def test_it_is_still_a_function() -> None:
    assert weather("Rome", units="imperial") == "Rome: imperial"


def test_the_builder_says_the_same() -> None:
    built = (
        define("weather", "Get the weather of a city.")
        .param("city", "string", "City name")
        .param_opt("units", str, "How to measure.", enum=["metric", "imperial"], default="metric")
        .handler(lambda city, units: f"{city}: {units}")
    )
    assert built.spec.parameters.value == WEATHER
    assert built.registered().surface_digest == weather.registered().surface_digest
    assert built.registered().effect_digest == ""


def test_a_definition_can_be_used_twice() -> None:
    base = define("base", "A base.").param("a", "string")
    one, two = base.param("b", "integer"), base.param("c", "integer")
    assert [name for name, _ in one.hints] == ["a", "b"]
    assert [name for name, _ in two.hints] == ["a", "c"]


def test_a_whole_schema_is_taken_as_it_is_and_closed() -> None:
    schema: JsonObject = {"type": "object", "properties": {"host": {"type": "string", "format": "hostname"}}}
    made = define("ping", "Ping a host.", parameters=schema).handler(lambda host="": host)
    assert made.spec.parameters.value == {**schema, "additionalProperties": False}
    schema["properties"] = {}
    assert "host" in made.spec.parameters.properties


def test_the_context_is_no_parameter() -> None:
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
        (unhinted, r"test_define\.py:\d+: unhinted: the parameter 'city' has no type hint, .* write e.g. city: str"),
        (several, r"several: the parameter 'cities' is not passed by name"),
        (silent, r"tool 'silent' has no description, by which a model decides when to call it; write one"),
        (odd, r"odd: the parameter 'when': complex has no JSON form"),
        (unknown, r"unknown: its type hints cannot be read: name 'Nowhere' is not defined"),
        (lambda: 1, r"'<lambda>' is no name of a tool: 1 to 64 of A-Z a-z 0-9 _ -"),
    ],
)
def test_a_function_that_says_too_little_is_refused(function: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        tool(function)  # type: ignore[call-overload]


@pytest.mark.parametrize("option", ["tags", "aliases"])
@pytest.mark.parametrize("given", ["bcd", 3, [3]])
def test_what_is_no_list_of_texts_is_not_taken_letter_by_letter(option: str, given: object) -> None:
    traits: Any = {option: given}
    with pytest.raises(UsageError) as raised:
        define("a", "A.", **traits).handler(lambda: 1)
    assert str(raised.value) == (
        f"tool 'a': {option} are a list of texts, and not {given!r}; write e.g. {option}=['words']"
    )


def test_what_is_of_the_wrong_type_is_told_and_not_raised_as_something_else() -> None:
    nothing: Any = []
    with pytest.raises(UsageError, match=r"tool 'bad': its parameters are a JSON Schema of .*, and not \[\];"):
        define("bad", "B.", parameters=nothing)
    with pytest.raises(UsageError, match=r"^a tool's name is a text, and not \[\]"):
        define(nothing, "B.").handler(lambda: 1)
    with pytest.raises(UsageError, match="tool 'bad' has no description"):
        define("bad", nothing)
    with pytest.raises(UsageError, match=r"^tool 'bad': each step is what step\(...\) made, and not \[\]"):
        define("bad", "B.").composite("sequential", nothing)


def test_a_builder_refuses_what_makes_no_sense() -> None:
    ping = define("ping", "Ping a host.").param("host", "string")
    with pytest.raises(UsageError, match="tool 'ping', parameter 'n': 'int' is no type of JSON Schema; use one of"):
        ping.param("n", "int")
    with pytest.raises(UsageError, match="tool 'ping' has a parameter 'host' already"):
        ping.param_opt("host", str)
    with pytest.raises(UsageError, match="tool 'ping': 'a b' is no name of a parameter"):
        ping.param("a b", "string").handler(lambda **all: all)
    with pytest.raises(UsageError, match=r"with the keywords host: missing a required argument: 'port'$"):
        ping.handler(lambda host, port: (host, port))
    with pytest.raises(
        UsageError,
        match="cannot be called with the keywords host: missing a required argument: 'n'; give what a call may "
        r"leave out a default, in param_opt\(default=...\) or in the handler$",
    ):
        ping.param_opt("n", "integer").handler(lambda host, n: (host, n))
    with pytest.raises(UsageError, match="cannot be called with the keywords host: got an unexpected keyword"):
        ping.handler(lambda: None)
    with pytest.raises(UsageError, match="tool 'x': its parameters are no JSON Schema: 'text' is not valid under"):
        define("x", "X.", parameters={"type": "object", "properties": {"a": {"type": "text"}}}).handler(lambda a="": a)
    with pytest.raises(UsageError, match="tool 'x' has a whole schema already; put the parameter 'a' in there"):
        define("x", "X.", parameters={"type": "object", "properties": {}}).param("a", "string")
    with pytest.raises(UsageError, match="its parameters must be a schema of type object with properties"):
        define("x", "X.", parameters={"type": "string"})
    with pytest.raises(UsageError, match="tool 'x': a timeout of 0 seconds is none"):
        define("x", "X.", timeout=0).handler(lambda: None)
    with pytest.raises(UsageError, match="tool 'x': there is no option 'retries'; there are: name, description, label"):
        define("x", "X.", retries=3).handler(lambda: None)  # type: ignore[call-arg]

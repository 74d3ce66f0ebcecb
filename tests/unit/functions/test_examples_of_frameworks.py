"""The examples of five agent frameworks that need no sandbox: registries, results, errors and definitions.

Their built-in tools are in ``tests/integration/calls/test_tools_of_frameworks.py``.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from toolc import Executor, Image, Registry, Text, ToolCall, ToolDenied, ToolResult, ToolUpdate, UsageError, define
from toolc.model.json_schema import JsonObject

PNG = b"\x89PNG\r\n\x1a\n"

CITY: JsonObject = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "description": "City and country"},
        "units": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    },
    "required": ["location"],
}
HOST: JsonObject = {"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]}


def weather(ctx: Any, location: str, units: str) -> object:
    if location == "Atlantis":
        raise ctx.error("not_found", f"city not found: {location}")
    return ctx.result(f"72, sunny in {location}", structured={"units": units}, details={"raw_value": 42.0})


def fetch(ctx: Any, urls: list[str]) -> list[object]:
    for number, url in enumerate(urls, 1):
        ctx.progress(None, f"[{number}/{len(urls)}] {url}")
    return ["captured", PNG]


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    registry.add(
        define("get_weather", "Get the weather. Use it for the weather now.", parameters=CITY).handler(weather),
        define("ping", "Check whether a host is reachable.", parameters=HOST).handler("{host} is reachable".format),
        define("search", "Search the web for current facts. Do not use it for arithmetic.")
        .param("query", "string", "What to look for")
        .param_opt("limit", "integer", "How many results", default=5)
        .handler(lambda query, limit: f"{limit} results for {query}"),
        define("fetch", "Fetch some pages. Use it for several pages.").param("urls", "array", "Pages").handler(fetch),
        define("answer", "Answer every question.").handler(lambda: "The answer is 42"),
        define("delete_files", "Delete files.").handler(lambda: "deleted"),
    )  # fmt: skip
    return registry


@pytest.fixture
def executor(registry: Registry) -> Iterator[Executor]:
    with Executor(registry) as executor:
        yield executor


def test_a_registry_is_filled_asked_and_emptied(registry: Registry) -> None:
    assert len(registry) == 6
    assert "ping" in registry
    assert registry.get("nothing") is None
    assert registry.execute("ping", {"host": "8.8.8.8"}).text == "8.8.8.8 is reachable"
    assert registry.schema("get_weather")["required"] == ["location"]
    registry.remove("ping")
    assert registry.names == ("answer", "delete_files", "fetch", "get_weather", "search")
    with pytest.raises(UsageError, match="ping"):
        registry.execute("ping", {"host": "8.8.8.8"})


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"location": "Tokyo"}, None, "72, sunny in Tokyo"),
        ({"location": "Atlantis"}, "not_found", "city not found: Atlantis"),
        ({}, "invalid_args", "location"),
        ({"location": "Tokyo", "units": "kelvin"}, "invalid_args", "'fahrenheit'"),
        ({"location": 7}, "invalid_args", "location"),
    ],
)
def test_a_failure_is_a_result_for_the_model(
    executor: Executor, arguments: JsonObject, kind: str | None, text: str
) -> None:
    result = executor.run("get_weather", arguments)
    assert (result.is_error, result.error and result.error.kind) == (kind is not None, kind)
    assert text in result.text


def test_defaults_data_and_details(executor: Executor) -> None:
    result = executor.run("get_weather", {"location": "Tokyo"})
    assert (result.data, result.details["tool"]) == ({"units": "celsius"}, {"raw_value": 42.0})
    assert executor.run("search", {"query": "tea"}).text == "5 results for tea"
    assert executor.run("search", {"query": "tea", "limit": 10}).text == "10 results for tea"
    assert executor.run("answer", {}).text == "The answer is 42"


def test_progress_is_an_event_and_an_image_is_a_block(executor: Executor) -> None:
    events = list(executor.stream("fetch", {"urls": ["a", "b"]}))
    assert [each.message for each in events if isinstance(each, ToolUpdate)] == ["[1/2] a", "[2/2] b"]
    text, image = executor.run("fetch", {"urls": []}).content
    assert text == Text("captured")
    assert isinstance(image, Image)


def test_a_denied_tool_is_not_called_and_the_model_can_go_on(executor: Executor) -> None:
    executor.deny("delete_files")
    events: list[object] = []
    calls = [ToolCall(name="delete_files", arguments={}), ToolCall(name="ping", arguments={"host": "a"})]
    denied, other = executor.run_batch(calls, on_event=events.append)
    assert denied.error is not None
    assert (denied.error.kind, other.text) == ("denied", "a is reachable")
    assert [each.name for each in events if isinstance(each, ToolDenied)] == ["delete_files"]


def test_definitions_have_name_description_and_schema(registry: Registry) -> None:
    (anthropic,) = registry.only("ping").definitions("anthropic")
    (openai,) = registry.only("ping").definitions("openai_chat")
    assert isinstance(anthropic, dict)
    assert isinstance(openai, dict)
    function = openai["function"]
    assert isinstance(function, dict)
    for name, description, schema in (
        (anthropic["name"], anthropic["description"], anthropic["input_schema"]),
        (function["name"], function["description"], function["parameters"]),
    ):
        assert (name, description) == ("ping", "Check whether a host is reachable.")
        assert isinstance(schema, dict)
        assert (schema["type"], schema["properties"], schema["required"]) == (
            "object", HOST["properties"], HOST["required"]
        )  # fmt: skip


def test_results_are_built_in_a_program() -> None:
    made = ToolResult.success({"result": 14}, message="done", details={"seconds": 1})
    assert (made.is_error, made.data, made.text, made.details) == (False, {"result": 14}, "done", {"seconds": 1})
    assert ToolResult.failure("city not found").is_error


@pytest.mark.parametrize(
    "kind",
    [
        "execution",
        "invalid_args",
        "not_found",
        "network",
        "file",
        "serialization",
        "authentication",
        "rate_limit",
        "cancelled",
    ],
)
def test_each_error_of_the_frameworks_has_a_kind(kind: Any) -> None:
    failed = ToolResult.failure("why", kind=kind).error
    assert failed is not None
    assert (failed.kind, failed.message) == (kind, "why")


@pytest.mark.parametrize("preset", ["coding", "readonly", "research", "data", "all", "none"])
def test_presets_are_toolsets(preset: str) -> None:
    names = Registry.builtin(preset).names
    assert ("file_read" in names) == (preset != "none")
    assert ("file_write" in names) == (preset not in {"readonly", "none"})

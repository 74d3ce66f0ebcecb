"""Requirements for every provider."""

import copy
from dataclasses import replace

import pytest
from models.provider_cases import TOOLS, compare, losses_as_text, tool
from models.sdk_checks import SDK_CHECKS

from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import canonical
from toolc.providers import _PROVIDERS, load_provider
from toolc.providers.provider import Provider

PROVIDERS = {name: load_provider(name) for name in PROVIDER_NAMES}
each_provider = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS.keys())
SCHEMA_KEYS = ("parameters", "input_schema", "parametersJsonSchema", "inputSchema", "json")


def test_the_providers_have_a_fixed_order() -> None:
    assert tuple(_PROVIDERS) == PROVIDER_NAMES
    assert list(PROVIDERS) == [
        "openai_chat", "openai_responses", "anthropic", "gemini", "mcp", "bedrock", "mistral", "cohere", "ollama",
    ]  # fmt: skip
    assert all(name == provider.name for name, provider in PROVIDERS.items())
    assert SDK_CHECKS.keys() == PROVIDERS.keys()


@each_provider
def test_definitions_match_the_golden_files(provider: Provider, golden: bool) -> None:
    compare(provider.name, provider.lower(TOOLS).tools, write=golden)


def test_losses_match_the_golden_file(golden: bool) -> None:
    losses = {name: losses_as_text(provider.lower(TOOLS)) for name, provider in PROVIDERS.items()}
    compare("losses", losses, write=golden)


@pytest.mark.slow
@each_provider
def test_the_sdk_accepts_the_definitions(provider: Provider) -> None:
    SDK_CHECKS[provider.name](provider.lower(TOOLS).tools)


@each_provider
def test_no_tools_are_an_empty_array(provider: Provider) -> None:
    assert provider.lower(()).tools == []


@each_provider
def test_lowering_does_not_modify_the_tools(provider: Provider) -> None:
    before = copy.deepcopy(TOOLS)
    provider.lower(TOOLS)
    assert before == TOOLS


@each_provider
def test_the_order_of_keys_does_not_matter(provider: Provider) -> None:
    same_names: JsonObject = {
        "type": "object",
        "properties": {
            "b": {"type": "object", "properties": {"x": {"type": "string"}}},
            "a": {"type": "object", "properties": {"x": {"type": "integer"}}},
            "one": {"$ref": "#/properties/b/properties/x"},
            "another": {"$ref": "#/properties/a/properties/x"},
        },
    }
    as_written = [*TOOLS, tool("refer", same_names)]
    reversed_tools = [
        replace(
            each,
            parameters=Schema(_reversed(each.parameters.value)),
            result_schema=Schema(_reversed(each.result_schema.value)) if each.result_schema else None,
        )
        for each in as_written
    ]
    first, second = provider.lower(as_written), provider.lower(reversed_tools)
    assert canonical(first.tools) == canonical(second.tools)
    assert first.losses == second.losses


def _reversed(schema: JsonObject) -> JsonObject:
    return {key: _reversed(value) if isinstance(value, dict) else value for key, value in reversed(schema.items())}


@each_provider
def test_a_description_is_never_empty(provider: Provider) -> None:
    lowered = provider.lower([tool("look", description="")]).tools
    assert [each["description"] for each in _objects(lowered) if "description" in each] == ["look"]


def _objects(value: JsonValue) -> list[JsonObject]:
    """Return every object outside the parameters' schemas, outermost first."""
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if not isinstance(value, dict):
        return []
    outside = [item for key, item in value.items() if key not in SCHEMA_KEYS or _wraps_schema(item)]
    inner = [found for item in outside for found in _objects(item)]
    return [value, *inner]


def _wraps_schema(value: JsonValue) -> bool:
    """Return whether a value is Bedrock's ``{"json": schema}``."""
    return isinstance(value, dict) and value.keys() == {"json"}

"""A lowered schema never refuses what the tool's own schema accepts, unless the loss report says so."""

from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator, ValidationError
from models.provider_cases import tool
from referencing import Registry
from schemas.random_schemas import RandomSchemas

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import STRICT, ProviderChoice
from toolc.providers import load_provider
from toolc.providers.json_schema.references import References, merge_all_of

SCHEMA_KEYS = ("parameters", "json", "inputSchema", "input_schema", "parametersJsonSchema")


def validator(schema: JsonObject) -> Draft202012Validator:
    return Draft202012Validator(schema, registry=Registry())


def valid_arguments(made: RandomSchemas, schema: JsonObject) -> Iterator[JsonObject]:
    original = validator(schema)
    for _ in range(20):
        value = made.argument(schema, schema)
        if isinstance(value, dict) and original.is_valid(value):
            yield value


def parameters(definitions: JsonValue) -> JsonObject:
    """Return the only schema in a provider's definitions; a tool without one has no parameters."""
    inside = (
        definitions
        if isinstance(definitions, list)
        else [*definitions.values()]
        if isinstance(definitions, dict)
        else []
    )
    for key in SCHEMA_KEYS:
        if isinstance(definitions, dict) and isinstance(schema := definitions.get(key), dict) and "json" not in schema:
            return schema
    found = [each for each in map(parameters, inside) if each != NOTHING]
    return found[0] if found else NOTHING


NOTHING: JsonObject = {"type": "object", "additionalProperties": False}


def lowered(schema: JsonObject, provider: str) -> JsonObject:
    return parameters(load_provider(provider).lower([tool("look", schema)]).tools)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 1000), marks=pytest.mark.integrations)])
@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_valid_arguments_are_valid_for_every_lowered_schema(provider: str, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        made = RandomSchemas(seed)
        schema = made.tool()
        result = validator(lowered(schema, provider))
        for arguments in valid_arguments(made, schema):
            compared += 1
            errors = [error for each in result.iter_errors(arguments) for error in innermost(each)]
            assert not errors or is_described(provider, errors), (
                f"seed {seed}: {arguments}: {[error.message for error in errors]}"
            )
    assert compared > 4 * len(seeds)


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
@pytest.mark.parametrize("items", [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}, False])
def test_items_apply_only_after_the_first_items(provider: str, items: JsonValue) -> None:
    pair: JsonObject = {"type": "array", "prefixItems": [{"type": "string"}], "items": items}
    schema: JsonObject = {"type": "object", "properties": {"a": pair}, "additionalProperties": False}
    assert validator(lowered(schema, provider)).is_valid({"a": ["b"]})


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 2000), marks=pytest.mark.integrations)])
@pytest.mark.parametrize("provider", STRICT)
def test_valid_arguments_can_be_written_in_strict_mode(provider: str, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        made = RandomSchemas(seed, strict=True)
        schema = made.tool()
        strict = tool("look", schema, providers=(ProviderChoice(provider=provider, strict=True),))
        lowering = load_provider(provider).lower([strict])
        if any(loss.kind == "not_strict" for loss in lowering.losses):
            continue
        result = validator(parameters(lowering.tools))
        closes = any(loss.kind == "closed" for loss in lowering.losses)
        for arguments in valid_arguments(made, schema):
            compared += 1
            written = with_nulls(schema, arguments, schema) if provider.startswith("openai") else arguments
            errors = [error for each in result.iter_errors(written) for error in innermost(each)]
            is_reported = closes and any(error.validator == "additionalProperties" for error in errors)
            assert not errors or is_reported or is_described(provider, errors), (
                f"seed {seed}: {written}: {[error.message for error in errors]}"
            )
    assert 3 * compared > len(seeds) or provider == "cohere"  # which few of these schemas suit


def is_described(provider: str, errors: list[ValidationError]) -> bool:
    """Return whether the description has what the schema lacks: Gemini and MCP omit an empty text in an enum."""
    return provider in {"gemini", "mcp"} and any(error.instance == "" for error in errors)


def innermost(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the errors within the alternatives of an error, or the error itself."""
    for each in error.context or ():
        yield from innermost(each)
    if not error.context:
        yield error


def with_nulls(schema: JsonValue, value: JsonValue, root: JsonObject) -> JsonValue:
    """Return a valid ``value`` with null for each omitted optional property, as a model writes it in strict mode."""
    if not isinstance(schema, dict):
        return value
    source = merge_all_of(schema, References(root))
    if isinstance(reference := source.get("$ref"), str):
        return with_nulls(References(root).target(reference), value, root)
    if "enum" in source or "const" in source:
        return value
    if "type" not in source:
        choices = source.get("anyOf", source.get("oneOf"))
        for choice in choices if isinstance(choices, list) else ():
            if validator(root).evolve(schema=choice).is_valid(value):
                return with_nulls(choice, value, root)
    properties = source.get("properties", {})
    assert isinstance(properties, dict)
    if isinstance(value, list):
        return [with_nulls(source.get("items"), each, root) for each in value]
    if isinstance(value, dict):
        return dict.fromkeys(properties) | {
            name: with_nulls(properties.get(name), each, root) for name, each in value.items()
        }
    return value


@pytest.mark.parametrize("others", [False, {"type": "integer"}])
def test_names_that_match_a_pattern_are_accepted_by_gemini(others: JsonValue) -> None:
    headers: JsonObject = {
        "type": "object",
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": others,
    }
    schema: JsonObject = {"type": "object", "properties": {"headers": headers}, "required": ["headers"]}
    log = load_provider("gemini").lower([tool("look", schema)])
    validator(parameters(log.tools)).validate({"headers": {"x-a": "b"}})
    assert {loss.pointer for loss in log.losses} == {
        "/parameters/properties/headers/additionalProperties", "/parameters/properties/headers/patternProperties",
    }  # fmt: skip


def test_a_required_name_that_matches_a_pattern_is_accepted_by_gemini() -> None:
    schema: JsonObject = {
        "type": "object", "required": ["x"],
        "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": {"type": "integer"},
    }  # fmt: skip
    validator(lowered(schema, "gemini")).validate({"x": "text"})


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_properties_in_moved_schemas_are_accepted(keyword: str, provider: str) -> None:
    schema: JsonObject = {
        "type": "object",
        keyword: [{"properties": {"a": {"type": "string"}}}],
        "unevaluatedProperties": False,
    }
    validator(lowered(schema, provider)).validate({"a": "text"})


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("a%b", "#/$defs/a%25b"), ("50%25", "#/$defs/50%2525"), ("a/b", "#/$defs/a~1b"), ("a~b", "#/$defs/a~0b"),
        ("a b", "#/$defs/a%20b"), ("List[int]", "#/$defs/List%5Bint%5D"), ("größe", "#/$defs/gr%C3%B6%C3%9Fe"),
        ("%", "#/$defs/%25"), ("#", "#/$defs/%23"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_references_to_any_name_lead_to_its_schema(name: str, reference: str, provider: str) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"p": {"$ref": reference}},
        "$defs": {name: {"type": "integer"}, "a": {"type": "null"}},
    }
    result = validator(lowered(schema, provider))
    assert result.is_valid({"p": 1})
    assert not result.is_valid({"p": "text"})


@pytest.mark.parametrize("keyword", ["enum", "const", "default", "examples", "x-own"])
@pytest.mark.parametrize("anchor", ["$anchor", "$dynamicAnchor"])
def test_an_anchor_within_a_value_is_not_a_schema(keyword: str, anchor: str) -> None:
    value: JsonObject = {anchor: "here", "type": "string"}
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {keyword: [value] if keyword in {"enum", "examples"} else value}, "b": {"$ref": "#here"}},
        "$defs": {"z": {anchor: "here", "type": "integer"}},
    }
    result = validator(lowered(schema, "gemini"))
    assert result.is_valid({"b": 1})
    assert not result.is_valid({"b": "text"})


def test_a_reference_within_a_value_is_not_recursive() -> None:
    schema: JsonObject = {"$defs": {"a": {"enum": [{"$ref": "#/$defs/a"}]}, "b": {"items": {"$ref": "#/$defs/b"}}}}
    references = References(schema)
    assert not references.is_recursive("#/$defs/a")
    assert references.is_recursive("#/$defs/b")

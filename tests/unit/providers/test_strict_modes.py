"""Schemas lowered for strict modes, and equivalent calls."""

from __future__ import annotations

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from provider_cases import parameters, tool
from schema_strategies import schemas
from strict_cases import as_a_model_writes, check_anthropic, check_openai, strict_schemas, values_for

from toolc.model.json_schema import JsonObject, JsonValue, map_subschemas
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import ProviderChoice
from toolc.providers import load_provider
from toolc.providers.anthropic import MODE as ANTHROPIC
from toolc.providers.json_schema.lowering import LossLog
from toolc.providers.json_schema.strict import NotStrictError, StrictMode, lower_strict
from toolc.providers.openai import MODE as OPENAI
from toolc.validation.coercion import without_nulls

STRICT = {name: (ProviderChoice(provider=name, strict=True),) for name in PROVIDER_NAMES}
CHECKS = {OPENAI: check_openai, ANTHROPIC: check_anthropic}
each_mode = pytest.mark.parametrize("mode", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
LIMITS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def lowered(mode: StrictMode, schema: JsonObject, defs: JsonObject | None = None) -> tuple[JsonValue, list[str]]:
    """Return an optional parameter's schema in a strict mode, and its losses."""
    log = LossLog("look")
    root: JsonObject = {
        "type": "object",
        "properties": {"p": schema},
        "additionalProperties": False,
        "$defs": defs or {},
    }
    result = lower_strict(root, mode, log)
    CHECKS[mode](result)
    properties = result["properties"]
    assert isinstance(properties, dict)
    return properties["p"], [f"{each.pointer.removeprefix('/parameters')}: {each.message}" for each in log.losses]


@pytest.mark.parametrize(
    ("schema", "openai", "anthropic"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}, {"type": "string"}),
        (
            {"type": ["string", "integer"], "description": "Either"},
            {"type": ["string", "integer", "null"], "description": "Either"},
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "Either"},
        ),
        (
            {"enum": ["a", "b"], "description": "One"},
            {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}], "description": "One"},
            {"type": "string", "enum": ["a", "b"], "description": "One"},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        (
            parameters(x={"type": "integer"}),
            parameters(x={"type": "integer"}) | {"type": ["object", "null"]},
            parameters(x={"type": "integer"}),
        ),
        (
            {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 1},
            {"type": ["array", "null"], "items": {"type": "string", "format": "date"}, "minItems": 1},
            {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 1},
        ),
        (
            {"allOf": [{"type": "string"}, {"enum": ["a"]}]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            {"type": "string", "enum": ["a"]},
        ),
    ],
)
def test_supported_schemas_are_lowered_without_loss(
    schema: JsonObject, openai: JsonObject, anthropic: JsonObject
) -> None:
    assert lowered(OPENAI, schema) == (openai, [])
    assert lowered(ANTHROPIC, schema) == (anthropic, [])


def test_a_schema_that_allows_null_is_kept() -> None:
    assert lowered(OPENAI, {"type": ["string", "null"]}) == (
        {"type": ["string", "null"]},
        ["/properties/p: OpenAI's strict mode requires this property: null replaces an absent value"],
    )


def test_a_reference_is_wrapped_in_any_of() -> None:
    node = parameters(next={"$ref": "#/$defs/node", "description": "More"}) | {"required": []}
    assert lowered(OPENAI, {"$ref": "#/$defs/node"}, {"node": node}) == (
        {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        [],
    )
    with pytest.raises(NotStrictError, match="a recursive reference"):
        lowered(ANTHROPIC, {"$ref": "#/$defs/node"}, {"node": node})


def test_unsupported_keywords_are_moved_to_the_description() -> None:
    schema: JsonObject = {"type": "string", "minLength": 1, "pattern": "^(?=a)", "default": "a", "x-own": 1}
    assert lowered(OPENAI, schema) == (
        {"type": ["string", "null"], "description": '(default: "a", minLength: 1, pattern: "^(?=a)")'},
        [
            "/properties/p/default: OpenAI's strict mode does not support default here; moved to the description",
            "/properties/p/minLength: OpenAI's strict mode does not support minLength here; moved to the description",
            "/properties/p/pattern: OpenAI's strict mode does not support pattern here; moved to the description",
            "/properties/p/x-own: OpenAI's strict mode does not support x-own; dropped",
        ],
    )
    both: JsonObject = {"type": "integer", "minimum": 1}
    assert lowered(OPENAI, both) == ({"type": ["integer", "null"], "minimum": 1}, [])
    assert lowered(ANTHROPIC, both)[0] == {"type": "integer", "description": "(minimum: 1)"}


def test_one_of_becomes_any_of_and_an_open_object_is_closed() -> None:
    one: JsonObject = {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"x": {"type": "null"}}}]}
    schema, losses = lowered(ANTHROPIC, one)
    assert isinstance(schema, dict)
    assert schema.keys() == {"anyOf"}
    assert losses == [
        "/properties/p/oneOf: Anthropic's strict mode treats oneOf as anyOf",
        "/properties/p/oneOf/1: Anthropic's strict mode closes this object",
    ]


def test_alternatives_that_any_of_cannot_express_are_moved_to_the_description() -> None:
    one: JsonObject = {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]}
    assert lowered(ANTHROPIC, one) == (
        {"anyOf": [{"type": "string"}], "description": '(oneOf: [{"type":"string"}])'},
        ["/properties/p/oneOf: Anthropic's strict mode does not support oneOf here; moved to the description"],
    )


@pytest.mark.parametrize("keyword", ["$anchor", "$comment", "$dynamicAnchor", "$id", "$schema", "$vocabulary"])
@each_mode
def test_keywords_that_tell_a_model_nothing_are_dropped(mode: StrictMode, keyword: str) -> None:
    assert lowered(mode, {"type": "string", keyword: "x"}) == lowered(mode, {"type": "string"})


@pytest.mark.parametrize(
    ("schema", "pointer", "what"),
    [
        ({}, "", "a value without a type"),
        ({"type": "array"}, "", "an array without items"),
        ({"type": "array", "items": {}}, "/items", "a value without a type"),
        ({"type": "array", "items": True}, "/items", "a value without a schema"),
        ({"type": "array", "prefixItems": [{"type": "null"}]}, "/prefixItems", "prefixItems"),
        ({"type": "object"}, "", "an object with arbitrary properties"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "", "an object with arbitrary properties"),
        ({"type": "object", "patternProperties": {"^a": {}}}, "/patternProperties", "patternProperties"),
        ({"type": "object", "properties": {}, "required": ["x"]}, "", "an object with arbitrary properties"),
        ({"enum": [["a"]]}, "/enum", "enum of arrays or objects"),
        ({"type": "string", "enum": []}, "/enum", "an empty enum"),
        ({"type": "object", "const": ""}, "/const", "const with values of another type"),
        ({"$ref": "#/properties/q"}, "/$ref", "a reference to #/properties/q, which is not in $defs"),
        ({"$ref": "#/$defs/d", "minLength": 1}, "/$ref", "a reference together with minLength"),
    ],
)
@each_mode
def test_schemas_whose_meaning_would_change_are_not_lowered(
    mode: StrictMode, schema: JsonObject, pointer: str, what: str
) -> None:
    with pytest.raises(NotStrictError) as raised:
        lowered(mode, schema, {"d": {"type": "string"}})
    assert (raised.value.pointer, str(raised.value)) == (f"/parameters/properties/p{pointer}", what)


def test_an_any_of_at_the_root_is_moved_to_the_description() -> None:
    log = LossLog("look")
    schema = lower_strict(parameters(a={"type": "string"}) | {"anyOf": [{"required": ["a"]}]}, OPENAI, log)
    assert schema["description"] == '(anyOf: [{"required":["a"]}])'
    assert [loss.pointer for loss in log.losses] == ["/parameters/anyOf"]


@pytest.mark.slow
@each_mode
@given(schema=schemas)
@LIMITS
def test_every_lowered_schema_is_in_the_subset(mode: StrictMode, schema: JsonObject) -> None:
    try:
        result = lower_strict(schema, mode, LossLog("look"))
    except NotStrictError:
        return
    Draft202012Validator.check_schema(result)
    CHECKS[mode](result)


@pytest.mark.slow
@each_mode
@given(schema=strict_schemas, data=st.data())
@LIMITS
def test_a_call_valid_in_strict_mode_is_valid_for_the_tool(
    mode: StrictMode, schema: JsonObject, data: st.DataObject
) -> None:
    log = LossLog("look")
    try:
        strict = lower_strict(schema, mode, log)
    except NotStrictError:
        assert mode is ANTHROPIC  # which does not support recursion
        return
    CHECKS[mode](strict)
    call = data.draw(values_for(strict, strict))
    assert isinstance(call, dict)
    Draft202012Validator(strict).validate(call)
    Draft202012Validator(schema).validate(without_nulls(schema, call))


@pytest.mark.slow
@given(schema=strict_schemas)
@LIMITS
def test_the_helpers_of_the_sdks_change_nothing(schema: JsonObject) -> None:
    from anthropic import transform_schema
    from openai.lib._pydantic import _ensure_strict_json_schema

    strict = lower_strict(schema, OPENAI, LossLog("look"))
    root: dict[str, object] = {**strict}
    assert _ensure_strict_json_schema(copy.deepcopy(root), path=(), root=copy.deepcopy(root)) == strict
    try:
        strict = lower_strict(schema, ANTHROPIC, LossLog("look"))
    except NotStrictError:
        return
    assert transform_schema({**copy.deepcopy(strict)}) == _without_types_of_values(strict)


def _without_types_of_values(schema: JsonObject) -> JsonObject:
    """Return ``schema`` as Anthropic's helper writes it: without the types of ``enum`` and ``const``."""
    kept: JsonObject = {
        key: value for key, value in schema.items() if key != "type" or not {"enum", "const"} & schema.keys()
    }
    return map_subschemas(kept, lambda inner: _without_types_of_values(inner) if isinstance(inner, dict) else inner)


@pytest.mark.slow
@given(schema=strict_schemas, data=st.data())
@LIMITS
def test_a_call_valid_for_the_tool_can_be_written_in_strict_mode(schema: JsonObject, data: st.DataObject) -> None:
    strict = lower_strict(schema, OPENAI, LossLog("look"))
    call = data.draw(values_for(schema, schema))
    Draft202012Validator(strict).validate(as_a_model_writes(schema, call, schema))


def definition(provider: str, schema: JsonObject, count: int = 1) -> tuple[list[JsonObject], list[str]]:
    """Return the definitions of ``count`` tools in strict mode, and the losses."""
    several = [tool(f"look_{at}", schema, providers=STRICT[provider]) for at in range(count)]
    lowering = load_provider(provider).lower(several)
    tools = [each for each in lowering.tools if isinstance(each, dict)]
    return tools, [f"{each.tool}{each.pointer}: {each.message}" for each in lowering.losses]


PLAIN: JsonObject = parameters(a={"type": "string"}, b={"type": "integer"}) | {"required": ["a"]}
FREE = parameters(a={"type": "object"})


def test_openai_definitions_are_strict() -> None:
    strict: JsonValue = parameters(a={"type": "string"}, b={"type": ["integer", "null"]})
    chat, losses = definition("openai_chat", PLAIN)
    assert (chat[0]["function"], losses) == (
        {"name": "look_0", "description": "Look at one thing.", "parameters": strict, "strict": True},
        [],
    )
    responses, losses = definition("openai_responses", PLAIN)
    assert (responses[0]["parameters"], responses[0]["strict"], losses) == (strict, True, [])


def test_anthropic_definitions_are_strict() -> None:
    tools, losses = definition("anthropic", PLAIN)
    assert (tools[0]["input_schema"], tools[0]["strict"], losses) == (PLAIN, True, [])


@pytest.mark.parametrize("provider", ["openai_chat", "openai_responses", "anthropic"])
def test_a_loss_explains_why_a_definition_is_not_strict(provider: str) -> None:
    tools, losses = definition(provider, FREE)
    assert '"strict": true' not in str(tools).replace("'", '"').lower()
    name = "Anthropic" if provider == "anthropic" else "OpenAI"
    what = f"{name}'s strict mode does not support an object with arbitrary properties"
    assert losses == [f"look_0/parameters/properties/a: {what}; the definition is not strict"]


def test_openai_limits_the_levels_of_objects() -> None:
    schema: JsonObject = {"type": "string"}
    for _ in range(9):
        schema = parameters(a=schema)
    assert definition("openai_chat", parameters(a=schema))[1] == []
    what = "OpenAI's strict mode does not support 11 levels of objects (at most 10 are allowed)"
    assert definition("openai_chat", parameters(a=parameters(a=schema)))[1] == [
        f"look_0/parameters: {what}; the definition is not strict"
    ]


def test_openai_limits_the_values_of_enums() -> None:
    many: list[JsonValue] = [f"{number:04}" for number in range(1001)]
    (loss,) = definition("openai_chat", parameters(a={"enum": many}))[1]
    assert "1001 values of enum (at most 1000 are allowed)" in loss
    long: list[JsonValue] = [f"{number:061}" for number in range(251)]
    (loss,) = definition("openai_chat", parameters(a={"enum": long}))[1]
    assert "15311 characters in an enum of more than 250 values (at most 15000 are allowed)" in loss


@pytest.mark.parametrize(
    ("schema", "fit", "what"),
    [
        (parameters(a={"type": "string"}), 20, "more than 20 strict tools"),
        (PLAIN, 20, "more than 20 strict tools"),
        (PLAIN | {"required": []}, 12, "more than 24 optional properties of strict tools"),
        (parameters(a={"type": ["string", "null"]}), 16, "more than 16 properties with a choice of types"),
    ],
)
def test_anthropic_limits_all_strict_tools_together(schema: JsonObject, fit: int, what: str) -> None:
    tools, losses = definition("anthropic", schema, count=fit + 1)
    assert [each.get("strict", False) for each in tools] == [True] * fit + [False]
    message = f"Anthropic's strict mode does not support {what} in one request; the definition is not strict"
    assert losses == [f"look_{fit}/parameters: {message}"]

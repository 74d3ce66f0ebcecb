"""Schemas lowered for strict modes, and equivalent calls."""

from __future__ import annotations

from contextlib import suppress

import pytest
from jsonschema import Draft202012Validator
from models.provider_cases import parameters, tool
from schemas.parameter_schemas import SCHEMAS
from schemas.random_schemas import RandomSchemas
from strict_cases import check_anthropic, check_cohere, check_openai

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import ProviderChoice, ToolSpec
from toolc.providers import load_provider
from toolc.providers.anthropic import STRICT as ANTHROPIC
from toolc.providers.cohere import STRICT as COHERE
from toolc.providers.json_schema.lowering import Loss, LossLog
from toolc.providers.json_schema.target import NotStrictError, Target, lower_schema
from toolc.providers.mistral import STRICT as MISTRAL
from toolc.providers.openai import STRICT as OPENAI

STRICT = {name: (ProviderChoice(provider=name, strict=True),) for name in PROVIDER_NAMES}
CHECKS = {
    OPENAI.name: check_openai,
    ANTHROPIC.name: check_anthropic,
    MISTRAL.name: check_anthropic,
    COHERE.name: check_cohere,
}
each_mode = pytest.mark.parametrize("mode", [OPENAI, ANTHROPIC, MISTRAL, COHERE], ids=lambda mode: mode.name)
each_closing_mode = pytest.mark.parametrize("mode", [OPENAI, ANTHROPIC, MISTRAL], ids=lambda mode: mode.name)


def lowered(mode: Target, schema: JsonObject, defs: JsonObject | None = None) -> tuple[JsonValue, list[str]]:
    """Return an optional parameter's schema in a strict mode, and its losses."""
    log = LossLog("look")
    root: JsonObject = {
        "type": "object",
        "properties": {"p": schema},
        "additionalProperties": False,
        "$defs": defs or {},
    }
    result = lower_schema(root, mode, log)
    CHECKS[mode.name](result)
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
            {"enum": ["a", "b"], "description": "One"},
        ),
        (
            {"type": ["string", "null"], "enum": ["a", "b"]},  # common, although null is not listed
            {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
            {"enum": ["a", "b"]},
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
            {"enum": ["a"]},
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


@pytest.mark.parametrize("pattern", ["^a", "a$", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b"])
def test_cohere_receives_no_anchors_and_no_look_around(pattern: str) -> None:
    assert lowered_for_cohere({"type": "string", "pattern": pattern}) == {
        "type": "string",
        "description": f'(pattern: "{pattern}")',
    }
    assert lowered_for_cohere({"type": "string", "pattern": "a+"}) == {"type": "string", "pattern": "a+"}


def lowered_for_cohere(schema: JsonObject) -> JsonValue:
    properties = lower_schema(parameters(p=schema), COHERE, LossLog("look"))["properties"]
    assert isinstance(properties, dict)
    return properties["p"]


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
        "/properties/p/oneOf/1: Anthropic's strict mode allows only the declared properties of this object",
    ]


def test_alternatives_that_any_of_cannot_express_are_moved_to_the_description() -> None:
    one: JsonObject = {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]}
    assert lowered(ANTHROPIC, one) == (
        {"anyOf": [{"type": "string"}], "description": '(oneOf: [{"type":"string"}])'},
        ["/properties/p/oneOf: Anthropic's strict mode does not support oneOf here; moved to the description"],
    )


@pytest.mark.parametrize("keyword", ["$anchor", "$comment", "$dynamicAnchor", "$id", "$schema", "$vocabulary"])
@each_closing_mode
def test_keywords_that_tell_a_model_nothing_are_dropped(mode: Target, keyword: str) -> None:
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
        ({"type": "string", "enum": []}, "/enum", "enum without a value that the type allows"),
        ({"type": "object", "const": ""}, "/const", "const without a value that the type allows"),
        ({"$ref": "#/properties/q"}, "/$ref", "a reference to #/properties/q, which is not in these parameters"),
        ({"$ref": "#/$defs/d", "type": "string"}, "/$ref", "a reference together with type"),
    ],
)
@each_closing_mode
def test_schemas_whose_meaning_would_change_are_not_lowered(
    mode: Target, schema: JsonObject, pointer: str, what: str
) -> None:
    with pytest.raises(NotStrictError) as raised:
        lowered(mode, schema, {"d": {"type": "string"}})
    assert (raised.value.pointer, str(raised.value)) == (f"/parameters/properties/p{pointer}", what)


def test_an_any_of_at_the_root_is_moved_to_the_description() -> None:
    log = LossLog("look")
    schema = lower_schema(parameters(a={"type": "string"}) | {"anyOf": [{"required": ["a"]}]}, OPENAI, log)
    assert schema["description"] == '(anyOf: [{"required":["a"]}])'
    assert [loss.pointer for loss in log.losses] == ["/parameters/anyOf"]


@pytest.mark.slow
@each_mode
def test_every_lowered_schema_is_in_the_subset(mode: Target) -> None:
    random = [RandomSchemas(seed, strict=strict).tool() for seed in range(300) for strict in (False, True)]
    lowered = 0
    for schema in [*SCHEMAS.values(), *random]:
        with suppress(NotStrictError):
            result = lower_schema(schema, mode, LossLog("look"))
            Draft202012Validator.check_schema(result)
            CHECKS[mode.name](result)
            lowered += 1
    assert lowered > 50


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


def test_openai_never_gets_more_properties_than_it_accepts() -> None:
    many: dict[str, JsonObject] = {f"p{number}": {"type": "null"} for number in range(5000)}
    (loss,) = definition("openai_chat", parameters(a=parameters(**many)))[1]
    assert "more than 5000 subschemas; the definition is not strict" in loss


@pytest.mark.parametrize(
    ("schema", "fit", "what"),
    [
        (parameters(a={"type": "string"}), 20, "21 strict tools in one request (at most 20 are allowed)"),
        (PLAIN, 20, "21 strict tools in one request (at most 20 are allowed)"),
        (
            PLAIN | {"required": []},
            12,
            "26 optional properties of strict tools in one request (at most 24 are allowed)",
        ),
        (
            parameters(a={"type": ["string", "null"]}),
            16,
            "17 properties with a choice of types in one request (at most 16 are allowed)",
        ),
    ],
)
def test_anthropic_limits_all_strict_tools_together(schema: JsonObject, fit: int, what: str) -> None:
    tools, losses = definition("anthropic", schema, count=fit + 1)
    assert [each.get("strict", False) for each in tools] == [True] * fit + [False]
    message = f"Anthropic's strict mode does not support {what}; the definition is not strict"
    assert losses == [f"look_{fit}/parameters: {message}"]


X: JsonObject = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


@each_closing_mode
@pytest.mark.parametrize(
    ("keyword", "schema"),
    [
        ("anyOf", parameters(k={"type": "string"}) | {"anyOf": [{"$ref": "#/$defs/X"}]}),
        ("oneOf", parameters(k={"type": "string"}) | {"oneOf": [X, parameters(k={})]}),
        ("then", parameters(k={"type": "string"}) | {"if": {"required": ["k"]}, "then": X}),
        ("else", parameters(k={"type": "string"}) | {"if": {"required": ["k"]}, "else": {"allOf": [X]}}),
        ("dependentSchemas", parameters(k={"type": "string"}) | {"dependentSchemas": {"k": X}}),
        ("dependentRequired", parameters(k={"type": "string"}) | {"dependentRequired": {"k": ["x"]}}),
        ("properties", {"$ref": "#/$defs/K", "properties": {"x": {"type": "string"}}}),
        ("required", {"anyOf": [{"$ref": "#/$defs/K"}, {"type": "null"}], "required": ["x"]}),
    ],
)
def test_a_property_that_a_closed_object_cannot_have_is_not_strict(
    mode: Target, keyword: str, schema: JsonObject
) -> None:
    schema = {key: value for key, value in schema.items() if key != "additionalProperties"}
    with pytest.raises(NotStrictError, match=f"the property x, which only {keyword} mentions") as caught:
        lowered(mode, schema, {"X": X, "K": parameters(k={"type": "string"})})
    assert caught.value.pointer == f"/parameters/properties/p/{keyword}"


@each_closing_mode
def test_more_properties_than_a_closed_object_declares_are_not_strict(mode: Target) -> None:
    schema: JsonObject = {"type": "object", "properties": {"x": {"type": "string"}}, "minProperties": 2}
    with pytest.raises(NotStrictError, match="at least 2 properties in an object that declares 1") as caught:
        lowered(mode, schema)
    assert caught.value.pointer == "/parameters/properties/p/minProperties"
    lowered(mode, schema | {"minProperties": 1})
    lowered(mode, schema | {"additionalProperties": False})  # no object is valid for it in the spec either


@each_closing_mode
@pytest.mark.parametrize(
    "schema",
    [
        parameters(k={"type": "string"}) | {"anyOf": [{"required": ["k"]}]},
        parameters(k={"type": "string"}) | {"anyOf": [X]},  # x was refused before, too
        {"$ref": "#/$defs/X", "required": ["x"]},
        {"anyOf": [{"$ref": "#/$defs/X"}, {"type": "string"}], "properties": {"x": {"minLength": 1}}},
    ],
)
def test_a_property_that_the_closed_object_has_can_be_mentioned_again(mode: Target, schema: JsonObject) -> None:
    lowered(mode, schema, {"X": X})


def strict(provider: str, name: str = "look") -> ToolSpec:
    return tool(name, parameters(at={"type": "string"}), providers=STRICT[provider])


@pytest.mark.parametrize(
    ("provider", "all_strict", "some_strict"),
    [
        ("openai_chat", {"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
        ("openai_responses", {"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}}, {}),
        ("cohere", {"strict_tools": True}, {}),
        ("anthropic", {}, {}), ("bedrock", {}, {}), ("mistral", {}, {}), ("ollama", {}, {}), ("mcp", {}, {}),
    ],
)  # fmt: skip
def test_request_options_depend_on_the_strict_tools(
    provider: str, all_strict: dict[str, object], some_strict: dict[str, object]
) -> None:
    options = load_provider(provider).request_options
    assert options([strict(provider), strict(provider, "see")]) == all_strict
    assert options([strict(provider), tool("see")]) == some_strict
    assert options(()) == {}


def test_openai_may_call_several_tools_without_strict_mode() -> None:
    assert load_provider("openai_chat").request_options([tool("see")]) == {"parallel_tool_calls": True}


def test_cohere_is_not_strict_if_a_tool_cannot_be() -> None:
    optional = tool("see", parameters(at={"type": "string"}) | {"required": []}, providers=STRICT["cohere"])
    provider = load_provider("cohere")
    assert provider.request_options([strict("cohere"), optional]) == {}
    assert provider.request_options([strict("cohere"), strict("cohere", "see")]) == {"strict_tools": True}
    assert [loss.message for loss in provider.lower([optional]).losses] == [
        "Cohere's strict mode does not support parameters that are all optional; the definition is not strict"
    ]


def test_the_sdks_accept_the_options() -> None:
    from google.genai import types

    options = {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}}
    config = types.GenerateContentConfig.model_validate(options).tool_config
    assert config
    assert config.function_calling_config
    assert config.function_calling_config.mode == "VALIDATED"


def test_definitions_for_cohere_are_strict_only_if_all_are() -> None:
    bounded = parameters(at={"type": "string", "maxLength": 9})
    tools = [tool("look", bounded, providers=STRICT["cohere"]), tool("see")]
    lowering = load_provider("cohere").lower(tools)
    assert [loss for loss in lowering.losses if "strict" in loss.message] == [
        Loss(
            "look", "/providers/cohere/strict", "Cohere's strict mode applies to all tools of a request, "
            "and see is not strict; the definition is not strict", kind="not_strict",
        )
    ]  # fmt: skip
    assert lowering.tools == load_provider("cohere").lower([tool("look", bounded), tool("see")]).tools
    assert "maxLength" not in str(load_provider("cohere").lower(tools[:1]).tools).replace("(maxLength: 9)", "")

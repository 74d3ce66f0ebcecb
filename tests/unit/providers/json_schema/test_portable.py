"""The MCP definition has nothing that a client or its provider refuses, and everything else of the spec."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.mcp_clients import CLIENTS, refusals
from models.provider_cases import parameters, tool
from project.paths import ROOT
from schemas.parameter_schemas import SCHEMAS
from schemas.random_schemas import RandomSchemas

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonObject, map_under
from toolc.model.registry_io import digests
from toolc.model.spec.tool import ProviderChoice, ToolSpec
from toolc.providers.json_schema.portable import portable
from toolc.providers.json_schema.portable_rules import clients
from toolc.providers.mcp import MODEL_CONTEXT_PROTOCOL as MCP


def definition(spec: ToolSpec) -> JsonObject:
    [found] = MCP.lower([spec]).tools
    assert isinstance(found, dict)
    return found


def one(schema: JsonObject) -> JsonObject:
    """Return the portable form of a parameter ``x``."""
    found, _ = portable({"type": "object", "properties": {"x": schema}})
    [result] = map_under(found, "properties").values()
    assert isinstance(result, dict)
    return result


LIST: JsonObject = {"type": "array", "items": {}}
STRING: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "array"}, LIST),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        ({"type": "array", "items": {"type": "array"}}, {"type": "array", "items": LIST}),
        ({"type": "array", "items": True}, LIST),
        ({"type": "array", "prefixItems": [STRING]}, {"type": "array", "prefixItems": [STRING], "items": {}}),
        ({"type": "array", "prefixItems": [True], "items": False},
         {"type": "array", "prefixItems": [{}], "items": {"not": {}}}),
        ({"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": {}}),
        ({"type": "object", "required": ["a"]}, {"type": "object", "required": ["a"], "properties": {"a": {}}}),
        ({"type": "object", "required": ["a"], "additionalProperties": STRING},
         {"type": "object", "required": ["a"], "additionalProperties": STRING, "properties": {"a": STRING}}),
        ({"not": {"type": "object", "additionalProperties": False}},
         {"not": {"type": "object", "additionalProperties": {"not": {}}}}),
        ({"type": "object", "$id": "https://example.com/a"}, {"type": "object"}),
        ({"enum": ["a", None]}, {"type": ["null", "string"], "enum": ["a", None]}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
    ],
)  # fmt: skip
def test_another_form_with_the_same_meaning_loses_nothing(schema: JsonObject, expected: JsonObject) -> None:
    assert one(schema) == expected
    assert MCP.lower([tool("look", {"type": "object", "properties": {"x": schema}})]).losses == ()


@pytest.mark.parametrize(
    ("schema", "expected", "pointer", "action"),
    [
        ({"type": "object", "additionalProperties": False}, {"type": "object"}, "/additionalProperties", "dropped"),
        ({"pattern": "^(?!a)"}, {"description": '(pattern: "^(?!a)")'}, "/pattern", "folded"),
        ({"pattern": r"\p{L}"}, {"description": '(pattern: "\\\\p{L}")'}, "/pattern", "folded"),
        ({"patternProperties": {"(?=a)": {}}, "additionalProperties": {"type": "null"}},
         {"description": '(additionalProperties: {"type":"null"}, patternProperties: {"(?=a)":{}})'},
         "/patternProperties", "folded"),
        ({"enum": ["", "a"], "type": "string", "description": "State"},
         {"enum": ["a"], "type": "string", "description": 'State (enum: ["","a"])'}, "/enum", "folded"),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "description": "(enum: [1,2])"}, "/enum", "folded"),
        ({"enum": [True, "a"]}, {"type": ["boolean", "string"], "description": '(enum: [true,"a"])'},
         "/enum", "folded"),
        ({"const": ""}, {"type": "string", "description": '(const: "")'}, "/const", "folded"),
        ({"oneOf": [{"pattern": "(?=a)"}, {"type": "null"}]},
         {"anyOf": [{"description": '(pattern: "(?=a)")'}, {"type": "null"}]}, "/oneOf", "changed"),
        ({"not": {"pattern": "(?=a)"}}, {"description": '(not: {"pattern":"(?=a)"})'}, "/not", "folded"),
        ({"if": {"pattern": "(?=a)"}, "then": {"minLength": 2}},
         {"description": '(if: {"pattern":"(?=a)"}, then: {"minLength":2})'}, "/if", "folded"),
        ({"properties": {"$ref": STRING, "a": STRING}},
         {"properties": {"a": STRING}, "description": '(properties: {"$ref":{"type":"string"}})'},
         "/properties/$ref", "folded"),
        ({"type": "array", "unevaluatedItems": False}, {"type": "array", "unevaluatedItems": False, "items": {}},
         "/unevaluatedItems", "changed"),
    ],
)  # fmt: skip
def test_what_no_other_form_can_express_is_a_loss(
    schema: JsonObject, expected: JsonObject, pointer: str, action: str
) -> None:
    assert one(schema) == expected
    losses = MCP.lower([tool("look", {"type": "object", "properties": {"x": schema}})]).losses
    assert (f"/parameters/properties/x{pointer}", action) in {(each.pointer, each.action) for each in losses}


def test_a_choice_at_the_root_is_in_the_description() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": STRING},
        "anyOf": [{"required": ["a"]}, {"maxProperties": 0}],
    }
    found = definition(tool("look", schema))["inputSchema"]
    assert found == {
        "type": "object",
        "properties": {"a": STRING},
        "description": '(anyOf: [{"required":["a"]},{"maxProperties":0}])',
    }


def test_parts_at_the_root_are_merged_if_one_schema_can_express_them() -> None:
    schema: JsonObject = {"type": "object", "allOf": [{"$ref": "#/$defs/a"}, {"required": ["x"]}]}
    found, refused = portable(schema | {"$defs": {"a": {"properties": {"x": STRING}}}})
    assert (found["properties"], found["required"]) == ({"x": STRING}, ["x"])
    assert "description" not in found
    assert [(each.rule, each.pointer) for each in refused] == [("choice_at_root", "/parameters/allOf")]


def test_parameters_without_properties_get_them() -> None:
    assert portable({"type": "object"})[0] == {"type": "object", "properties": {}}


def test_a_parameter_with_a_refused_name_is_in_the_description() -> None:
    schema: JsonObject = {"type": "object", "properties": {"x[]": STRING, "a": STRING}, "required": ["x[]", "a"]}
    found, _ = portable(schema | {"additionalProperties": False})
    assert found == {
        "type": "object",
        "properties": {"a": STRING},
        "required": ["a"],
        "description": '(additionalProperties: false, properties: {"x[]":{"type":"string"}}, required: ["x[]"])',
    }


def test_references_lead_to_plain_names_in_defs_and_stand_alone() -> None:
    properties: JsonObject = {
        "a": {"type": "object", "properties": {"b": STRING}},
        "plain": {"$ref": "#/$defs/d", "description": "D"},
        "moved": {"$ref": "#/properties/a/properties/b"},
        "with_title": {"$ref": "#/$defs/d", "title": "T"},
        "anchored": {"$ref": "#here"},
    }
    defs: JsonObject = {"d": STRING, "e/f": {"$anchor": "here", "type": "null"}}
    found, _ = portable({"type": "object", "properties": properties, "$defs": defs})
    assert found == {
        "type": "object",
        "properties": properties | {
            "moved": {"$ref": "#/$defs/b"},
            "with_title": {"title": "T", "anyOf": [{"$ref": "#/$defs/d"}]},
            "anchored": {"$ref": "#/$defs/here"},
        },
        "$defs": {"d": STRING, "here": {"$anchor": "here", "type": "null"}, "b": STRING},
    }  # fmt: skip


def test_a_recursive_reference_is_kept_below_an_optional_property() -> None:
    node: JsonObject = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema: JsonObject = {"type": "object", "properties": {"x": {"$ref": "#/$defs/node"}}}
    assert portable(schema | {"$defs": {"node": node}})[0]["$defs"] == {"node": node}
    found, _ = portable(schema | {"$defs": {"node": node | {"required": ["next"]}}})
    cut = {"type": "object", "description": '(like: "#/$defs/node")'}
    assert found["$defs"] == {"node": node | {"required": ["next"], "properties": {"next": cut}}}


def test_what_providers_only_ignore_is_as_in_the_spec() -> None:
    schema: JsonObject = {
        "type": "object",
        "title": "T",
        "properties": {
            "z": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2, "default": 4, "examples": [6]},
            "a": {"type": ["string", "null"], "format": "date", "minLength": 1, "pattern": "^a[0-9]+$", "x-order": 1},
            "m": {"oneOf": [STRING, {"const": 1}], "deprecated": True},
            "o": {"type": "object", "additionalProperties": STRING, "propertyNames": {"pattern": "^a"}},
            "l": {"type": "array", "items": STRING, "uniqueItems": True, "contains": {"const": "a"}},
        },
        "required": ["z"],
        "dependentRequired": {"a": ["m"]},
        "if": {"required": ["a"]},
        "then": {"required": ["o"], "properties": {"o": {}}},
    }
    schema["if"] = {"required": ["a"], "properties": {"a": {}}}
    found, refused = portable(schema)
    assert found == schema
    assert [*map_under(found, "properties")] == ["z", "a", "m", "o", "l"]
    assert refused == ()


def test_the_whole_schema_is_the_definition_if_the_spec_says_so() -> None:
    schema = parameters(a={"type": "array"}) | {"anyOf": [{"required": ["a"]}]}
    raw = tool("look", schema, providers=(ProviderChoice(provider="mcp", portable=False),))
    assert definition(raw)["inputSchema"] == schema
    assert [each for each in MCP.lower([raw]).losses if each.pointer.startswith("/parameters")] == []


def test_only_the_key_changes_a_digest() -> None:
    plain = tool("look", providers=(ProviderChoice(provider="mcp"),))
    raw = tool("look", providers=(ProviderChoice(provider="mcp", portable=False),))
    default = tool("look", providers=(ProviderChoice(provider="mcp", portable=True),))
    assert digests(plain).surface == digests(default).surface != digests(raw).surface


def test_the_table_names_providers_and_clients() -> None:
    assert clients("choice_at_root") == ["Anthropic", "Bedrock", "OpenAI", "Copilot"]
    assert clients("no_items") == ["OpenAI", "Gemini", "VS Code"]
    assert clients("closed") == ["google-genai"]
    assert clients("enum_value") == ["ADK"]


def test_true_and_false_as_schemas_are_refused_by_other_clients_than_false_items() -> None:
    lists: JsonObject = {"type": "array", "prefixItems": [True], "items": False}
    _, refused = portable({"type": "object", "properties": {"x": lists}})
    assert {each.pointer.removeprefix("/parameters/properties/x"): clients(each.rule) for each in refused} == {
        "/items": ["VS Code", "google-genai", "Agents SDK"],
        "/prefixItems/0": ["google-genai", "Agents SDK"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(SCHEMAS), 50))
def test_every_client_accepts_every_schema(start: int) -> None:
    names = sorted(SCHEMAS)[start : start + 50]
    refused = {name: found for name in names if (found := refusals(definition(tool("look", SCHEMAS[name]))))}
    assert refused == {}


@pytest.mark.slow
@given(seed=st.integers(0, 1_000_000))
@settings(max_examples=20, deadline=None)
def test_every_client_accepts_generated_schemas(seed: int) -> None:
    assert refusals(definition(tool("look", RandomSchemas(seed).tool()))) == {}


@pytest.mark.slow
def test_every_client_accepts_the_corpus() -> None:
    tools = compile_specs([ROOT / "tests/corpus"]).tools
    assert len(tools) >= 100
    refused = {each.name: found for each in tools if (found := refusals(definition(each)))}
    assert refused == {}


def test_the_checks_of_clients_refuse_what_the_table_says() -> None:
    bad: JsonObject = {
        "type": "object",
        "properties": {"x[]": {"type": "array"}, "e": {"enum": ["", "a"]}, "p": {"pattern": "(?=a)"}},
        "anyOf": [{"required": ["e"]}],
        "additionalProperties": False,
    }
    raw = tool("look", bad, providers=(ProviderChoice(provider="mcp", portable=False),))
    assert refusals(definition(raw)).keys() == CLIENTS.keys() - {"MCP"}

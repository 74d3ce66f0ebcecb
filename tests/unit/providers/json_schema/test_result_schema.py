"""The short form of a result schema, and result schemas as schemas of objects."""

from dataclasses import replace

import pytest
from models.provider_cases import parameters, tool

from toolc.model.json_schema import JsonObject, Schema
from toolc.model.spec.tool import ResultSpec
from toolc.providers.json_schema.lowering import MAX_DESCRIPTION, LossLog, description
from toolc.providers.json_schema.result_schema import as_object, short_form

STRING: JsonObject = {"type": "string"}
NODE: JsonObject = {
    "type": "object",
    "properties": {"name": STRING, "inner": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "any"),
        (STRING, "string"),
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"type": "string", "enum": [f"choice{at}" for at in range(20)]}, "string"),
        ({"const": {"a": 1}}, '{"a": 1}'),
        ({"type": "object"}, "object"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": STRING}, "string[]"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "(string | null)[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "items": parameters(a=STRING, b=STRING)}, "{a: string, b: string}[]"),
        ({"type": "array", "prefixItems": [STRING, {"type": "integer"}], "items": False}, "[string, integer]"),
        ({"type": "array", "prefixItems": [STRING], "items": {"type": "null"}}, "[string, ...null[]]"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "{[key: string]: number}"),
        ({"type": "object", "properties": {"a b": STRING, "c": False}}, '{"a b"?: string, c?: never}'),
        ({"anyOf": [STRING, {"type": "array", "items": STRING}, STRING]}, "string | string[]"),
        ({"allOf": [{"type": "object", "properties": {"a": STRING}}]}, "{a?: string}"),
        ({"$ref": "#/$defs/id", "$defs": {"id": {"type": "integer"}}}, "integer"),
    ],
)
def test_short_form(schema: JsonObject, expected: str) -> None:
    assert short_form(schema) == expected


def test_the_order_of_keys_does_not_change_the_short_form() -> None:
    assert short_form(parameters(b=STRING, a=STRING)) == short_form(parameters(a=STRING, b=STRING))


def test_inner_objects_are_left_out_until_the_short_form_fits() -> None:
    inner = parameters(**{f"property{at}": STRING for at in range(30)})
    assert short_form(parameters(one=inner, two=inner)) == "{one: object, two: object}"
    assert short_form(parameters(one=inner), limit=5) == ""


def test_a_recursive_schema_is_shown_to_a_limited_depth() -> None:
    assert short_form(NODE) == "{inner?: {inner?: {inner?: object[], name: string}[], name: string}[], name: string}"


def test_references_that_grow_exponentially_take_no_time() -> None:
    many: JsonObject = {f"p{at}": {"$ref": f"#/$defs/d{at}"} for at in range(30)}
    definitions: JsonObject = {f"d{at}": {"type": "object", "properties": many} for at in range(30)}
    assert short_form({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}) == (
        "{a?: object}"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Add two numbers.", "Add two numbers. Returns JSON: integer"),
        ("Add two numbers", "Add two numbers. Returns JSON: integer"),
        ("x" * (MAX_DESCRIPTION - 20), "x" * (MAX_DESCRIPTION - 20)),
    ],
)
def test_a_description_ends_with_the_short_form_if_it_fits(text: str, expected: str) -> None:
    assert description(tool("add", description=text, result_schema=Schema({"type": "integer"}))) == expected


def test_data_that_a_template_replaces_is_not_described() -> None:
    shown = tool("add", result_schema=Schema({"type": "integer"}))
    assert description(replace(shown, result=ResultSpec(template="{{ result }}"))) == shown.description


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
        {"allOf": [{"required": ["a"]}, {"type": "object"}]},
        {"anyOf": [{"type": "object"}, {"const": {"a": 1}}]},
        {"enum": [{"a": 1}, {}]},
    ],
)
def test_data_that_is_always_an_object_is_not_wrapped(schema: JsonObject) -> None:
    assert as_object(schema) == {**schema, "type": "object"}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": ["object", "null"]},
        {"anyOf": [{"type": "object"}, {"type": "string"}]},
        {"enum": [{}, 1]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"properties": {"a": True}},
    ],
)
def test_other_data_is_wrapped(schema: JsonObject) -> None:
    wrapped = as_object(schema)
    assert (wrapped["type"], wrapped["required"]) == ("object", ["result"])


@pytest.mark.parametrize(
    ("length", "action", "end"),
    [
        (20, "folded", "in short in the description"),
        (MAX_DESCRIPTION, "dropped", "dropped, as the description would have more than 1024 characters"),
    ],
)
def test_the_loss_of_a_result_schema_says_whether_the_description_has_it(length: int, action: str, end: str) -> None:
    spec = replace(tool("look", result_schema=Schema(parameters(a=STRING))), description="x" * length)
    log = LossLog("look")
    log.add_unsupported(spec, "result_schema")
    [loss] = log.losses
    assert (loss.pointer, loss.action) == ("/result/schema", action)
    assert loss.message == f"this provider's definition has no result schema; {end}"
    assert ("Returns JSON" in description(spec)) == (action == "folded")

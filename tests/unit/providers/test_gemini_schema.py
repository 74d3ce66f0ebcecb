"""The keywords of JSON Schema, lowered for Gemini."""

import pytest
from models.sdk_checks import check_gemini_schema

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers.gemini import TARGET
from toolc.providers.json_schema.lowering import LossLog
from toolc.providers.json_schema.target import MAX_NODES, lower_schema

ONE: JsonObject = {"$ref": "#/$defs/one"}


def lowered(schema: JsonValue, **defs: JsonValue) -> tuple[JsonValue, list[str]]:
    """Return a parameter's schema after lowering, and the pointers of its losses."""
    log = LossLog("look")
    root = lower_schema({"type": "object", "properties": {"p": schema}, "$defs": dict(defs)}, TARGET, log)
    check_gemini_schema(root)
    properties = root["properties"]
    assert isinstance(properties, dict)
    return properties["p"], [f"{loss.pointer.removeprefix('/parameters/properties/p')}" for loss in log.losses]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string", "description": "words", "title": "P", "enum": ["a", "b"]},
        {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9, "enum": [1, 2]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ],
)
def test_supported_keywords_are_kept(schema: JsonObject) -> None:
    assert lowered(schema) == (schema, [])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, {}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"type": ["integer", "number"]}, {"type": "number"}),
        ({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"type": ["array", "integer"], "items": {"type": "string"}, "minItems": 1, "minimum": 2},
            {
                "anyOf": [
                    {"type": "array", "items": {"type": "string"}, "minItems": 1}, {"type": "integer", "minimum": 2},
                ]
            },
        ),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"const": None}, {"type": "null"}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": [1, 2.0]}, {"type": "integer", "enum": [1, 2.0]}),
        ({"enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        ({"type": "string", "enum": ["a", None, 1]}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", None]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"type": "object", "required": ["a"]}, {"type": "object", "required": ["a"], "properties": {"a": {}}}),
        (
            {"type": "object", "required": ["a"], "additionalProperties": {"type": "null"}},
            {
                "type": "object", "required": ["a"], "properties": {"a": {"type": "null"}},
                "additionalProperties": {"type": "null"},
            },
        ),
        ({"type": "null", "$comment": "c", "$id": "urn:x", "$anchor": "a", "$schema": "s"}, {"type": "null"}),
    ],
)  # fmt: skip
def test_equivalent_schemas_are_lowered_without_loss(schema: JsonValue, expected: JsonObject) -> None:
    assert lowered(schema) == (expected, [])


@pytest.mark.parametrize(
    ("keyword", "value", "words"),
    [
        ("default", "a", '"a"'), ("minLength", 1, "1"), ("maxLength", 9, "9"), ("pattern", "^a\\d$", '"^a\\\\d$"'),
        ("format", "date", '"date"'), ("exclusiveMinimum", 0, "0"), ("exclusiveMaximum", 0.5, "0.5"),
        ("multipleOf", 2, "2"), ("uniqueItems", True, "true"), ("contains", {"type": "string"}, '{"type":"string"}'),
        ("propertyNames", {"pattern": "^a"}, '{"pattern":"^a"}'), ("patternProperties", {"^a": {}}, '{"^a":{}}'),
        ("minProperties", 1, "1"), ("not", {"const": "é"}, '{"const":"é"}'), ("if", {"const": 1}, '{"const":1}'),
        ("dependentRequired", {"a": ["b"]}, '{"a":["b"]}'), ("unevaluatedProperties", False, "false"),
        ("examples", ["a"], '["a"]'), ("items", False, "false"), ("deprecated", True, "true"),
    ],
)  # fmt: skip
def test_keywords_are_moved_to_the_description(keyword: str, value: JsonValue, words: str) -> None:
    assert lowered({keyword: value}) == ({"description": f"({keyword}: {words})"}, [f"/{keyword}"])


def test_moved_keywords_follow_the_description_in_order() -> None:
    schema: JsonObject = {"type": "string", "pattern": "^a", "minLength": 1, "description": "A name."}
    description = 'A name. (minLength: 1, pattern: "^a")'
    assert lowered(schema) == ({"type": "string", "description": description}, ["/minLength", "/pattern"])


@pytest.mark.parametrize(
    ("schema", "expected", "pointer"),
    [
        (
            {"oneOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "/oneOf",
        ),
        ({"const": True}, {"type": "boolean", "description": "(const: true)"}, "/const"),
        ({"enum": [True, True]}, {"type": "boolean", "description": "(enum: [true,true])"}, "/enum"),
        ({"enum": [[1], [2]]}, {"type": "array", "items": {}, "description": "(enum: [[1],[2]])"}, "/enum"),
        (
            {"type": ["string", "null"], "anyOf": [{"minimum": 1}]},
            {"anyOf": [{"minimum": 1}], "description": '(type: ["string","null"])'},
            "/type",
        ),
        ({"enum": ["a", ""]}, {"type": "string", "enum": ["a"], "description": '(enum: ["a",""])'}, "/enum"),
        ({"const": ""}, {"type": "string", "description": '(const: "")'}, "/const"),
        (False, {"description": "(must not be given)"}, ""),
        ({"type": "null", "x-own": 1}, {"type": "null"}, "/x-own"),
        ({"$ref": "#/$defs/none"}, {}, "/$ref"),
        ({"$ref": "https://example.com/schema"}, {}, "/$ref"),
    ],
)
def test_other_schemas_are_lowered_with_a_loss(schema: JsonValue, expected: JsonObject, pointer: str) -> None:
    assert lowered(schema) == (expected, [pointer])


def test_a_reference_is_alone_or_in_any_of() -> None:
    assert lowered(ONE, one={"type": "null"}) == (ONE, [])
    assert lowered({**ONE, "description": "words"}, one={}) == ({"anyOf": [ONE], "description": "words"}, [])


def test_referenced_schemas_are_lowered_once() -> None:
    log = LossLog("look")
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 1},
            "b": {"$ref": "#/properties/a"},
            "c": {"$ref": "#"},
            "d": {"$ref": "#/$defs/a~1b"},
            "e": {"$ref": "#here"},
        },
        "$defs": {"a/b": {"type": "null", "$anchor": "here"}, "unused": {"not": {}}},
    }
    result = lower_schema(schema, TARGET, log)
    check_gemini_schema(result)
    definitions = result["$defs"]
    assert isinstance(definitions, dict)
    assert definitions["a"] == {"type": "string", "description": "(minLength: 1)"}
    assert definitions["a_b"] == definitions["here"] == {"type": "null"}
    assert definitions["root"] == {key: value for key, value in result.items() if key != "$defs"}
    assert [loss.pointer for loss in log.losses] == ["/parameters/properties/a/minLength"]


def test_recursion_below_an_optional_property_stays() -> None:
    tree: JsonObject = {"type": "object", "properties": {"left": ONE, "right": {"type": "array", "items": ONE}}}
    assert lowered(ONE, one=tree) == (ONE, [])


def test_required_recursion_is_cut() -> None:
    node: JsonObject = {"type": "object", "properties": {"next": {"anyOf": [ONE, {"type": "null"}]}}}
    log = LossLog("look")
    root: JsonObject = {"type": "object", "properties": {"p": ONE}, "$defs": {"one": {**node, "required": ["next"]}}}
    result = lower_schema(root, TARGET, log)
    check_gemini_schema(result)
    assert result["$defs"] == {
        "one": {
            "type": "object",
            "required": ["next"],
            "properties": {"next": {"anyOf": [{"description": '(like: "#/$defs/one")'}, {"type": "null"}]}},
        }
    }
    assert [loss.pointer for loss in log.losses] == ["/parameters/$defs/one/properties/next/anyOf/0/$ref"]


@pytest.mark.slow
def test_the_size_of_a_lowered_schema_is_limited() -> None:
    double: JsonObject = {
        f"d{n}": {
            "type": "object",
            "properties": {name: {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"title": "T"}]} for name in "ab"},
        }
        for n in range(30)
    }
    log = LossLog("look")
    result = lower_schema({"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": double}, TARGET, log)
    check_gemini_schema(result)
    assert f"more than {MAX_NODES} subschemas; the others allow any value" in {loss.message for loss in log.losses}


@pytest.mark.parametrize(("properties", "is_too_large"), [(MAX_NODES - 1, False), (MAX_NODES, True)])
def test_the_size_counts_the_root_and_each_subschema(properties: int, is_too_large: bool) -> None:
    log = LossLog("look")
    lower_schema(
        {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(properties)}}, TARGET, log
    )
    assert bool(log.losses) is is_too_large

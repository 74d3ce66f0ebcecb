"""Schemas of parameters that the SDK of each provider must accept after lowering: every keyword, and random ones."""

from typing import Any, Final

from schemas.random_schemas import RandomSchemas
from toolc.model.json_schema import JsonObject, JsonValue

STRING: Final[JsonObject] = {"type": "string"}
INTEGER: Final[JsonObject] = {"type": "integer"}


def each_of(keyword: str, *values: JsonValue) -> list[JsonObject]:
    return [{keyword: value} for value in values]


KEYWORDS: Final[tuple[JsonObject, ...]] = (
    # annotations
    {"type": "string", "title": "Title"},
    {"type": "string", "description": "words"},
    {"type": "string", "description": ""},
    {"type": "string", "default": "a"},
    {"type": "string", "default": None},
    {"type": "string", "examples": ["a", "b"]},
    {"type": "string", "deprecated": True},
    {"type": "string", "readOnly": True},
    {"type": "string", "writeOnly": True},
    {"type": "string", "$comment": "for readers of the spec"},
    {"type": "string", "x-own": {"any": "thing"}},
    # types
    *each_of("type", "string", "integer", "number", "boolean", "null", "array", "object"),
    {"type": ["string"]},
    {"type": ["string", "null"]},
    {"type": ["string", "integer", "boolean"]},
    {"type": ["array", "object", "null"], "items": STRING, "properties": {"x": INTEGER}},
    {},
    # values
    {"enum": ["a", "b"]},
    {"type": "string", "enum": ["a", "b", ""]},
    {"type": "integer", "enum": [1, 2]},
    {"type": "number", "enum": [1, 2.5]},
    {"type": "boolean", "enum": [True]},
    {"enum": ["a", None]},
    {"enum": ["a", 1, 2.5, True, None]},
    {"enum": [{"x": 1}, [1, 2], "a"]},
    {"type": ["string", "null"], "enum": ["a", None]},
    {"const": "a"},
    {"const": 1},
    {"const": 2.5},
    {"const": True},
    {"const": None},
    {"const": {"x": [1]}},
    # numbers
    {"type": "integer", "minimum": 0},
    {"type": "integer", "maximum": 10},
    {"type": "number", "minimum": -1.5, "maximum": 1e3},
    {"type": "number", "exclusiveMinimum": 0},
    {"type": "number", "exclusiveMaximum": 1},
    {"type": "number", "multipleOf": 0.01},
    {"type": "integer", "multipleOf": 5},
    # strings
    {"type": "string", "minLength": 1},
    {"type": "string", "maxLength": 200},
    {"type": "string", "pattern": "^[a-z]+$"},
    {"type": "string", "pattern": "[a-z](?=x)"},
    *each_of(
        "format", "date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4",
        "ipv6", "uri", "uri-reference", "iri", "uuid", "json-pointer", "regex",
    ),
    {"type": "string", "format": "date"},
    {"type": "string", "format": "iri"},
    {"type": "integer", "format": "int64"},
    {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
    {"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "object"}},
    # arrays
    {"type": "array", "items": STRING},
    {"type": "array", "items": {}},
    {"type": "array", "items": False},
    {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": INTEGER}}},
    {"type": "array", "items": STRING, "minItems": 1, "maxItems": 3},
    {"type": "array", "items": STRING, "uniqueItems": True},
    {"type": "array", "prefixItems": [STRING, INTEGER]},
    {"type": "array", "prefixItems": [STRING, INTEGER], "items": False},
    {"type": "array", "contains": STRING},
    {"type": "array", "items": {}, "contains": STRING, "minContains": 2, "maxContains": 3},
    {"type": "array", "items": STRING, "unevaluatedItems": False},
    # objects
    {"type": "object", "properties": {"x": STRING}},
    {"type": "object", "properties": {"x": STRING}, "required": ["x"]},
    {"type": "object", "properties": {"x": STRING}, "required": ["y"]},
    {"type": "object", "properties": {"x": STRING}, "additionalProperties": False},
    {"type": "object", "additionalProperties": True},
    {"type": "object", "additionalProperties": INTEGER},
    {"type": "object", "patternProperties": {"^x-": STRING}},
    {"type": "object", "patternProperties": {"^x-": STRING}, "additionalProperties": False},
    {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}},
    {"type": "object", "minProperties": 1, "maxProperties": 3},
    {"type": "object", "properties": {"x": STRING}, "unevaluatedProperties": False},
    {"type": "object", "dependentRequired": {"x": ["y"]}, "properties": {"x": STRING, "y": STRING}},
    {"type": "object", "dependentSchemas": {"x": {"required": ["y"]}}},
    {"type": "object", "properties": {"x": {"type": "object", "properties": {"y": {"type": "object"}}}}},
    # unions
    {"anyOf": [STRING, INTEGER]},
    {"anyOf": [STRING, {"type": "null"}]},
    {"anyOf": [{"type": "object", "properties": {"x": STRING}}, {"type": "array", "items": STRING}]},
    {"anyOf": [STRING, True]},
    {"anyOf": [{"const": "a"}, {"const": "b", "description": "The second"}]},
    {"oneOf": [STRING, INTEGER]},
    {"oneOf": [{"type": "object", "properties": {"kind": {"const": name}}, "required": ["kind"]} for name in "ab"]},
    {"allOf": [STRING, {"minLength": 2}]},
    {"allOf": [{"properties": {"x": STRING}}, {"properties": {"y": STRING}, "required": ["y"]}], "type": "object"},
    {"type": "string", "not": {"const": "a"}},
    {"type": "object", "if": {"required": ["x"]}, "then": {"required": ["y"]}, "else": {"required": ["z"]}},
    {"type": "string", "anyOf": [{"minLength": 2}, {"pattern": "^a"}]},
)  # fmt: skip
"""A schema of a parameter for each keyword, and for combinations that some provider treats differently."""

DEFINITIONS: Final[JsonObject] = {
    "name": {"type": "string", "minLength": 1},
    "node": {
        "type": "object",
        "properties": {"value": STRING, "next": {"$ref": "#/$defs/node"}},
        "required": ["value"],
        "additionalProperties": False,
    },
    "tree": {
        "type": "object",
        "properties": {"name": {"$ref": "#/$defs/name"}, "trees": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "required": ["name", "trees"],
        "additionalProperties": False,
    },
    "ping": {"type": "object", "properties": {"pong": {"$ref": "#/$defs/pong"}}, "additionalProperties": False},
    "pong": {"type": "object", "properties": {"ping": {"$ref": "#/$defs/ping"}}, "additionalProperties": False},
    "anchored": {"$anchor": "here", "type": "integer"},
    "dynamic": {"$dynamicAnchor": "there", "type": "integer"},
    "with/sl~ash %": {"type": "boolean"},
}

REFERENCES: Final[tuple[JsonObject, ...]] = (
    *each_of("$ref", "#/$defs/name", "#/$defs/node", "#/$defs/tree", "#/$defs/ping", "#here", "#there"),
    {"$ref": "#/$defs/with~1sl~0ash%20%25"},
    {"$ref": "#/$defs/name", "description": "The name"},
    {"$ref": "#/$defs/name", "maxLength": 5},
    {"$ref": "#/$defs/node/properties/value"},
    {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
    {"oneOf": [{"$ref": "#/$defs/ping"}, {"$ref": "#/$defs/pong"}]},
    {"allOf": [{"$ref": "#/$defs/name"}]},
    {"type": "array", "items": {"$ref": "#/$defs/node"}},
    {"type": "object", "additionalProperties": {"$ref": "#/$defs/name"}},
    {"type": "object", "properties": {"root": {"$ref": "#"}}},
)
"""Schemas of a parameter that refer to ``DEFINITIONS``."""


def of_parameter(schema: JsonValue, *, is_required: bool) -> JsonObject:
    """Return the schema of a tool with one parameter."""
    return {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"] if is_required else [],
        "additionalProperties": False,
    }


def nested(depth: int) -> JsonObject:
    """Return optional objects in optional objects."""
    inner: JsonValue = {"type": ["string", "null"], "default": None} if depth == 0 else nested(depth - 1)
    return {"type": "object", "properties": {"inner": inner, "name": STRING}, "additionalProperties": False}


ROOTS: Final[tuple[JsonObject, ...]] = (
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {"type": "object", "additionalProperties": True},
    {"type": "object", "additionalProperties": STRING},
    {"type": "object", "patternProperties": {"^x": STRING}},
    {"type": "object", "properties": {"a": STRING, "b": STRING}},
    {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a"]},
    {"type": "object", "properties": {"a": STRING}, "required": ["a"], "additionalProperties": True},
    {"type": "object", "properties": {"a": True, "b": {}}},
    {"type": "object", "properties": {"a": STRING, "b": STRING}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": "object", "oneOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}]},
    {"type": "object", "allOf": [{"properties": {"a": STRING}}, {"required": ["a"]}]},
    {"type": "object", "properties": {"a": STRING}, "not": {"required": ["a"]}},
    {"type": "object", "properties": {"a": STRING}, "if": {"required": ["a"]}, "then": {"maxProperties": 1}},
    {"type": "object", "properties": {"a": STRING, "b": STRING}, "dependentRequired": {"a": ["b"]}},
    {"type": "object", "properties": {"a": STRING}, "minProperties": 1, "unevaluatedProperties": False},
    {"type": "object", "title": "Arguments", "description": "All arguments", "properties": {"a": STRING}},
    {"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": STRING}},
    {"type": "object", "properties": {"a": STRING}, "examples": [{"a": "b"}], "default": {"a": "c"}},
    {"type": "object", "properties": {f"parameter_{number}": STRING for number in range(60)}},
    {"type": "object", "properties": {"a": {"enum": [f"value {number}" for number in range(300)]}}},
    nested(1),
    nested(4),
    nested(12),
    # Unicode in texts, values and names
    of_parameter({"type": "string", "description": "Überschrift — 見出し 🏷 \u200d"}, is_required=True),
    of_parameter(
        {"type": "string", "description": 'A "quoted" text\nwith\ta control \u0001 and a \\'}, is_required=True
    ),
    of_parameter({"enum": ["größer", "小さい", "🍎", "\u202e", "e\u0301"]}, is_required=False),
    of_parameter({"type": "string", "default": "日本", "pattern": "^[\u3040-\u309f]+$"}, is_required=False),
    of_parameter({"type": "object", "properties": {"größe": INTEGER, "名前": STRING}}, is_required=True),
)
"""Schemas of whole tools."""

RANDOM: Final = 30
"""The number of random schemas of each of the two kinds."""


def named(kind: str, schemas: Any) -> dict[str, JsonObject]:
    return {f"{kind}_{number}": schema for number, schema in enumerate(schemas)}


SCHEMAS: Final[dict[str, JsonObject]] = {
    **named("required", (of_parameter(schema, is_required=True) for schema in KEYWORDS)),
    **named("optional", (of_parameter(schema, is_required=False) for schema in KEYWORDS)),
    **named("reference", (of_parameter(each, is_required=True) | {"$defs": DEFINITIONS} for each in REFERENCES)),
    **named("root", ROOTS),
    **named("random", (RandomSchemas(seed).tool() for seed in range(RANDOM))),
    **named("random_strict", (RandomSchemas(seed, strict=True).tool() for seed in range(RANDOM))),
}
"""The schemas by name. A name is a valid name of a tool."""

"""The rules of the strict modes."""

import re

from toolc.model.json_schema import JsonObject, JsonValue

_BOTH = {"$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "format", "items"}
_BOTH |= {"minItems", "properties", "required", "title", "type"}
OPENAI_KEYWORDS = _BOTH | {
    "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maximum", "minimum", "multipleOf", "pattern",
}  # fmt: skip
ANTHROPIC_KEYWORDS = _BOTH
COHERE_KEYWORDS = _BOTH - {"minItems"} | {"pattern"}


def check_openai(schema: JsonObject, *, is_root: bool = True) -> None:
    """Check the rules of OpenAI's guide to structured outputs."""
    assert schema.keys() <= OPENAI_KEYWORDS
    if is_root:
        assert schema["type"] == "object"
        assert not {"anyOf", "enum", "const", "$ref"} & schema.keys()
    if "$ref" in schema:
        assert schema.keys() == {"$ref"}
    assert {"type", "anyOf", "$ref"} & schema.keys()
    if "properties" in schema:
        assert schema["additionalProperties"] is False
        assert schema["required"] == [*_map(schema["properties"])]
    if "pattern" in schema:
        assert not re.search(r"\(\?<?[=!]", str(schema["pattern"]))
    _check_shape(schema)
    for inner in _inner(schema):
        check_openai(inner, is_root=False)


def check_anthropic(schema: JsonObject) -> None:
    """Check the keywords that the helper of the SDK keeps and the documentation lists."""
    assert schema.keys() <= ANTHROPIC_KEYWORDS
    assert isinstance(schema.get("type", ""), str)
    assert {"type", "anyOf", "$ref", "enum", "const"} & schema.keys()
    assert schema.get("minItems", 0) in (0, 1)
    if "properties" in schema:
        assert schema["additionalProperties"] is False
    _check_shape(schema)
    for inner in _inner(schema):
        check_anthropic(inner)


def check_cohere(schema: JsonObject) -> None:
    """Check the keywords that the documentation of structured outputs lists."""
    assert schema.keys() <= COHERE_KEYWORDS
    assert isinstance(schema.get("type", ""), str)
    assert not re.search(r"[\^$]|\?<?[=!]", str(schema.get("pattern", "")))
    assert schema.get("format", "uuid") in {"date", "date-time", "time", "uuid"}
    for inner in _inner(schema):
        check_cohere(inner)


def _check_shape(schema: JsonObject) -> None:
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        assert kind != "object" or "properties" in schema
        assert kind != "array" or "items" in schema


def _inner(schema: JsonObject) -> list[JsonObject]:
    found = [*_map(schema.get("properties", {})).values(), *_map(schema.get("$defs", {})).values()]
    choices = schema.get("anyOf", [])
    assert isinstance(choices, list)
    found += choices
    found += [schema["items"]] if "items" in schema else []
    return [_map(each) for each in found]


def _map(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)
    return value

"""The rules of the strict modes, and strategies for schemas and calls."""

import re

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

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


def as_a_model_writes(schema: JsonValue, value: JsonValue, root: JsonObject) -> JsonValue:
    """Return ``value`` as in OpenAI's strict mode: null for each omitted optional property."""
    if not isinstance(schema, dict):
        return value
    if isinstance(reference := schema.get("$ref"), str):
        return as_a_model_writes(_map(root["$defs"])[reference.rpartition("/")[2]], value, root)
    choices = schema.get("anyOf", [])
    for choice in choices if isinstance(choices, list) else []:
        if Draft202012Validator({**_map(choice), "$defs": root["$defs"]}).is_valid(value):
            return as_a_model_writes(choice, value, root)
    if isinstance(value, list) and "items" in schema:
        return [as_a_model_writes(schema["items"], item, root) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        properties = _map(schema["properties"])
        return {
            name: as_a_model_writes(each, value[name], root) if name in value else None
            for name, each in properties.items()
        }
    return value


NAMES = ("a", "b", "c")
_scalars: st.SearchStrategy[JsonObject] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"type": ["string", "null"]},
        {"type": "null"},
        {"enum": ["x", "y"]},
        {"enum": ["x", None]},
        {"const": 1},
        {"$ref": "#/$defs/pair"},
        {"anyOf": [{"$ref": "#/$defs/pair"}, {"type": "string"}]},
    ]
)


def _around(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    return st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.lists(inner, min_size=1, max_size=2).map(lambda choices: {"anyOf": choices}),
        objects(inner),
    )


def objects(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    """Return closed objects with some optional properties."""
    return st.builds(
        lambda properties, optional: {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name not in optional],
            "additionalProperties": False,
        },
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        st.sets(st.sampled_from(NAMES)),
    )


_PAIR: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "next": {"$ref": "#/$defs/pair"}},
    "required": ["a"],
    "additionalProperties": False,
}
strict_schemas: st.SearchStrategy[JsonObject] = objects(st.recursive(_scalars, _around, max_leaves=5)).map(
    lambda schema: {**schema, "$defs": {"pair": _PAIR}}
)
"""The schemas of tools of which OpenAI's strict mode can say everything."""


def values_for(schema: JsonValue, root: JsonObject, depth: int = 0) -> st.SearchStrategy[JsonValue]:
    """Return values that are valid for a lowered schema."""
    each = _map(schema)
    if isinstance(reference := each.get("$ref"), str):
        return values_for(_map(root["$defs"])[reference.rpartition("/")[2]], root, depth)
    if isinstance(choices := each.get("anyOf"), list):
        last = choices[-1:] if depth > 6 else choices
        return st.one_of([values_for(choice, root, depth + 1) for choice in last])
    if isinstance(values := each.get("enum"), list):
        return st.sampled_from(values)
    if "const" in each:
        return st.just(each["const"])
    kinds = each["type"] if isinstance(each["type"], list) else [each["type"]]
    kind = kinds[-1] if depth > 6 else None
    return st.one_of([_of_type(str(one), each, root, depth + 1) for one in ([kind] if kind else kinds)])


def _of_type(kind: str, schema: JsonObject, root: JsonObject, depth: int) -> st.SearchStrategy[JsonValue]:
    match kind:
        case "object":
            properties = _map(schema["properties"])
            needed = schema["required"]
            assert isinstance(needed, list)
            names = needed if depth > 6 else properties
            parts = {name: values_for(each, root, depth) for name, each in properties.items() if name in names}
            optional = {name: part for name, part in parts.items() if name not in needed}
            return st.fixed_dictionaries({name: parts[name] for name in parts if name in needed}, optional=optional)
        case "array":
            return st.lists(values_for(schema["items"], root, depth), max_size=2)
        case "integer":
            return st.integers(0, 3)
        case "string":
            return st.sampled_from(["", "x", "text"])
        case _:
            return st.none()

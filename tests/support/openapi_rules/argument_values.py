"""Arguments for the schema of a tool: the simplest values that fit most schemas."""

from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, map_under

_TEXTS: Final = {
    "date": "2026-01-31", "date-time": "2026-01-31T10:00:00Z", "uuid": "00000000-0000-4000-8000-000000000000",
    "email": "a@example.com", "uri": "https://example.com/", "time": "10:00:00Z", "ipv4": "192.0.2.1",
    "hostname": "example.com",
}  # fmt: skip
_MAX_DEPTH: Final = 3
_DEEPEST: Final = 20
"""The depth that no value has but one of a schema that needs itself, which has no value."""


def argument_values(schema: JsonObject) -> JsonObject:
    """Return a value for each argument of a tool."""
    definitions = map_under(schema, "$defs")
    return {
        name: _value(each, definitions, 0)
        for name, each in map_under(schema, "properties").items()
        if isinstance(each, dict)
    }


def _value(schema: JsonObject, definitions: JsonObject, depth: int) -> JsonValue:
    if isinstance(reference := schema.get("$ref"), str):
        target = definitions.get(reference.rpartition("/")[2])
        schema = target if isinstance(target, dict) else {}
        depth += 1
    for key in ("enum", "examples"):
        if isinstance(choices := schema.get(key), list) and choices:
            return choices[0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(branches := schema.get(key), list) and isinstance(branches[0], dict):
            rest = {name: each for name, each in schema.items() if name != key}
            return _value({**rest, **branches[0]}, definitions, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    match kind:
        case "object":
            return _object(schema, definitions, depth)
        case "array":
            items, least = schema.get("items"), schema.get("minItems", 1)
            inner = _value(items if isinstance(items, dict) else {}, definitions, depth + 1)
            return [inner] * (least if isinstance(least, int) and depth < _MAX_DEPTH else 0)
        case "integer" | "number":
            return schema.get("minimum", schema.get("maximum", 1))
        case "boolean":
            return True
        case "null":
            return None
        case _:
            least, most = schema.get("minLength"), schema.get("maxLength")
            text = _TEXTS.get(str(schema.get("format")), "a b")
            text = text.ljust(least, "x") if isinstance(least, int) else text
            return text[:most] if isinstance(most, int) else text


def _object(schema: JsonObject, definitions: JsonObject, depth: int) -> JsonObject:
    needed = schema.get("required")
    names = needed if isinstance(needed, list) and depth < _DEEPEST else []
    return {
        name: _value(each, definitions, depth + 1)
        for name, each in map_under(schema, "properties").items()
        if isinstance(each, dict) and (name in names or depth < 1)
    }

"""Fast checks for simple JSON Schemas: whether a schema is valid, and whether a value is valid for it.

``jsonschema`` needs milliseconds to validate a schema or a value. Almost all are valid in ways that are simple to
check. For all others both functions return False, and the caller uses ``jsonschema``, which also reports the
errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.pattern_speed import TooSlowError, search

__all__ = ["is_plain_schema", "is_valid_schema", "plainly_satisfies"]

_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def is_plain_schema(value: JsonValue) -> bool:
    """Return whether ``value`` is certainly a JSON Schema 2020-12. If False, ``jsonschema`` must decide."""
    if not isinstance(value, dict):
        return value is True or value is False
    for key, each in value.items():
        test = _GOOD.get(key)
        if test is None or not test(each):
            return False
    return True


def plainly_satisfies(value: JsonValue, schema: JsonObject) -> bool:
    """Return whether ``value`` is certainly valid for ``schema``, a valid schema. If False, ``jsonschema`` must
    decide.
    """
    for key, wanted in schema.items():
        if key in _SAYS_NOTHING:
            continue
        test = _HOLDS.get(key)
        if test is None or not test(value, wanted, schema):
            return False
    return True


def _is_count(value: JsonValue) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: JsonValue) -> bool:
    return type(value) is int or type(value) is float


def _is_positive(value: JsonValue) -> bool:
    return type(value) is int and value > 0


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_flag(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, list)


def _is_anything(_value: JsonValue) -> bool:
    return True


def _is_type(value: JsonValue) -> bool:
    return isinstance(value, str) and value in _TYPES


def _are_names(value: JsonValue) -> bool:
    if not isinstance(value, list):
        return False
    names = [each for each in value if isinstance(each, str)]
    return len(names) == len(value) == len(set(names))


def _are_schemas(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_plain_schema, value))


def _is_map_of_schemas(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(is_plain_schema, value.values()))


_GOOD: Final[dict[str, Callable[[JsonValue], bool]]] = {
    **dict.fromkeys(("title", "description", "$comment", "format", "pattern", "$schema"), _is_text),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _is_flag),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("default", "const"), _is_anything),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("properties", "$defs", "definitions"), _is_map_of_schemas),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _are_schemas),
    **dict.fromkeys(("items", "additionalProperties", "not"), is_plain_schema),
    "multipleOf": _is_positive,
    "type": _is_type,
    "required": _are_names,
}

_SAYS_NOTHING: Final = frozenset(
    {"title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "$defs"}
)


def _has_type(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "integer":
            return type(value) is int
        case "number":
            return _is_number(value)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return False


def _is_member(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    return isinstance(value, str) and isinstance(wanted, list) and value in wanted


def _matches(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    if not (isinstance(value, str) and isinstance(wanted, str)):
        return False
    try:
        return search(wanted, value)
    except TooSlowError:
        return False


def _is_long_enough(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    return isinstance(value, str) and isinstance(wanted, int) and len(value) >= wanted


def _is_short_enough(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    return isinstance(value, str) and isinstance(wanted, int) and len(value) <= wanted


def _is_at_least(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    return type(value) is int and type(wanted) is int and value >= wanted


def _is_at_most(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    return type(value) is int and type(wanted) is int and value <= wanted


def _has_good_items(value: JsonValue, wanted: JsonValue, schema: JsonObject) -> bool:
    if not (isinstance(value, list) and isinstance(wanted, dict)) or "prefixItems" in schema:
        return False
    return all(plainly_satisfies(each, wanted) for each in value)


def _has_good_parts(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    if not (isinstance(value, dict) and isinstance(wanted, dict)):
        return False
    for key, each in value.items():
        inner = wanted.get(key)
        if key in wanted and not (inner is True or (isinstance(inner, dict) and plainly_satisfies(each, inner))):
            return False
    return True


def _has_all(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    return isinstance(value, dict) and isinstance(wanted, list) and all(each in value for each in wanted)


def _has_no_more(value: JsonValue, wanted: JsonValue, schema: JsonObject) -> bool:
    declared = schema.get("properties", {})
    return (
        isinstance(value, dict) and isinstance(declared, dict) and (wanted is True or value.keys() <= declared.keys())
    )


_HOLDS: Final[dict[str, Callable[[JsonValue, JsonValue, JsonObject], bool]]] = {
    "type": _has_type,
    "enum": _is_member,
    "pattern": _matches,
    "minLength": _is_long_enough,
    "maxLength": _is_short_enough,
    "minimum": _is_at_least,
    "maximum": _is_at_most,
    "items": _has_good_items,
    "properties": _has_good_parts,
    "required": _has_all,
    "additionalProperties": _has_no_more,
}


def is_valid_schema(value: JsonObject) -> bool:
    """Return whether ``value`` is valid for the metaschema of JSON Schema 2020-12, so that it can be used to
    validate.
    """
    from jsonschema import Draft202012Validator, SchemaError  # slow to import and rarely needed

    try:
        Draft202012Validator.check_schema(value)
    except (SchemaError, RecursionError):
        return False
    return True

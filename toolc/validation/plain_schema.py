"""Fast checks for simple JSON Schemas: whether a schema is valid, and whether a value is valid for it.

``jsonschema`` needs milliseconds to validate a schema or a value. Almost all are valid in ways that are simple to
check. For all others both functions return False, and the caller uses ``jsonschema``, which also reports the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.pattern_speed import TooSlowError, search

__all__ = ["is_plain_schema", "plainly_satisfies"]


def _is_number(value: JsonValue) -> bool:
    return type(value) is int or type(value) is float


_TYPES: Final[Mapping[str, Callable[[JsonValue], bool]]] = {
    "array": lambda value: isinstance(value, list), "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int, "null": lambda value: value is None, "number": _is_number,
    "object": lambda value: isinstance(value, dict), "string": lambda value: isinstance(value, str),
}  # fmt: skip
"""For each type, a test of a value. An integer is only an ``int``, not a float without a fraction."""


def is_plain_schema(value: JsonValue) -> bool:
    """Return whether ``value`` is certainly a JSON Schema 2020-12. If False, ``jsonschema`` must decide."""
    if not isinstance(value, dict):
        return value is True or value is False
    for key, each in value.items():
        test = _KEYWORD_TESTS.get(key)
        if test is None or not test(each):
            return False
    return True


def plainly_satisfies(value: JsonValue, schema: JsonObject) -> bool:
    """Return whether ``value`` is certainly valid for the valid ``schema``. If False, ``jsonschema`` must decide."""
    for key, wanted in schema.items():
        if key in _ANNOTATIONS:
            continue
        test = _VALUE_TESTS.get(key)
        if test is None or not test(value, wanted, schema):
            return False
    return True


def _are_names(value: JsonValue) -> bool:
    if not isinstance(value, list):
        return False
    names = [each for each in value if isinstance(each, str)]
    return len(names) == len(value) == len(set(names))


def _are_schemas(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_plain_schema, value))


def _is_map_of_schemas(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(is_plain_schema, value.values()))


_KEYWORD_TESTS: Final[dict[str, Callable[[JsonValue], bool]]] = {
    **dict.fromkeys(
        ("title", "description", "$comment", "format", "pattern", "$schema"), lambda value: isinstance(value, str)
    ),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        lambda value: type(value) is int and value >= 0,
    ),
    **dict.fromkeys(("default", "const"), lambda _: True),
    **dict.fromkeys(("enum", "examples"), lambda value: isinstance(value, list)),
    **dict.fromkeys(("properties", "$defs", "definitions"), _is_map_of_schemas),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _are_schemas),
    **dict.fromkeys(("items", "additionalProperties", "not"), is_plain_schema),
    "multipleOf": lambda value: type(value) is int and value > 0,
    "type": lambda value: isinstance(value, str) and value in _TYPES,
    "required": _are_names,
}
"""For each keyword, a test of its value that is only true if the value is certainly valid."""

_ANNOTATIONS: Final = frozenset(
    {"title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "$defs"}
)


def _matches(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    if not (isinstance(value, str) and isinstance(wanted, str)):
        return False
    try:
        return search(wanted, value)
    except TooSlowError:
        return False


def _has_valid_items(value: JsonValue, wanted: JsonValue, schema: JsonObject) -> bool:
    if not (isinstance(value, list) and isinstance(wanted, dict)) or "prefixItems" in schema:
        return False
    return all(plainly_satisfies(each, wanted) for each in value)


def _has_valid_properties(value: JsonValue, wanted: JsonValue, _schema: JsonObject) -> bool:
    if not (isinstance(value, dict) and isinstance(wanted, dict)):
        return False
    for key, each in value.items():
        inner = wanted.get(key)
        if key in wanted and not (inner is True or (isinstance(inner, dict) and plainly_satisfies(each, inner))):
            return False
    return True


def _has_only_declared(value: JsonValue, wanted: JsonValue, schema: JsonObject) -> bool:
    declared = schema.get("properties", {})
    return (
        isinstance(value, dict) and isinstance(declared, dict) and (wanted is True or value.keys() <= declared.keys())
    )


_VALUE_TESTS: Final[dict[str, Callable[[JsonValue, JsonValue, JsonObject], bool]]] = {
    "type": lambda value, wanted, _: isinstance(wanted, str) and wanted in _TYPES and _TYPES[wanted](value),
    "enum": lambda value, wanted, _: isinstance(value, str) and isinstance(wanted, list) and value in wanted,
    "pattern": _matches,
    "minLength": lambda value, wanted, _: isinstance(value, str) and type(wanted) is int and len(value) >= wanted,
    "maxLength": lambda value, wanted, _: isinstance(value, str) and type(wanted) is int and len(value) <= wanted,
    "minimum": lambda value, wanted, _: type(value) is int and type(wanted) is int and value >= wanted,
    "maximum": lambda value, wanted, _: type(value) is int and type(wanted) is int and value <= wanted,
    "items": _has_valid_items,
    "properties": _has_valid_properties,
    "required": lambda value, wanted, _: (
        isinstance(value, dict) and isinstance(wanted, list) and all(each in value for each in wanted)
    ),
    "additionalProperties": _has_only_declared,
}
"""For each keyword, a test of a value, the keyword's value and the schema that is only true if it is satisfied."""

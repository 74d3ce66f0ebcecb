"""Fast checks for simple JSON Schemas: whether a schema is valid, and whether a value is valid for it.

``jsonschema`` needs milliseconds to validate a schema or a value. Almost all of them are valid in ways that are simple
to check. For all others, both functions return False. The caller then uses ``jsonschema``, which reports the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, le
from types import NoneType
from typing import Final

from toolc.model.diagnostics import spend
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.numbers import is_multiple

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,), "boolean": (bool,), "integer": (int,), "null": (NoneType,), "number": (int, float),
    "object": (dict,), "string": (str,),
}  # fmt: skip
"""The exact Python types for each JSON type. An integer is only an ``int``, not a float without a fraction."""

_ANNOTATIONS: Final = frozenset(
    {"title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "$defs"}
)

_BOUNDS: Final[Mapping[str, tuple[type, Callable[[int, int], bool]]]] = {
    "minLength": (str, ge), "maxLength": (str, le), "minItems": (list, ge), "maxItems": (list, le),
    "minimum": (int, ge), "maximum": (int, le),
}  # fmt: skip
"""For each keyword that limits a size or number, the type of the values, and the comparison with the limit."""


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
    """Return whether ``value`` is certainly valid for the valid ``schema``. If False, ``jsonschema`` must decide.

    If True, every part of ``value`` for which the schema requires an integer is an ``int``.
    """
    for key, expected in schema.items():
        if key in _ANNOTATIONS:
            continue
        match key:
            case "items" if isinstance(expected, dict) and "prefixItems" not in schema:
                is_valid = isinstance(value, list) and all(plainly_satisfies(each, expected) for each in value)
            case "properties" if isinstance(expected, dict) and isinstance(value, dict):
                is_valid = all(
                    (inner := expected[name]) is True or (isinstance(inner, dict) and plainly_satisfies(each, inner))
                    for name, each in value.items()
                    if name in expected
                )
            case "required" if isinstance(expected, list):
                is_valid = isinstance(value, dict) and all(name in value for name in expected)
            case "additionalProperties" if isinstance(declared := schema.get("properties", {}), dict):
                is_valid = isinstance(value, dict) and (expected is True or value.keys() <= declared.keys())
            case _:
                is_valid = _satisfies_keyword(value, key, expected)
        if not is_valid:
            return False
    return True


def _satisfies_keyword(value: JsonValue, key: str, expected: JsonValue) -> bool:
    """Return whether ``value`` certainly satisfies a keyword that applies to the value and not to its parts."""
    if key == "type":
        return isinstance(expected, str) and type(value) in _TYPES.get(expected, ())
    if key in _BOUNDS:
        kind, is_within = _BOUNDS[key]
        size = len(value) if isinstance(value, str | list) else value
        return type(value) is kind and type(size) is int and type(expected) is int and is_within(size, expected)
    if key == "multipleOf":
        return is_multiple(value, expected)
    if not isinstance(value, str):
        return False
    if key == "enum":
        if not isinstance(expected, list) or not spend(len(expected) // 500, "the comparison of values with an enum"):
            return False
        return value in expected
    if not isinstance(expected, str):
        return False
    if key == "format":
        from toolc.validation.formats import matches_format  # lazy: +3 ms; most schemas have no format

        return matches_format(value, expected)
    if key == "pattern":
        from toolc.validation.schema_patterns import certainly_matches  # lazy: +3 ms; most schemas have no pattern

        return certainly_matches(expected, value)
    return False


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
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), lambda value: type(value) in (int, float)
    ),
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
"""For each keyword, a test of its value. The test is true only if the value is certainly valid."""

"""Whether a map is a JSON Schema at all: the compiler refuses what is not, a stored registry may hold anything."""

from __future__ import annotations

from toolc.model.json_schema import JsonObject


def is_schema(value: JsonObject) -> bool:
    """Whether ``value`` fits the metaschema of JSON Schema 2020-12, so that values can be judged by it."""
    from jsonschema import Draft202012Validator, SchemaError  # slow to import, and seldom needed

    try:
        Draft202012Validator.check_schema(value)
    except (SchemaError, RecursionError):
        return False
    return True

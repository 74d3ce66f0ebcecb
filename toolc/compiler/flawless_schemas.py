"""A glance at a tool's schema: nearly all have nothing about them that ``decode_schema`` would report.

Its checks look at every node, so that each finding has its place. This looks at the bare values, and where it
says True there is no finding. Where it cannot tell it says False, and the checks are asked.
"""

from __future__ import annotations

from typing import Final

from toolc.compiler.patterns import is_flawless_pattern
from toolc.model.json_schema import LISTS_OF_SCHEMAS, MAPS_OF_SCHEMAS, SCHEMAS, JsonObject, inner_schemas
from toolc.validation.plain_schema import is_plain_schema, plainly_satisfies

_LOOKED_AT: Final = frozenset({"$schema", "const", "default", "definitions", "enum", "pattern"})
_HOLDS_SCHEMAS: Final = MAPS_OF_SCHEMAS | LISTS_OF_SCHEMAS | SCHEMAS


def is_flawless(schema: JsonObject) -> bool:
    """Whether ``schema``, and every schema in it, is surely good, of this dialect, and means what it says."""
    return is_plain_schema(schema) and _is_meant(schema)


def _is_meant(schema: JsonObject) -> bool:
    """Whether a plain schema, which has only keywords that are known and no reference, is flawless."""
    if schema.get("type") == "array" and "items" not in schema:
        return False
    if not _LOOKED_AT.isdisjoint(schema) and not _says_what_it_means(schema):
        return False
    return _HOLDS_SCHEMAS.isdisjoint(schema) or all(map(_is_meant, inner_schemas(schema)))


def _says_what_it_means(schema: JsonObject) -> bool:
    if "$schema" in schema or "definitions" in schema or isinstance(schema.get("const"), float):
        return False
    pattern, enum = schema.get("pattern"), schema.get("enum")
    if isinstance(pattern, str) and not is_flawless_pattern(pattern):
        return False
    if isinstance(enum, list) and any(isinstance(each, float) for each in enum):
        return False
    return "default" not in schema or plainly_satisfies(schema["default"], schema)

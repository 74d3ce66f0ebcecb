"""Names of types in other languages, and their form in JSON Schema."""

from __future__ import annotations

from typing import Final

from toolc.model.json_schema import JsonObject, types_of
from toolc.model.names import close_match
from toolc.model.text import lazy_re

TYPE_WORDS: Final = {
    "array": "a list", "boolean": "true or false", "integer": "a whole number", "null": "null", "number": "a number",
    "object": "a map", "string": "a string",
}  # fmt: skip
"""The types of JSON Schema, as messages describe their values."""

TYPES: Final = tuple(TYPE_WORDS)
TYPE_ALIASES: Final = {
    "bool": "boolean", "dict": "object", "float": "number", "int": "integer", "list": "array", "map": "object",
    "none": "null", "nil": "null", "str": "string", "text": "string", "double": "number", "long": "integer",
    "char": "string", "tuple": "array", "set": "array", "arraylist": "array", "hashmap": "object", "file": "string",
    "path": "string",
}  # fmt: skip
"""The JSON Schema type for each name of a type in other languages, in lower case."""

_FORMATS: Final = {
    "date": "date", "datetime": "date-time", "date-time": "date-time", "timestamp": "date-time", "time": "time",
    "email": "email", "uri": "uri", "url": "uri", "uuid": "uuid",
}  # fmt: skip
_LIST: Final = lazy_re(r"(?i)(\w+)\[\]|(?:list|array|set|sequence)[\[<](\w+)[\]>]")
_OPTIONAL: Final = lazy_re(r"(?i)(\w+)\?|optional\[(\w+)\]")
_NULLABLE: Final = lazy_re(r"(?i)(\w+) *\| *(?:null|none)|(?:null|none) *\| *(\w+)")


def declared_types(schema: JsonObject) -> frozenset[str]:
    """Return the types that the keyword ``type`` allows, or all types without it. ``number`` includes ``integer``."""
    named = types_of(schema) if "type" in schema else TYPES
    return frozenset({*named, "integer"} if "number" in named else named)


def similar_type(name: str) -> str:
    """Return the type that ``name`` most probably means, or an empty string if it is not a single type."""
    if type_form(name):
        return ""
    alias = TYPE_ALIASES.get(name.lower(), name.lower())
    return alias if alias in TYPES else close_match(alias, TYPES)


def type_form(name: str) -> str:
    """Return a hint for a name that means more than a type, such as ``string[]``, or an empty string."""
    if name.lower() in {"any", "mixed", "unknown"}:
        return "remove 'type', because a schema without it accepts any value"
    if name.lower() == "enum":
        return "write type: string, and list the values under enum"
    if name.lower() in _FORMATS:
        return f"write type: string, and format: {_FORMATS[name.lower()]}"
    for pattern, form in (
        (_LIST, "write type: array, and items: {{type: {0}}}"),
        (_OPTIONAL, "write type: {0}, and optional: true"),
        (_NULLABLE, "write type: [{0}, 'null']"),
    ):
        if match := pattern.fullmatch(name):
            inner = next(each for each in match.groups() if each)
            return form.format(similar_type(inner) or inner)
    return ""

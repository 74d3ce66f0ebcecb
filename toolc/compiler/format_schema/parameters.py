"""``parameters`` in its two forms, and JSON Schema 2020-12 as toolc takes it.

JSON Schema's own meta-schema is no use here: it lets any keyword pass, and it describes none.
"""

from __future__ import annotations

from typing import Final

from toolc.compiler.dialects import PATTERN
from toolc.compiler.format_schema.parts import boolean, closed, or_constant, reference
from toolc.compiler.parameters import RESERVED
from toolc.schema import JsonObject

_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
_COUNT: Final = or_constant({"type": "integer", "minimum": 0})
_NUMBER: Final = or_constant({"type": "number"})
_POSITIVE: Final = or_constant({"type": "number", "exclusiveMinimum": 0})
_FLAG: Final = or_constant({"type": "boolean"})
_TEXT: Final[JsonObject] = {"type": "string"}
_ANY: Final[JsonObject] = {}
_NAMES: Final[JsonObject] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
_SCHEMA: Final[JsonObject] = {"$ref": "#/$defs/schema"}
_SCHEMA_MAP: Final[JsonObject] = {"type": "object", "additionalProperties": _SCHEMA}
_SCHEMA_LIST: Final[JsonObject] = {"type": "array", "items": _SCHEMA, "minItems": 1}
_TYPE: Final = or_constant(
    {"enum": [*_TYPES]},
    {"type": "array", "items": {"enum": [*_TYPES]}, "minItems": 1, "uniqueItems": True},
)

_KEYWORDS: Final[dict[str, tuple[JsonObject, str]]] = {
    "type": (_TYPE, "What kind of value it is."),
    "description": (_TEXT, "What it is, for the model; with an example, e.g. 'src/main.py'."),
    "title": (_TEXT, "A name for people."),
    "default": (_ANY, "The value where the caller gives none."),
    "examples": ({"type": "array"}, "Values that are good."),
    "enum": ({"type": "array"}, "The values it can have."),
    "const": (_ANY, "The only value it can have."),
    "minimum": (_NUMBER, "The least number."),
    "maximum": (_NUMBER, "The greatest number."),
    "exclusiveMinimum": (_NUMBER, "What the number must be greater than."),
    "exclusiveMaximum": (_NUMBER, "What the number must be less than."),
    "multipleOf": (_POSITIVE, "What the number must be a multiple of."),
    "minLength": (_COUNT, "The least number of characters."),
    "maxLength": (_COUNT, "The greatest number of characters."),
    "pattern": (_TEXT, "A regular expression that the text must match somewhere; anchor it with ^ and $."),
    "format": (_TEXT, "What the text is, e.g. 'date-time' or 'uri'."),
    "contentEncoding": (_TEXT, "How the text encodes bytes, e.g. 'base64'."),
    "contentMediaType": (_TEXT, "The media type of what the text holds."),
    "contentSchema": (_SCHEMA, "What the text holds, decoded."),
    "items": (_SCHEMA, "What each item of the array is."),
    "prefixItems": (_SCHEMA_LIST, "What the first items are, one by one."),
    "contains": (_SCHEMA, "What at least one item is."),
    "minContains": (_COUNT, "The least number of items that 'contains' holds for."),
    "maxContains": (_COUNT, "The greatest number of items that 'contains' holds for."),
    "minItems": (_COUNT, "The least number of items."),
    "maxItems": (_COUNT, "The greatest number of items."),
    "uniqueItems": (_FLAG, "Whether no two items may be equal."),
    "unevaluatedItems": (_SCHEMA, "What the items are that nothing else describes."),
    "properties": (_SCHEMA_MAP, "The keys of the object, each with its schema."),
    "required": (_NAMES, "The keys that must be there."),
    "additionalProperties": (_SCHEMA, "What other keys hold; false means there are none."),
    "patternProperties": (_SCHEMA_MAP, "What keys hold whose name matches a regular expression."),
    "propertyNames": (_SCHEMA, "What the names of keys are."),
    "minProperties": (_COUNT, "The least number of keys."),
    "maxProperties": (_COUNT, "The greatest number of keys."),
    "dependentRequired": (
        {"type": "object", "additionalProperties": _NAMES},
        "The keys that must be there where another is.",
    ),
    "dependentSchemas": (_SCHEMA_MAP, "What the object must be where a key is there."),
    "unevaluatedProperties": (_SCHEMA, "What the keys hold that nothing else describes."),
    "allOf": (_SCHEMA_LIST, "All of these hold."),
    "anyOf": (_SCHEMA_LIST, "At least one of these holds."),
    "oneOf": (_SCHEMA_LIST, "Exactly one of these holds."),
    "not": (_SCHEMA, "This does not hold."),
    "if": (_SCHEMA, "Where this holds, 'then' must hold too, elsewhere 'else'."),
    "then": (_SCHEMA, "What must hold where 'if' does."),
    "else": (_SCHEMA, "What must hold where 'if' does not."),
    "deprecated": (_FLAG, "Whether it should not be used any more."),
    "readOnly": (_FLAG, "Whether only the tool sets it."),
    "writeOnly": (_FLAG, "Whether only the caller sets it."),
    "$ref": (_TEXT, "Another schema of this tool: '#/$defs/name'."),
    "$defs": (_SCHEMA_MAP, "Schemas that '$ref' leads to, by name."),
    "definitions": (_SCHEMA_MAP, "The older name of '$defs'."),
    "$anchor": (_TEXT, "A name that '$ref' can use: '#name'."),
    "$dynamicAnchor": (_TEXT, "A name that '$dynamicRef' can use."),
    "$dynamicRef": (_TEXT, "Another schema of this tool, by its dynamic anchor."),
    "$comment": (_TEXT, "A remark for whoever reads the schema."),
    "$id": (_TEXT, "The identity of the whole schema; only at its root."),
    "$schema": (
        {"type": "string", "pattern": PATTERN},
        "The dialect: JSON Schema 2020-12, or an older draft where it means the same.",
    ),
    "$vocabulary": ({"type": "object", "additionalProperties": _FLAG}, "For meta-schemas only."),
}

_OPTIONAL: Final = boolean("Whether a call may do without it. A parameter with a default is optional anyway.")
_NAME: Final[JsonObject] = {
    "type": "string",
    "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
    "not": {"enum": [*sorted(RESERVED)]},
}


def parameters() -> JsonObject:
    """``parameters``: the shorthand, or a full schema where it says that it is an object with properties."""
    return {
        "description": "What a call takes: names with their schemas, or a full JSON Schema with 'type: object'.",
        "type": "object",
        "if": {
            "required": ["type", "properties"],
            "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
        },
        "then": {"$ref": "#/$defs/fullParameters"},
        "else": {"$ref": "#/$defs/shorthandParameters"},
    }


def definitions() -> dict[str, JsonObject]:
    """What ``parameters`` and result schemas refer to."""
    full = _schema("A JSON Schema 2020-12 of an object.")
    properties = full["properties"]
    assert isinstance(properties, dict)
    named: JsonObject = {**_SCHEMA_MAP, "propertyNames": _NAME, "description": "The parameters by name."}
    return {
        "schema": {"anyOf": [{"$ref": "#/$defs/schemaObject"}, {"type": "boolean"}]},
        "schemaObject": _schema("A JSON Schema 2020-12."),
        "fullParameters": {**full, "properties": {**properties, "properties": named}},
        "shorthandParameters": {
            "description": "Parameters by name; each is required unless it has a default or says 'optional: true'.",
            "type": "object",
            "propertyNames": _NAME,
            "additionalProperties": reference("parameter", "A parameter of this name."),
        },
        "parameter": _schema("One parameter: its JSON Schema, and whether it is optional.", optional=_OPTIONAL),
    }


def _schema(description: str, **more: JsonObject) -> JsonObject:
    keywords = {name: {"description": words, **shape} for name, (shape, words) in _KEYWORDS.items()}
    extension: JsonObject = {"^x-": {"description": "An extension of your own."}}
    return {**closed(description, {**keywords, **more}), "patternProperties": extension}

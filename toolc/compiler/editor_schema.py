"""The JSON Schemas (2020-12) of spec and project files, for editors, from the declarations in ``toolc.model.spec``.

A schema refuses nothing that the compiler accepts. What takes more than one place of a file to decide is left to
``toolc check``. Only keywords occur that mean the same in draft 7: many editors implement the older draft.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from toolc.compiler.project.variables import IDENTITY
from toolc.compiler.schema.caller_parameters import SOURCE
from toolc.compiler.schema.parameters import RESERVED, WITHOUT_PROPERTIES
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.declared import alternatives, keys_of, keyword_texts, map_class, texts_of
from toolc.model.spec.keys import Kind
from toolc.model.spec.project import ProjectKeys
from toolc.model.spec.schema_keywords import KEYWORDS
from toolc.model.spec.tool import FORMAT, OPTIONS, ProviderChoice, SpecFile, ToolSpec

_VARIABLE: Final = r"\{\{\s*vars\b"
_CONSTANT: Final[JsonObject] = {"$ref": "#/$defs/constant"}
_HEAD: Final[JsonObject] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_PATTERNS: Final = {
    "text": r"\S", "expression": r"\S", "duration": "^[0-9]{1,15}(ms|s|m)$", "size": "^[0-9]{1,15}(KiB|MiB|GiB)$",
}  # fmt: skip
_FULL: Final[list[JsonValue]] = [
    {"required": ["properties"], "properties": {"properties": {"type": "object"}}},
    {"propertyNames": {"enum": [*sorted(WITHOUT_PROPERTIES)]}},
]
"""What a map ``parameters`` with ``type: object`` has if it is a full JSON Schema."""

_PLAIN: Final[dict[str, JsonObject]] = {
    "boolean": {"anyOf": [{"type": "boolean"}, _CONSTANT]},
    "string": {"type": "string"}, "template": {"type": "string"}, "json": {}, "constant": _CONSTANT,
    "string or null": {"type": ["string", "null"]}, "field": {"type": ["string", "number", "boolean"]},
    "above zero": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _CONSTANT]},
    "tool": {"$ref": "#/$defs/tool"}, "defaults": {"$ref": "#/$defs/defaults"},
    "schema": {"$ref": "#/$defs/schemaObject"}, "schema or boolean": {"$ref": "#/$defs/schema"},
    "parameters": {
        "type": "object",
        "if": {"required": ["type"], "properties": {"type": {"const": "object"}}, "anyOf": _FULL},
        "then": {"$ref": "#/$defs/fullParameters"}, "else": {"$ref": "#/$defs/shorthandParameters"},
    },
}  # fmt: skip


@cache
def spec_schema() -> JsonObject:
    """Return the schema of a spec file: one tool, or several with their defaults. Do not modify the result."""
    several, tool = _keys(SpecFile), _references(ToolSpec)
    return _HEAD | {
        "title": f"toolc spec, format {FORMAT}", "description": texts_of(SpecFile)[""].sentences, "type": "object",
        "required": ["toolc"], "properties": several,
        "if": {"anyOf": [{"required": ["tools"]}, {"required": ["defaults"]}]},
        "then": {"$ref": "#/$defs/several"}, "else": {"$ref": "#/$defs/single"},
        "$defs": {
            "single": _closed({"toolc": several["toolc"], **tool}, "One tool.", ["toolc", "name"]),
            "several": _closed(several, "Several tools.", ["toolc", "tools"]),
            "tool": _closed(tool, "One tool.", ["name"]), **_definitions(),
        },
    }  # fmt: skip


@cache
def project_schema() -> JsonObject:
    """Return the schema of the project file. Do not modify the result."""
    return {**_HEAD, "title": "toolc project file", **_map(ProjectKeys), "$defs": _definitions()}


def as_text(schema: JsonObject) -> str:
    """Return a schema as the text of a file: indented ASCII JSON with a final line feed."""
    return json.dumps(schema, indent=2) + "\n"


def _definitions() -> JsonObject:
    """Return the definitions used by both schemas: the keys of a tool, and JSON Schema as toolc reads it."""
    texts, declared = keyword_texts(), texts_of(ToolSpec)["parameters"].sentences
    keywords: JsonObject = {name: _described(_value(kind), texts[name].sentences) for name, kind in KEYWORDS.items()}
    names: JsonObject = {
        "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$", "not": {"enum": [*sorted(RESERVED)]},
    }  # fmt: skip
    optional = _described(_PLAIN["boolean"], "Whether a call can omit it. One with a default can always be omitted.")
    source = _described({"type": "string", "pattern": SOURCE}, "What the host knows about the caller and fills in.")
    parameters: JsonObject = {"propertyNames": names, "description": declared}
    one: JsonObject = {"additionalProperties": {"anyOf": [{"$ref": "#/$defs/fullParameter"}, {"type": "boolean"}]}}
    full: JsonObject = keywords | {"properties": _value(KEYWORDS["properties"]) | parameters | one}
    defaults = {name: each for name, each in _references(ToolSpec).items() if name not in IDENTITY}
    extensible: JsonObject = {"patternProperties": {"^x-": {"description": "A custom extension."}}}
    return {
        "defaults": _closed(defaults, "Default values of the keys of a tool."),
        **_keys(ToolSpec),
        "schema": {"anyOf": [_PLAIN["schema"], {"type": "boolean"}]},
        "schemaObject": _closed(keywords, "A JSON Schema 2020-12.") | extensible,
        "fullParameters": _closed(full, "A JSON Schema of an object.") | extensible,
        "shorthandParameters": {
            **parameters, "type": "object", "additionalProperties": {"$ref": "#/$defs/parameter"},
        },
        "parameter": _closed(
            keywords | {"optional": optional, "from": source}, "The JSON Schema of one parameter."
        ) | extensible,
        "fullParameter": _closed(keywords | {"from": source}, "The JSON Schema of one parameter.") | extensible,
        "constant": {"description": "A constant of the project file.", "type": "string", "pattern": _VARIABLE},
    }  # fmt: skip


def _references(cls: type) -> JsonObject:
    return {each.name: {"$ref": f"#/$defs/{each.name}"} for each in keys_of(cls)}


def _closed(properties: JsonObject, description: str = "", required: list[JsonValue] | None = None) -> JsonObject:
    """Return the schema of a map without other keys."""
    shape: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    return _described(shape | ({"required": required} if required else {}), description)


def _described(schema: JsonObject, description: str) -> JsonObject:
    first: JsonObject = {"description": description.replace("``", "'")}
    return first | schema | first if description else schema


def _keys(cls: type) -> JsonObject:
    """Return the schema of each key of a map."""
    texts = texts_of(cls)
    return {
        each.name: _described(_value(each.kind), texts[each.field].sentences)
        | ({} if each.default is None else {"default": each.default})
        for each in keys_of(cls)
    }


def _map(cls: type, *, is_strict: bool = False) -> JsonObject:
    keys = keys_of(cls)
    required: list[JsonValue] = [each.name for each in keys if each.is_required]
    shape = _closed(_keys(cls), texts_of(cls)[""].sentences, required if is_strict else None)
    bounds: JsonObject = {"minProperties": 1, "maxProperties": 1} if is_strict else {"maxProperties": 1}
    return {**shape, **bounds} if len(alternatives(cls)) == len(keys) else shape


def _value(kind: Kind) -> JsonObject:
    """Return the schema of a value. It is also valid if a constant of the project file can replace it."""
    if kind.form in _PLAIN:
        return _PLAIN[kind.form]
    if kind.form in _PATTERNS or kind.form == "matching":
        pattern = kind.pattern or _PATTERNS[kind.form]
        return {"type": "string", "pattern": pattern if kind.is_fixed else f"{pattern}|{_VARIABLE}"}
    if kind.form == "map":
        return _map(map_class(kind), is_strict=kind.is_strict)
    if kind.form in {"list", "map of", "either"}:
        return _compound(kind, [_value(each) for each in kind.of])
    if kind.form == "providers":
        return _closed({name: _provider(name) for name in sorted(PROVIDER_NAMES)})
    bounds = {"minimum": kind.low, "maximum": kind.high}
    shape: JsonObject = {"type": kind.form, **{name: each for name, each in bounds.items() if each is not None}}
    if kind.form == "choice":
        shape = {"const": kind.options[0]} if len(kind.options) == 1 else {"enum": [*kind.options]}
    return shape if kind.is_fixed else {"anyOf": [shape, _CONSTANT]}


def _compound(kind: Kind, of: list[JsonObject]) -> JsonObject:
    if kind.form == "either":
        return {"anyOf": [*of]}
    if kind.form == "map of":
        names: JsonObject = {"propertyNames": {"type": "string", "pattern": kind.pattern}} if kind.pattern else {}
        return {"type": "object", "additionalProperties": of[0], **names}
    least: JsonObject = {} if kind.low is None else {"minItems": kind.low}
    return {"type": "array", "items": of[0], **least, **({"uniqueItems": True} if kind.is_strict else {})}


def _provider(name: str) -> JsonObject:
    options = {key: each for key, each in _keys(ProviderChoice).items() if key == OPTIONS.get(name)}
    return _closed(options, texts_of(ProviderChoice)[""].sentences)

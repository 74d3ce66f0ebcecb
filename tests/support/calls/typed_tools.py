# ruff: noqa: E501  tables of schemas
"""Tools for tests of typed clients: every construct of a schema, hostile names and texts, and random schemas."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from schemas.random_schemas import RandomSchemas

from calls import fake_tools
from toolc.client.typed.generate import client_text
from toolc.model.json_schema import JsonObject, JsonValue, Schema, map_subschemas
from toolc.model.registry import RegisteredTool
from toolc.model.spec.tool import ToolSpec

STRING: JsonObject = {"type": "string"}
HOSTILE_TEXTS = (
    'ends with a quote"', 'three """ quotes """ inside', '"""', "ends with a backslash\\", "*/ alert(1) /* **/", "a\nb\n\n  c",
    "\u202e\x00\x07\u2028 invisible \r\n", "`${process.exit()}`", "\\N{DASH} \\u0041 \\x", "{} {0} %s", "ünïcödé 数 🦀",
    "from __future__ import braces\n# type: ignore\n// @ts-ignore", "<!-- -->", "x" * 300, "'''\\'''",
)  # fmt: skip
HOSTILE_KEYS = (
    "class", "from", "a-b", "a b", "a.b", "1st", "", "__proto__", "constructor", "__dunder", "_private", "ﬁ", "größe",
    "数", "🦀", 'quo"te', "back\\slash", "new\nline", "list", "str", "Any", "None", "self", "type", "id", "model_dump",
    "json", "schema", "*/", '"""', "Record", "$ref", "toString", "a_b",
)  # fmt: skip
HOSTILE_NAMES = (
    "class", "list", "str", "self", "Tools", "Any", "__proto__", "__init__", "constructor", "toString", "_caller", "a-b", "a_b",
    "A_B", "ToolResult", "new", "await", "import", "_", "__", "Record", "type", "print", "Array", "x-",
)  # fmt: skip

NODE: JsonObject = {
    "type": "object",
    "properties": {"name": STRING, "next": {"$ref": "#/$defs/node"}, "all": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}
CONSTRUCTS: dict[str, JsonObject] = {
    "any_value": {},
    "texts": {"enum": ["a", "b", "it's \"quoted\"\\"]},
    "mixed_values": {"enum": ["a", 1, True, False, None, 2.5, -3, 9007199254740991, [1], {"a": 1}]},
    "constant": {"const": "only"},
    "nullable": {"type": ["string", "null"]},
    "several_types": {"type": ["object", "array", "number"], "properties": {"a": STRING}, "items": STRING},
    "pair": {"type": "array", "prefixItems": [STRING, {"type": "integer"}], "items": False, "minItems": 1},
    "open_pair": {"type": "array", "prefixItems": [{"type": ["string", "null"]}], "items": {"type": "boolean"}},
    "map_of_lists": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}},
    "patterns": {"type": "object", "patternProperties": {"^a": STRING}, "additionalProperties": False},
    "open_record": {"type": "object", "properties": {"a": STRING}, "additionalProperties": {"type": "integer"}},
    "empty_record": {"type": "object", "additionalProperties": False},
    "undeclared": {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
    "union": {"anyOf": [STRING, {"type": "object", "properties": {"a": STRING}}, {"$ref": "#/$defs/id"}], "$defs": {"id": {"type": "integer"}}},
    "tagged": {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": kind}, kind: STRING}, "required": ["kind"]}
            for kind in ("circle", "square")
        ]
    },
    "shared_type": {"type": "object", "anyOf": [{"required": ["a"]}, {"properties": {"b": STRING}}]},
    "together": {"allOf": [{"type": "object", "properties": {"a": STRING}}, {"type": "object", "properties": {"b": STRING}}]},
    "apart": {"allOf": [{"minProperties": 1}, {"$ref": "#/$defs/node"}], "$defs": {"node": NODE | {"properties": {"name": STRING}}}},
    "tree": NODE | {"$defs": {"node": NODE}},
    "nested_lists": {"$ref": "#/$defs/json", "$defs": {"json": {"anyOf": [STRING, {"type": "array", "items": {"$ref": "#/$defs/json"}}]}}},
    "alias_of_list": {"type": "object", "properties": {"a": {"$ref": "#/$defs/l"}}, "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}},
    "anchored": {"type": "array", "items": {"$ref": "#here"}, "$defs": {"a": {"$anchor": "here", "type": "null"}}},
    "nothing": {"type": "object", "properties": {"never": False, "always": True}},
    "described": {"type": "object", "description": "About it.", "properties": {"a": {**STRING, "description": "One.", "default": "x"}}},
    "deep": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "object", "properties": {"c": STRING}}}}}}},
}  # fmt: skip
"""Schemas by the name of the tool that has each as its result and as an argument."""


def tool(name: str, parameters: JsonObject | None = None, result: JsonObject | None = None, text: str = "") -> ToolSpec:
    """Return a tool with these schemas and this description."""
    spec = fake_tools.tool(name)
    return replace(
        spec,
        description=text or spec.description,
        parameters=Schema(parameters) if parameters else spec.parameters,
        result_schema=None if result is None else Schema(result),
    )


def closed(properties: JsonObject, required: Sequence[JsonValue] = ()) -> JsonObject:
    """Return a schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def constructs() -> list[ToolSpec]:
    """Return a tool for each construct."""
    tools: list[ToolSpec] = []
    for name, schema in CONSTRUCTS.items():
        definitions: JsonObject = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        value: JsonObject = {key: each for key, each in schema.items() if key != "$defs"}
        required: list[JsonValue] = ["needed"]
        tools.append(tool(name, closed({"needed": value, "optional": value}, required) | definitions, schema))
    return tools


def hostile() -> list[ToolSpec]:
    """Return tools with names, keys, descriptions and defaults that could break generated code."""
    keys: JsonObject = {
        key: {**STRING, "description": HOSTILE_TEXTS[at % len(HOSTILE_TEXTS)], "default": key}
        for at, key in enumerate(HOSTILE_KEYS)
    }
    values: JsonObject = {"enum": [*HOSTILE_TEXTS, *HOSTILE_KEYS]}
    arguments: JsonObject = dict.fromkeys(
        ("class", "from", "self", "others", "__x", "_x", "list", "str", "args", "path_"), STRING
    )
    by_name = [tool(name, closed(arguments, ["class"]), closed({name: STRING}, [name])) for name in HOSTILE_NAMES]
    by_text = [
        tool(f"text{at}", closed({"a": {**values, "description": text}}), closed(keys) | {"description": text}, text)
        for at, text in enumerate(HOSTILE_TEXTS)
    ]
    open_arguments: JsonObject = {"type": "object", "properties": arguments, "additionalProperties": True}
    return [*by_name, *by_text, tool("keys", closed({"a": closed(keys)})), tool("open_arguments", open_arguments)]


def random_tools(count: int) -> list[ToolSpec]:
    """Return tools with random results."""
    return [
        tool(f"random{seed}", result=_without_references_in_place(RandomSchemas(seed).tool())) for seed in range(count)
    ]


def registered(tools: Sequence[ToolSpec]) -> list[RegisteredTool]:
    """Return tools with their digests, sorted by name."""
    found = fake_tools.registry(*tools)
    return [found.registered(name) for name in found.names]


def _without_references_in_place(schema: JsonObject) -> JsonObject:
    """Return a schema without references that could lead back to their own place, which the compiler refuses."""

    def change(key: str, inner: JsonValue) -> JsonValue:
        if isinstance(inner, list):
            return [change(key, each) for each in inner]
        if not isinstance(inner, dict):
            return inner
        in_place = key in {"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
        kept: JsonObject = {name: each for name, each in inner.items() if not (in_place and name == "$ref")}
        return _without_references_in_place(kept)

    result: JsonObject = {}
    for key, value in schema.items():
        [changed] = map_subschemas({key: value}, lambda inner, key=key: change(key, inner)).values()  # type: ignore[misc]
        result[key] = changed
    return result


def imported(folder: Path, tools: Sequence[ToolSpec], language: str) -> ModuleType:
    """Return the Python client for these tools, imported."""
    path = folder / f"{language}_of_{len(tools)}.py"
    path.write_text(client_text(registered(tools), language), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module

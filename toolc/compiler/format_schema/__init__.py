"""The JSON Schemas (2020-12) of the files that people write, for their editors.

They say which keys there are, what may stand there, and why. They refuse nothing that the compiler takes,
and know nothing that takes more than one place to judge: that is for ``toolc check``. As ``defaults`` may
come from elsewhere, hardly any key is required. The tests hold them against the decoder.
"""

from __future__ import annotations

import json

from toolc.compiler.decode_defaults import IDENTITY
from toolc.compiler.format_schema import parameters
from toolc.compiler.format_schema.parts import CONSTANT, CONSTANT_NAME, closed, items, reference
from toolc.compiler.format_schema.project import project
from toolc.compiler.format_schema.tool import tool_keys
from toolc.schema import JsonObject
from toolc.spec import FORMAT

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def spec_schema() -> JsonObject:
    """The schema of a spec file: one tool, or several with their defaults."""
    version: JsonObject = {
        "description": "The version of the format; it is what makes a file a spec.",
        "const": FORMAT,
    }
    several: dict[str, JsonObject] = {
        "toolc": version,
        "tools": items("Several tools.", reference("tool", "One tool."), at_least=1),
        "defaults": reference("defaults", "What each tool has that says nothing else: maps merge, lists replace."),
    }
    return {
        "$schema": _DIALECT,
        "title": f"toolc spec, format {FORMAT}",
        "description": "Tools for language models, declared.",
        "type": "object",
        "required": ["toolc"],
        "properties": {**several},
        "if": {"anyOf": [{"required": ["tools"]}, {"required": ["defaults"]}]},
        "then": {"$ref": "#/$defs/several"},
        "else": {"$ref": "#/$defs/single"},
        "$defs": {
            "single": closed("One tool.", {"toolc": version, **_keys()}, required=("toolc", "name")),
            "several": closed("Several tools.", several, required=("toolc", "tools")),
            "tool": closed("One tool.", _keys(), required=("name",)),
            **_definitions(),
        },
    }


def project_schema() -> JsonObject:
    """The schema of the project file."""
    return {"$schema": _DIALECT, "title": "toolc project file", **project(), "$defs": _definitions()}


def as_text(schema: JsonObject) -> str:
    """A schema as the text of a file."""
    return json.dumps(schema, indent=2) + "\n"


def _definitions() -> JsonObject:
    shared = {name: key for name, key in _keys().items() if name not in IDENTITY}
    return {
        "defaults": closed("What tools have that say nothing else.", shared),
        **tool_keys(),
        **parameters.definitions(),
        CONSTANT_NAME: CONSTANT,
    }


def _keys() -> dict[str, JsonObject]:
    return {name: {"$ref": f"#/$defs/{name}"} for name in tool_keys()}

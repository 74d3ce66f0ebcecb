"""The JSON Schemas (2020-12) of spec and project files, for editors. They are in ``toolc/data/schemas.yaml``."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from toolc.compiler.project.variables import IDENTITY
from toolc.model.json_schema import JsonObject


@cache
def spec_schema() -> JsonObject:
    """Return the schema of a spec file: one tool, or several with their defaults. Do not modify the result."""
    return {**_sections()["spec"], "$defs": {**_tool_maps(), **_definitions()}}


@cache
def project_schema() -> JsonObject:
    """Return the schema of the project file. Do not modify the result."""
    return {**_sections()["project"], "$defs": {"defaults": _tool_maps()["defaults"], **_definitions()}}


def as_text(schema: JsonObject) -> str:
    """Return a schema as the text of a file: indented ASCII JSON with a final line feed."""
    return json.dumps(schema, indent=2) + "\n"


# Any: the file is part of toolc, and the tests check its structure.
@cache
def _sections() -> dict[str, dict[str, Any]]:
    """Return the parsed data file by section."""
    text = files("toolc.data").joinpath("schemas.yaml").read_text(encoding="utf-8")
    # PyYAML, not the parser of spec files: that one has no merge keys. libyaml is about ten times as fast.
    sections: dict[str, dict[str, Any]] = (
        yaml.load(text, Loader=yaml.CSafeLoader) if yaml.__with_libyaml__ else yaml.safe_load(text)
    )
    return sections


def _tool_maps() -> dict[str, dict[str, Any]]:
    """Return the section ``tool_maps`` with the keys of a tool added."""
    keys = {name: {"$ref": f"#/$defs/{name}"} for name in _sections()["tool_keys"]}
    added = {
        "single": keys,
        "tool": keys,
        "defaults": {name: reference for name, reference in keys.items() if name not in IDENTITY},
    }
    return {
        name: {**schema, "properties": {**schema["properties"], **added.get(name, {})}}
        for name, schema in _sections()["tool_maps"].items()
    }


def _definitions() -> JsonObject:
    """Return the definitions used by both schemas."""
    return {**_sections()["tool_keys"], **_sections()["definitions"]}

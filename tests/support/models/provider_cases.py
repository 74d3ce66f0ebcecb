"""Tools that the provider tests lower, and how golden files are compared and written."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from project import paths
from pydantic import TypeAdapter

from toolc.model.json_schema import JsonObject, Schema
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.tool import Annotations, ProviderChoice, ToolSpec
from toolc.model.template import Template
from toolc.providers.provider import Lowering

GOLDEN = paths.GOLDEN / "providers"


def tool(name: str = "look", parameters: JsonObject | None = None, **fields: object) -> ToolSpec:
    """Return a tool with this surface."""
    schema = parameters or {"type": "object", "properties": {}, "additionalProperties": False}
    spec: dict[str, object] = {
        "name": name,
        "description": "Look at one thing.",
        "parameters": Schema(schema),
        "backend": ShellBackend(command=Argv(elements=(Template(("true",)),))),
    }
    return ToolSpec(**(spec | fields))  # type: ignore[arg-type]  # the fields' types are each test's business


def parameters(**properties: JsonObject) -> JsonObject:
    """Return a closed schema in which every parameter is required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


NOTHING = tool("ping", description="Answer with a pong. Use it to see whether the server is there.")

PLAIN = tool(
    "count_words",
    parameters(path={"type": "string", "description": "File, relative to the workspace"}) | {"required": ["path"]},
    label="Count words",
    description="Count the words of one text file. Do not use it for binary files.",
    annotations=Annotations(read_only=True, open_world=False),
    examples=({"path": "README.md"},),
)

RICH = tool(
    "search",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query", "filter"],
        "properties": {
            "query": {"type": "string", "minLength": 1, "pattern": "^[^\\n]+$", "description": "What to find"},
            "limit": {"type": "integer", "minimum": 1, "exclusiveMaximum": 100, "default": 10},
            "since": {"type": ["string", "null"], "format": "date"},
            "mode": {"const": "exact"},
            "tags": {"type": "array", "uniqueItems": True},
            "filter": {"$ref": "#/$defs/filter", "description": "Which entries count"},
            "size": {"oneOf": [{"type": "integer"}, {"enum": ["small", "large"]}]},
        },
        "$defs": {
            "filter": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "not": {"$ref": "#/$defs/filter"}},
                "required": ["field"],
            }
        },
        "anyOf": [{"required": ["limit"]}, {"required": ["since"]}],
    },
    description="Search the entries.",
    deprecated="use find instead",
)

STRICT = tool(
    "book",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["room"],
        "properties": {
            "room": {"type": "string", "description": "Which room", "minLength": 2},
            "day": {"type": "string", "format": "date"},
            "size": {"enum": ["small", "large"], "default": "small"},
            "guests": {"type": ["array", "null"], "items": {"$ref": "#/$defs/guest"}, "maxItems": 9},
        },
        "$defs": {
            "guest": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
                "required": ["name"],
                "additionalProperties": False,
            }
        },
    },
    description="Book a room.",
    providers=tuple(
        ProviderChoice(provider=name, strict=True) for name in PROVIDER_NAMES if name not in {"mcp", "ollama"}
    ),
)

TYPED = tool(
    "history",
    parameters(path={"type": "string"}),
    description="List the last versions of a file.",
    result_schema=Schema(
        {
            "type": "array",
            "items": {"$ref": "#/$defs/version"},
            "$defs": {
                "version": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "pattern": "^[0-9a-f]+$"},
                        "state": {"enum": ["open", "closed"]},
                        "parents": {"type": "array", "items": {"$ref": "#/$defs/version"}},
                    },
                    "required": ["id"],
                }
            },
        }
    ),
)

TOOLS = (NOTHING, PLAIN, RICH, STRICT, TYPED)


def losses_as_text(lowering: Lowering) -> list[str]:
    """Return the losses of a lowering, one per line."""
    return [f"{loss.tool}{loss.pointer}: {loss.message}" for loss in lowering.losses]


def compare(name: str, value: object, *, write: bool) -> None:
    """Compare with the golden file of this name, or write it anew (``pytest --golden``)."""
    path = GOLDEN / f"{name}.json"
    if write:
        path.write_text(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == value


def assert_accepted(shape: Any, value: object) -> None:
    """Check that the type ``shape`` of an SDK accepts ``value`` and keeps all of it; a TypedDict drops unknown keys."""
    adapter: TypeAdapter[object] = TypeAdapter(shape)  # held: its lazy iterators validate as they are read
    assert _plain(adapter.validate_python(copy.deepcopy(value), strict=True)) == value


def _plain(value: object) -> object:
    """Return ``value`` with the lazy iterators that pydantic uses for ``Iterable[...]`` fields as lists."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    return [_plain(each) for each in value]

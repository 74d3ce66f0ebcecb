"""Generate specs from tool definitions for OpenAI, Anthropic, Gemini, Bedrock or MCP, detected by their shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.importers.plugin_spec import valid_names
from toolc.importers.yaml_text import yaml_text
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, map_subschemas, map_under

_SCHEMAS: Final = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
_LISTS: Final = ("tools", "functions", "functionDeclarations", "function_declarations", "toolConfig", "result")
HINTS: Final = {
    "readOnlyHint": "read_only", "destructiveHint": "destructive", "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}  # fmt: skip
"""The annotations of tools in MCP, with their keys in specs."""


def definition_specs(value: JsonValue) -> dict[str, str]:
    """Return the text of a spec for each definition, by file name. Raises ``UsageError``.

    The specs have no backend, which is an error until someone adds it.
    """
    found = [*_definitions(value)]
    if not found:
        raise UsageError("the file has no tool definitions for OpenAI, Anthropic, Gemini, Bedrock or MCP")
    names = valid_names([str(each["name"]) for each in found])
    return {
        f"{name}.yaml": yaml_text({"toolc": 1} | tool_of(name, each)) for name, each in zip(names, found, strict=True)
    }


def _definitions(value: JsonValue) -> Iterator[JsonObject]:
    """Yield each map that has a name and a schema, from the lists and wrappers that APIs return."""
    if isinstance(value, list):
        for each in value:
            yield from _definitions(each)
    elif isinstance(value, dict):
        if isinstance(value.get("name"), str) and not any(isinstance(value.get(key), list) for key in _LISTS):
            yield value
            return
        for key in ("function", "toolSpec", *_LISTS):
            yield from _definitions(value.get(key))


def tool_of(name: str, definition: JsonObject) -> JsonObject:
    """Return the tool of a spec for a definition, with an empty backend."""
    schema = next((each for key in _SCHEMAS if isinstance(each := definition.get(key), dict)), {})
    schema = _lowered(map_under(schema, "json") or schema)
    parameters: JsonObject = {"type": "object", "properties": {}, **schema}
    label = definition.get("title")
    spec: JsonObject = {"name": name}
    spec |= {"label": label} if isinstance(label, str) and label else {}
    spec |= {"description": str(definition.get("description") or ""), "parameters": parameters, "backend": {}}
    hints = map_under(definition, "annotations")
    annotations: JsonObject = {ours: hints[key] for key, ours in HINTS.items() if isinstance(hints.get(key), bool)}
    return spec | ({"annotations": annotations} if annotations else {})


def _lowered(schema: JsonObject) -> JsonObject:
    """Return a schema with its types in lower case, because Gemini writes them in capital letters."""
    found = map_subschemas(schema, lambda each: _lowered(each) if isinstance(each, dict) else each)
    kind = found.get("type")
    if isinstance(kind, str):
        found["type"] = [kind.lower(), "null"] if found.pop("nullable", False) is True else kind.lower()
    return found

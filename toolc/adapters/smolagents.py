"""smolagents: each tool as a ``Tool`` for a ``ToolCallingAgent`` or a ``CodeAgent``.

A failed call raises ``ToolCallError``. The agent shows it to its model, as it does with every exception, including a
failure of the sandbox. smolagents cannot ask for confirmation, so calls of tools with ``confirm: true`` need the
executor's ``confirm``.

smolagents cannot send a whole JSON Schema. It sends the schema of each parameter, without ``$defs``, and rewrites
``anyOf``. References are therefore inlined, and ``anyOf`` is moved into ``allOf``, which has the same meaning.
"""

from __future__ import annotations

import keyword
from typing import Any, Final

from toolc.adapters.framework_tool import AdaptedTool, adapt, object_of
from toolc.client.executor import Executor
from toolc.model.errors import MissingExtraError, UsageError
from toolc.model.json_schema import (
    JsonObject,
    JsonValue,
    list_under,
    map_subschemas,
    map_under,
    target_of,
    type_of,
    types_of,
)
from toolc.model.result import Image, ToolResult
from toolc.providers.calls import parse_arguments
from toolc.providers.content import blocks, describe_block

try:
    from smolagents import AgentImage, Tool
except ModuleNotFoundError as error:
    raise MissingExtraError("toolc.adapters.smolagents", "smolagents") from error

_ALL_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")

MAX_NODES: Final = 5_000
"""The maximum number of subschemas of a tool. Any others become ``{}``.

With references, a small schema can become very large. No provider accepts as many properties.
"""


class ToolCallError(Exception):
    """A call has failed. The message is for the model."""


def tools(executor: Executor) -> list[Tool]:
    """Return the executor's tools for ``ToolCallingAgent`` or ``CodeAgent``. They work until the executor is closed.

    A hyphen in a name becomes an underscore. Raises ``UsageError`` if the new name is a keyword or not unique.
    """
    made: dict[str, Tool] = {}
    for tool in adapt(executor, "mcp"):
        name = tool.spec.name.replace("-", "_")
        if name in made or keyword.iskeyword(name):
            reason = "a keyword of Python" if keyword.iskeyword(name) else "also the name of another tool"
            raise UsageError(f"smolagents cannot use the tool {tool.spec.name!r}: {name} is {reason}; rename the tool")
        made[name] = _Tool(name, tool)
    return [*made.values()]


class _Tool(Tool):
    skip_forward_signature_validation = True
    output_type = "any"

    def __init__(self, name: str, tool: AdaptedTool) -> None:
        super().__init__()
        self.name = name
        self.description = tool.description
        self.inputs = _inputs(object_of(tool.definition, "inputSchema"))
        result = tool.spec.result_schema.value if tool.spec.result_schema else {}
        self.output_schema = result if result.get("type") == "object" else None
        self._tool = tool

    def forward(self, *positional: Any, **arguments: Any) -> Any:
        """Call the tool. The programs of a ``CodeAgent`` may pass arguments by position."""
        if len(positional) > len(self.inputs):
            raise ToolCallError(f"{self.name} takes {len(self.inputs)} arguments, not {len(positional)}")
        return _output(self._tool.run(dict(zip(self.inputs, positional, strict=False)) | arguments))


def _output(result: ToolResult) -> Any:
    """Return structured data as a Python value, a single image as an image, and other content as text."""
    content = blocks(result)
    text = "\n".join(map(describe_block, content))
    if result.is_error:
        raise ToolCallError(text)
    if len(content) == 1 and isinstance(image := content[0], Image):
        return AgentImage(image.data).to_raw()
    # A text that a tool wrote about its data takes precedence.
    return result.data if result.structured and parse_arguments(text) == result.data else text


def _inputs(schema: JsonObject) -> dict[str, Any]:
    """Return the schema of each parameter, with the keys that smolagents requires."""
    inlining = _Inlining(schema)
    required = list_under(schema, "required")
    inputs: dict[str, Any] = {}
    for name, value in map_under(schema, "properties").items():
        parameter = inlining.inline(value, ())
        if "anyOf" in parameter:
            parts = [{"anyOf": parameter["anyOf"]}, *list_under(parameter, "allOf")]
            parameter = {key: each for key, each in parameter.items() if key != "anyOf"} | {"allOf": parts}
        types = sorted(_types(parameter))
        inputs[name] = {"description": "", **parameter, "type": types[0] if len(types) == 1 else types}
        if name not in required:
            inputs[name]["nullable"] = True
    return inputs


class _Inlining:
    """Replaces the references in a schema with their targets, and recursive references with a description."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._nodes = 0

    def inline(self, schema: JsonValue, inside: tuple[str, ...]) -> JsonObject:
        """Return a schema without references. ``inside`` has the references that lead to it."""
        self._nodes += 1
        if self._nodes > MAX_NODES or not isinstance(schema, dict):
            return {"not": {}} if schema is False else {}
        rest: JsonObject = {key: value for key, value in schema.items() if key not in {"$ref", "$defs"}}
        rest = map_subschemas(rest, lambda each: each if isinstance(each, bool) else self.inline(each, inside))
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return rest
        if reference in inside:
            return {"description": f"The same as the value that contains it ({reference})", **rest}
        target = self.inline(target_of(self._root, reference), (*inside, reference))
        if rest.keys() <= {"description", "title", "default"}:
            return target | rest
        return {**rest, "allOf": [target, *list_under(rest, "allOf")]}


def _types(schema: JsonObject) -> set[str]:
    """Return the types of the values that a schema without references allows, and possibly more."""
    types = set(_ALL_TYPES)
    if declared := types_of(schema):
        # An integer is a number, but smolagents compares names.
        types &= {*declared, *(["integer"] if "number" in declared and len(declared) > 1 else [])}
    values = [schema["const"]] if "const" in schema else list_under(schema, "enum")
    if values:
        types &= {"number" if (name := type_of(each)) == "fraction" else name for each in values}
    for key in ("anyOf", "oneOf"):
        if branches := list_under(schema, key):
            types &= set().union(*(_types(each) if isinstance(each, dict) else set(_ALL_TYPES) for each in branches))
    for each in list_under(schema, "allOf"):
        types &= _types(each) if isinstance(each, dict) else set(_ALL_TYPES)
    return types or set(_ALL_TYPES)

"""What the providers without a strict mode, and the clients that convert definitions, accept from an MCP server.

Each check gets an item of a ``tools/list`` answer and raises an exception if the client would refuse it. The rules that
no SDK has are from error messages and source text; the decision record 70 has the sources.
"""

from __future__ import annotations

import copy
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
from pydantic import TypeAdapter

from models.sdk_checks import check_bedrock, check_mcp
from toolc.model.json_schema import list_under, map_under, subschemas, types_of
from toolc.providers.json_schema.references import Recursion, References

Definition = dict[str, Any]


def anthropic(tool: Definition) -> None:
    from anthropic.types.tool_param import InputSchemaTyped

    schema = tool["inputSchema"]
    TypeAdapter(InputSchemaTyped).validate_python(copy.deepcopy(schema))
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool["name"])
    assert not {"allOf", "anyOf", "oneOf"} & schema.keys()
    assert all(re.fullmatch("[a-zA-Z0-9_.-]{1,64}", name) for name in map_under(schema, "properties"))
    jsonschema.Draft202012Validator.check_schema(schema)


def openai(tool: Definition) -> None:
    schema = tool["inputSchema"]
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool["name"])
    assert schema["type"] == "object"
    assert "properties" in schema
    assert not {"allOf", "anyOf", "const", "enum", "not", "oneOf"} & schema.keys()
    for each in subschemas(schema):
        assert "array" not in types_of(each) or "items" in each
        for pattern in (each.get("pattern", ""), *map_under(each, "patternProperties")):
            assert isinstance(pattern, str)
            re.compile(pattern)
            assert not re.search(r"\(\?<?[=!]", pattern)
    jsonschema.Draft202012Validator.check_schema(schema, jsonschema.Draft202012Validator.FORMAT_CHECKER)


def gemini(tool: Definition) -> None:
    """Check ``parametersJsonSchema`` with the schema as it is. Gemini ignores keywords outside its subset."""
    from google.genai import types

    schema = tool["inputSchema"]
    types.FunctionDeclaration(name=tool["name"], description=tool["description"], parameters_json_schema=schema)
    references = References(json.loads(json.dumps(schema), object_hook=_without_all_of))
    recursion = Recursion(references)
    for each in _read_by_gemini(schema):
        assert "array" not in types_of(each) or "items" in each
        assert "" not in list_under(each, "enum")
        assert each.get("const") != ""
        assert {*map(str, list_under(each, "required"))} <= map_under(each, "properties").keys()
        if "$ref" in each:
            assert each.keys() <= {"$ref", "$comment", "default", "description"}
            assert references.target(str(each["$ref"])) is not None
    for name in map_under(schema, "$defs"):
        if not re.search("[/~%]", name):
            assert not _requires_itself(f"#/$defs/{name}", references, recursion)


def _without_all_of(schema: Definition) -> Definition:
    """Return a schema without ``allOf``, which Gemini does not read and ``Recursion`` does."""
    return {key: value for key, value in schema.items() if key != "allOf"}


def _requires_itself(reference: str, references: References, recursion: Recursion) -> bool:
    needed = recursion._required_references(reference)
    return any(recursion.leads_back(each, reference) for each in needed if references.target(each) is not None)


def _read_by_gemini(schema: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [schema.get("items"), schema.get("additionalProperties")]
    inner += [*map_under(schema, "properties").values(), *map_under(schema, "$defs").values()]
    for each in (*inner, *(each for key in ("anyOf", "oneOf", "prefixItems") for each in list_under(schema, key))):
        yield from _read_by_gemini(each)


def bedrock(tool: Definition) -> None:
    schema = {"json": tool["inputSchema"]}
    check_bedrock([{"toolSpec": {"name": tool["name"], "description": tool["description"], "inputSchema": schema}}])
    anthropic(tool)


def vs_code(tool: Definition) -> None:
    """Check the rules of ``toolSchemaNormalizer.ts`` that throw an error, and that of ``required``."""
    schema = tool["inputSchema"]
    jsonschema.Draft7Validator.check_schema(schema)
    for each in _read_by_vs_code(schema):
        assert each.get("type") != "array" or each.get("items") not in (None, False)
        if each.get("type") == "object" and "properties" in each:
            assert {*list_under(each, "required")} <= map_under(each, "properties").keys()


def _read_by_vs_code(schema: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [schema.get(key) for key in ("items", "additionalProperties", "not", "if", "then", "else", "contains")]
    inner += [*map_under(schema, "properties").values(), *map_under(schema, "patternProperties").values()]
    for each in (*inner, *(each for key in ("anyOf", "allOf", "oneOf") for each in list_under(schema, key))):
        yield from _read_by_vs_code(each)


def google_genai(tool: Definition) -> None:
    from google.genai._mcp_utils import mcp_to_gemini_tool
    from mcp.types import Tool

    mcp_to_gemini_tool(Tool.model_validate(tool))


def mcp(tool: Definition) -> None:
    check_mcp([tool])


CLIENTS: dict[str, Callable[[Definition], None]] = {
    "Anthropic": anthropic, "Bedrock": bedrock, "OpenAI": openai, "Copilot": openai, "Gemini": gemini,
    "VS Code": vs_code, "google-genai": google_genai, "MCP": mcp,
}  # fmt: skip


def refusals(tool: Definition) -> dict[str, str]:
    """Return the clients that refuse a definition, and why."""
    found = {}
    for name, check in CLIENTS.items():
        try:
            with warnings.catch_warnings(action="ignore"):  # about values in enum that are not texts
                check(copy.deepcopy(tool))
        except Exception as error:  # noqa: BLE001  every kind of refusal, of all SDKs
            found[name] = f"{type(error).__name__}: {error}"[:500]
    return found

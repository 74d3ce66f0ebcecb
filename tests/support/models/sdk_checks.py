"""Checks of a ``tools`` value by each provider's SDK and its documented schema subset.

SDK TypedDicts drop keys they do not know, so what comes out of validation is compared with what went in.
"""

import copy
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jsonschema
from pydantic import TypeAdapter

from models.provider_cases import assert_accepted
from toolc.model.json_schema import JsonObject, JsonValue

GEMINI_KEYWORDS = frozenset(
    {
        "$defs", "$ref", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems",
        "maxItems", "minimum", "maximum", "anyOf", "properties", "additionalProperties", "required",
    }
)  # fmt: skip


def check_openai_chat(tools: list[JsonValue]) -> None:
    from openai.types.chat import ChatCompletionFunctionToolParam

    for tool in tools:
        assert_accepted(ChatCompletionFunctionToolParam, tool)
        _check_root(_object(_object(tool)["function"])["parameters"])


def check_openai_responses(tools: list[JsonValue]) -> None:
    from openai.types.responses import FunctionToolParam

    for tool in tools:
        assert_accepted(FunctionToolParam, tool)
        _check_root(_object(tool)["parameters"])


def check_anthropic(tools: list[JsonValue]) -> None:
    from anthropic.types import ToolParam
    from anthropic.types.tool_param import InputSchemaTyped

    for tool in tools:
        assert_accepted(ToolParam, tool)
        schema = _object(_object(tool)["input_schema"])
        TypeAdapter(InputSchemaTyped).validate_python(copy.deepcopy(schema))
        assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
        jsonschema.Draft202012Validator.check_schema(schema)


def check_gemini(tools: list[JsonValue]) -> None:
    from google.genai import types

    [tool] = tools
    parsed = types.Tool.model_validate(tool)
    assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json") == tool
    declarations = _object(tool)["functionDeclarations"]
    assert isinstance(declarations, list)
    for declaration in declarations:
        if "parametersJsonSchema" in _object(declaration):
            check_gemini_schema(_object(_object(declaration)["parametersJsonSchema"]))


def check_mcp(tools: list[JsonValue]) -> None:
    from mcp_types import _v2025_11_25 as older
    from mcp_types import _v2026_07_28 as newer

    for tool in tools:
        for revision in (older, newer):
            parsed = revision.Tool.model_validate(tool)
            assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json") == tool
        jsonschema.Draft202012Validator.check_schema(_object(_object(tool)["inputSchema"]))


def check_bedrock(tools: list[JsonValue]) -> None:
    if not tools:
        return
    from botocore.validate import ParamValidator

    service = _bedrock()
    shape = service.operation_model("Converse").input_shape
    report = ParamValidator().validate({"modelId": "m", "toolConfig": {"tools": tools}}, shape)
    assert not report.has_errors(), report.generate_report()
    for tool in tools:
        spec = _object(_object(tool)["toolSpec"])
        for name, rule in service.shape_for("ToolSpecification").members.items():
            if name in spec and rule.type_name == "string":  # the validator ignores its pattern and maximum
                assert re.fullmatch(rule.metadata.get("pattern", r"(?s:.*)"), str(spec[name]))
                assert len(str(spec[name])) <= rule.metadata.get("max", len(str(spec[name])))
        schema = _object(_object(spec["inputSchema"])["json"])
        assert schema["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
        jsonschema.Draft202012Validator.check_schema(schema)


@cache
def _bedrock() -> Any:
    """Return botocore's model of the API, which takes a while to load."""
    import botocore.session

    return botocore.session.get_session().get_service_model("bedrock-runtime")


def check_mistral(tools: list[JsonValue]) -> None:
    from mistralai.client.models import Tool

    for tool in tools:
        assert Tool.model_validate(tool).model_dump(by_alias=True, exclude_none=True) == tool
        _check_parameters(tool)


def check_cohere(tools: list[JsonValue]) -> None:
    from cohere import ToolV2

    for tool in tools:
        parsed = ToolV2.model_validate(tool)
        assert not parsed.model_extra
        assert parsed.function
        assert not parsed.function.model_extra
        _check_parameters(tool)


def check_ollama(tools: list[JsonValue]) -> None:
    from ollama import Tool

    for tool in tools:
        Tool.model_validate(tool)
        _check_root(_object(_object(tool)["function"])["parameters"])


def _check_parameters(tool: JsonValue) -> None:
    schema = _object(_object(_object(tool)["function"])["parameters"])
    assert schema["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(schema)


def check_gemini_schema(root: JsonObject) -> None:
    """Check the documented subset of JSON Schema by keyword; see toolc.providers.gemini.TARGET."""
    assert root["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(root)
    definitions = _object(root.get("$defs", {}))
    for schema in (root, *definitions.values()):
        _check_gemini_node(_object(schema), set(definitions))


def _check_gemini_node(schema: JsonObject, definitions: set[str]) -> None:
    assert schema.keys() <= GEMINI_KEYWORDS
    if "$ref" in schema:
        assert schema.keys() == {"$ref"}
        assert str(schema["$ref"]).removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~") in definitions
    assert isinstance(schema.get("type", ""), str)
    if "enum" in schema:
        python_types = {"string": str, "number": int | float, "integer": int | float}[str(schema["type"])]
        enum = schema["enum"]
        assert isinstance(enum, list)
        assert all(isinstance(value, python_types) and not isinstance(value, bool) for value in enum)
        assert "" not in enum
    if schema.get("type") == "array":
        assert {"items", "prefixItems"} & schema.keys()
    if schema.get("type") not in {"integer", "number"}:
        assert "format" not in schema
    properties = _object(schema.get("properties", {}))
    required = schema.get("required", [])
    assert isinstance(required, list)
    assert set(map(str, required)) <= properties.keys()
    inner: list[JsonValue] = [*properties.values()]
    inner += [schema[key] for key in ("items",) if key in schema]
    inner += [schema[key] for key in ("additionalProperties",) if isinstance(schema.get(key), dict)]
    for key in ("prefixItems", "anyOf"):
        several = schema.get(key, [])
        assert isinstance(several, list)
        inner += several
    for each in inner:
        _check_gemini_node(_object(each), definitions)


def _check_root(schema: JsonValue) -> None:
    root = _object(schema)
    assert root["type"] == "object"
    assert not {"oneOf", "anyOf", "allOf", "enum", "const", "not"} & root.keys()
    jsonschema.Draft202012Validator.check_schema(root)


def _object(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)
    return value


SDK_CHECKS: Mapping[str, Callable[[list[JsonValue]], None]] = {
    "openai_chat": check_openai_chat,
    "openai_responses": check_openai_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "mcp": check_mcp,
    "bedrock": check_bedrock,
    "mistral": check_mistral,
    "cohere": check_cohere,
    "ollama": check_ollama,
}

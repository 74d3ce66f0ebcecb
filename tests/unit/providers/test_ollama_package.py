"""What Ollama's Python package sends of a definition."""

import ast
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.provider_cases import TOOLS, parameters, tool
from ollama import Tool
from schemas.random_schemas import RandomSchemas

from toolc.model.spec.tool import ToolSpec
from toolc.providers.ollama import OLLAMA


def sent(definition: object) -> Any:
    return Tool.model_validate(definition).model_dump(exclude_none=True, by_alias=True, mode="json")


def check(spec: ToolSpec) -> None:
    """Check that the package removes exactly the keywords of the losses that name it."""
    lowering = OLLAMA.lower([spec])
    (definition,) = lowering.tools
    assert isinstance(definition, dict)
    expected: Any = definition["function"]
    for loss in lowering.losses:
        if loss.sdk:
            sent_less = re.fullmatch(r"the ollama package does not send (\S+)(?: of the parameter (.+))?", loss.message)
            assert sent_less
            keyword, name = sent_less.groups()
            parameters = expected["parameters"]
            del (parameters["properties"][ast.literal_eval(name)] if name else parameters)[keyword]
    assert sent(definition)["function"] == sent({"type": "function", "function": expected})["function"] == expected


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_the_package_loses_what_the_report_says(spec: ToolSpec) -> None:
    check(spec)


@pytest.mark.slow
@given(seed=st.integers(0, 1_000_000))
@settings(max_examples=60, deadline=None)
def test_the_package_loses_what_the_report_says_of_any_schema(seed: int) -> None:
    check(tool("look", RandomSchemas(seed).tool()))


def test_the_schema_of_a_nested_object_is_not_sent() -> None:
    inner: Any = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    (definition,) = OLLAMA.lower([tool("look", {"type": "object", "properties": {"guest": inner}})]).tools
    assert sent(definition)["function"]["parameters"]["properties"] == {"guest": {"type": "object"}}


def test_a_value_or_null_has_two_types() -> None:
    schema = parameters(x={"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]})
    definition: Any = OLLAMA.lower([tool("look", schema)]).tools[0]
    assert definition["function"]["parameters"]["properties"]["x"] == {"type": ["string", "null"], "enum": ["a", None]}

"""The MCP provider."""

from provider_cases import tool

from toolc.model.spec.tool import Annotations
from toolc.providers.mcp import MCP


def test_boolean_parameter_schemas_are_written_as_objects() -> None:
    # Revision 2025-11-25 requires an object for every property.
    [definition] = MCP().lower([tool("look", {"type": "object", "properties": {"a": True, "b": False}})]).tools
    assert isinstance(definition, dict)
    assert definition["inputSchema"] == {"type": "object", "properties": {"a": {}, "b": {"not": {}}}}


def test_only_the_hints_of_the_spec_are_declared() -> None:
    hinted = tool("look", annotations=Annotations(destructive=False, idempotent=True))
    [definition, without] = MCP().lower([hinted, tool("ping")]).tools
    assert isinstance(definition, dict)
    assert definition["annotations"] == {"destructiveHint": False, "idempotentHint": True}
    assert isinstance(without, dict)
    assert "annotations" not in without

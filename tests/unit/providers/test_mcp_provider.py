"""What only the MCP provider does."""

from __future__ import annotations

from provider_cases import tool

from toolc.model.spec.tool import Annotations
from toolc.providers.mcp import MCP


def test_a_parameter_that_may_be_anything_or_nothing_is_spelled_as_an_object() -> None:
    """Revision 2025-11-25 wants an object for every property, and a JSON Schema may be a boolean."""
    [definition] = MCP().lower([tool("look", {"type": "object", "properties": {"a": True, "b": False}})]).tools
    assert isinstance(definition, dict)
    assert definition["inputSchema"] == {"type": "object", "properties": {"a": {}, "b": {"not": {}}}}


def test_only_the_hints_that_the_spec_gives_are_given() -> None:
    given = tool("look", annotations=Annotations(destructive=False, idempotent=True))
    [definition, without] = MCP().lower([given, tool("ping")]).tools
    assert isinstance(definition, dict)
    assert definition["annotations"] == {"destructiveHint": False, "idempotentHint": True}
    assert isinstance(without, dict)
    assert "annotations" not in without

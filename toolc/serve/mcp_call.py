"""The results of calls in the types of MCP."""

from __future__ import annotations

from typing import Any, TypeAlias

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.types import INTERNAL_ERROR, CallToolResult

from toolc.model.result import ToolResult
from toolc.providers.mcp import call_result
from toolc.serve.served_client import Failed, RunningCall

Context: TypeAlias = ServerRequestContext[dict[str, Any]]
"""A request, and the session that sent it."""


def answer_of(running: RunningCall, outcome: ToolResult | Failed) -> CallToolResult | MCPError:
    """Return the result of a call, or its error."""
    if not isinstance(outcome, ToolResult):
        return MCPError(INTERNAL_ERROR, outcome[1])
    registry = running.executor.registry
    is_registered = running.tool in registry  # the tool that reads long results is not
    schema = registry.registered(running.tool).spec.result_schema if is_registered else None
    return CallToolResult.model_validate(call_result(outcome, schema))

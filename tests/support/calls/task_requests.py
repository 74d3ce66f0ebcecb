"""Requests of revision 2026-07-28 from a client that supports tasks."""

from typing import Any

TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {"form": {}}}
"""The capabilities of the client."""


def task_request(
    method: str, params: dict[str, Any], capabilities: dict[str, Any] = TASKS
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the headers and the message of a request."""
    headers = {
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Accept": "application/json, text/event-stream",
        "Mcp-Name": params.get("name", params.get("taskId", "")),
    }  # fmt: skip
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}

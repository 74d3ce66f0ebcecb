"""Run a call of an MCP client, and return its result or error in the types of MCP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.types import INTERNAL_ERROR, CallToolResult

from toolc.model.call import Confirm
from toolc.model.errors import ToolcError, UsageError
from toolc.model.events import Listener
from toolc.model.json_schema import JsonObject
from toolc.providers.mcp import call_result
from toolc.serve.mcp_interaction import InputRequiredError
from toolc.serve.served_client import RunningCall

Context: TypeAlias = ServerRequestContext[dict[str, Any]]
"""A request, and the session that sent it."""


def run_call(
    running: RunningCall, arguments: JsonObject, on_event: Listener, confirm: Confirm | None
) -> CallToolResult | MCPError:
    """Run the call on this thread. Return errors instead of raising them, because a task group would wrap them.

    ``confirm`` asks the client, unless the application that embeds the server has its own function. Raises only
    ``InputRequiredError``.
    """
    executor = running.executor
    try:
        result = executor.run(
            running.tool,
            arguments,
            call_id=running.call_id,
            on_event=on_event,
            confirm=confirm if executor.confirm is None else None,
            cancellation=running.cancellation,
            caller=running.claims,
        )
    except InputRequiredError:
        raise
    except UsageError as error:
        return MCPError(INTERNAL_ERROR, f"{running.tool}: {error}")
    except ToolcError as error:
        return MCPError(INTERNAL_ERROR, str(error))
    except Exception as error:  # noqa: BLE001  a bug in toolc: the client must get an answer without a traceback
        return MCPError(INTERNAL_ERROR, f"this is a bug in toolc: {type(error).__name__}: {error}")
    is_registered = running.tool in executor.registry  # the tool that reads long results is not
    schema = executor.registry.registered(running.tool).spec.result_schema if is_registered else None
    return CallToolResult.model_validate(call_result(result, schema))


async def at_end(*actions: Callable[[], None]) -> None:
    """Wait until this task is cancelled, then run these functions."""
    try:
        await anyio.sleep_forever()
    finally:
        for action in actions:
            action()

"""The names of spans and their attributes. OpenTelemetry's GenAI conventions, which some follow, are not stable yet."""

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
EXECUTE_TOOL: Final = "execute_tool"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
CALL_ID: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"

OUTCOME: Final = "toolc.outcome"
ENGINE: Final = "toolc.engine"
EFFECT: Final = "toolc.tool.effect_digest"

PHASES: Final = {
    "bind": ("bind",),
    "lease": ("plan", "choose", "create", "start", "lease", "ready"),
    "run": ("run", "frames"),
    "commit": ("commit",),
}
"""The child spans of a call, and the phases in ``details.timing_ms`` that each has."""

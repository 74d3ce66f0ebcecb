"""What an MCP server offers beyond the list of its tools and their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolc.dataclass import dataclass

if TYPE_CHECKING:  # only --search needs it
    from toolc.serve.search.finding_tools import FindingTools

TASK_SECONDS: Final = 30.0
"""A call may become a task if the time limit of its tool is above this, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """The options of all clients. With ``finding``, tools that find tools are listed instead of all tools.

    Calls of tools with a time limit above ``task_seconds`` may become tasks. With a limit above
    ``only_task_seconds``, they run as tasks only.
    """

    finding: FindingTools | None = None
    task_seconds: float = TASK_SECONDS
    only_task_seconds: float | None = None


NO_OPTIONS: Final = McpOptions()
"""The options without ``--search``."""

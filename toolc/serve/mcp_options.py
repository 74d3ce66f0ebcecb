"""Options of an MCP server beyond its list of tools and their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolc.dataclass import dataclass

if TYPE_CHECKING:  # only --search needs it
    from toolc.serve.search.finding_tools import FindingTools


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """Options for all clients. With ``finding``, the search tools are listed instead of all tools.

    A call of a tool whose time limit is above ``task_seconds`` may become a task. Above ``only_task_seconds``, it runs
    only as a task.
    """

    finding: FindingTools | None = None
    task_seconds: float = 30.0
    only_task_seconds: float | None = None


NO_OPTIONS: Final = McpOptions()
"""The options without ``--search``."""

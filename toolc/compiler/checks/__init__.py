"""What can be wrong with a tool that decoded well: one file per check, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from toolc.compiler.checks import descriptions, leading_dash, names, shell_code, unused_parameters
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic


class ToolCheck(Protocol):
    """A module that checks one tool.

    ``NEEDS`` are the top-level keys it looks at: a tool in which one of them could not be read is passed over.
    """

    @property
    def NEEDS(self) -> frozenset[str]:  # noqa: N802  a module's constant
        """The top-level keys that the check looks at."""

    def check(self, tool: LocatedTool, /) -> Iterator[Diagnostic]:
        """What is wrong with ``tool``."""


TOOL_CHECKS: Final[tuple[ToolCheck, ...]] = (descriptions, leading_dash, shell_code, unused_parameters)
"""The checks of one tool. A new one is a file here and a name in this line."""


def check_tools(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Every finding of every check, about each tool and about all of them together."""
    for tool in tools:
        for each in TOOL_CHECKS:
            if each.NEEDS.isdisjoint(tool.damaged):
                yield from each.check(tool)
    yield from names.check(tools)

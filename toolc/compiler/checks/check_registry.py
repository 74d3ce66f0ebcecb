"""Registries of checks, and the decorators that add a function to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from toolc.compiler.located_tool import LocatedTool
from toolc.dataclass import dataclass
from toolc.model.diagnostics import Diagnostic

CheckTool: TypeAlias = Callable[[LocatedTool], Iterator[Diagnostic]]
CheckTools: TypeAlias = Callable[[Sequence[LocatedTool]], Iterator[Diagnostic]]


@dataclass(frozen=True, slots=True)
class ToolCheck:
    """A check of a single tool, which reports findings with the number ``number``.

    ``needs`` are the top-level keys that the check reads. If one of them is invalid, the tool is not checked.
    """

    number: str
    needs: frozenset[str]
    check: CheckTool


@dataclass(frozen=True, slots=True)
class ToolSetCheck:
    """A check of all tools, including those with errors, which reports findings with the number ``number``.

    Built-in tools are checked only if ``includes_builtin_tools`` is true.
    """

    number: str
    check: CheckTools
    includes_builtin_tools: bool


TOOL_CHECKS: Final[list[ToolCheck]] = []
"""The checks of a single tool, in the order of their registration."""

TOOL_SET_CHECKS: Final[list[ToolSetCheck]] = []
"""The checks of all tools, in the order of their registration."""


def tool_check(number: str, *, needs: AbstractSet[str]) -> Callable[[CheckTool], CheckTool]:
    """Return a decorator that registers a check of a single tool. See ``ToolCheck``."""

    def register(check: CheckTool) -> CheckTool:
        TOOL_CHECKS.append(ToolCheck(number, frozenset(needs), check))
        return check

    return register


def tool_set_check(number: str, *, includes_builtin_tools: bool = True) -> Callable[[CheckTools], CheckTools]:
    """Return a decorator that registers a check of all tools. See ``ToolSetCheck``."""

    def register(check: CheckTools) -> CheckTools:
        TOOL_SET_CHECKS.append(ToolSetCheck(number, check, includes_builtin_tools))
        return check

    return register

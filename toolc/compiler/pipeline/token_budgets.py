"""Compare the tools of each project with its token budgets for each tool, each toolset, and all tools together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.discovery import Projects
from toolc.compiler.project.project import Project
from toolc.compiler.project.settings import TokenBudget
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.text import count_noun

MAX_NAMED: Final = 5
"""The number of tools that a message names. It names the largest, because shortening them has the most effect."""

_HINT: Final = "shorten descriptions, remove parameters, or use toolsets to offer a model fewer tools at a time"


def check_token_budgets(projects: Projects, tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Yield a finding for each budget that the tools of its project exceed, at the budget.

    If only some files are compiled, only their tools count.
    """
    own = [tool for tool in tools if not tool.damaged and not tool.comes_with_toolc]
    of_files = {tool.path: projects.of(Path(tool.path)) for tool in own}
    for project in {id(each): each for each in of_files.values()}.values():
        if project.lint.max_tokens:
            listed = {member.name for member in project.builtin}
            builtin = [tool for tool in tools if tool.comes_with_toolc and tool.spec.name in listed]
            yield from _exceeded(project, [*builtin, *(tool for tool in own if of_files[tool.path] is project)])


def _exceeded(project: Project, tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    budgets = project.lint.max_tokens
    if (budget := budgets.get("tool")) and (large := [tool for tool in tools if tool.tokens > budget.tokens]):
        count = count_noun(len(large), "tool has", "tools have")
        yield _finding(f"{count} more than {budget.tokens} tokens", large, budget)
    if budget := budgets.get("toolset"):
        for name, members in project.toolsets.items():
            names = {member.name for member in members}
            of_set = [tool for tool in tools if not names.isdisjoint((tool.spec.name, *tool.spec.aliases))]
            yield from _compare(f"the toolset '{name}' has", of_set, budget)
    if budget := budgets.get("registry"):
        yield from _compare("all tools have", tools, budget)


def _compare(subject: str, tools: Sequence[LocatedTool], budget: TokenBudget) -> Iterator[Diagnostic]:
    total = sum(tool.tokens for tool in tools)
    if total > budget.tokens:
        yield _finding(f"{subject} about {total} tokens together, {total - budget.tokens} too many", tools, budget)


def _finding(message: str, tools: Iterable[LocatedTool], budget: TokenBudget) -> Diagnostic:
    largest = sorted(tools, key=lambda tool: (-tool.tokens, tool.spec.name))[:MAX_NAMED]
    named = ", ".join(f"{tool.spec.name} ({tool.tokens})" for tool in largest)
    span = budget.span or largest[0].span("name")
    return Diagnostic(codes.TOKEN_BUDGET, f"{message}; the largest: {named}", span, _HINT)

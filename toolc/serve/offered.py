"""Select the tools of a registry that a client is offered."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from toolc.client.executor import CallableTools, Executor
from toolc.client.registry import Registry
from toolc.model.call_graph import reachable_tools
from toolc.model.errors import UsageError
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.execution.admission import ReviewedTools

FIND: Final = "find_tools"
DESCRIBE: Final = "describe_tools"
CALL: Final = "call_tool"
SEARCH_TOOLS: Final = (FIND, DESCRIBE, CALL)
"""The names of the tools that ``--search`` offers instead of all tools."""


def needing_workspace(registry: Registry) -> tuple[str, ...]:
    """Return the tools that use a workspace or call a tool that does."""
    called = ReviewedTools(registry.called)

    def uses(tool: ToolSpec) -> bool:
        reached = (tool, *filter(None, reachable_tools(tool, called).values()))
        return any(each.sandbox.workspace != "none" for each in reached)

    return tuple(tool.name for tool in registry if uses(tool))


def with_tags(registry: Registry, tags: Collection[str] | None) -> Registry:
    """Return a registry with the tools that have one of the tags, or with all tools for None."""
    if tags is None:
        return registry
    return registry.only(*(tool.name for tool in registry if not set(tags).isdisjoint(tool.tags)))


def without(registry: Registry, names: Collection[str]) -> Registry:
    """Return a registry without these tools."""
    return registry.only(*(name for name in registry.names if name not in names)) if names else registry


def deny(executor: Executor, entries: Collection[str]) -> None:
    """Deny the tools with one of these names or tags, including calls by other tools."""
    executor.deny(*(each for each in entries if _is_name(executor.registry, each)), tags=entries)


def check_denied(registry: Registry, entries: Collection[str]) -> None:
    """Raise ``UsageError`` if an entry is neither a name nor a tag of a tool, because it would have no effect."""
    tags = {tag for each in (*registry, *(part.spec for part in registry.parts.by_name.values())) for tag in each.tags}
    for each in entries:
        if each not in tags and not _is_name(registry, each):
            raise UsageError(f"--deny {each!r:.80} is neither the name nor a tag of a tool; see: toolc list")


def check_search(registry: Registry, direct: Collection[str], *, is_on: bool) -> None:
    """Raise ``UsageError`` if a tool has a name in ``SEARCH_TOOLS``, or an entry of ``direct`` matches no tool."""
    if direct and not is_on:
        raise UsageError("--direct needs --search; without it, all tools are in the list")
    if clash := next((each for each in SEARCH_TOOLS if is_on and each in registry), None):
        raise UsageError(f"--search adds a tool {clash!r}, and there is one already; rename it or remove --search")
    tags = {tag for tool in registry for tag in tool.tags}
    for each in direct:
        if each not in tags and each not in registry:
            raise UsageError(f"--direct {each!r:.80} is neither the name nor a tag of a tool; see: toolc list")


def _is_name(tools: CallableTools, name: str) -> bool:
    try:
        tools.called(name)
    except UsageError:
        return False
    return True

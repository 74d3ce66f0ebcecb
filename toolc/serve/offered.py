"""Which tools of a registry a client is offered."""

from __future__ import annotations

from collections.abc import Collection

from toolc.client.registry import Registry
from toolc.model.call_graph import reachable_tools
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.execution.admission import ReviewedTools


def needing_workspace(registry: Registry) -> tuple[str, ...]:
    """Return the tools that use a workspace, or call a tool that does."""
    called = ReviewedTools(registry.called)

    def uses(tool: ToolSpec) -> bool:
        reached = (tool, *filter(None, reachable_tools(tool, called).values()))
        return any(each.sandbox.workspace != "none" for each in reached)

    return tuple(tool.name for tool in registry if uses(tool))


def with_tags(registry: Registry, tags: Collection[str] | None) -> Registry:
    """Return a registry of the tools with one of the tags. None returns all."""
    if tags is None:
        return registry
    return registry.only(*(tool.name for tool in registry if not set(tags).isdisjoint(tool.tags)))


def without(registry: Registry, names: Collection[str]) -> Registry:
    """Return a registry without these tools."""
    return registry.only(*(name for name in registry.names if name not in names)) if names else registry

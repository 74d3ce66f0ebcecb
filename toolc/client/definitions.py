"""What a request with tools contains for one provider: the definitions, within its limits, and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

from toolc.client.messages import find_provider
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.providers.base import Provider
from toolc.providers.limits import Exceeded, exceeded_limits, size_of

__all__ = ["definitions_for", "limit_problem", "request_options_for"]


def definitions_for(name: str, tools: Sequence[ToolSpec], toolsets: Mapping[str, Sequence[str]]) -> list[JsonValue]:
    """Return the value of the ``tools`` argument of a provider's SDK.

    Raises ``UsageError`` for an unknown provider, and beyond a limit of the provider, with the ``toolsets`` that fit.
    """
    provider = find_provider(name)
    definitions = provider.lower(tools).tools
    for exceeded in exceeded_limits(name, tools, size_of(name, definitions)):
        raise UsageError(_describe(provider, exceeded, tools, toolsets))
    return deepcopy(definitions)  # they share schemas with the tools


def limit_problem(name: str, tools: Sequence[ToolSpec], size: int, toolsets: Mapping[str, Sequence[str]]) -> str:
    """Return which limit of a provider the tools of a build exceed; empty if none, or if every toolset fits.

    ``size`` is that of their definitions in bytes.
    """
    provider = find_provider(name)
    exceeded = next(exceeded_limits(name, tools, size), None)
    if exceeded is None or (toolsets and len(_fitting(provider, tools, toolsets)) == len(toolsets)):
        return ""
    return _describe(provider, exceeded, tools, toolsets)


def request_options_for(name: str, tools: Sequence[ToolSpec]) -> JsonObject:
    """Return the arguments of a request with these tools that belong to no single tool. Raises ``UsageError``."""
    return find_provider(name).request_options(tools)


def _describe(
    provider: Provider, exceeded: Exceeded, tools: Sequence[ToolSpec], toolsets: Mapping[str, Sequence[str]]
) -> str:
    """Return the limit with advice: a shorter name, a toolset that fits, or how many toolsets would be needed."""
    if exceeded.tool:
        advice = f"give the tool {exceeded.tool!r} a shorter name"
    elif fitting := _fitting(provider, tools, toolsets):
        listed = ", ".join(f"{name} (tools: {count})" for name, count in fitting.items())
        advice = f"use a toolset that fits, with registry.toolset(NAME): {listed}"
    else:
        count = -(-exceeded.count // exceeded.limit.value)
        advice = (
            f"define at least {count} toolsets of up to {-(-len(tools) // count)} tools in the project file, "
            "and use registry.toolset(NAME)"
        )
    return f"{provider.name} does not accept {exceeded.describe()}; {advice}"


def _fitting(provider: Provider, tools: Sequence[ToolSpec], toolsets: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the toolsets within the limits, sorted, with the number of their tools."""
    fitting: dict[str, int] = {}
    for name, members in sorted(toolsets.items()):
        chosen = [tool for tool in tools if not {tool.name, *tool.aliases}.isdisjoint(members)]
        size = size_of(provider.name, provider.lower(chosen).tools)
        if chosen and not any(exceeded_limits(provider.name, chosen, size)):
            fitting[name] = len(chosen)
    return fitting

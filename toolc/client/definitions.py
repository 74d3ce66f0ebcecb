"""The parts of a provider's request that depend on the tools: their definitions and the request options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from toolc.client.messages import find_provider
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.providers.provider import Provider
from toolc.providers.provider_limits import Exceeded, exceeded_limits, size_of


def definitions_for(name: str, tools: Sequence[ToolSpec], toolsets: Mapping[str, Sequence[str]]) -> list[JsonValue]:
    """Return the value of the ``tools`` argument of a provider's SDK.

    Raises ``UsageError`` if the provider is unknown, or if the tools exceed one of its limits. The message then lists
    the ``toolsets`` that fit.
    """
    provider = find_provider(name)
    definitions = provider.lower(tools).tools
    for exceeded in exceeded_limits(name, [tool.name for tool in tools], size_of(name, definitions)):
        raise UsageError(_describe(provider, exceeded, len(tools), _fitting(provider, tools, toolsets)))
    return deepcopy(definitions)  # they share schemas with the tools


def limit_problem(
    name: str,
    names: Sequence[str],
    size: int,
    toolsets: Mapping[str, Sequence[str]],
    load_tools: Callable[[], Sequence[ToolSpec]],
) -> str:
    """Describe the provider's limit that the tools of a build exceed. Empty if none, or if every toolset fits.

    ``names`` are the names of the tools, and ``size`` is the size of their definitions in bytes. ``load_tools``
    returns the tools. It is called only if the tools exceed a limit and the build has toolsets.
    """
    exceeded = next(exceeded_limits(name, names, size), None)
    if exceeded is None:
        return ""
    provider = find_provider(name)
    fitting = _fitting(provider, load_tools(), toolsets) if toolsets else {}
    if toolsets and len(fitting) == len(toolsets):
        return ""
    return _describe(provider, exceeded, len(names), fitting)


def request_options_for(name: str, tools: Sequence[ToolSpec]) -> JsonObject:
    """Return the request arguments that these tools need beside their definitions. Raises ``UsageError``."""
    return find_provider(name).request_options(tools)


def _describe(provider: Provider, exceeded: Exceeded, tools: int, fitting: Mapping[str, int]) -> str:
    """Return a message with the limit and advice: a shorter name, a toolset that fits, or the toolsets to define."""
    if exceeded.tool:
        advice = f"give the tool {exceeded.tool!r} a shorter name"
    elif fitting:
        listed = ", ".join(f"{name} (tools: {count})" for name, count in fitting.items())
        advice = f"use a toolset that fits, with registry.toolset(NAME): {listed}"
    else:
        count = -(-exceeded.count // exceeded.limit.value)
        advice = (
            f"define at least {count} toolsets of up to {-(-tools // count)} tools in the project file, "
            "and use registry.toolset(NAME)"
        )
    return f"{provider.name} does not accept {exceeded.describe()}; {advice}"


def _fitting(provider: Provider, tools: Sequence[ToolSpec], toolsets: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the toolsets within the limits, sorted, each with its number of tools."""
    fitting: dict[str, int] = {}
    for name, members in sorted(toolsets.items()):
        chosen = [tool for tool in tools if not {tool.name, *tool.aliases}.isdisjoint(members)]
        size = size_of(provider.name, provider.lower(chosen).tools)
        if chosen and not any(exceeded_limits(provider.name, [tool.name for tool in chosen], size)):
            fitting[name] = len(chosen)
    return fitting

"""The provider interface, and what the definitions of several providers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.providers.json_schema.lowering import Loss, LossLog, description
from toolc.providers.json_schema.target import NotStrictError, Target, lower_schema


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A model's call with its result."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Lowering:
    """The declarations of tools for a provider, one ``definition`` per tool, and the losses.

    ``inside`` is the key of the single object that contains all definitions; empty if they are listed directly.
    """

    definitions: list[JsonValue]
    losses: tuple[Loss, ...] = ()
    inside: str = ""

    @property
    def tools(self) -> list[JsonValue]:
        """Return the definitions in the provider's envelope."""
        if not self.inside:
            return self.definitions
        return [{self.inside: self.definitions}] if self.definitions else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A model provider, or MCP: functions that convert tools, calls and results to and from its format.

    - ``name``: for ``definitions(...)``, and the name of its file under ``providers/``.
    - ``lower``: declares the tools in this order.
    - ``calls``: returns the calls in a response, in its order. Arguments that are not a JSON object are kept unchanged.
    - ``messages``: returns what to append to the conversation, which already has the response with the calls.
    - ``request_options``: returns the arguments of a request with these tools that do not belong to a single tool.
    - ``limits_strict``: the number of strict tools per request is limited, so declarations depend on each other.
    """

    name: str
    lower: Callable[[Sequence[ToolSpec]], Lowering]
    calls: Callable[[JsonObject], tuple[ToolCall, ...]]
    messages: Callable[[Sequence[CallMessage]], list[JsonValue]]
    request_options: Callable[[Sequence[ToolSpec]], JsonObject] = lambda _: {}
    limits_strict: bool = False


def requests_strict(tool: ToolSpec, provider: str) -> bool:
    """Return whether a tool's spec requests the strict mode of a provider."""
    return any(choice.provider == provider and choice.strict for choice in tool.providers)


def lower_strict(
    tool: ToolSpec, provider: str, target: Target, losses: LossLog, accept: Callable[[JsonObject], None]
) -> JsonObject | None:
    """Return a tool's parameters for a strict mode; None if it is not requested or not possible, which is a loss.

    ``accept`` raises ``NotStrictError`` for lowered parameters that exceed a limit.
    """
    if not requests_strict(tool, provider):
        return None
    log = LossLog(tool.name)
    try:
        lowered = lower_schema(tool.parameters.value, target, log)
        accept(lowered)
    except NotStrictError as error:
        error.add_to(losses, target.name)
        return None
    losses.extend(log)
    return lowered


def lower_each(
    tools: Sequence[ToolSpec], declare: Callable[[ToolSpec, LossLog], JsonObject], *, inside: str = ""
) -> Lowering:
    """Return the lowering with the result of ``declare`` for each tool."""
    losses: list[Loss] = []
    definitions: list[JsonValue] = [declare(tool, LossLog(tool.name, losses)) for tool in tools]
    return Lowering(definitions, tuple(losses), inside)


def function_tool(tool: ToolSpec, parameters: JsonObject) -> JsonObject:
    """Return a definition in the format of Chat Completions, which several providers have adopted."""
    function: JsonObject = {"name": tool.name, "description": description(tool), "parameters": parameters}
    return {"type": "function", "function": function}

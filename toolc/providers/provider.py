"""The provider interface, and functions that the definitions of several providers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolc.dataclass import dataclass
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
    """The definitions of tools for a provider, one per tool, and the losses.

    If a single object contains all definitions, ``inside`` is their key in it. Otherwise it is empty.
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
    """A model provider or MCP, as functions that convert tools, calls and results to and from its format.

    - ``name``: its name for ``definitions(...)``, and the name of its file under ``providers/``.
    - ``lower``: declares the tools, in the same order.
    - ``calls``: returns the calls in a response, in its order. Arguments that are not a JSON object are kept unchanged.
    - ``messages``: returns the messages to append to the conversation after the response with the calls.
    - ``request_options``: returns the arguments of a request that apply to all of its tools.
    - ``limits_strict``: whether the provider limits strict tools per request, so that definitions depend on each other.
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
    """Return a tool's parameters for a strict mode, or None if the mode is not requested or not possible.

    A requested mode that is not possible is recorded as a loss. ``accept`` raises ``NotStrictError`` for lowered
    parameters that exceed a limit.
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
    """Return the lowering whose definitions are the results of ``declare`` for each tool."""
    losses: list[Loss] = []
    definitions: list[JsonValue] = [declare(tool, LossLog(tool.name, losses)) for tool in tools]
    return Lowering(definitions, tuple(losses), inside)


def function_tool(tool: ToolSpec, parameters: JsonObject) -> JsonObject:
    """Return a definition in the format of Chat Completions, which several providers use."""
    function: JsonObject = {"name": tool.name, "description": description(tool), "parameters": parameters}
    return {"type": "function", "function": function}

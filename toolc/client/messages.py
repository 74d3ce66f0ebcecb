"""Between a provider's conversation and toolc's calls: an agent's loop needs no shape of a message of its own.

::

    response = client.messages.create(model=..., tools=executor.definitions("anthropic"), messages=messages)
    calls = tool_calls("anthropic", response)
    messages.append({"role": "assistant", "content": response.content})
    messages += tool_messages("anthropic", calls, executor.run_batch(calls))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolc.model import argument_checks
from toolc.model.call import ToolCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.names import PROVIDER_NAMES
from toolc.model.result import ToolResult
from toolc.providers import load_provider
from toolc.providers.base import CallMessage, Provider

__all__ = ["tool_calls", "tool_messages"]


def tool_calls(provider: str, response: object) -> tuple[ToolCall, ...]:
    """The calls in a model's response, in its order; none where it has none.

    ``response`` is what the provider's SDK returned, or the same as JSON. Arguments that are no JSON stay a text,
    and the call answers with what is wrong with them. Raises ``UsageError``.
    """
    return find_provider(provider).calls(_plain(response))


def tool_messages(provider: str, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[Any]:
    """What to append to the conversation, after the response itself, to answer these calls of it.

    ``results`` stand in the order of ``calls``, as ``Executor.run_batch`` returns them. The list is of plain
    dicts, as the SDK's ``messages``, ``input`` or ``contents`` takes them; for ``mcp`` each is a
    ``CallToolResult``. Raises ``UsageError``.
    """
    argument_checks.sequence("calls", calls, "ToolCall")
    argument_checks.sequence("results", results, "ToolResult")
    for call, result in zip(calls, results, strict=False):
        argument_checks.of_type("each of calls", call, ToolCall, "a toolc.ToolCall")
        argument_checks.of_type("each of results", result, ToolResult, "a toolc.ToolResult")
    if len(calls) != len(results):
        raise UsageError(f"there are {len(calls)} calls and {len(results)} results; each call needs its own")
    return find_provider(provider).messages([CallMessage(*each) for each in zip(calls, results, strict=True)])


def find_provider(name: str) -> Provider:
    """The provider of this name. Raises ``UsageError`` that lists all."""
    return load_provider(argument_checks.one_of("provider", name, PROVIDER_NAMES))


def _plain(response: object) -> JsonObject:
    dump = getattr(response, "model_dump", None)
    value = dump(mode="json") if callable(dump) else response
    if not isinstance(value, Mapping):
        raise UsageError(f"a {type(response).__name__} is no model's response; give what the SDK returned, or its JSON")
    return cast("JsonObject", value)

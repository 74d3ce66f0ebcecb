"""Translate between the messages of a provider's API and calls and results of toolc.

::

    response = client.messages.create(model=..., tools=executor.definitions("anthropic"), messages=messages)
    calls = tool_calls("anthropic", response)
    messages.append({"role": "assistant", "content": response.content})
    messages += tool_messages("anthropic", calls, executor.run_batch(calls))
"""

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
    """Return the calls in a model's response, in their order.

    ``response`` is the response object of the provider's SDK, or its JSON. Arguments that are not JSON stay a string,
    and their call returns an error that describes the problem. Raises ``UsageError``.
    """
    return find_provider(provider).calls(_plain(response))


def tool_messages(provider: str, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[Any]:
    """Return the messages to append to the conversation, after the response that contains these calls.

    ``results`` are in the order of ``calls``, as returned by ``Executor.run_batch``. The messages are dicts for the
    SDK's ``messages``, ``input`` or ``contents``; for ``mcp`` each is a ``CallToolResult``. Raises ``UsageError``.
    """
    argument_checks.sequence("calls", calls, "ToolCall")
    argument_checks.sequence("results", results, "ToolResult")
    for call, result in zip(calls, results, strict=False):
        argument_checks.of_type("each of calls", call, ToolCall, "a toolc.ToolCall")
        argument_checks.of_type("each of results", result, ToolResult, "a toolc.ToolResult")
    if len(calls) != len(results):
        raise UsageError(f"there are {len(calls)} calls and {len(results)} results; each call needs one result")
    return find_provider(provider).messages([CallMessage(*each) for each in zip(calls, results, strict=True)])


def find_provider(name: str) -> Provider:
    """Return the provider with this name. Raises ``UsageError``, which lists all providers."""
    return load_provider(argument_checks.one_of("provider", name, PROVIDER_NAMES))


def _plain(response: object) -> JsonObject:
    dump = getattr(response, "model_dump", None)
    value = dump(mode="json") if callable(dump) else response
    if not isinstance(value, Mapping):
        raise UsageError(
            f"response must be the response object of the provider's SDK, or its JSON, not a {type(response).__name__}"
        )
    return cast("JsonObject", value)

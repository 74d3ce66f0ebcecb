"""Translate a provider's messages to calls of toolc, and results of toolc to messages.

::

    response = client.messages.create(model=..., tools=executor.definitions("anthropic"), messages=messages)
    calls = tool_calls("anthropic", response)
    messages.append({"role": "assistant", "content": response.content})
    messages += tool_messages("anthropic", calls, executor.run_batch(calls))

``collect_response`` joins the chunks of a stream into such a response, as JSON.
"""

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from toolc.model.call import ToolCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.names import PROVIDER_NAMES
from toolc.model.result import ToolResult
from toolc.providers import load_provider
from toolc.providers.provider import CallMessage, Provider
from toolc.providers.response_streams import STREAMING, join_chunks
from toolc.runtime import argument_checks


def tool_calls(provider: str, response: object) -> tuple[ToolCall, ...]:
    """Return the calls in a model's response, in order.

    ``response`` is the response object of the provider's SDK, or its JSON. If the arguments of a call are not valid
    JSON, they stay a string, and the call returns an error that describes the problem. Raises ``UsageError``.
    """
    value = _as_json(response)
    if not isinstance(value, dict):
        raise UsageError(
            f"response must be the response object of the provider's SDK, or its JSON, not a {_name(response)}; "
            "pass a stream to collect_response first"
        )
    return find_provider(provider).calls(value)


def collect_response(provider: str, chunks: Iterable[object]) -> dict[str, Any]:
    """Return the whole response of a stream, as the JSON that the API returns without streaming.

    ``chunks`` is the stream of the provider's SDK, or a list of the chunks or events that it yielded, as objects of
    the SDK or as JSON. The response contains the parts that belong to the conversation: texts, reasoning and calls. A
    stream that ended early gives a response too, in which a call that was cut off returns an error. Raises
    ``UsageError``.
    """
    _check_streaming(provider)
    if isinstance(chunks, AsyncIterable):
        raise UsageError(f"chunks must not be an asynchronous stream ({_name(chunks)}); use acollect_response")
    if not isinstance(chunks, Iterable):
        raise UsageError(
            f"chunks must be the stream of the provider's SDK, or a list of its chunks, not a {_name(chunks)}"
        )
    return join_chunks(provider, (_chunk(each) for each in chunks))


async def acollect_response(provider: str, chunks: AsyncIterable[object]) -> dict[str, Any]:
    """Like ``collect_response``, for the asynchronous stream of an SDK."""
    _check_streaming(provider)
    if not isinstance(chunks, AsyncIterable):
        raise UsageError(f"chunks must be the asynchronous stream of the provider's SDK, not a {_name(chunks)}")
    return join_chunks(provider, [_chunk(each) async for each in chunks])


def tool_messages(provider: str, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[Any]:
    """Return the messages to append to the conversation after the response that contains these calls.

    ``results`` are in the order of ``calls``, as ``Executor.run_batch`` returns them. The messages are dicts for the
    SDK's ``messages``, ``input`` or ``contents``. For ``mcp``, each is a ``CallToolResult``. Raises ``UsageError``.
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
    """Return the provider with this name. Raises ``UsageError`` with a list of all providers."""
    return load_provider(argument_checks.one_of("provider", name, PROVIDER_NAMES))


def _check_streaming(provider: str) -> None:
    argument_checks.one_of("provider", provider, PROVIDER_NAMES)
    if provider not in STREAMING:
        raise UsageError(f"{provider} does not stream responses; the providers that do are: {', '.join(STREAMING)}")


def _chunk(given: object) -> JsonObject:
    value = _as_json(given)
    if not isinstance(value, dict):
        raise UsageError(f"a chunk must be an object of the provider's SDK, or its JSON, not a {_name(given)}")
    return value


def _name(value: object) -> str:
    return type(value).__name__


def _as_json(value: object) -> Any:
    """Convert objects of an SDK to dicts and lists, with the names and values that the API sent. Bytes stay bytes."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return _as_json(dump(mode="json", by_alias=True, exclude_unset=True, warnings=False))
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _as_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _as_json(each) for key, each in value.items()}
    return [_as_json(each) for each in value] if isinstance(value, list | tuple) else value

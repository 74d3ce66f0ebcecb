"""Responses, chunks and messages as the types of each provider's SDK."""

import importlib
from collections.abc import Callable
from typing import Any

from models.provider_cases import assert_accepted
from toolc.model.json_schema import JsonObject

_RESPONSES = {
    "openai_chat": ("openai.types.chat", "ChatCompletion"),
    "openai_responses": ("openai.types.responses", "Response"),
    "anthropic": ("anthropic.types", "Message"),
    "gemini": ("google.genai.types", "GenerateContentResponse"),
    "mistral": ("mistralai.client.models", "ChatCompletionResponse"),
    "cohere": ("cohere", "V2ChatResponse"),
    "ollama": ("ollama", "ChatResponse"),
    "mcp": ("mcp.types", "CallToolRequest"),
}
"""The module and the name of the SDK's class, which is imported where a test needs it."""


def read_response(provider: str, value: JsonObject) -> Any:
    """Return the JSON of a response as the object that the SDK returns. boto3 returns dicts."""
    if provider not in _RESPONSES:
        return value
    module, name = _RESPONSES[provider]
    return getattr(importlib.import_module(module), name).model_validate(value)


def chunk_reader(provider: str) -> Callable[[JsonObject], object]:
    """Return a function that reads one chunk of a stream, as the SDK does."""
    match provider:
        case "openai_chat":
            from openai.types.chat import ChatCompletionChunk

            return ChatCompletionChunk.model_validate
        case "openai_responses":
            from openai.types.responses import ResponseStreamEvent
            from pydantic import TypeAdapter

            return TypeAdapter[Any](ResponseStreamEvent).validate_python
        case "anthropic":
            from anthropic.types import RawMessageStreamEvent
            from pydantic import TypeAdapter

            return TypeAdapter[Any](RawMessageStreamEvent).validate_python
        case "mistral":
            from mistralai.client.models import CompletionEvent

            return lambda chunk: CompletionEvent.model_validate({"data": chunk})
        case "cohere":
            from cohere import V2ChatStreamResponse
            from cohere.core.unchecked_base_model import construct_type

            event: Any = V2ChatStreamResponse
            return lambda chunk: construct_type(type_=event, object_=chunk)
        case _:
            return lambda chunk: read_response(provider, chunk)


def check_messages(provider: str, messages: list[Any]) -> None:
    """Check that the SDK accepts the messages of results and keeps all of them."""
    _CHECKS[provider](messages)


def _openai_chat(messages: list[Any]) -> None:
    from openai.types.chat import ChatCompletionToolMessageParam, ChatCompletionUserMessageParam

    for each in messages:
        is_result = each["role"] == "tool"
        assert_accepted(ChatCompletionToolMessageParam if is_result else ChatCompletionUserMessageParam, each)


def _openai_responses(messages: list[Any]) -> None:
    from openai.types.responses.response_input_param import FunctionCallOutput

    for each in messages:
        assert_accepted(FunctionCallOutput, each)


def _anthropic(messages: list[Any]) -> None:
    from anthropic.types import MessageParam

    for each in messages:
        assert_accepted(MessageParam, each)


def _gemini(messages: list[Any]) -> None:
    from google.genai.types import Content

    for each in messages:
        assert Content.model_validate(each).model_dump(by_alias=True, exclude_unset=True, mode="json") == each


def _bedrock(messages: list[Any]) -> None:
    import botocore.session
    from botocore.validate import ParamValidator

    shape = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    report = ParamValidator().validate({"modelId": "m", "messages": messages}, shape)
    assert not report.has_errors(), report.generate_report()


def _mistral(messages: list[Any]) -> None:
    from mistralai.client.models import ToolMessage

    for each in messages:
        assert ToolMessage.model_validate(each).model_dump(by_alias=True, exclude_unset=True) == each


def _cohere(messages: list[Any]) -> None:
    from cohere import ToolChatMessageV2

    for each in messages:
        message = ToolChatMessageV2.model_validate(each)
        assert message.model_dump(exclude_unset=True) == each
        assert not message.model_extra


def _ollama(messages: list[Any]) -> None:
    from ollama._client import _copy_messages
    from ollama._types import ChatRequest

    request = ChatRequest(model="m", messages=[*_copy_messages(messages)]).model_dump(exclude_none=True)
    # The SDK drops the ids, which servers without it read.
    assert request["messages"] == [
        {key: value for key, value in each.items() if key != "tool_call_id" and value} for each in messages
    ]


def _mcp(messages: list[Any]) -> None:
    import mcp_types._v2026_07_28

    for each in messages:
        parsed = mcp_types._v2026_07_28.CallToolResult.model_validate(each)
        assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json") == each


_CHECKS: dict[str, Callable[[list[Any]], None]] = {
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "mistral": _mistral,
    "cohere": _cohere,
    "ollama": _ollama,
    "mcp": _mcp,
}

"""Agent loops with streamed responses: the SDK of each provider reads a stream of the wire format of its API."""

import asyncio
import json
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from typing import Any, Final

import pytest
from models.loop_tools import CALLS, registry
from models.provider_server import KEYS, TEXT, ProviderServer
from project import paths

from toolc import Executor, acollect_response, collect_response, tool_calls, tool_messages

pytestmark = pytest.mark.integrations

GOLDEN: Final = paths.GOLDEN / "model_loops"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with ProviderServer(CALLS) as server:
        for key, value in (server.environment | KEYS).items():
            monkeypatch.setenv(key, value)
        yield server


def openai_chat(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from openai import OpenAI

    with OpenAI() as client:
        yield from client.chat.completions.create(model="m", messages=messages, tools=tools, stream=True)


def openai_responses(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from openai import OpenAI

    with OpenAI() as client:
        yield from client.responses.create(model="m", input=messages, tools=tools, stream=True)


def openai_chat_helper(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from openai import OpenAI

    with OpenAI() as client, client.chat.completions.stream(model="m", messages=messages, tools=tools) as events:
        yield from events


def openai_responses_helper(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from openai import OpenAI

    with OpenAI() as client, client.responses.stream(model="m", input=messages, tools=tools) as events:
        yield from events


def anthropic(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from anthropic import Anthropic

    with Anthropic() as client:
        yield from client.messages.create(model="m", max_tokens=9, messages=messages, tools=tools, stream=True)


def anthropic_helper(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from anthropic import Anthropic

    with (
        Anthropic() as client,
        client.messages.stream(model="m", max_tokens=9, messages=messages, tools=tools) as events,
    ):
        yield from events


def gemini(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from google import genai

    with genai.Client() as client:
        yield from client.models.generate_content_stream(model="m", contents=messages, config={"tools": tools})


def bedrock(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    import boto3

    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    yield from client.converse_stream(modelId="m", messages=messages, toolConfig={"tools": tools})["stream"]
    client.close()


def mistral(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from mistralai.client import Mistral

    with Mistral(api_key="key", server_url=f"{server.url}/mistral") as client:
        yield from client.chat.stream(model="m", messages=messages, tools=tools)


def cohere(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from cohere import ClientV2

    yield from ClientV2(base_url=f"{server.url}/cohere").chat_stream(model="m", messages=messages, tools=tools)


def ollama(server: ProviderServer, messages: Any, tools: Any) -> Iterable[object]:
    from ollama import Client

    yield from Client().chat(model="m", messages=messages, tools=tools, stream=True)


STREAMS: Final[dict[str, Callable[[ProviderServer, Any, Any], Iterable[object]]]] = {
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "openai_chat_helper": openai_chat_helper,
    "openai_responses_helper": openai_responses_helper,
    "anthropic": anthropic,
    "anthropic_helper": anthropic_helper,
    "gemini": gemini,
    "bedrock": bedrock,
    "mistral": mistral,
    "cohere": cohere,
    "ollama": ollama,
}
"""The streams of each provider. Those of helpers of the SDKs also have events of their own, such as ``text``."""


async def async_openai_chat(server: ProviderServer, messages: Any, tools: Any) -> AsyncIterable[object]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI() as client:
        async for each in await client.chat.completions.create(model="m", messages=messages, tools=tools, stream=True):
            yield each


async def async_openai_responses(server: ProviderServer, messages: Any, tools: Any) -> AsyncIterable[object]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI() as client:
        async for each in await client.responses.create(model="m", input=messages, tools=tools, stream=True):
            yield each


async def async_anthropic(server: ProviderServer, messages: Any, tools: Any) -> AsyncIterable[object]:
    from anthropic import AsyncAnthropic

    request: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools}
    async with AsyncAnthropic() as client:
        async for each in await client.messages.create(**request, stream=True):
            yield each


async def async_gemini(server: ProviderServer, messages: Any, tools: Any) -> AsyncIterable[object]:
    from google import genai

    client = genai.Client().aio
    request: dict[str, Any] = {"model": "m", "contents": messages, "config": {"tools": tools}}
    async for each in await client.models.generate_content_stream(**request):
        yield each
    await client.aclose()


async def async_mistral(server: ProviderServer, messages: Any, tools: Any) -> AsyncIterable[object]:
    from mistralai.client import Mistral

    async with Mistral(api_key="key", server_url=f"{server.url}/mistral") as client:
        async for each in await client.chat.stream_async(model="m", messages=messages, tools=tools):
            yield each


async def async_cohere(server: ProviderServer, messages: Any, tools: Any) -> AsyncIterable[object]:
    from cohere import AsyncClientV2

    async for each in AsyncClientV2(base_url=f"{server.url}/cohere").chat_stream(
        model="m", messages=messages, tools=tools
    ):
        yield each


async def async_ollama(server: ProviderServer, messages: Any, tools: Any) -> AsyncIterable[object]:
    from ollama import AsyncClient

    async for each in await AsyncClient().chat(model="m", messages=messages, tools=tools, stream=True):
        yield each


ASYNC_STREAMS: Final[dict[str, Callable[[ProviderServer, Any, Any], AsyncIterable[object]]]] = {
    "openai_chat": async_openai_chat,
    "openai_responses": async_openai_responses,
    "anthropic": async_anthropic,
    "gemini": async_gemini,
    "mistral": async_mistral,
    "cohere": async_cohere,
    "ollama": async_ollama,
}


def question(provider: str) -> dict[str, Any]:
    text = "What is in notes.md?"
    if provider == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": [{"text": text}] if provider == "bedrock" else text}


def own_message(provider: str, response: dict[str, Any]) -> list[Any]:
    """Return what the page says to append to the conversation."""
    match provider:
        case "openai_chat" | "mistral":
            return [response["choices"][0]["message"]]
        case "openai_responses":
            return [*response["output"]]
        case "anthropic":
            return [{"role": "assistant", "content": response["content"]}]
        case "gemini":
            return [response["candidates"][0]["content"]]
        case "bedrock":
            return [response["output"]["message"]]
        case _:
            return [response["message"]]


def conversation(provider: str, body: dict[str, Any]) -> Any:
    return body[{"gemini": "contents", "openai_responses": "input"}.get(provider, "messages")]


@pytest.mark.parametrize("stream", STREAMS)
def test_a_loop_with_a_stream_sends_what_the_loop_without_sends(server: ProviderServer, stream: str) -> None:
    provider = stream.removesuffix("_helper")
    messages: list[Any] = [question(provider)]
    with Executor(registry()) as executor:
        tools = executor.definitions(provider)
        response = collect_response(provider, STREAMS[stream](server, messages, tools))
        messages += own_message(provider, response)
        calls = tool_calls(provider, response)
        messages += tool_messages(provider, calls, executor.run_batch(calls))
        final = collect_response(provider, STREAMS[stream](server, messages, tools))
    assert tool_calls(provider, final) == ()
    assert TEXT in json.dumps(final, default=str)
    assert conversation(provider, server.bodies[provider][1]) == json.loads((GOLDEN / f"{provider}.json").read_text())


@pytest.mark.parametrize("provider", ASYNC_STREAMS)
def test_an_asynchronous_stream_gives_the_same_calls(server: ProviderServer, provider: str) -> None:
    messages: list[Any] = [question(provider)]
    tools = registry().definitions(provider)
    streamed = asyncio.run(acollect_response(provider, ASYNC_STREAMS[provider](server, messages, tools)))
    assert streamed == collect_response(provider, STREAMS[provider](server, messages, tools))
    assert len(tool_calls(provider, streamed)) == len(CALLS)

"""The client of each SDK sends every definition, plain and in strict mode, as it was emitted.

Less exactly those keywords that the losses of the provider list for its SDK.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest
from calls.fake_tools import registry
from models.provider_cases import tool
from models.provider_server import KEYS, ProviderServer
from schemas.parameter_schemas import SCHEMAS

from toolc import Executor
from toolc.model.json_schema import JsonObject, JsonValue, value_at
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import STRICT, ProviderChoice, ToolSpec
from toolc.providers import load_provider

BATCH = 15
"""The number of tools of a request: some strict modes allow at most 20."""

QUESTION: Any = [{"role": "user", "content": "Why?"}]


def openai_chat(server: ProviderServer, requests: Iterable[Any]) -> None:
    from openai import OpenAI

    with OpenAI(max_retries=0) as client:
        for tools in requests:
            client.chat.completions.create(model="m", messages=QUESTION, tools=tools)


def openai_responses(server: ProviderServer, requests: Iterable[Any]) -> None:
    from openai import OpenAI

    with OpenAI(max_retries=0) as client:
        for tools in requests:
            client.responses.create(model="m", input="Why?", tools=tools)


def anthropic(server: ProviderServer, requests: Iterable[Any]) -> None:
    from anthropic import Anthropic

    with Anthropic(max_retries=0) as client:
        for tools in requests:
            client.messages.create(model="m", max_tokens=1, messages=QUESTION, tools=tools)


def gemini(server: ProviderServer, requests: Iterable[Any]) -> None:
    from google import genai
    from google.genai import types

    with genai.Client() as client:
        for tools in requests:
            config = types.GenerateContentConfig(tools=tools)
            client.models.generate_content(model="m", contents="Why?", config=config)


def bedrock(server: ProviderServer, requests: Iterable[Any]) -> None:
    import boto3

    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    message: JsonObject = {"role": "user", "content": [{"text": "Why?"}]}
    for tools in requests:
        client.converse(modelId="m", messages=[message], toolConfig={"tools": tools})
    client.close()


def mistral(server: ProviderServer, requests: Iterable[Any]) -> None:
    from mistralai.client import Mistral

    with Mistral(api_key="k", server_url=f"{server.url}/mistral") as client:
        for tools in requests:
            client.chat.complete(model="m", messages=QUESTION, tools=tools)


def cohere(server: ProviderServer, requests: Iterable[Any]) -> None:
    from cohere import ClientV2

    client = ClientV2(base_url=f"{server.url}/cohere")
    for tools in requests:
        client.chat(model="m", messages=QUESTION, tools=tools)


def ollama(server: ProviderServer, requests: Iterable[Any]) -> None:
    from ollama import Client

    client = Client()
    for tools in requests:
        client.chat(model="m", messages=QUESTION, tools=tools)


CLIENTS: Mapping[str, Callable[[ProviderServer, Iterable[Any]], None]] = {
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock": bedrock,
    "mistral": mistral,
    "cohere": cohere,
    "ollama": ollama,
}
"""Functions that send a request with each list of tools."""


CASES = [(name, False) for name in CLIENTS] + [(name, True) for name in STRICT]


def test_there_is_a_client_for_each_provider_with_an_api() -> None:
    assert CLIENTS.keys() | {"mcp"} == {*PROVIDER_NAMES}


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "strict"), CASES, ids=[f"{name}{'-strict' * strict}" for name, strict in CASES])
def test_the_server_receives_what_was_emitted(provider: str, strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    choices = (ProviderChoice(provider=provider, strict=True),) if strict else ()
    specs = [tool(name, schema, providers=choices) for name, schema in SCHEMAS.items()]
    lowered = [load_provider(provider).lower(each) for each in batches(specs)]
    emitted = [each.tools for each in lowered]
    with ProviderServer([]) as server:
        for key, value in (server.environment | KEYS).items():
            monkeypatch.setenv(key, value)
        CLIENTS[provider](server, json.loads(json.dumps(emitted)))
    sent = {name: each for tools in emitted for name, each in definitions(tools)}
    for loss in (loss for each in lowered for loss in each.losses if loss.sdk):
        remove(sent[loss.tool], loss.message)
    received = {name: each for body in server.bodies[provider] for name, each in definitions(tools_of(body))}
    assert received.keys() == sent.keys() == SCHEMAS.keys()
    # One at a time: the explanation of a difference between all definitions would take minutes.
    changed = [name for name in SCHEMAS if received[name] != sent[name]]
    assert [(sent[name], received[name]) for name in changed[:1]] == []


def batches(tools: list[ToolSpec]) -> Iterable[list[ToolSpec]]:
    return (tools[start : start + BATCH] for start in range(0, len(tools), BATCH))


def definitions(tools: list[JsonValue]) -> Iterator[tuple[str, JsonObject]]:
    """Yield each definition of a request, with the name of its tool."""
    for value in tools:
        each: Any = value
        if "functionDeclarations" in each:
            yield from definitions(each["functionDeclarations"])
        else:
            yield each.get("function", each.get("toolSpec", each))["name"], each


def remove(definition: JsonObject, loss: str) -> None:
    """Remove the keyword of the parameters that an SDK does not send. The place of the loss is one in the spec."""
    named = re.fullmatch(r"the ollama package does not send (\S+)(?: of the parameter '(.*)')?", loss, re.DOTALL)
    assert named, loss
    outer = ["parameters", "properties", named[2]] if named[2] is not None else ["parameters"]
    found = value_at(definition["function"], outer)
    assert isinstance(found, dict)
    del found[named[1]]


def tools_of(body: JsonObject) -> list[JsonValue]:
    """Return the tools in a request. Gemini's API accepts names in snake case, which its SDK writes, too."""
    if "toolConfig" in body:
        body = body["toolConfig"]  # type: ignore[assignment]  # Bedrock
    text = json.dumps(body["tools"])
    for word in ("parameters", "response"):
        text = text.replace(f'"{word}_json_schema"', f'"{word}JsonSchema"')
    tools: list[JsonValue] = json.loads(text)
    return tools


@pytest.mark.slow
def test_an_mcp_client_receives_what_was_emitted() -> None:
    from mcp import Client

    from toolc.serve.mcp import make_server

    with Executor(registry(*(tool(name, schema) for name, schema in SCHEMAS.items()))) as executor:

        async def listed() -> list[JsonValue]:
            async with Client(make_server(executor, version="1")) as client:
                tools = (await client.list_tools()).tools
            return [each.model_dump(by_alias=True, exclude_unset=True, mode="json") for each in tools]

        received = dict(definitions(asyncio.run(listed())))
        sent = dict(definitions(executor.definitions("mcp")))
    assert received.keys() == sent.keys() == SCHEMAS.keys()
    assert [name for name in SCHEMAS if received[name] != sent[name]] == []

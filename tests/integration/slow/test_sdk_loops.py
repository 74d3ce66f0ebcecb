"""Agent loops with each provider's SDK, a scripted server, and the tool in a real sandbox."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from agent_tools import SAY, registry_of
from anthropic import Anthropic
from google.genai import Client, types
from openai import OpenAI
from scripted_model import AnthropicSpeech, OpenAISpeech, ResponsesSpeech, ScriptedModel, Speech
from scripted_server import Request, ScriptedServer, json_reply

from toolc import Executor, tool_calls, tool_messages
from toolc.model.json_schema import JsonObject

pytestmark = pytest.mark.needs_engine

ASKED = "Say hello."
NAME = "say"
ARGUMENTS: JsonObject = {"words": "hello"}
DONE = "I said hello."


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[Executor]:
    with Executor(registry_of(tmp_path, SAY)) as executor:
        yield executor


def scripted(speech: Speech) -> ScriptedModel:
    """Return a server that asks for one call and then ends the conversation."""
    return ScriptedModel(speech=speech, script=[speech.calls((NAME, ARGUMENTS)), speech.text(DONE)])


def answers(executor: Executor, provider: Any, response: object) -> list[Any]:
    """Run the calls of a response and return the messages with their results."""
    calls = tool_calls(provider, response)
    assert [call.name for call in calls] == [NAME]
    return [*tool_messages(provider, calls, executor.run_batch(calls))]


def test_openai_chat_completions_call_the_tool(executor: Executor) -> None:
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    tools: Any = executor.definitions("openai_chat")
    with scripted(OpenAISpeech()) as model, OpenAI(api_key="none", base_url=model.base_url) as client:
        response = client.chat.completions.create(model="scripted", messages=messages, tools=tools)
        messages += [response.choices[0].message, *answers(executor, "openai_chat", response)]
        response = client.chat.completions.create(model="scripted", messages=messages, tools=tools)
    assert response.choices[0].message.content == DONE
    assert model.speech.results(model.requests[1]) == [("id_1", "hello")]


def test_openai_responses_call_the_tool(executor: Executor) -> None:
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    tools: Any = executor.definitions("openai_responses")
    with scripted(ResponsesSpeech()) as model, OpenAI(api_key="none", base_url=model.base_url) as client:
        response = client.responses.create(model="scripted", input=messages, tools=tools)
        messages += [*response.output, *answers(executor, "openai_responses", response)]
        response = client.responses.create(model="scripted", input=messages, tools=tools)
    assert response.output_text == DONE
    assert model.speech.results(model.requests[1]) == [("id_1", "hello")]


def test_anthropic_messages_call_the_tool(executor: Executor) -> None:
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    tools: Any = executor.definitions("anthropic")
    with scripted(AnthropicSpeech()) as model, Anthropic(api_key="none", base_url=model.base_url) as client:
        arguments: Any = {"model": "scripted", "max_tokens": 100, "messages": messages, "tools": tools}
        response = client.messages.create(**arguments)
        messages += [{"role": "assistant", "content": response.content}, *answers(executor, "anthropic", response)]
        response = client.messages.create(**arguments)
    assert [block.text for block in response.content if block.type == "text"] == [DONE]
    assert model.speech.results(model.requests[1]) == [("id_1", "hello")]


def test_gemini_contents_call_the_tool(executor: Executor) -> None:
    parts: list[JsonObject] = [{"functionCall": {"name": NAME, "args": ARGUMENTS}}, {"text": DONE}]
    bodies: list[Any] = []

    def answer(request: Request, connection: Any) -> None:
        content: JsonObject = {"role": "model", "parts": [parts[len(bodies)]]}
        bodies.append(json.loads(request.body))
        connection.sendall(json_reply({"candidates": [{"content": content, "finishReason": "STOP"}]}))

    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=ASKED)])]
    tools: Any = executor.definitions("gemini")
    config = types.GenerateContentConfig(
        tools=tools, automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
    )
    server = ScriptedServer()
    server.answers["/v1beta/models/scripted:generateContent"] = answer
    with ExitStack() as stack:
        url = stack.enter_context(server).url
        options = types.HttpOptions(base_url=url, api_version="v1beta")
        client = stack.enter_context(Client(api_key="none", http_options=options))
        response = client.models.generate_content(model="scripted", contents=contents, config=config)
        assert response.candidates
        contents += [response.candidates[0].content, *answers(executor, "gemini", response)]
        response = client.models.generate_content(model="scripted", contents=contents, config=config)
    assert response.text == DONE
    assert "hello" in json.dumps(bodies[1]["contents"][-1])

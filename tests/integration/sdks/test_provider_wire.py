"""Each provider's real client, pointed at a server on loopback: the definitions arrive as they were lowered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from provider_cases import TOOLS

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Image, Text, ToolResult
from toolc.providers import load_provider
from toolc.providers.base import CallMessage

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class Recorder(ThreadingHTTPServer):
    """Answers every POST with an empty object and keeps what came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[tuple[str, JsonObject]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.received.append((self.path, body))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    with Recorder() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def definitions(provider: str) -> Any:
    return load_provider(provider).lower(TOOLS).tools


def test_openai_chat(recorder: Recorder) -> None:
    from openai import OpenAI

    with OpenAI(base_url=f"{recorder.url}/v1", api_key="k", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[], tools=definitions("openai_chat"))
    [(path, body)] = recorder.received
    assert (path, body["tools"]) == ("/v1/chat/completions", definitions("openai_chat"))


def test_openai_responses(recorder: Recorder) -> None:
    from openai import OpenAI

    with OpenAI(base_url=f"{recorder.url}/v1", api_key="k", max_retries=0) as client:
        client.responses.create(model="m", input="hi", tools=definitions("openai_responses"))
    [(path, body)] = recorder.received
    assert (path, body["tools"]) == ("/v1/responses", definitions("openai_responses"))


def test_anthropic(recorder: Recorder) -> None:
    from anthropic import Anthropic

    with Anthropic(base_url=recorder.url, api_key="k", max_retries=0) as client:
        client.messages.create(model="m", max_tokens=1, messages=[], tools=definitions("anthropic"))
    [(path, body)] = recorder.received
    assert (path, body["tools"]) == ("/v1/messages", definitions("anthropic"))


@pytest.mark.slow
def test_gemini(recorder: Recorder) -> None:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=recorder.url)
    with genai.Client(api_key="k", http_options=options) as client:
        config = types.GenerateContentConfig(tools=definitions("gemini"))
        client.models.generate_content(model="m", contents="hi", config=config)
    [(path, body)] = recorder.received
    assert path.endswith("/models/m:generateContent")
    assert _in_camel_case(body["tools"]) == definitions("gemini")


def _in_camel_case(tools: JsonValue) -> list[JsonValue]:
    """The SDK writes the fields of a declaration in snake case, which the API takes as well."""
    assert isinstance(tools, list)
    renamed: list[JsonValue] = []
    for each in tools:
        assert isinstance(each, dict)
        declarations = each["functionDeclarations"]
        assert isinstance(declarations, list)
        spelled: list[JsonValue] = []
        for declaration in declarations:
            assert isinstance(declaration, dict)
            names = {"parameters_json_schema": "parametersJsonSchema"}
            spelled.append({names.get(name, name): value for name, value in declaration.items()})
        renamed.append({"functionDeclarations": spelled})
    return renamed


ANSWERS = (
    CallMessage(
        ToolCall(name="look", arguments={}, call_id="c1"),
        ToolResult(content=(Text("seen"), Image(b"\x89PNG\r\n\x1a\n", "image/png"))),
    ),
    CallMessage(ToolCall(name="look", arguments={}, call_id="c2"), ToolResult.failure("no such moon")),
)


def messages(provider: str) -> Any:
    return load_provider(provider).messages(ANSWERS)


def test_openai_results_arrive_unchanged(recorder: Recorder) -> None:
    from openai import OpenAI

    with OpenAI(base_url=f"{recorder.url}/v1", api_key="k", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=messages("openai_chat"))
        client.responses.create(model="m", input=messages("openai_responses"))
    (_, chat), (_, responses) = recorder.received
    assert chat["messages"] == messages("openai_chat")
    assert responses["input"] == messages("openai_responses")


def test_anthropic_results_arrive_unchanged(recorder: Recorder) -> None:
    from anthropic import Anthropic

    with Anthropic(base_url=recorder.url, api_key="k", max_retries=0) as client:
        client.messages.create(model="m", max_tokens=1, messages=messages("anthropic"))
    [(_, body)] = recorder.received
    assert body["messages"] == messages("anthropic")


def test_gemini_results_arrive_unchanged(recorder: Recorder) -> None:
    from google import genai
    from google.genai import types

    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=recorder.url)) as client:
        client.models.generate_content(model="m", contents=messages("gemini"))
    [(_, body)] = recorder.received
    # The SDK writes some names in snake case, which the API takes as well.
    assert isinstance(body["contents"], list)
    sent = [types.Content.model_validate(each) for each in body["contents"]]
    assert sent == [types.Content.model_validate(each) for each in messages("gemini")]

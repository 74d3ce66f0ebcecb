"""The SDK of each provider sends definitions and results unchanged to a server on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from models.provider_cases import TOOLS

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject
from toolc.model.result import Image, Text, ToolResult
from toolc.providers import load_provider
from toolc.providers.provider import CallMessage

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class Recorder(ThreadingHTTPServer):
    """Answers every POST with an empty object and records the requests."""

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


RESULTS = (
    CallMessage(
        ToolCall(name="look", arguments={}, call_id="c1"),
        ToolResult(content=(Text("seen"), Image(b"\x89PNG\r\n\x1a\n", "image/png"))),
    ),
    CallMessage(ToolCall(name="look", arguments={}, call_id="c2"), ToolResult.failure("no such moon")),
)


def messages(provider: str) -> Any:
    return load_provider(provider).messages(RESULTS)


def test_openai_receives_definitions_and_results(recorder: Recorder) -> None:
    from openai import OpenAI

    chat, responses = "openai_chat", "openai_responses"
    with OpenAI(base_url=f"{recorder.url}/v1", api_key="k", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=messages(chat), tools=definitions(chat))
        client.responses.create(model="m", input=messages(responses), tools=definitions(responses))
    (chat_path, chat_body), (responses_path, responses_body) = recorder.received
    assert (chat_path, responses_path) == ("/v1/chat/completions", "/v1/responses")
    assert (chat_body["tools"], chat_body["messages"]) == (definitions(chat), messages(chat))
    assert (responses_body["tools"], responses_body["input"]) == (definitions(responses), messages(responses))


def test_anthropic_receives_definitions_and_results(recorder: Recorder) -> None:
    from anthropic import Anthropic

    name = "anthropic"
    with Anthropic(base_url=recorder.url, api_key="k", max_retries=0) as client:
        client.messages.create(model="m", max_tokens=1, messages=messages(name), tools=definitions(name))
    [(path, body)] = recorder.received
    assert (path, body["tools"], body["messages"]) == ("/v1/messages", definitions(name), messages(name))


@pytest.mark.slow
def test_gemini_receives_definitions_and_results(recorder: Recorder) -> None:
    from google import genai
    from google.genai import types

    config = types.GenerateContentConfig(tools=definitions("gemini"))
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=recorder.url)) as client:
        client.models.generate_content(model="m", contents=messages("gemini"), config=config)
    [(path, body)] = recorder.received
    assert path.endswith("/models/m:generateContent")
    # The SDK writes some names in snake case, which the API accepts too.
    text = json.dumps(body["tools"]).replace("parameters_json_schema", "parametersJsonSchema")
    tools = json.loads(text.replace("response_json_schema", "responseJsonSchema"))
    assert tools == definitions("gemini")
    assert isinstance(body["contents"], list)
    sent = [types.Content.model_validate(each) for each in body["contents"]]
    assert sent == [types.Content.model_validate(each) for each in messages("gemini")]

"""A server with the wire formats of all providers, and how their SDKs reach it.

Its model first makes calls. It answers with a text as soon as a request contains results of tools.
"""

import json
import re
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from models.model_responses import Asked, chunks, response, stream_body
from toolc.model.json_schema import JsonObject

TEXT: Final = "notes.md has two words."
"""The final answer."""

PLAN: Final = "I will look."
"""The text of the response with the calls."""

KEYS: Final = dict.fromkeys(
    ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "CO_API_KEY"), "correct-horse-battery"
)
"""The variables with the keys of the SDKs. The server accepts any key."""

_PATHS: Final = {
    "openai_chat": r"/openai/v1/chat/completions",
    "openai_responses": r"/openai/v1/responses",
    "anthropic": r"/anthropic/v1/messages",
    "gemini": r"/gemini/v1(beta)?/models/[^/]+:(generateContent|streamGenerateContent)",
    "bedrock": r"/bedrock/model/[^/]+/(converse|converse-stream)",
    "mistral": r"/mistral/v1/chat/completions",
    "cohere": r"/cohere/v2/chat",
    "ollama": r"/ollama/api/chat",
}
_RESULTS: Final = re.compile(r'"role": ?"tool"|function_call_output|tool_result|function_?[rR]esponse|toolResult')


class ProviderServer(ThreadingHTTPServer):
    """Answers on loopback and records the bodies of requests by provider."""

    daemon_threads = True

    def __init__(self, calls: Iterable[Asked]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls = [*calls]
        self.bodies: dict[str, list[JsonObject]] = {name: [] for name in _PATHS}

    def turn(self, request: str) -> tuple[str, list[Asked]]:
        """Return the text and the calls that answer a request."""
        return (TEXT, []) if _RESULTS.search(request) else (PLAN, self.calls)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def constructors(self) -> dict[str, str]:
        """How to construct the clients that do not read their URL from a variable, or only when they are imported."""
        return {
            "Mistral(": f"Mistral(server_url={self.url + '/mistral'!r}, ",
            "ClientV2(": f"ClientV2(base_url={self.url + '/cohere'!r}, ",
        }

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the SDKs use this server."""
        return {
            "OPENAI_BASE_URL": f"{self.url}/openai/v1",
            "ANTHROPIC_BASE_URL": f"{self.url}/anthropic",
            "GOOGLE_GEMINI_BASE_URL": f"{self.url}/gemini",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"{self.url}/bedrock",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_CONFIG_FILE": "/dev/null",
            "OLLAMA_HOST": f"{self.url}/ollama",
            **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), ""),
        }

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ProviderServer

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        path = self.path.partition("?")[0]
        [provider] = (name for name, pattern in _PATHS.items() if re.fullmatch(pattern, path))
        body: Any = json.loads(text)
        self.server.bodies[provider].append(body)
        words, calls = self.server.turn(text)
        if body.get("stream") or path.endswith(("streamGenerateContent", "converse-stream")):
            kind, answer = stream_body(provider, chunks(provider, words, calls, _pieces))
        else:
            kind, answer = "application/json", json.dumps(response(provider, words, calls)).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def _pieces(text: str) -> list[str]:
    """Split a text into pieces of three characters."""
    return [text[at : at + 3] for at in range(0, len(text), 3)] or [""]

"""A scripted model behind a server with the wire format of one of the providers."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from calls.scripted_server import Request, ScriptedServer, json_reply

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import AgentProvider

Answer: TypeAlias = "JsonObject | bytes | Callable[[Request, socket.socket], None]"
"""One answer: a body of JSON, a whole response, or a function that answers on the connection."""


class Speech(Protocol):
    """Writes the responses and reads the requests of one provider. ``path`` is the path of its API."""

    provider: AgentProvider
    path: str
    base: str

    def text(self, words: str, *, tokens: tuple[int, int] = (7, 3), stop: str | None = None) -> JsonObject:
        """Return a final answer."""

    def calls(self, *calls: tuple[str, JsonValue], text: str | None = None) -> JsonObject:
        """Return an answer with calls of tools, which have the ids ``id_1`` and so on."""

    def results(self, request: JsonObject) -> list[tuple[str, str]]:
        """Return the ids and texts of the tool results in the last messages of a request."""

    def tools(self, request: JsonObject) -> list[str]:
        """Return the names of the tools in a request."""

    def system(self, request: JsonObject) -> str:
        """Return the instructions in a request."""


class OpenAISpeech:
    provider: AgentProvider = "openai"
    path = "/v1/chat/completions"
    base = "/v1"

    def text(self, words: str, *, tokens: tuple[int, int] = (7, 3), stop: str | None = None) -> JsonObject:
        return self._completion({"role": "assistant", "content": words}, stop or "stop", tokens)

    def calls(self, *calls: tuple[str, JsonValue], text: str | None = None) -> JsonObject:
        made: list[JsonValue] = [
            {
                "id": f"id_{number}",
                "type": "function",
                "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for number, (name, given) in enumerate(calls, 1)
        ]
        return self._completion({"role": "assistant", "content": text, "tool_calls": made}, "tool_calls", (10, 5))

    def _completion(self, message: JsonObject, stop: str, tokens: tuple[int, int]) -> JsonObject:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": stop}],
            "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
        }

    def results(self, request: JsonObject) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for message in messages(request):
            found = [] if message["role"] == "assistant" else found
            if message["role"] == "tool":
                found.append((str(message["tool_call_id"]), str(message["content"])))
        return found

    def tools(self, request: JsonObject) -> list[str]:
        return [str(inner(each, "function")["name"]) for each in objects(request.get("tools", []))]

    def system(self, request: JsonObject) -> str:
        first = messages(request)[0]
        return str(first["content"]) if first["role"] == "system" else ""


class AnthropicSpeech:
    provider: AgentProvider = "anthropic"
    path = "/v1/messages"
    base = ""

    def text(self, words: str, *, tokens: tuple[int, int] = (7, 3), stop: str | None = None) -> JsonObject:
        return self._message([{"type": "text", "text": words}], stop or "end_turn", tokens)

    def calls(self, *calls: tuple[str, JsonValue], text: str | None = None) -> JsonObject:
        blocks: list[JsonValue] = [{"type": "text", "text": text}] if text else []
        made: list[JsonValue] = [
            {"type": "tool_use", "id": f"id_{number}", "name": name, "input": given}
            for number, (name, given) in enumerate(calls, 1)
        ]
        return self._message([*blocks, *made], "tool_use", (10, 5))

    def _message(self, content: list[JsonValue], stop: str, tokens: tuple[int, int]) -> JsonObject:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
        }

    def results(self, request: JsonObject) -> list[tuple[str, str]]:
        found = []
        for block in objects(messages(request)[-1]["content"]):
            words = [str(each.get("text", each["type"])) for each in objects(block.get("content", []))]
            found.append((str(block["tool_use_id"]), "\n".join(words)))
        return found

    def tools(self, request: JsonObject) -> list[str]:
        return [str(each["name"]) for each in objects(request.get("tools", []))]

    def system(self, request: JsonObject) -> str:
        return str(request.get("system", ""))


class ResponsesSpeech:
    provider: AgentProvider = "openai_responses"
    path = "/v1/responses"
    base = "/v1"

    def text(self, words: str, *, tokens: tuple[int, int] = (7, 3), stop: str | None = None) -> JsonObject:
        return self._response([self._message(words)], stop, tokens)

    def calls(self, *calls: tuple[str, JsonValue], text: str | None = None) -> JsonObject:
        blocks = [self._message(text)] if text else []
        made: list[JsonObject] = [
            {
                "id": f"fc_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": f"id_{number}",
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            }
            for number, (name, given) in enumerate(calls, 1)
        ]
        return self._response([*blocks, *made], None, (10, 5))

    def _message(self, words: str) -> JsonObject:
        part: JsonObject = {"type": "output_text", "text": words, "annotations": []}
        return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}

    def _response(self, output: list[JsonObject], stop: str | None, tokens: tuple[int, int]) -> JsonObject:
        usage: JsonObject = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
        return {
            "id": "resp_1",
            "object": "response",
            "model": "scripted",
            "status": "incomplete" if stop else "completed",
            "incomplete_details": {"reason": stop} if stop else None,
            "output": [*output],
            "usage": usage,
        }

    def results(self, request: JsonObject) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for item in messages(request):
            found = [] if item.get("type") in {"message", "function_call"} else found
            if item.get("type") == "function_call_output":
                found.append((str(item["call_id"]), str(item["output"])))
        return found

    def tools(self, request: JsonObject) -> list[str]:
        return [str(each["name"]) for each in objects(request.get("tools", []))]

    def system(self, request: JsonObject) -> str:
        return str(request.get("instructions", ""))


SPEECHES: tuple[Speech, ...] = (OpenAISpeech(), AnthropicSpeech(), ResponsesSpeech())


@dataclass
class ScriptedModel(ScriptedServer):
    """Answers requests with the responses of ``script``, in order, and records them in ``requests``."""

    speech: Speech = field(default_factory=OpenAISpeech)
    script: list[Answer] = field(default_factory=list)
    requests: list[JsonObject] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answers[self.speech.path] = self._answer

    def _answer(self, request: Request, connection: socket.socket) -> None:
        self.requests.append(json.loads(request.body))
        response = self.script[len(self.requests) - 1]
        if isinstance(response, dict):
            connection.sendall(json_reply(response))
        elif isinstance(response, bytes):
            connection.sendall(response)
        else:
            response(request, connection)

    @property
    def base_url(self) -> str:
        return f"{self.url}{self.speech.base}"


def messages(request: JsonObject) -> list[JsonObject]:
    return objects(request["messages"] if "messages" in request else request["input"])


def objects(value: JsonValue) -> list[JsonObject]:
    assert isinstance(value, list)
    return [each for each in value if isinstance(each, dict)]


def inner(value: JsonObject, key: str) -> JsonObject:
    found = value[key]
    assert isinstance(found, dict)
    return found

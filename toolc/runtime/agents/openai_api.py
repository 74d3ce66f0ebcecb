"""The OpenAI APIs: Chat Completions, which most other model servers implement too, and Responses."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import httpx2
import openai

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.template import as_text
from toolc.providers import load_provider
from toolc.providers.calls import members
from toolc.providers.provider import Provider
from toolc.runtime.agents.broker_transport import KEY_PLACEHOLDER, failed_request
from toolc.runtime.agents.model import ModelResponse, Post, Stop, normalise_ids, token_count, unreadable

_STOPS: Final[dict[object, Stop]] = {"length": "length", "content_filter": "refusal"}


class ChatApi:
    """The OpenAI Chat Completions API: ``POST BASE_URL/chat/completions``."""

    provider: Provider = load_provider("openai_chat")

    def key_header(self, key: str) -> tuple[str, str]:
        """Return the ``Authorization`` header with a bearer token."""
        return "Authorization", f"Bearer {key}"

    def open(self, url: str, http: httpx2.Client) -> Post:
        """See ``ModelApi.open``."""
        return _open("/chat/completions", url, http)

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """Return the request body. An empty list of tools is omitted, because the API rejects it."""
        system: list[JsonValue] = [{"role": "system", "content": instructions}] if instructions else []
        body: JsonObject = {
            "model": backend.model,
            "messages": [*system, *messages],
            "max_completion_tokens": backend.max_tokens,
        }
        return body | {"tools": [*tools]} if tools else body

    def read(self, response: JsonObject) -> ModelResponse:
        """Return the message of the first choice."""
        choice = next(iter(members(response, "choices")), None)
        message = choice.get("message") if choice else None
        if choice is None or not isinstance(message, dict):
            raise unreadable("it has no choices[0].message")
        content, refusal = message.get("content"), message.get("refusal")
        text = _text(content)
        if text is None or not isinstance(refusal, str | None):
            raise unreadable("the content of choices[0].message is not text")
        kept, calls = self._calls(message)
        back: JsonObject = {"role": "assistant", "content": content}
        usage = response.get("usage")
        return ModelResponse(
            messages=(back | {"tool_calls": [*kept]} if kept else back,),
            text=text or refusal or "",
            calls=calls,
            stop="refusal" if refusal else _STOPS.get(choice.get("finish_reason"), "done"),
            tokens_in=token_count(usage, "prompt_tokens"),
            tokens_out=token_count(usage, "completion_tokens"),
        )

    def _calls(self, message: JsonObject) -> tuple[list[JsonObject], tuple[ToolCall, ...]]:
        """Return the calls in two forms: one to send back to the API, and one to make.

        Arguments that are not an object are not sent back, because a server would fail to parse them.
        """
        found = [each for each in members(message, "tool_calls") if isinstance(each.get("function"), dict)]
        named = [each | {"id": own} for each, own in zip(found, normalise_ids(found), strict=True)]
        calls = self.provider.calls({"tool_calls": [*named]})
        kept: list[JsonObject] = []
        for each, call in zip(named, calls, strict=True):
            function = each["function"]
            assert isinstance(function, dict)
            written = function.get("arguments")
            if not isinstance(written, str) or not isinstance(call.arguments, dict):
                written = as_text(call.arguments) if isinstance(call.arguments, dict) else "{}"
            about: JsonObject = {"name": call.name, "arguments": written or "{}"}
            kept.append({"id": call.call_id, "type": "function", "function": about})
        return kept, calls


class ResponsesApi:
    """The OpenAI Responses API: ``POST BASE_URL/responses``. The server stores nothing between requests."""

    provider: Provider = load_provider("openai_responses")

    def key_header(self, key: str) -> tuple[str, str]:
        """Return the ``Authorization`` header with a bearer token."""
        return "Authorization", f"Bearer {key}"

    def open(self, url: str, http: httpx2.Client) -> Post:
        """See ``ModelApi.open``."""
        return _open("/responses", url, http)

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """Return the request body."""
        body: JsonObject = {
            "model": backend.model,
            "input": [*messages],
            "max_output_tokens": backend.max_tokens,
            "store": False,
        }
        body |= {"instructions": instructions} if instructions else {}
        return body | {"tools": [*tools]} if tools else body

    def read(self, response: JsonObject) -> ModelResponse:
        """Return the output items. They are sent back in order, because a call belongs to the reasoning before it."""
        if not isinstance(response.get("output"), list):
            raise unreadable("it has no list 'output'")
        items = members(response, "output")
        asked = [each for each in items if each.get("type") == "function_call"]
        ids = normalise_ids([{"id": each.get("call_id")} for each in asked])
        own = {id(each): each | {"call_id": name} for each, name in zip(asked, ids, strict=True)}
        calls = self.provider.calls({"output": [*own.values()]})
        objects = {call.call_id: call.arguments for call in calls if isinstance(call.arguments, dict)}
        parts = [part for each in items if each.get("type") == "message" for part in members(each, "content")]
        refusals = [part.get("refusal") for part in parts if part.get("type") == "refusal"]
        texts = [part.get("text") for part in parts if part.get("type") == "output_text"]
        usage = response.get("usage")
        return ModelResponse(
            messages=tuple(_responses_item(own.get(id(each), each), objects) for each in items),
            text="\n".join(each for each in (*texts, *refusals) if isinstance(each, str) and each),
            calls=calls,
            stop="refusal" if refusals else _stop(response),
            tokens_in=token_count(usage, "input_tokens"),
            tokens_out=token_count(usage, "output_tokens"),
        )


def _open(path: str, url: str, http: httpx2.Client) -> Post:
    client = openai.OpenAI(api_key=KEY_PLACEHOLDER, base_url=url, max_retries=0, timeout=None, http_client=http)
    return partial(_post, client, path)


def _post(client: openai.OpenAI, path: str, body: JsonObject) -> bytes:
    try:
        return client.post(path, cast_to=httpx2.Response, body=body).content
    except openai.APIConnectionError as error:
        raise failed_request(error) from None


def _text(content: JsonValue) -> str | None:
    """Return the text of a message, which some servers send in parts, or None if it is invalid."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    texts = (each.get("text") for each in content if isinstance(each, dict) and each.get("type") == "text")
    return "".join(each for each in texts if isinstance(each, str))


def _responses_item(item: JsonObject, arguments: dict[str, JsonObject]) -> JsonObject:
    """Return an item to send back. It has no id, because the server stores nothing, and its arguments are an object."""
    if item.get("type") == "reasoning":
        return item
    kept: JsonObject = {key: value for key, value in item.items() if key not in {"id", "status"}}
    if item.get("type") == "function_call":
        kept["arguments"] = as_text(arguments.get(str(item.get("call_id")), {}))
    return kept


def _stop(response: JsonObject) -> Stop:
    why = response.get("incomplete_details")
    reason = why.get("reason") if isinstance(why, dict) else None
    if response.get("status") != "incomplete":
        return "done"
    return "refusal" if reason == "content_filter" else "length"

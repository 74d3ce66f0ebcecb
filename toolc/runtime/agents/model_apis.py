"""The APIs of model providers: Anthropic Messages, OpenAI Chat Completions, and OpenAI Responses.

Most other model servers implement Chat Completions.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import anthropic
import httpx2
import openai

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.template import as_text
from toolc.providers import load_provider
from toolc.providers.base import Provider, members
from toolc.runtime.agents.model import ModelResponse, Post, Stop, failed_status, normalise_ids, token_count, unreadable
from toolc.runtime.agents.network import KEY_PLACEHOLDER, failed_request

_ANTHROPIC_STOPS: Final[dict[object, Stop]] = {
    "max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal",
}  # fmt: skip
_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

_OPENAI_STOPS: Final[dict[object, Stop]] = {"length": "length", "content_filter": "refusal"}


class AnthropicApi:
    """The Anthropic Messages API: ``POST BASE_URL/v1/messages``."""

    provider: Provider = load_provider("anthropic")

    def key_header(self, key: str) -> tuple[str, str]:
        """Return the ``X-Api-Key`` header."""
        return "X-Api-Key", key

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """Return the request body. Empty instructions are omitted, because the API rejects them."""
        body: JsonObject = {"model": backend.model, "max_tokens": backend.max_tokens, "messages": [*messages]}
        body |= {"system": instructions} if instructions else {}
        return body | {"tools": [*tools]} if tools else body

    def read(self, response: JsonObject) -> ModelResponse:
        """Return the message. Its blocks are sent back unchanged, because thinking blocks are signed."""
        if not isinstance(response.get("content"), list):
            raise unreadable("it has no list 'content'")
        blocks = members(response, "content")
        uses = [each for each in blocks if each.get("type") == "tool_use"]
        ids = dict(zip(map(id, uses), normalise_ids(uses), strict=True))
        kept = [_anthropic_block(each, ids.get(id(each))) for each in blocks if each.get("text") != ""]
        texts = (each.get("text") for each in blocks if each.get("type") == "text")
        usage = response.get("usage")
        return ModelResponse(
            messages=({"role": "assistant", "content": [*kept]},),
            text="\n".join(text for text in texts if isinstance(text, str) and text),
            calls=self.provider.calls({"content": [each | {"id": ids[id(each)]} for each in uses]}),
            stop=_ANTHROPIC_STOPS.get(response.get("stop_reason"), "done"),
            tokens_in=token_count(usage, *_READ),
            tokens_out=token_count(usage, "output_tokens"),
        )


class OpenAIApi:
    """The OpenAI Chat Completions API: ``POST BASE_URL/chat/completions``."""

    provider: Provider = load_provider("openai_chat")

    def key_header(self, key: str) -> tuple[str, str]:
        """Return the ``Authorization`` header with a bearer token."""
        return "Authorization", f"Bearer {key}"

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
            stop="refusal" if refusal else _OPENAI_STOPS.get(choice.get("finish_reason"), "done"),
            tokens_in=token_count(usage, "prompt_tokens"),
            tokens_out=token_count(usage, "completion_tokens"),
        )

    def _calls(self, message: JsonObject) -> tuple[list[JsonObject], tuple[ToolCall, ...]]:
        """Return the calls as they are sent back, and as they are made.

        Arguments that are not an object are not sent back, because servers parse them again and fail.
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


def open_anthropic(url: str, http: httpx2.Client) -> Post:
    """Return a function that sends requests with the SDK's client, without a key and without retries."""
    client = anthropic.Anthropic(api_key=KEY_PLACEHOLDER, base_url=url, max_retries=0, timeout=None, http_client=http)
    return partial(_post, client, "/v1/messages")


def open_openai(path: str, url: str, http: httpx2.Client) -> Post:
    """Return a function that sends requests to ``path`` below ``url``, without a key and without retries."""
    client = openai.OpenAI(api_key=KEY_PLACEHOLDER, base_url=url, max_retries=0, timeout=None, http_client=http)
    return partial(_post, client, path)


class ResponsesApi:
    """The OpenAI Responses API: ``POST BASE_URL/responses``. The server stores nothing between requests."""

    provider: Provider = load_provider("openai_responses")

    def key_header(self, key: str) -> tuple[str, str]:
        """Return the ``Authorization`` header with a bearer token."""
        return "Authorization", f"Bearer {key}"

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
        """Return the output items. They are sent back in order: a call belongs to the reasoning before it."""
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


def _anthropic_block(block: JsonObject, call_id: str | None) -> JsonObject:
    """Return a block to send back. The input of a call must be an object there, even if the model sent none."""
    if call_id is None:
        return block
    given = block.get("input")
    return {**block, "id": call_id, "input": given if isinstance(given, dict) else {}}


def _text(content: JsonValue) -> str | None:
    """Return the text of a message, which some servers send in parts, or None if it is invalid."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    texts = (each.get("text") for each in content if isinstance(each, dict) and each.get("type") == "text")
    return "".join(each for each in texts if isinstance(each, str))


def _post(client: anthropic.Anthropic | openai.OpenAI, path: str, body: JsonObject) -> bytes:
    try:
        return client.post(path, cast_to=httpx2.Response, body=body).content
    except (anthropic.APIStatusError, openai.APIStatusError) as error:
        response = error.response
        raise failed_status(response.status_code, response.content, response.headers.get("retry-after")) from None
    except (anthropic.APIConnectionError, openai.APIConnectionError) as error:
        raise failed_request(error) from None


def _responses_item(item: JsonObject, arguments: dict[str, JsonObject]) -> JsonObject:
    """Return an item to send back: without an id, because nothing is stored, and with an object as arguments."""
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

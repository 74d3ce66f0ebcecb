"""OpenAI's Chat Completions, which is also what most other servers of models speak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import httpx2
import openai

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.template import as_text
from toolc.providers import load_provider
from toolc.providers.base import Provider, members
from toolc.runtime.agent_model import Post, Stop, Turn, count, failed_status, own_ids, unreadable
from toolc.runtime.agent_transport import KEY_STAND_IN, failed_request

_STOPS: Final[dict[object, Stop]] = {"length": "length", "content_filter": "refusal"}


class OpenAIDialect:
    """``POST BASE_URL/chat/completions``."""

    provider: Provider = load_provider("openai_chat")

    def key_header(self, key: str) -> tuple[str, str]:
        """A bearer token."""
        return "Authorization", f"Bearer {key}"

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """The request; an empty list of tools would be refused."""
        system: list[JsonValue] = [{"role": "system", "content": instructions}] if instructions else []
        body: JsonObject = {
            "model": backend.model,
            "messages": [*system, *messages],
            "max_completion_tokens": backend.max_tokens,
        }
        return body | {"tools": [*tools]} if tools else body

    def read(self, response: JsonObject) -> Turn:
        """The message of the first choice."""
        choice = next(iter(members(response, "choices")), None)
        message = choice.get("message") if choice else None
        if choice is None or not isinstance(message, dict):
            raise unreadable("it has no choices[0].message")
        content, refusal = message.get("content"), message.get("refusal")
        text = _text(content)
        if text is None or not isinstance(refusal, str | None):
            raise unreadable("the content of choices[0].message is no text")
        kept, calls = self._calls(message)
        back: JsonObject = {"role": "assistant", "content": content}
        usage = response.get("usage")
        return Turn(
            said=(back | {"tool_calls": [*kept]} if kept else back,),
            text=text or refusal or "",
            calls=calls,
            stop="refusal" if refusal else _STOPS.get(choice.get("finish_reason"), "done"),
            tokens_in=count(usage, "prompt_tokens"),
            tokens_out=count(usage, "completion_tokens"),
        )

    def _calls(self, message: JsonObject) -> tuple[list[JsonObject], tuple[ToolCall, ...]]:
        """The calls as they go back, and as they are made.

        Arguments that are no object do not go back: servers read them again, and fail.
        """
        found = [each for each in members(message, "tool_calls") if isinstance(each.get("function"), dict)]
        named = [each | {"id": own} for each, own in zip(found, own_ids(found), strict=True)]
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


def _text(content: JsonValue) -> str | None:
    """The text of a message, which some servers have in parts; None where it is none."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    texts = (each.get("text") for each in content if isinstance(each, dict) and each.get("type") == "text")
    return "".join(each for each in texts if isinstance(each, str))


def open_openai(path: str, url: str, http: httpx2.Client) -> Post:
    """The SDK's client for ``path`` below ``url``, which is given no key and tries nothing twice."""
    client = openai.OpenAI(api_key=KEY_STAND_IN, base_url=url, max_retries=0, timeout=None, http_client=http)

    def post(body: JsonObject) -> bytes:
        try:
            return client.post(path, cast_to=httpx2.Response, body=body).content
        except openai.APIStatusError as error:
            answered = error.response
            raise failed_status(
                answered.status_code, answered.content, answered.headers.get("retry-after")
            ) from None
        except openai.APIConnectionError as error:
            raise failed_request(error) from None

    return post

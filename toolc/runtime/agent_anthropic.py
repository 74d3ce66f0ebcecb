"""Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anthropic
import httpx2

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import AgentBackend
from toolc.providers import load_provider
from toolc.providers.base import Provider, members
from toolc.runtime.agent_model import Post, Stop, Turn, count, failed_status, own_ids, unreadable
from toolc.runtime.agent_transport import KEY_STAND_IN, failed_request

_STOPS: Final[dict[object, Stop]] = {
    "max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal",
}  # fmt: skip
_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicDialect:
    """``POST BASE_URL/v1/messages``."""

    provider: Provider = load_provider("anthropic")

    def key_header(self, key: str) -> tuple[str, str]:
        """A header of its own."""
        return "X-Api-Key", key

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """The request; empty instructions would be refused."""
        body: JsonObject = {"model": backend.model, "max_tokens": backend.max_tokens, "messages": [*messages]}
        body |= {"system": instructions} if instructions else {}
        return body | {"tools": [*tools]} if tools else body

    def read(self, response: JsonObject) -> Turn:
        """The message, whose blocks go back as they came: thinking is signed."""
        if not isinstance(response.get("content"), list):
            raise unreadable("it has no list 'content'")
        blocks = members(response, "content")
        uses = [each for each in blocks if each.get("type") == "tool_use"]
        ids = dict(zip(map(id, uses), own_ids(uses), strict=True))
        kept = [_returned(each, ids.get(id(each))) for each in blocks if each.get("text") != ""]
        texts = (each.get("text") for each in blocks if each.get("type") == "text")
        usage = response.get("usage")
        return Turn(
            said=({"role": "assistant", "content": [*kept]},),
            text="\n".join(text for text in texts if isinstance(text, str) and text),
            calls=self.provider.calls({"content": [each | {"id": ids[id(each)]} for each in uses]}),
            stop=_STOPS.get(response.get("stop_reason"), "done"),
            tokens_in=count(usage, *_READ),
            tokens_out=count(usage, "output_tokens"),
        )


def _returned(block: JsonObject, call_id: str | None) -> JsonObject:
    """A block as it goes back. The input of a call must be an object there, also where it was none."""
    if call_id is None:
        return block
    given = block.get("input")
    return {**block, "id": call_id, "input": given if isinstance(given, dict) else {}}


def open_anthropic(url: str, http: httpx2.Client) -> Post:
    """The SDK's client, which is given no key and tries nothing twice."""
    client = anthropic.Anthropic(api_key=KEY_STAND_IN, base_url=url, max_retries=0, timeout=None, http_client=http)

    def post(body: JsonObject) -> bytes:
        try:
            return client.post("/v1/messages", cast_to=httpx2.Response, body=body).content
        except anthropic.APIStatusError as error:
            answered = error.response
            raise failed_status(
                answered.status_code, answered.content, answered.headers.get("retry-after")
            ) from None
        except anthropic.APIConnectionError as error:
            raise failed_request(error) from None

    return post

"""The Anthropic Messages API."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import anthropic
import httpx2

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import AgentBackend
from toolc.providers import load_provider
from toolc.providers.calls import members
from toolc.providers.provider import Provider
from toolc.runtime.agents.broker_transport import KEY_PLACEHOLDER, failed_request
from toolc.runtime.agents.model import ModelResponse, Post, Stop, normalise_ids, token_count, unreadable

_STOPS: Final[dict[object, Stop]] = {
    "max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal",
}  # fmt: skip
_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicApi:
    """The Anthropic Messages API: ``POST BASE_URL/v1/messages``."""

    provider: Provider = load_provider("anthropic")

    def key_header(self, key: str) -> tuple[str, str]:
        """Return the ``X-Api-Key`` header."""
        return "X-Api-Key", key

    def open(self, url: str, http: httpx2.Client) -> Post:
        """See ``ModelApi.open``."""
        client = anthropic.Anthropic(
            api_key=KEY_PLACEHOLDER, base_url=url, max_retries=0, timeout=None, http_client=http
        )
        return partial(_post, client)

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """Return the request body. Empty instructions are omitted, because the API rejects them."""
        body: JsonObject = {"model": backend.model, "max_tokens": backend.max_tokens, "messages": [*messages]}
        body |= {"system": instructions} if instructions else {}
        return body | {"tools": [*tools]} if tools else body

    def read(self, response: JsonObject) -> ModelResponse:
        """Return the model's message. Its blocks are sent back unchanged, because thinking blocks are signed."""
        if not isinstance(response.get("content"), list):
            raise unreadable("it has no list 'content'")
        blocks = members(response, "content")
        uses = [each for each in blocks if each.get("type") == "tool_use"]
        ids = dict(zip(map(id, uses), normalise_ids(uses), strict=True))
        kept = [_block(each, ids.get(id(each))) for each in blocks if each.get("text") != ""]
        texts = (each.get("text") for each in blocks if each.get("type") == "text")
        usage = response.get("usage")
        return ModelResponse(
            messages=({"role": "assistant", "content": [*kept]},),
            text="\n".join(text for text in texts if isinstance(text, str) and text),
            calls=self.provider.calls({"content": [each | {"id": ids[id(each)]} for each in uses]}),
            stop=_STOPS.get(response.get("stop_reason"), "done"),
            tokens_in=token_count(usage, *_READ),
            tokens_out=token_count(usage, "output_tokens"),
        )


def _post(client: anthropic.Anthropic, body: JsonObject) -> bytes:
    try:
        return client.post("/v1/messages", cast_to=httpx2.Response, body=body).content
    except anthropic.APIConnectionError as error:
        raise failed_request(error) from None


def _block(block: JsonObject, call_id: str | None) -> JsonObject:
    """Return a block to send back. The API requires an object as the input of a call, even if the model sent none."""
    if call_id is None:
        return block
    given = block.get("input")
    return {**block, "id": call_id, "input": given if isinstance(given, dict) else {}}

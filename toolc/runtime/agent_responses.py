"""OpenAI's Responses, which its newest models speak better than Chat Completions, and some of them alone."""

from __future__ import annotations

from collections.abc import Sequence

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.template import as_text
from toolc.providers import load_provider
from toolc.providers.base import Provider, members
from toolc.runtime.agent_model import Stop, Turn, count, own_ids, unreadable


class ResponsesDialect:
    """``POST BASE_URL/responses``. Nothing is stored there: the whole conversation is in each request."""

    provider: Provider = load_provider("openai_responses")

    def key_header(self, key: str) -> tuple[str, str]:
        """A bearer token."""
        return "Authorization", f"Bearer {key}"

    def body(
        self, backend: AgentBackend, instructions: str, messages: Sequence[JsonValue], tools: Sequence[JsonValue]
    ) -> JsonObject:
        """The request."""
        body: JsonObject = {
            "model": backend.model,
            "input": [*messages],
            "max_output_tokens": backend.max_tokens,
            "store": False,
        }
        body |= {"instructions": instructions} if instructions else {}
        return body | {"tools": [*tools]} if tools else body

    def read(self, response: JsonObject) -> Turn:
        """The items of the output, which go back in their order: a call belongs to the thoughts before it."""
        if not isinstance(response.get("output"), list):
            raise unreadable("it has no list 'output'")
        items = members(response, "output")
        asked = [each for each in items if each.get("type") == "function_call"]
        ids = own_ids([{"id": each.get("call_id")} for each in asked])
        own = {id(each): each | {"call_id": name} for each, name in zip(asked, ids, strict=True)}
        calls = self.provider.calls({"output": [*own.values()]})
        objects = {call.call_id: call.arguments for call in calls if isinstance(call.arguments, dict)}
        parts = [part for each in items if each.get("type") == "message" for part in members(each, "content")]
        refusals = [part.get("refusal") for part in parts if part.get("type") == "refusal"]
        texts = [part.get("text") for part in parts if part.get("type") == "output_text"]
        usage = response.get("usage")
        return Turn(
            said=tuple(_returned(own.get(id(each), each), objects) for each in items),
            text="\n".join(each for each in (*texts, *refusals) if isinstance(each, str) and each),
            calls=calls,
            stop="refusal" if refusals else _stop(response),
            tokens_in=count(usage, "input_tokens"),
            tokens_out=count(usage, "output_tokens"),
        )


def _returned(item: JsonObject, arguments: dict[str, JsonObject]) -> JsonObject:
    """An item as it goes back: without the id of what is not stored, with arguments that are an object."""
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

"""Join the chunks of a streamed response into the response that the API returns without streaming.

Start reading in ``join_chunks``. Each wire format has one function here or in ``gemini_stream``. These functions keep
what the conversation sends back (texts, reasoning with its signatures, calls) and ignore unknown chunks.

If a stream ends early, the response has no stop reason, and the arguments of its last call are kept unchanged even if
they are not JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers.calls import INVALID_JSON, members, parse_arguments
from toolc.providers.gemini_stream import join_gemini


def join_chunks(provider: str, chunks: Iterable[JsonObject]) -> JsonObject:
    """Return the response of a stream. Raises ``KeyError`` for a provider without streams."""
    return STREAMING[provider](chunks)


def _join_chat(chunks: Iterable[JsonObject]) -> JsonObject:
    """Join the chunks of Chat Completions, from OpenAI or Mistral. Only the first choice is read."""
    message: JsonObject = {"role": "assistant", "content": None}
    calls = _FunctionCalls()
    reason: JsonValue = None
    for chunk in chunks:
        # An event of Mistral has the chunk in data, and one of the helper of OpenAI's SDK in chunk.
        for choice in members(chunk.get("data", chunk.get("chunk", chunk)), "choices"):
            if choice.get("index", 0) != 0:
                continue
            reason = choice.get("finish_reason") or reason
            delta = _object(choice.get("delta"))
            for key, value in delta.items():
                if key not in {"role", "tool_calls"}:
                    message[key] = _joined(message.get(key), value)
            for part in members(delta, "tool_calls"):
                calls.add(part)
    if calls.found:
        message["tool_calls"] = [*calls.found]
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _joined(old: JsonValue, new: JsonValue) -> JsonValue:
    """Join two parts of a text or a list. For any other type, return the last value that is not null."""
    if new is None:
        return old
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if isinstance(old, list) or (isinstance(new, list) and isinstance(old, str)):
        return [*_chunks(old), *_chunks(new)]
    return new


def _chunks(content: JsonValue) -> list[JsonValue]:
    """Return the content of a Mistral message, a text or a list of chunks, as a list."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


class _FunctionCalls:
    """The ``tool_calls`` of Chat Completions, from their parts.

    OpenAI sends an index with each part, but the id and the name of a call only with its first part. Other servers send
    complete calls, all with the same index or without one. Some repeat the id and the name with each part, or leave
    them empty.
    """

    def __init__(self) -> None:
        self.found: list[JsonObject] = []
        self._last_at: dict[int | None, JsonObject] = {}

    def add(self, part: JsonObject) -> None:
        """Add a part to its call, or begin a new call."""
        given = _object(part.get("function"))
        call = self._begun(part, given)
        if call is None:
            call = {"type": "function", "function": {"name": "", "arguments": ""}}
            self.found.append(call)
        self._last_at[_index(part)] = self._last_at[None] = call
        is_repeated = bool(part.get("id")) and call.get("id") == part.get("id")
        call |= {
            key: value for key, value in part.items() if key not in {"index", "function"} and value not in (None, "")
        }
        function = _object(call["function"])
        name, known, arguments = str(given.get("name") or ""), str(function["name"]), function["arguments"]
        if not (known and name == known and (is_repeated or arguments)):
            function["name"] = known + name
        function["arguments"] = _joined(arguments, given.get("arguments"))
        call["function"] = function

    def _begun(self, part: JsonObject, given: JsonObject) -> JsonObject | None:
        """Return the call that a part continues, or None if it begins a new one."""
        call = self._last_at.get(_index(part))
        if call is None:
            return None
        if part.get("id") and call.get("id") and part["id"] != call["id"]:
            return None
        begins = bool(given.get("name")) and not part.get("id") and bool(given.get("arguments"))
        return None if begins and _is_object(_object(call["function"])["arguments"]) else call


def _is_object(arguments: JsonValue) -> bool:
    """Return whether the arguments are complete, that is, an object or the JSON of one."""
    if isinstance(arguments, str):
        return arguments.endswith("}") and isinstance(parse_arguments(arguments), dict)
    return isinstance(arguments, dict)


def _join_cohere(chunks: Iterable[JsonObject]) -> JsonObject:
    """Join the events of Cohere's Chat API, version 2."""
    message: JsonObject = {"role": "assistant"}
    contents: dict[int | None, JsonObject] = {}
    calls = _FunctionCalls()
    reason: JsonValue = None
    for event in chunks:
        delta = _object(event.get("delta"))
        reason = delta.get("finish_reason") or reason
        given = _object(delta.get("message"))
        if isinstance(plan := given.get("tool_plan"), str):
            message["tool_plan"] = _joined(message.get("tool_plan"), plan)
        if isinstance(part := given.get("tool_calls"), dict):
            calls.add({"index": event.get("index"), **part})
        if isinstance(content := given.get("content"), dict):
            block = contents.setdefault(_index(event), {})
            for key, value in content.items():
                block[key] = value if key == "type" else _joined(block.get(key), value)
    if calls.found:
        message["tool_calls"] = [*calls.found]
    if contents:
        message["content"] = [*contents.values()]
    return {"message": message, "finish_reason": reason}


def _join_ollama(chunks: Iterable[JsonObject]) -> JsonObject:
    """Join the chunks of Ollama's chat, in which each call is complete."""
    message: JsonObject = {"role": "assistant", "content": ""}
    reason: JsonValue = None
    for chunk in chunks:
        reason = chunk.get("done_reason") or reason
        for key, value in _object(chunk.get("message")).items():
            if key != "role":
                message[key] = _joined(message.get(key), value)
    return {"message": message, "done_reason": reason}


def _join_anthropic(chunks: Iterable[JsonObject]) -> JsonObject:
    """Join the events of Anthropic Messages."""
    message: JsonObject = {"role": "assistant", "stop_reason": None}
    content: dict[int | None, JsonObject] = {}
    inputs: dict[int | None, str] = {}
    for event in chunks:
        index, delta = _index(event), _object(event.get("delta"))
        match event.get("type"):
            case "message_start":
                message |= _object(event.get("message"))
            case "content_block_start":
                content[index] = {**_object(event.get("content_block"))}
            case "content_block_delta" if delta.get("type") == "input_json_delta":
                inputs[index] = inputs.get(index, "") + str(delta.get("partial_json") or "")
            case "content_block_delta":
                _add_delta(content.setdefault(index, {"type": "text"}), delta)
            case "message_delta":
                message |= {key: value for key, value in delta.items() if value is not None}
            case _:
                pass
    for index, text in inputs.items():
        if text and index in content:
            content[index]["input"] = _input(text)
    return message | {"content": [*content.values()]}


_DELTAS: Final = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def _add_delta(block: JsonObject, delta: JsonObject) -> None:
    key = _DELTAS.get(str(delta.get("type")))
    if key:
        block[key] = _joined(block.get(key), delta.get(key))
    elif delta.get("type") == "citations_delta":
        citations = block.get("citations")
        block["citations"] = [*(citations if isinstance(citations, list) else ()), delta.get("citation")]


def _input(text: str) -> JsonObject:
    """Return the input of a call. The API accepts only objects, so invalid JSON has the form Anthropic documents."""
    value = parse_arguments(text)
    return value if isinstance(value, dict) else {INVALID_JSON: text}


def _join_bedrock(chunks: Iterable[JsonObject]) -> JsonObject:
    """Join the events of the ``stream`` of Bedrock's ``converse_stream``."""
    content: dict[int | None, JsonObject] = {}
    inputs: dict[int | None, str] = {}
    reason: JsonValue = None
    for event in chunks:
        reason = _object(event.get("messageStop")).get("stopReason") or reason
        if start := _object(event.get("contentBlockStart")):
            content[_index(start, "contentBlockIndex")] = {**_object(start.get("start"))}
        if change := _object(event.get("contentBlockDelta")):
            index, delta = _index(change, "contentBlockIndex"), _object(change.get("delta"))
            block = content.setdefault(index, {})
            if isinstance(use := delta.get("toolUse"), dict):
                inputs[index] = inputs.get(index, "") + str(use.get("input") or "")
            elif isinstance(reasoning := delta.get("reasoningContent"), dict):
                block["reasoningContent"] = _with_reasoning(_object(block.get("reasoningContent")), reasoning)
            elif isinstance(text := delta.get("text"), str):
                block["text"] = _joined(block.get("text"), text)
    for index, block in content.items():
        if isinstance(use := block.get("toolUse"), dict):
            text = inputs.get(index, "")
            block["toolUse"] = {**use, "input": _input(text) if text else {}}
    message: JsonObject = {"role": "assistant", "content": [*content.values()]}
    return {"output": {"message": message}, "stopReason": reason}


def _with_reasoning(block: JsonObject, delta: JsonObject) -> JsonObject:
    """Add a delta to a reasoning block. In a message, its text and signature are in a separate object."""
    if "redactedContent" in delta:
        return block | delta
    known = _object(block.get("reasoningText"))
    return {"reasoningText": known | {key: _joined(known.get(key), value) for key, value in delta.items()}}


_RESPONSE_ENDS: Final = ("response.completed", "response.failed", "response.incomplete")


def _join_responses(chunks: Iterable[JsonObject]) -> JsonObject:
    """Join the events of OpenAI Responses. The last event has the response. If it is missing, join the items."""
    response: JsonObject = {"status": "incomplete"}
    items: dict[int | None, JsonObject] = {}
    begun: set[int | None] = set()
    for event in chunks:
        index, kind = _index(event, "output_index"), event.get("type")
        if kind in _RESPONSE_ENDS:
            response = _object(event.get("response"))
        elif kind == "response.output_item.added":
            items[index] = {**_object(event.get("item"))}
            begun.add(index)
        elif kind == "response.output_item.done":
            items[index] = {**_object(event.get("item"))}
            begun.discard(index)
        elif kind == "response.function_call_arguments.delta" and index in items:
            items[index]["arguments"] = _joined(items[index].get("arguments"), event.get("delta"))
        elif kind == "response.function_call_arguments.done" and index in items:
            items[index]["arguments"] = event.get("arguments")
    output = members(response, "output") or [
        item for index, item in items.items() if index not in begun or item.get("type") == "function_call"
    ]
    return response | {"output": [_without_parsed(item) for item in output]}


def _without_parsed(item: JsonObject) -> JsonObject:
    """Return an item without the fields that the helper of OpenAI's SDK adds, because the API rejects them."""
    item = {key: value for key, value in item.items() if key not in {"parsed", "parsed_arguments"}}
    if content := members(item, "content"):
        item["content"] = [_without_parsed(part) for part in content]
    return item


def _index(part: JsonObject, key: str = "index") -> int | None:
    """Return the position of a part in the response, or None if it has none."""
    value = part.get(key)
    return value if isinstance(value, int) else None


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


STREAMING: Final[dict[str, Callable[[Iterable[JsonObject]], JsonObject]]] = {
    "openai_chat": _join_chat,
    "openai_responses": _join_responses,
    "anthropic": _join_anthropic,
    "gemini": join_gemini,
    "bedrock": _join_bedrock,
    "mistral": _join_chat,
    "cohere": _join_cohere,
    "ollama": _join_ollama,
}
"""The function that joins the chunks of each provider. MCP has no streamed responses."""

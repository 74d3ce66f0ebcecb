"""Responses of each provider's API with texts and calls: whole, as the chunks of a stream, and on the wire.

The arguments of a call are the text that the model wrote. It may be broken JSON where the API sends a text.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

Cut: TypeAlias = Callable[[str], list[str]]
"""Splits a text into the pieces that a stream sends."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a model."""

    call_id: str
    name: str
    arguments: str


def whole_text(text: str) -> list[str]:
    """Do not split a text."""
    return [text]


def response(provider: str, text: str, calls: Iterable[Asked]) -> Json:
    """Return the JSON of a whole response."""
    return _RESPONSES[provider](text, [*calls])


def chunks(provider: str, text: str, calls: Iterable[Asked], cut: Cut = whole_text) -> list[Json]:
    """Return the chunks of a streamed response, with texts, names and arguments split by ``cut``."""
    return _CHUNKS[provider](text, [*calls], cut)


def stream_body(provider: str, parts: Iterable[Json]) -> tuple[str, bytes]:
    """Return the content type and the bytes of a stream."""
    if provider == "bedrock":
        return "application/vnd.amazon.eventstream", b"".join(map(_amazon_event, parts))
    if provider == "ollama":
        return "application/x-ndjson", b"".join(json.dumps(each).encode() + b"\n" for each in parts)
    lines = []
    for each in parts:
        event = f"event: {each['type']}\n" if "type" in each else ""
        lines.append(f"{event}data: {json.dumps(each)}\n\n")
    done = "data: [DONE]\n\n" if provider in {"openai_chat", "mistral"} else ""
    return "text/event-stream", "".join([*lines, done]).encode()


def _amazon_event(event: Json) -> bytes:
    """Encode one event in Amazon's binary format: lengths, checksums, headers and a JSON payload."""
    ((kind, payload),) = event.items()
    body = json.dumps(payload).encode()
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in (
            (":event-type", kind), (":content-type", "application/json"), (":message-type", "event"),
        )
    )  # fmt: skip
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


def _function(call: Asked) -> Json:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _chat(text: str, calls: list[Asked]) -> Json:
    message: Json = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [_function(each) for each in calls]
    choice: Json = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage: Json = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage,
    }  # fmt: skip


def _chat_chunk(delta: Json, reason: str | None = None) -> Json:
    choice: Json = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _chat_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    deltas: list[Json] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in cut(text))]
    for index, call in enumerate(calls):
        first, *names = cut(call.name)
        begun: Json = {"name": first, "arguments": ""}
        parts: list[Json] = [{"id": call.call_id, "type": "function", "function": begun}]
        parts += [{"function": {"name": piece}} for piece in names]
        parts += [{"function": {"arguments": piece}} for piece in cut(call.arguments)]
        deltas += [{"tool_calls": [{"index": index, **part}]} for part in parts]
    return [*map(_chat_chunk, deltas), _chat_chunk({}, "tool_calls" if calls else "stop")]


def _mistral_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    """Mistral splits only texts, and sends all calls whole in the last chunk."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in cut(text))]
    made: Json = {"content": "", "tool_calls": [{**_function(each), "index": at} for at, each in enumerate(calls)]}
    return [
        *map(_chat_chunk, deltas),
        _chat_chunk(made if calls else {"content": ""}, "tool_calls" if calls else "stop"),
    ]


def _response_item(call: Asked, arguments: str, status: str = "completed") -> Json:
    return {
        "id": f"fc_{call.call_id}", "type": "function_call", "status": status, "call_id": call.call_id,
        "name": call.name, "arguments": arguments,
    }  # fmt: skip


def _response_message(text: str) -> Json:
    content = [_text_part(text)]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}


def _text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _responses(text: str, calls: list[Asked]) -> Json:
    usage: Json = {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
    }  # fmt: skip
    output = [_response_message(text), *(_response_item(each, each.arguments) for each in calls)]
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": [*output], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage,
    }  # fmt: skip


def _responses_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    empty = {**_responses(text, calls), "output": [], "status": "in_progress"}
    message: Json = {**_response_message(text), "content": [], "status": "in_progress"}
    place: Json = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[Json] = [
        {"type": "response.created", "response": empty},
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {"type": "response.content_part.added", **place, "part": _text_part("")},
        *({"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []} for piece in cut(text)),
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": _text_part(text)},
        {"type": "response.output_item.done", "output_index": 0, "item": _response_message(text)},
    ]
    for index, call in enumerate(calls, 1):
        at: Json = {"output_index": index}
        of: Json = {**at, "item_id": f"fc_{call.call_id}"}
        kind = "response.function_call_arguments"
        done: Json = {"type": f"{kind}.done", **of, "name": call.name, "arguments": call.arguments}
        events.append({"type": "response.output_item.added", **at, "item": _response_item(call, "", "in_progress")})
        events += [{"type": f"{kind}.delta", **of, "delta": piece} for piece in cut(call.arguments)]
        events += [done, {"type": "response.output_item.done", **at, "item": _response_item(call, call.arguments)}]
    events.append({"type": "response.completed", "response": _responses(text, calls)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _anthropic(text: str, calls: list[Asked]) -> Json:
    content: list[Json] = [{"type": "text", "text": text}]
    content += [
        {"type": "tool_use", "id": each.call_id, "name": each.name, "input": json.loads(each.arguments or "{}")}
        for each in calls
    ]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [*content],
        "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def _anthropic_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    message = {**_anthropic("", []), "content": [], "stop_reason": None}
    events: list[Json] = [{"type": "message_start", "message": message}]
    blocks: list[tuple[Json, list[Json]]] = [
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in cut(text)]),
        *(
            (
                {"type": "tool_use", "id": each.call_id, "name": each.name, "input": {}},
                [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *cut(each.arguments)]],
            )
            for each in calls
        ),
    ]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end: Json = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]


def _gemini_response(parts: list[Json], reason: str | None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": [*parts]}, "index": 0}
    usage: Json = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})], "usageMetadata": usage}


def _gemini_call(call: Asked) -> Json:
    return {"functionCall": {"id": call.call_id, "name": call.name, "args": json.loads(call.arguments or "{}")}}


def _gemini(text: str, calls: list[Asked]) -> Json:
    return _gemini_response([{"text": text}, *map(_gemini_call, calls)], "STOP")


def _gemini_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    """Gemini sends calls whole."""
    parts: list[Json] = [*({"text": piece} for piece in cut(text)), *map(_gemini_call, calls)]
    return [*(_gemini_response([part], None) for part in parts), _gemini_response([{"text": ""}], "STOP")]


def _bedrock(text: str, calls: list[Asked]) -> Json:
    content: list[Json] = [{"text": text}]
    content += [
        {"toolUse": {"toolUseId": each.call_id, "name": each.name, "input": json.loads(each.arguments or "{}")}}
        for each in calls
    ]
    return {
        "output": {"message": {"role": "assistant", "content": [*content]}},
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1},
    }  # fmt: skip


def _bedrock_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    events: list[Json] = [{"messageStart": {"role": "assistant"}}]
    events += [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": piece}}} for piece in cut(text)]
    events.append({"contentBlockStop": {"contentBlockIndex": 0}})
    for index, call in enumerate(calls, 1):
        at: Json = {"contentBlockIndex": index}
        use: Json = {"toolUse": {"toolUseId": call.call_id, "name": call.name}}
        events.append({"contentBlockStart": {**at, "start": use}})
        events += [
            {"contentBlockDelta": {**at, "delta": {"toolUse": {"input": piece}}}} for piece in cut(call.arguments)
        ]
        events.append({"contentBlockStop": at})
    return [*events, {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}]


def _cohere(text: str, calls: list[Asked]) -> Json:
    message: Json = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    if calls:
        message = {"role": "assistant", "tool_plan": text, "tool_calls": [_function(each) for each in calls]}
    return {"id": "r", "message": message, "finish_reason": "TOOL_CALL" if calls else "COMPLETE"}


def _cohere_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    def event(kind: str, index: int | None = None, **message: Any) -> Json:
        about: Json = {"type": kind} if index is None else {"type": kind, "index": index}
        return about | ({"delta": {"message": message}} if message else {})

    events = [{**event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[]), "id": "r"}]
    if calls:
        events += [event("tool-plan-delta", tool_plan=piece) for piece in cut(text)]
    else:
        events.append(event("content-start", 0, content={"type": "text", "text": ""}))
        events += [event("content-delta", 0, content={"text": piece}) for piece in cut(text)]
        events.append(event("content-end", 0))
    for index, call in enumerate(calls):
        events.append(event("tool-call-start", index, tool_calls=_function(Asked(call.call_id, call.name, ""))))
        events += [
            event("tool-call-delta", index, tool_calls={"function": {"arguments": piece}})
            for piece in cut(call.arguments)
        ]
        events.append(event("tool-call-end", index))
    return [*events, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL" if calls else "COMPLETE"}}]


def _ollama_message(text: str, calls: list[Asked]) -> Json:
    made: list[Any] = [
        {"function": {"name": each.name, "arguments": json.loads(each.arguments or "{}")}} for each in calls
    ]
    return {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})


def _ollama_chunk(message: Json, reason: str | None) -> Json:
    done: Json = {"done": True, "done_reason": reason} if reason else {"done": False}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, **done}


def _ollama(text: str, calls: list[Asked]) -> Json:
    return _ollama_chunk(_ollama_message(text, calls), "stop")


def _ollama_chunks(text: str, calls: list[Asked], cut: Cut) -> list[Json]:
    """Ollama sends calls whole."""
    messages = [*(_ollama_message(piece, []) for piece in cut(text)), *(_ollama_message("", [each]) for each in calls)]
    return [*(_ollama_chunk(each, None) for each in messages), _ollama_chunk(_ollama_message("", []), "stop")]


_RESPONSES: Final[dict[str, Callable[[str, list[Asked]], Json]]] = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "mistral": _chat,
    "cohere": _cohere,
    "ollama": _ollama,
}
_CHUNKS: Final[dict[str, Callable[[str, list[Asked], Cut], list[Json]]]] = {
    "openai_chat": _chat_chunks,
    "openai_responses": _responses_chunks,
    "anthropic": _anthropic_chunks,
    "gemini": _gemini_chunks,
    "bedrock": _bedrock_chunks,
    "mistral": _mistral_chunks,
    "cohere": _cohere_chunks,
    "ollama": _ollama_chunks,
}

"""The chunks of a stream give the same calls and messages as the whole response, wherever the stream is split."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.model_responses import Asked, Cut, chunks, response, whole_text
from models.sdk_objects import chunk_reader
from schemas.random_json import with_one_change

from toolc import ToolCall, UsageError, acollect_response, collect_response, tool_calls
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers import response_streams
from toolc.providers.response_streams import STREAMING

ASKED = (
    Asked("c1", "look", '{"at": "the m\\u00f6\\ud83c\\udf19n", "deep": {"x": [1, null, true]}}'),
    Asked("c2", "list", ""),
    Asked("c3", "look", '{"at": ""}'),
)
TEXT = "I will look."
IN_PARTS = ("openai_chat", "openai_responses", "anthropic", "bedrock", "cohere")
"""The providers that send arguments in parts."""


def letters(text: str) -> list[str]:
    return [*text]


def simple(call: ToolCall) -> tuple[str, object]:
    return call.name, call.arguments


@pytest.mark.parametrize("cut", [whole_text, letters])
@pytest.mark.parametrize("provider", STREAMING)
def test_chunks_of_the_sdk_give_the_calls_and_the_message_of_the_response(provider: str, cut: Cut) -> None:
    parts = chunks(provider, TEXT, ASKED, cut)
    whole = response(provider, TEXT, ASKED)
    read = chunk_reader(provider)
    calls = tool_calls(provider, whole)
    assert [simple(each) for each in calls] == [(each.name, json.loads(each.arguments or "{}")) for each in ASKED]
    for given_chunks in (parts, [read(part) for part in parts], iter(parts)):
        collected = collect_response(provider, given_chunks)
        assert tool_calls(provider, collected) == calls
        assert message(provider, collected) == message(provider, whole)


def message(provider: str, answer: Any) -> object:
    """Return what belongs to the conversation."""
    match provider:
        case "openai_chat" | "mistral":
            return answer["choices"][0]["message"]
        case "openai_responses":
            return answer["output"]
        case "anthropic":
            return answer["content"]
        case "gemini":
            return answer["candidates"][0]["content"]
        case "bedrock":
            return answer["output"]["message"]
        case _:
            return answer["message"]


NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(st.text(max_size=6), VALUES, max_size=4)), max_size=4)


@pytest.mark.slow
@pytest.mark.parametrize("provider", STREAMING)
@given(text=st.text(max_size=20), functions=CALLS, data=st.data())
def test_any_split_gives_the_same_calls(provider: str, text: str, functions: Any, data: st.DataObject) -> None:
    asked = [Asked(f"c{at}", name, json.dumps(arguments)) for at, (name, arguments) in enumerate(functions)]

    def cut(whole: str) -> list[str]:
        at = sorted(data.draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=4)))
        return [whole[begin:end] for begin, end in zip([0, *at], [*at, len(whole)], strict=True)]

    collected = collect_response(provider, chunks(provider, text, asked, cut))
    assert [simple(each) for each in tool_calls(provider, collected)] == functions
    if provider in IN_PARTS:
        assert [each.call_id for each in tool_calls(provider, collected)] == [each.call_id for each in asked]


@pytest.mark.parametrize("provider", STREAMING)
def test_a_stream_that_ends_early_has_no_call_with_half_of_its_arguments(provider: str) -> None:
    parts = chunks(provider, TEXT, ASKED, letters)
    whole = {each.call_id: each for each in tool_calls(provider, collect_response(provider, parts))}
    for end in range(len(parts)):
        calls = tool_calls(provider, collect_response(provider, parts[:end]))
        for call in calls[:-1]:
            assert call == whole[call.call_id]
        for call in calls[-1:]:
            complete = isinstance(call.arguments, dict) and call == whole[call.call_id]
            assert complete or isinstance(call.arguments, str), (end, call)


def test_texts_that_are_complete_are_kept_if_the_stream_of_responses_ends_early() -> None:
    parts = chunks("openai_responses", TEXT, ASKED[:1])
    kinds = [part["type"] for part in parts]
    done = kinds.index("response.output_item.done")
    assert collect_response("openai_responses", parts[:done])["output"] == []
    (text,) = collect_response("openai_responses", parts[: done + 1])["output"]
    assert text["content"][0]["text"] == TEXT
    collected = collect_response("openai_responses", parts[:-1])
    assert [item["type"] for item in collected["output"]] == ["message", "function_call"]


@pytest.mark.parametrize("provider", IN_PARTS)
@pytest.mark.parametrize("arguments", ['{"at": "moon', "{at: moon}", '["moon"]', '{"at": NaN}}'])
def test_a_call_with_broken_json_is_kept_with_its_text(provider: str, arguments: str) -> None:
    asked = [ASKED[2], Asked("c9", "look", arguments)]
    first, second = tool_calls(provider, collect_response(provider, chunks(provider, TEXT, asked, letters)))
    assert first == ToolCall(name="look", arguments={"at": ""}, call_id="c3")
    assert (second.name, second.call_id) == ("look", "c9")
    assert second.arguments in (arguments, ["moon"])


@pytest.mark.slow
@pytest.mark.parametrize("provider", STREAMING)
@given(data=st.data())
def test_no_chunk_makes_joining_fail(provider: str, data: st.DataObject) -> None:
    parts = data.draw(with_one_change(chunks(provider, TEXT, ASKED[1:])))
    collected = collect_response(provider, [each for each in parts if isinstance(each, dict)])
    for call in tool_calls(provider, collected):
        assert isinstance(call.name, str)


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_broken_json_is_sent_back_in_an_object(provider: str) -> None:
    """The API accepts only objects as input of a call."""
    collected = collect_response(provider, chunks(provider, "", [Asked("c9", "look", "{at")]))
    assert '{"INVALID_JSON": "{at"}' in json.dumps(message(provider, collected))


FUNCTION_PARTS: dict[str, list[JsonObject]] = {
    "complete calls with the same index": [
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": '{"at": 1}'}},
        {"index": 0, "id": "b", "function": {"name": "look", "arguments": '{"at": 2}'}},
    ],
    "complete calls without index or id": [
        {"function": {"name": "look", "arguments": '{"at": 1}'}},
        {"function": {"name": "look", "arguments": '{"at": 2}'}},
    ],
    "arguments that are objects": [
        {"id": "a", "function": {"name": "look", "arguments": {"at": 1}}},
        {"id": "b", "function": {"name": "look", "arguments": {"at": 2}}},
    ],
    "id and name repeated with each part": [
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": '{"at"'}},
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": ": 1}"}},
        {"index": 1, "id": "b", "function": {"name": "look", "arguments": '{"at"'}},
        {"index": 1, "id": "b", "function": {"name": "look", "arguments": ": 2}"}},
    ],
    "name repeated with each part": [
        {"index": 0, "function": {"name": "look", "arguments": '{"at"'}},
        {"index": 0, "function": {"name": "look", "arguments": ": 1}"}},
        {"index": 1, "function": {"name": "look", "arguments": '{"at": 2}'}},
    ],
    "parts of parallel calls in turns": [
        {"index": 0, "id": "a", "function": {"name": "lo", "arguments": ""}},
        {"index": 1, "id": "b", "function": {"name": "l", "arguments": ""}},
        {"index": 0, "function": {"name": "ok"}},
        {"index": 1, "function": {"name": "ook", "arguments": None}},
        {"index": 1, "function": {"arguments": '{"at": 2}'}},
        {"index": 0, "function": {"arguments": '{"at": 1}'}},
    ],
}


def test_an_empty_id_does_not_replace_the_id_of_a_call() -> None:
    parts: list[JsonObject] = [
        {"index": 0, "id": "a", "type": "function", "function": {"name": "look", "arguments": ""}},
        {"index": 0, "id": "", "type": "", "function": {"name": "", "arguments": '{"at": 1}'}},
    ]
    response = collect_response("openai_chat", [{"choices": [{"delta": {"tool_calls": [part]}}]} for part in parts])
    assert [(call.call_id, *simple(call)) for call in tool_calls("openai_chat", response)] == [("a", "look", {"at": 1})]
    assert response["choices"][0]["message"]["tool_calls"][0]["type"] == "function"


@pytest.mark.parametrize("parts", FUNCTION_PARTS.values(), ids=FUNCTION_PARTS)
def test_servers_with_the_api_of_openai_split_calls_in_other_ways(parts: list[JsonObject]) -> None:
    stream: list[JsonObject] = [{"choices": [{"delta": {"tool_calls": [part]}}]} for part in parts]
    calls = tool_calls("openai_chat", collect_response("openai_chat", stream))
    assert [simple(each) for each in calls] == [("look", {"at": 1}), ("look", {"at": 2})]


def test_arguments_are_parsed_once_and_not_with_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def count(text: JsonValue) -> JsonValue:
        parsed.append(text)
        return text

    monkeypatch.setattr(response_streams, "parse_arguments", count)
    for provider in IN_PARTS:
        parsed.clear()
        collect_response(provider, chunks(provider, TEXT, ASKED[:1], letters))
        assert len(parsed) <= 1, provider


def test_fields_of_a_server_that_the_next_request_needs_are_kept() -> None:
    extra: JsonObject = {"google": {"thought_signature": "s"}}
    deltas: list[JsonObject] = [
        {"reasoning_content": "So"},
        {"reasoning_content": "."},
        {"tool_calls": [{"index": 0, "id": "a", "extra_content": extra, "function": {"name": "look"}}]},
    ]
    collected = collect_response("openai_chat", [{"choices": [{"delta": delta}]} for delta in deltas])
    sent = collected["choices"][0]["message"]
    assert sent["reasoning_content"] == "So."
    assert sent["tool_calls"][0]["extra_content"] == extra


def test_reasoning_keeps_its_signatures() -> None:
    events: list[JsonObject] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "So"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s=="}},
    ]  # fmt: skip
    (block,) = collect_response("anthropic", events)["content"]
    assert block == {"type": "thinking", "thinking": "So.", "signature": "s=="}
    reasoning = [{"text": "So"}, {"text": "."}, {"signature": "s=="}]
    deltas = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": each}}} for each in reasoning
    ]
    (block,) = collect_response("bedrock", deltas)["output"]["message"]["content"]
    assert block == {"reasoningContent": {"reasoningText": {"text": "So.", "signature": "s=="}}}


def test_gemini_keeps_the_signature_of_each_part() -> None:
    from google.genai.types import GenerateContentResponse

    parts: list[JsonObject] = [
        {"text": "So", "thought": True}, {"text": ".", "thought": True}, {"text": "a"}, {"text": "b"},
        {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"},
        {"text": "", "thoughtSignature": "c2ln"},
    ]  # fmt: skip
    stream = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    joined = [{"text": "So.", "thought": True}, {"text": "ab"}, *parts[4:]]
    for given_chunks in (stream, [GenerateContentResponse.model_validate(each) for each in stream]):
        collected = collect_response("gemini", given_chunks)
        assert collected["candidates"][0]["content"] == {"role": "model", "parts": joined}


def test_gemini_arguments_arrive_in_parts() -> None:
    """Vertex AI sends them so if ``streamFunctionCallArguments`` is on."""
    calls: list[Any] = [
        {"id": "a", "name": "book", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.room", "stringValue": "Blue ", "willContinue": True}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.room", "stringValue": "Room"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.guests[0].name", "stringValue": "Ada"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.guests[1]['first name']", "stringValue": "Bo"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.size", "numberValue": 2}, {"jsonPath": "$.day", "nullValue": "NULL_VALUE"}]},
        {"id": "b", "name": "list", "args": {}},
    ]
    stream = [{"candidates": [{"content": {"parts": [{"functionCall": call}]}}]} for call in calls]
    first, second = tool_calls("gemini", collect_response("gemini", stream))
    guests: list[Any] = [{"name": "Ada"}, {"first name": "Bo"}]
    assert first == ToolCall(
        name="book", arguments={"room": "Blue Room", "guests": guests, "size": 2, "day": None}, call_id="a"
    )
    assert simple(second) == ("list", {})
    (cut_off,) = tool_calls("gemini", collect_response("gemini", stream[:3]))
    assert cut_off.arguments == "the arguments are not complete"


async def _slowly(parts: list[JsonObject]) -> Any:
    for part in parts:
        yield part


def test_an_asynchronous_stream_gives_the_same_response() -> None:
    import asyncio

    parts = chunks("openai_chat", TEXT, ASKED)
    collected = asyncio.run(acollect_response("openai_chat", _slowly(parts)))
    assert collected == collect_response("openai_chat", parts)


def test_misuse_says_what_to_pass() -> None:
    with pytest.raises(UsageError, match="mcp does not stream responses; the providers that do are: openai_chat"):
        collect_response("mcp", [])
    with pytest.raises(UsageError, match="use acollect_response"):
        collect_response("openai_chat", _slowly([]))
    with pytest.raises(UsageError, match="pass a stream to collect_response first"):
        tool_calls("openai_chat", [])
    with pytest.raises(UsageError, match="a chunk must be an object of the provider's SDK, or its JSON, not a int"):
        collect_response("openai_chat", [1])

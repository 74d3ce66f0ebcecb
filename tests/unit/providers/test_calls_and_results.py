"""How each provider reads calls from a response, and what the model receives as results."""

import json
from typing import Any

import pytest
from provider_cases import assert_accepted

from toolc import Audio, Image, Resource, Text, ToolCall, ToolResult, tool_calls, tool_messages
from toolc.model.json_schema import JsonObject, JsonValue

PNG = Image(b"\x89PNG\r\n\x1a\n", "image/png")
MP3 = Audio(b"ID3", "audio/mpeg")
OGG = Audio(b"OggS", "audio/ogg")
PDF = Resource(b"%PDF-1.7", "application/pdf", "a.pdf")
CSV = Resource(b"a,b\n", "text/csv", "t.csv")
ZIP = Resource(b"PK", "application/zip", "z.zip")

CALLS = (
    ToolCall(name="look", arguments={"at": "moon"}, call_id="c1"),
    ToolCall(name="list", arguments={}, call_id="c2"),
)
MIXED = ToolResult(content=(Text("seen"), PNG, MP3, OGG, PDF, CSV, ZIP, Text("")))
FAILED = ToolResult.failure("no such moon", kind="not_found")


def with_media(result: ToolResult) -> list[Any]:
    return [result, ToolResult.success({"n": 1})]


def test_openai_chat_reads_its_response() -> None:
    from openai.types.chat import ChatCompletion

    response = ChatCompletion.model_validate(
        {
            "id": "r", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [
                {
                    "index": 0, "finish_reason": "tool_calls",
                    "message": {
                        "role": "assistant", "content": None,
                        "tool_calls": [
                            {"id": each, "type": "function", "function": {"name": name, "arguments": arguments}}
                            for each, name, arguments in (("c1", "look", '{"at": "moon"}'), ("c2", "list", ""))
                        ],
                    },
                }
            ],
        }
    )  # fmt: skip
    assert tool_calls("openai_chat", response) == CALLS
    assert tool_calls("openai_chat", response.choices[0].message) == CALLS
    assert tool_calls("openai_chat", {"choices": [{"message": {"content": "done"}}]}) == ()


def test_openai_responses_reads_its_response() -> None:
    output = [
        {"type": "reasoning", "id": "x", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "moon"}'},
        {"type": "function_call", "call_id": "c2", "name": "list", "arguments": "{}"},
    ]
    assert tool_calls("openai_responses", {"output": output}) == CALLS


def test_anthropic_reads_its_response() -> None:
    from anthropic.types import Message

    response = Message.model_validate(
        {
            "id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "moon"}},
                {"type": "tool_use", "id": "c2", "name": "list", "input": {}},
            ],
        }
    )  # fmt: skip
    assert tool_calls("anthropic", response) == CALLS


@pytest.mark.slow
def test_gemini_reads_its_response_with_ids_and_without() -> None:
    from google.genai import types

    parts = [
        {"text": "I will look."},
        {"function_call": {"id": "c1", "name": "look", "args": {"at": "moon"}}},
        {"function_call": {"name": "list"}},
    ]
    response = types.GenerateContentResponse.model_validate(
        {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    )
    first, second = tool_calls("gemini", response)
    assert first == CALLS[0]
    assert (second.name, second.arguments) == ("list", {})
    (message,) = tool_messages("gemini", (first, second), with_media(FAILED))
    responses = [part["functionResponse"] for part in message["parts"]]
    # The model gave the second none, and would not know it.
    assert [each.get("id") for each in responses] == ["c1", None]


def test_gemini_calls_without_an_id_or_arguments_are_complete() -> None:
    parts: list[JsonValue] = [
        {"functionCall": {"id": "c1", "name": "look", "args": {"at": "moon"}}},
        {"functionCall": {"name": "list"}},
        {"functionCall": {"name": "list", "args": None}},
    ]
    content: JsonObject = {"role": "model", "parts": parts}
    calls = tool_calls("gemini", content)
    assert calls == tool_calls("gemini", {"candidates": [{"content": content}]})
    assert calls == (
        CALLS[0],
        ToolCall(name="list", arguments={}, call_id="toolc_call_1"),
        ToolCall(name="list", arguments={}, call_id="toolc_call_2"),
    )
    (message,) = tool_messages("gemini", calls, [FAILED] * 3)
    # The model does not know the ids that toolc added.
    assert [part["functionResponse"].get("id") for part in message["parts"]] == ["c1", None, None]


@pytest.mark.parametrize("provider", ["gemini", "mcp"])
def test_arguments_of_the_wrong_type_are_unchanged(provider: str) -> None:
    response: dict[str, JsonObject] = {
        "gemini": {"parts": [{"functionCall": {"name": "look", "args": []}}]},
        "mcp": {"method": "tools/call", "params": {"name": "look", "arguments": []}},
    }
    (call,) = tool_calls(provider, response[provider])
    assert call.arguments == []


def test_anthropic_shows_only_pdf_files_as_documents() -> None:
    (message,) = tool_messages("anthropic", CALLS[:1], [ToolResult(content=(PDF, ZIP, PNG))])
    assert message["content"][0]["content"] == [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
            "title": "a.pdf",
        },
        {"type": "text", "text": "[the file 'z.zip' (application/zip, 2 bytes): it cannot be shown here]"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    ]


def test_mcp_reads_its_request() -> None:
    request: dict[str, JsonValue] = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "look", "arguments": {"at": "moon"}},
    }
    assert tool_calls("mcp", request) == (ToolCall(name="look", arguments={"at": "moon"}, call_id="7"),)
    assert tool_calls("mcp", {"method": "tools/list", "params": {}}) == ()
    assert tool_calls("mcp", {"id": 7, "method": "tools/call", "params": {"name": "list"}}) == (
        ToolCall(name="list", arguments={}, call_id="7"),
    )


@pytest.mark.parametrize("arguments", ['{"at": ', "[1]", "NaN?"])
def test_arguments_that_are_not_an_object_are_unchanged(arguments: str) -> None:
    response = {"output": [{"type": "function_call", "call_id": "c", "name": "look", "arguments": arguments}]}
    (call,) = tool_calls("openai_responses", response)
    assert not isinstance(call.arguments, dict)


def test_openai_chat_answers_in_text_and_shows_the_rest_after_all_answers() -> None:
    from openai.types.chat import ChatCompletionToolMessageParam, ChatCompletionUserMessageParam

    first, second, media = messages = tool_messages("openai_chat", CALLS, with_media(MIXED))
    for message in messages[:2]:
        assert_accepted(ChatCompletionToolMessageParam, message)
    assert_accepted(ChatCompletionUserMessageParam, media)
    assert first == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "seen\n"
        "[an image (image/png, 8 bytes): see below]\n"
        "[a recording (audio/mpeg, 3 bytes): see below]\n"
        "[a recording (audio/ogg, 4 bytes): it cannot be shown here]\n"
        "[the file 'a.pdf' (application/pdf, 8 bytes): see below]\n"
        "t.csv:\na,b\n\n"
        "[the file 'z.zip' (application/zip, 2 bytes): it cannot be shown here]",
    }
    assert second["content"] == '{"n":1}'
    assert [part["type"] for part in media["content"]] == ["text", "image_url", "input_audio", "file"]
    assert media["content"][0]["text"] == "From the tool look (c1):"
    assert media["content"][1]["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="


def test_openai_responses_answers_with_text_or_with_parts() -> None:
    from openai.types.responses.response_input_param import FunctionCallOutput

    first, second = messages = tool_messages("openai_responses", CALLS, with_media(MIXED))
    for message in messages:
        assert_accepted(FunctionCallOutput, message)
    kinds = ["input_text", "input_image", "input_text", "input_text", "input_file", "input_text", "input_text"]
    assert [part["type"] for part in first["output"]] == kinds
    assert second == {"type": "function_call_output", "call_id": "c2", "output": '{"n":1}'}


def test_anthropic_answers_all_calls_in_one_message() -> None:
    from anthropic.types import MessageParam

    (message,) = tool_messages("anthropic", CALLS, [MIXED, FAILED])
    assert_accepted(MessageParam, message)
    first, second = message["content"]
    assert [block["type"] for block in first["content"]] == [
        "text", "image", "text", "text", "document", "text", "text",
    ]  # fmt: skip
    assert second == {
        "type": "tool_result",
        "tool_use_id": "c2",
        "content": [{"type": "text", "text": "no such moon"}],
        "is_error": True,
    }
    assert tool_messages("anthropic", (), []) == []


def test_anthropic_receives_no_empty_text() -> None:
    (message,) = tool_messages("anthropic", CALLS[:1], [ToolResult(content=(Text(""),))])
    assert message["content"] == [{"type": "tool_result", "tool_use_id": "c1"}]


def test_gemini_has_data_under_output_and_media_in_parts() -> None:
    from google.genai import types

    (message,) = tool_messages("gemini", CALLS, with_media(MIXED))
    parsed = types.Content.model_validate(message)
    assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json") == message
    first, second = (part["functionResponse"] for part in message["parts"])
    assert [part["inlineData"]["mimeType"] for part in first["parts"]] == [
        "image/png", "audio/mpeg", "audio/ogg", "application/pdf",
    ]  # fmt: skip
    assert second == {"name": "list", "id": "c2", "response": {"output": {"n": 1}}}


def test_gemini_gets_text_in_addition_to_data() -> None:
    result = ToolResult.success({"n": 1}, message="one moon")
    (message,) = tool_messages("gemini", CALLS[:1], [result])
    assert message["parts"][0]["functionResponse"]["response"] == {"output": "one moon"}


def test_mcp_has_every_block_and_data_that_is_an_object() -> None:
    import mcp_types._v2025_11_25

    first, second = tool_messages("mcp", CALLS, with_media(MIXED))
    for each in (first, second):
        parsed = mcp_types._v2025_11_25.CallToolResult.model_validate(each)
        assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json") == each
    assert [block["type"] for block in first["content"]] == [
        "text", "image", "audio", "audio", "resource", "resource", "resource", "text",
    ]  # fmt: skip
    assert first["content"][0] == {"type": "text", "text": "seen"}
    assert second == {"content": [{"type": "text", "text": '{"n":1}'}], "isError": False, "structuredContent": {"n": 1}}


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("openai_chat", "ERROR (not_found): no such moon"), ("openai_responses", "ERROR (not_found): no such moon"),
        ("anthropic", '"is_error": true'), ("gemini", '{"error": "no such moon"}'), ("mcp", '"isError": true'),
    ],
)  # fmt: skip
def test_an_error_is_marked_as_error(provider: str, words: str) -> None:
    assert words in json.dumps(tool_messages(provider, CALLS[:1], [FAILED]))


def test_a_failure_with_an_image_is_marked_as_an_error() -> None:
    failed = ToolResult(content=(Text("broken"), PNG), error=FAILED.error)
    (message,) = tool_messages("openai_responses", CALLS[:1], [failed])
    assert message["output"][0] == {"type": "input_text", "text": "ERROR (not_found): "}

"""The lines of the plugin protocol: requests, and the validation of responses."""

import base64
import json
from collections.abc import Callable

import pytest

from toolc.backends.content import AUDIO_TYPES
from toolc.backends.plugin_protocol import (
    DESCRIBE,
    Description,
    LineError,
    Offer,
    PluginResponse,
    ProgressUpdate,
    call_line,
    read_line,
    read_message,
    read_offer,
    read_response,
)
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Image, Text

PNG = b"\x89PNG\r\n\x1a\n rest"
WAV = b"RIFF\x04\0\0\0WAVE"
RULE = "a message is one JSON object on one line, and logs belong on stderr"
ENCODED = base64.b64encode(PNG).decode()
TOOL: dict[str, JsonValue] = {"name": "a", "description": "b", "parameters": {"type": "object"}}


def line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def test_the_request_for_a_description() -> None:
    assert DESCRIBE == b'{"type":"describe"}\n'


@pytest.mark.parametrize(
    ("arguments", "tool", "rest"),
    [
        ({"input": "hello", "count": 3}, None, '"params":{"input":"hello","count":3}'),
        ({}, "tool_b", '"tool":"tool_b","params":{}'),
        ({"x": "a\nü\u2028\ud800"}, None, '"params":{"x":"a\\nü\u2028\ufffd"}'),
    ],
)
def test_the_line_of_a_call_is_utf8_and_names_the_tool_if_there_are_several(
    arguments: JsonObject, tool: str | None, rest: str
) -> None:
    assert call_line("c", arguments, tool) == f'{{"type":"call","call_id":"c",{rest}}}\n'.encode()


def test_one_tool_is_described_directly_and_several_as_a_list() -> None:
    described = Description("a", "b", {"type": "object"})
    assert read_offer(line(TOOL)) == Offer((described,), has_several=False)
    other = Description("c", "b", {"type": "object"})
    assert read_offer(line({"tools": [TOOL, {**TOOL, "name": "c"}]})) == Offer((described, other), has_several=True)


def test_consecutive_texts_are_joined() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b\n"},
        {"type": "image", "mimeType": "image/png", "data": ENCODED},
        {"type": "text", "text": "c"},
    ]
    response = read_response(line({"content": content, "error": False, "details": {"n": 1}}))
    assert response == PluginResponse((Text("ab\n"), Image(PNG, "image/png"), Text("c")), details={"n": 1})


def test_a_response_without_error_is_a_success() -> None:
    assert read_response(line({"content": []})) == PluginResponse(())
    assert read_response(line({"content": [], "error": True})) == PluginResponse((), is_error=True)


@pytest.mark.parametrize("key", ["mimeType", "mime_type", "media_type", None])
@pytest.mark.parametrize("block", [Image(PNG, "image/png"), Audio(WAV, "audio/wav")])
def test_the_media_type_has_several_accepted_keys(key: str | None, block: Image | Audio) -> None:
    value = {"type": block.mime_type.partition("/")[0], "data": base64.b64encode(block.data).decode()}
    assert read_response(line({"content": [value | ({key: block.mime_type} if key else {})]})).content == (block,)


def test_responses_and_updates_can_have_a_call_id() -> None:
    assert read_message(line({"content": [], "call_id": "c1"})) == PluginResponse((), call_id="c1")
    assert read_message(line({"type": "update", "call_id": "c1"})) == ProgressUpdate(call_id="c1")


def test_an_update_is_not_a_response() -> None:
    value = {"type": "update", "percent": 40, "message": "nearly", "content": [{"type": "text", "text": "so far"}]}
    assert read_message(line(value)) == ProgressUpdate(40, "nearly", (Text("so far"),))
    assert read_message(line({"type": "update"})) == ProgressUpdate()
    for percent in (0, 100):
        assert read_message(line({"type": "update", "percent": percent})) == ProgressUpdate(percent)
    assert read_message(line({"type": "result", "content": []})) == PluginResponse(())


DESCRIPTIONS: list[tuple[object, str]] = [
    ({"name": "a", "description": "b"}, "its description has no object 'parameters'"),
    ({**TOOL, "name": 3}, "its description has no text 'name'"),
    ({**TOOL, "description": ""}, "its description has no text 'description'"),
    ({"tools": []}, "the 'tools' in its description are not a list of tools"),
    ({"tools": [TOOL, 1]}, "tools[1] is not an object"),
    ({"tools": [TOOL, TOOL]}, "it describes the tool 'a' twice"),
    ([], f"this line is not a JSON object: '[]'; {RULE}"),
]
RESPONSES: list[tuple[object, str]] = [
    ({"result": 1}, "its response has no list 'content': '{\"result\": 1}'"),
    ({"content": "text"}, "its response has no list 'content': '{\"content\": \"text\"}'"),
    ({"content": [], "error": "no"}, "its response has an 'error' that is neither true nor false"),
    ({"content": [], "details": 1}, "its response has 'details' that are not an object"),
    ({"content": [], "call_id": 3}, "its answer has a 'call_id' that is not a string"),
    ({"content": [1]}, "content[0] of its answer is not an object"),
    ({"content": [{"type": "text"}]}, "content[0] of its answer has no 'text'"),
    (
        {"content": [{"type": "video"}]},
        "content[0] of its answer has the type 'video'; the types are 'text', 'image' and 'audio'",
    ),
    ({"content": [{"type": "audio"}]}, "content[0] of its answer is a recording whose 'data' is not base64"),
    (
        {"content": [{"type": "audio", "data": ENCODED}]},
        f"content[0] of its answer is a recording of an unsupported type; use one of {AUDIO_TYPES}",
    ),
    ({"content": [{"type": "image", "data": "%"}]}, "content[0] of its answer is an image whose 'data' is not base64"),
    (
        {"content": [{"type": "image", "data": ENCODED, "mimeType": "image/gif"}]},
        "content[0] of its answer declares the type 'image/gif', but its data is image/png",
    ),
    ({"content": [{}] * 101}, "its answer has 101 content blocks; the maximum is 100"),
]
UPDATES: list[tuple[dict[str, JsonValue], str]] = [
    ({"percent": 101}, "its update has a 'percent' of 101, which is not a number from 0 to 100"),
    ({"percent": True}, "its update has a 'percent' of True, which is not a number from 0 to 100"),
    ({"message": 1}, "its update has a 'message' that is not a string"),
    ({"content": "a"}, "its update has a 'content' that is not a list"),
    ({"call_id": 3}, "its update has a 'call_id' that is not a string"),
    ({"content": [{}] * 101}, "its update has 101 content blocks; the maximum is 100"),
    ({"content": [{"type": "text"}]}, "content[0] of its update has no 'text'"),
]


@pytest.mark.parametrize(
    ("read", "value", "reason"),
    [
        *((read_offer, *each) for each in DESCRIPTIONS),
        *((read_response, *each) for each in RESPONSES),
        *((read_message, {"type": "update", **value}, reason) for value, reason in UPDATES),
    ],
)
def test_invalid_messages_are_rejected(read: Callable[[bytes], object], value: object, reason: str) -> None:
    with pytest.raises(LineError) as raised:
        read(line(value))
    assert str(raised.value) == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"Loading model...\n", "line 1 column 1: Expecting value"),
        (b"{\n", "line 2 column 1: Expecting property name enclosed in double quotes"),
        (b'{"a": "\xff"}\n', "byte 7 is not UTF-8"),
        (b"[" * 100_000 + b"\n", "it is nested too deeply"),
    ],
    ids=["words", "half", "latin1", "deep"],
)
def test_a_line_that_is_not_json_is_quoted(value: bytes, reason: str) -> None:
    with pytest.raises(LineError) as raised:
        read_line(value)
    assert str(raised.value).startswith(f"this line is not JSON ({reason}): ")
    assert len(str(raised.value)) < 400

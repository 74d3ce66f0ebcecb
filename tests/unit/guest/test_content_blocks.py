"""Return values that are content blocks: recordings, lists of blocks, and the formats of MCP."""

import base64
import json

import pytest

from toolc.guest.answer import success
from toolc.guest.context import Resource, SerializationError, ToolError, audio_type

PNG = b"\x89PNG\r\n\x1a\n"
WAV = b"RIFF\x24\0\0\0WAVEfmt "


def answer(value: object) -> tuple[object, object]:
    """Return the content and the data that are sent to the host."""
    found = json.loads(success(value))
    return found["content"], found["structured"]


def block(kind: str, data: bytes, mime_type: str) -> dict[str, object]:
    return {"type": kind, "mime_type": mime_type, "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (WAV, "audio/wav"), (b"ID3\x04", "audio/mpeg"), (b"\xff\xfb\x90\x64", "audio/mpeg"), (b"OggS\0", "audio/ogg"),
        (b"fLaC\0", "audio/flac"),
    ],
)  # fmt: skip
def test_audio_is_detected_by_its_first_bytes(data: bytes, mime_type: str) -> None:
    assert answer(data) == ([block("audio", data, mime_type)], None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"\xff\xfe\x41\0",  # UTF-16
        b"\xff\xd8\xff\xe0",  # JPEG
        b"\xff\xf1\x50\x80",  # AAC, which has no layer
        b"\xff\xfb\xf0\x00",  # no such bit rate
        b"\xff\xfb\x9c\x00",  # no such sampling rate
        b"RIFF\0\0\0\0AVI ",
    ],
)
def test_other_data_is_not_detected_as_audio(data: bytes) -> None:
    assert audio_type(data) is None


def test_a_list_with_a_block_that_is_not_text_is_content() -> None:
    file = Resource(b"%PDF", "application/pdf", "a.pdf")
    assert answer(["look", PNG, file, WAV]) == (
        [
            {"type": "text", "text": "look"},
            block("image", PNG, "image/png"),
            block("resource", b"%PDF", "application/pdf") | {"name": "a.pdf"},
            block("audio", WAV, "audio/wav"),
        ],
        None,
    )


@pytest.mark.parametrize(
    "value",
    [
        ["a", "b"], [], [1, "a"], {"content": "x"}, {"content": [{"type": "text", "text": "x"}], "more": 1},
        {"content": [{"type": "memo", "text": "x"}]}, {"type": "text", "text": "x", "author": "me"},
        [{"type": "text", "text": "x"}, 1], [{"type": "text"}],
    ],
)  # fmt: skip
def test_values_that_are_not_blocks_are_data(value: object) -> None:
    assert answer(value)[1] == [value]


def test_mcp_blocks_are_content() -> None:
    text = {"type": "text", "text": "look", "annotations": {"audience": ["user"]}}
    image = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    file = {"type": "resource", "resource": {"uri": "file:///x/a.txt", "text": "hi", "mimeType": "text/plain"}}
    blocks = [
        {"type": "text", "text": "look"},
        block("image", PNG, "image/png"),
        block("resource", b"hi", "text/plain") | {"name": "a.txt"},
    ]
    assert answer(text) == (blocks[:1], None)
    assert answer([text, image, file]) == (blocks, None)
    assert answer({"content": [text, image, file], "structuredContent": {"n": 1}}) == (blocks, [{"n": 1}])
    assert answer({"content": [], "structuredContent": {"n": 1}, "isError": False}) == ([], [{"n": 1}])


def test_an_mcp_result_can_be_an_error() -> None:
    with pytest.raises(ToolError, match="no such city") as raised:
        success({"content": [{"type": "text", "text": "no such city"}], "isError": True})
    assert raised.value.kind == "execution"
    with pytest.raises(ToolError, match="the tool failed and gave no message"):
        success({"content": [], "isError": True})


def test_objects_of_the_mcp_sdk_are_accepted() -> None:
    from mcp.types import CallToolResult, TextContent

    result = CallToolResult(content=[TextContent(type="text", text="hi")], structured_content={"n": 1})
    assert answer(result) == ([{"type": "text", "text": "hi"}], [{"n": 1}])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([b"PK", "zip"], "the function returned 2 bytes that are neither a PNG, "),
        ({"type": "image", "data": "?", "mimeType": "image/png"}, "the function returned 0 bytes that are neither"),
        ({"type": "audio", "data": "abc", "mimeType": "audio/wav"}, "the data of a content block is not base64"),
        (
            {"type": "resource", "resource": {"text": "x"}},
            "a content block of type 'resource' has no resource with a uri",
        ),
    ],
)
def test_invalid_blocks_are_errors(value: object, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        success(value)

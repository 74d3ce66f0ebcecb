"""The content blocks of a response or an update."""

import pytest

from toolc.backends.content import IMAGE_TYPES, MalformedError, apply_format, read_content
from toolc.model.json_schema import JsonValue
from toolc.model.result import Audio, Image, Resource, Text, ToolResult
from toolc.model.spec.tool import ResultFormat, ResultSpec

GIF = "R0lGODlh"


def test_all_kinds_of_blocks_are_read() -> None:
    wav = {"type": "resource", "mime_type": "audio/wav", "name": "a.wav", "data": "UklGRgAAAABXQVZF"}
    blocks: list[JsonValue] = [
        {"type": "text", "text": "a"},
        {"type": "image", "mime_type": "image/gif", "data": GIF},
        {"type": "resource", "mime_type": "text/csv", "name": "a.csv", "data": "MSwy"},
        {**wav},
    ]
    assert read_content(blocks) == (
        Text("a"),
        Image(b"GIF89a", "image/gif"),
        Resource(b"1,2", "text/csv", "a.csv"),
        Audio(b"RIFF\0\0\0\0WAVE", "audio/wav"),
    )


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (1, "a content block is not an object"),
        ({"type": "video"}, "a content block has the unknown type 'video'"),
        ({"type": "text", "text": 3}, "a text block's text is not a string"),
        (
            {"type": "image", "mime_type": "image/png", "data": GIF},
            "a content block declares the type 'image/png', but its data is image/gif",
        ),
        ({"type": "image", "data": "iVBORw0KGgo "}, "a content block is an image whose 'data' is not base64"),
        (
            {"type": "image", "data": "YQ=="},
            f"a content block is an image of an unsupported type; use one of {IMAGE_TYPES}",
        ),
        ({"type": "resource", "mime_type": "a", "name": "b", "data": ""}, "a resource has the invalid type 'a'"),
    ],
)
def test_invalid_blocks_are_rejected(block: JsonValue, reason: str) -> None:
    with pytest.raises(MalformedError) as raised:
        read_content([block])
    assert str(raised.value) == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [({}, "'content' is not a list"), ([{}] * 101, "it has 101 content blocks; the maximum is 100")],
)
def test_invalid_content_is_rejected(value: JsonValue, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        read_content(value)


@pytest.mark.parametrize(
    ("demanded", "read"),
    [
        ("text", ToolResult(content=(Text("a"),))),
        ("json", ToolResult(content=(Text("[1]"),), structured=([1],))),
        ("image", ToolResult(content=(Text("a"), Image(b"GIF89a", "image/gif")))),
    ],
)
def test_a_result_of_the_demanded_format_is_unchanged(demanded: ResultFormat, read: ToolResult) -> None:
    assert apply_format(read, ResultSpec(format=demanded), "the tool") is read


@pytest.mark.parametrize(
    ("demanded", "message"),
    [
        ("json", "the tool must return JSON (a dict, list, number or boolean)"),
        ("image", "the tool must return an image, but returned none"),
    ],
)
def test_a_result_of_another_format_is_an_error(demanded: ResultFormat, message: str) -> None:
    result = apply_format(ToolResult(content=(Text("a"),)), ResultSpec(format=demanded), "the tool")
    assert result.error is not None
    assert (result.error.kind, result.error.message) == ("serialization", message)

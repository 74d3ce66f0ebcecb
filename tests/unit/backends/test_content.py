"""The blocks that a guest sends, of an answer or of an update."""

from __future__ import annotations

import pytest

from toolc.backends.content import MalformedError, read_content
from toolc.model.json_schema import JsonValue
from toolc.model.result import Audio, Image, Resource, Text

GIF = "R0lGODlh"


def test_every_kind_of_block_is_read() -> None:
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
    ("value", "why"),
    [
        ({}, "'content' is not a list"),
        ([{}] * 101, "it has 101 blocks of content, and 100 are allowed"),
        ([1], "a content block is not an object"),
        ([{"type": "video"}], "a content block has the type 'video'"),
        ([{"type": "image", "mime_type": "image/png", "data": GIF}], "an image says 'image/png' and is image/gif"),
        ([{"type": "image", "mime_type": "image/gif", "data": "%"}], "an image's data is not base64"),
        ([{"type": "resource", "mime_type": "a", "name": "b", "data": ""}], "a resource has the type 'a'"),
    ],
)
def test_what_a_guest_does_not_write_is_refused(value: JsonValue, why: str) -> None:
    with pytest.raises(MalformedError) as raised:
        read_content(value)
    assert str(raised.value) == why

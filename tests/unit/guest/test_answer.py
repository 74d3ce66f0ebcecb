"""The JSON for return values and exceptions of a function."""

import json
from typing import get_args

import pytest

from toolc.guest.answer import failure, success
from toolc.guest.context import KINDS, Context, SerializationError, Updates
from toolc.guest.job import TOOL_DIRECTORY
from toolc.model.spec.code_backends import ErrorKind

CTX = Context("c", -1, Updates(-1))
GIF = b"GIF89a..."


class Figure:
    def savefig(self, file: object, format: str) -> None:  # noqa: A002  matplotlib's own name
        assert format == "png"
        file.write(b"\x89PNG\r\n\x1a\n")  # type: ignore[attr-defined]


class Drawing:
    def _repr_png_(self) -> bytes:
        return b"\x89PNG\r\n\x1a\n"


def loop() -> object:
    value: list[object] = []
    value.append({"again": value})
    return value


def test_error_kinds_match_the_spec() -> None:
    assert get_args(ErrorKind) == KINDS


@pytest.mark.parametrize("image", [Figure(), Drawing(), b"\x89PNG\r\n\x1a\n", bytearray(b"\x89PNG\r\n\x1a\n")])
def test_image_objects_and_bytes_are_images(image: object) -> None:
    content = json.loads(success(image))["content"]
    assert content == [{"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="}]


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [(GIF, "image/gif"), (b"\xff\xd8\xff\xe0", "image/jpeg"), (b"RIFF\0\0\0\0WEBP", "image/webp")],
)
def test_an_image_is_detected_by_its_first_bytes(data: bytes, mime_type: str) -> None:
    assert json.loads(success(data))["content"][0]["mime_type"] == mime_type


def test_data_without_content_is_shown_as_json() -> None:
    answer = json.loads(success(CTX.result(structured=None)))
    assert (answer["content"], answer["structured"]) == ([{"type": "text", "text": "null"}], [None])


REJECTED: dict[str, tuple[object, str]] = {
    "bytes": (
        b"\x00\x01",
        (
            "the function returned 2 bytes that are neither a PNG, JPEG, GIF or WebP image nor WAV, MP3, Ogg or FLAC "
            "audio; decode them to text, or encode them as base64"
        ),
    ),
    "NaN": (
        {"a": [float("nan")]},
        "the result cannot be sent as JSON: the value['a'][0] is nan, which is not a JSON number",
    ),
    "set": ([1.5, {2j}], "the result cannot be sent as JSON: the value[1][0] has the type complex"),
    "class": (int, "the result cannot be sent as JSON: the value has the type type"),
    "object": ({"a": object()}, "the result cannot be sent as JSON: the value['a'] has the type object"),
    "key": ({(1, 2): 3}, "the result cannot be sent as JSON: the value has a key of the type tuple; use strings"),
    "circle": (loop(), "the result cannot be sent as JSON: the value[0]['again'] contains itself"),
    "content": (
        CTX.result([{"a": 1}]),
        "content must be text, an image or a list of these, not dict; pass data as structured=",
    ),
    "details": (
        CTX.result("x", details={"d": iter([1])}),
        "the details cannot be sent as JSON: the value['d'] has the type list_iterator; return a dict or a list",
    ),
}


@pytest.mark.parametrize(("value", "message"), REJECTED.values(), ids=REJECTED.keys())
def test_a_value_that_cannot_be_sent_is_named_with_its_location(value: object, message: str) -> None:
    with pytest.raises(SerializationError) as caught:
        success(value)
    assert str(caught.value) == message
    assert json.loads(failure(caught.value))["error"]["kind"] == "serialization"


@pytest.mark.slow
def test_very_deep_nesting_is_an_error() -> None:
    value: object = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(SerializationError, match="nested too deeply"):
        success(value)


def test_an_exception_whose_str_fails_is_reported() -> None:
    class BrokenError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    error = json.loads(failure(BrokenError()))["error"]
    assert (error["kind"], error["message"], error["file"], error["line"]) == ("execution", "BrokenError", None, None)


UNREACHABLE = "import errno\nraise OSError(errno.ENETUNREACH, 'no')"


@pytest.mark.parametrize(("code", "line", "kind"), [(UNREACHABLE, 2, "network"), ("1\n2\n(", 3, "execution")])
def test_an_error_has_its_place_in_the_files_of_the_tool(code: str, line: int, kind: str) -> None:
    with pytest.raises((OSError, SyntaxError)) as caught:
        exec(compile(code, f"{TOOL_DIRECTORY}/lib/a.py", "exec"))
    error = json.loads(failure(caught.value))["error"]
    assert (error["file"], error["line"], error["kind"]) == ("lib/a.py", line, kind)

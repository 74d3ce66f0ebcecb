from dataclasses import replace

import pytest
from calls.scripted_tools import tool
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.json_schema import JsonValue, Schema
from toolc.model.result import Audio, Capture, Content, Image, Resource, Text, ToolFailure, ToolResult
from toolc.model.spec.tool import ResultSpec
from toolc.runtime.output.truncation import HeadTailBuffer, fit_result, fit_to_limit, truncate_result

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def captured(limit: int, *pieces: bytes) -> Capture:
    buffer = HeadTailBuffer(limit)
    for piece in pieces:
        buffer.add(piece)
    return buffer.capture()


def test_a_stream_within_the_limit_is_captured_completely() -> None:
    assert captured(10, b"01234", b"56789") == Capture(b"0123456789", b"", 10)


def test_a_stream_over_the_limit_is_cut_in_the_middle() -> None:
    assert captured(10, b"01234", b"56789a") == Capture(b"01234", b"6789a", 11)
    assert captured(10, b"01234", b"56789a").text() == "01234\n[1 bytes cut]\n6789a"


@given(st.integers(0, 50), st.lists(st.binary(max_size=200)))
def test_any_stream_keeps_its_first_and_last_bytes(limit: int, pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    expected = Capture(whole, b"", len(whole))
    if len(whole) > limit:
        half = limit // 2
        expected = Capture(whole[:half], whole[len(whole) - (limit - half) :], len(whole))
    assert captured(limit, *pieces) == expected


def test_the_buffer_never_holds_more_than_twice_the_limit() -> None:
    buffer = HeadTailBuffer(1000)
    for size in (1, 999, 1000, 5000, 1, 700, 700, 100_000):
        buffer.add(b"x" * size)
        assert len(buffer._head) + len(buffer._tail) <= 2000


def test_a_result_within_the_limit_is_unchanged() -> None:
    result = ToolResult(content=(Text(LETTERS), Image(b"x" * 99, "image/png")), details={"stderr": "x"})
    assert fit_to_limit(result, 26) is result


def test_a_stored_text_is_named_where_it_was_cut() -> None:
    stored: list[str] = []

    def store(text: str) -> str:
        stored.append(text)
        return "result_1"

    result = fit_to_limit(ToolResult(content=(Text(LETTERS),)), 10, store)
    assert result.text == (
        '[26 bytes, shortened in the middle; to read on, call read_result with {"id": "result_1", "offset": 5}]\n'
        "abcde\n[16 bytes cut]\nvwxyz"
    )
    assert result.details == {"full_result": {"id": "result_1", "bytes": 26}, "truncated": True}
    assert stored == [LETTERS]


def test_a_text_that_cannot_be_stored_is_only_cut() -> None:
    result = fit_to_limit(ToolResult(content=(Text(LETTERS),)), 10, lambda _: None)
    assert result.text == "abcde\n[16 bytes cut]\nvwxyz"
    assert result.details == {"truncated": True}


def test_several_texts_share_the_limit_and_images_do_not_count() -> None:
    image = Image(b"png", "image/png")
    result = fit_to_limit(ToolResult(content=(Text("12345"), image, Text(LETTERS), Text("more"))), 10)
    assert result.content == (Text("12345"), image, Text("ab\n[21 bytes cut]\nxyz"), Text("\n[4 bytes cut]\n"))


def test_an_error_is_kept_and_stderr_in_its_details_is_cut() -> None:
    failed = ToolResult(
        content=(Text(LETTERS),), error=ToolFailure("exit_status", "no"), details={"stderr": LETTERS, "n": [LETTERS]}
    )
    result = fit_to_limit(failed, 10)
    assert result.error == failed.error
    assert result.details == {"stderr": "abcde\n[16 bytes cut]\nvwxyz", "n": [LETTERS], "truncated": True}


@pytest.mark.parametrize("is_stored", [False, True])
def test_data_over_the_limit_is_an_error_and_readable_if_results_are_stored(is_stored: bool) -> None:
    result = truncate_result(ToolResult.success([LETTERS], details={"stdout": "x"}), 10, is_stored=is_stored)
    message = "the tool returned 30 bytes of data, more than its output limit of 10; request less data"
    assert result.error == ToolFailure("output_limit", message)
    assert result.details == {"stdout": "x"}
    assert result.content[1:] == ((Text(f'["{LETTERS}"]'),) if is_stored else ())


@pytest.mark.parametrize(("limit", "kind"), [(8, None), (7, "output_limit")])
def test_data_is_measured_in_bytes(limit: int, kind: str | None) -> None:
    result = truncate_result(ToolResult.success(["éé"]), limit)
    assert (result.error and result.error.kind) == kind


@pytest.mark.parametrize(
    ("block", "name"),
    [
        (Image(b"x" * 11, "image/png"), "an image"),
        (Audio(b"x" * 11, "audio/wav"), "a recording"),
        (Resource(b"x" * 11, "application/pdf", "a.pdf"), "the file 'a.pdf'"),
    ],
)
def test_an_image_a_recording_or_a_file_over_the_limit_is_an_error(block: Content, name: str) -> None:
    result = truncate_result(ToolResult(content=(block,)), 10)
    message = f"the tool returned {name} of 11 bytes, more than its output limit of 10; request a smaller one"
    assert result.error == ToolFailure("output_limit", message)
    assert truncate_result(ToolResult(content=(block,)), 11).error is None


def served(
    data: JsonValue = None, text: str = "", *, max_chars: int | None = None, has_schema: bool = False
) -> ToolResult:
    spec = replace(
        tool("t"),
        result=ResultSpec(max_chars=max_chars),
        result_schema=Schema({"type": "array"}) if has_schema else None,
    )
    result = ToolResult(content=(Text(text),)) if text else ToolResult.success(data)
    return fit_result(result, spec, lambda _: "result_1", 2000)


def test_a_result_fits_the_client_of_a_server() -> None:
    result = served(text="é" * 3000)
    first, head, cut, tail = result.text.split("\n")
    assert first == (
        '[6000 bytes, shortened in the middle; to read on, call read_result with {"id": "result_1", "offset": 1700}]'
    )
    assert (head, cut, tail) == ("é" * 850, "[2600 bytes cut]", "é" * 850)
    assert len(result.text) <= 2000
    assert served(text="é" * 2000).text == "é" * 2000
    assert served(text="é" * 3000, max_chars=3000).text == "é" * 3000


def test_several_texts_fit_a_client_together() -> None:
    result = fit_to_limit(ToolResult(content=(Text("a" * 900), Text("b" * 900))), 10_000, None, 1000)
    assert result.text.startswith("a" * 900)
    assert len(result.text) < 1100


def test_data_that_is_too_long_for_a_client_is_left_to_the_text() -> None:
    data: JsonValue = ["x" * 3000]
    result = served(data)
    assert (result.structured, result.is_error, len(result.text) <= 2000) == (None, False, True)
    expected = served(data, has_schema=True)
    assert expected.error is not None
    assert expected.error.message == "the data has 3004 characters, more than the maximum of 2000; request less data"
    assert served(["x"]).structured == (["x"],)

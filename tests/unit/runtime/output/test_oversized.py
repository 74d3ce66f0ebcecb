from __future__ import annotations

from toolc.model.json_schema import JsonObject
from toolc.model.result import Audio, Image, Resource, Text, ToolFailure, ToolResult
from toolc.runtime.output.truncation import fit_to_limit, truncate_result

WORDS = "abcdefghijklmnopqrstuvwxyz"


def test_what_fits_is_not_touched() -> None:
    result = ToolResult(content=(Text(WORDS), Image(b"x" * 99, "image/png")), details={"stderr": "x"})
    assert fit_to_limit(result, 26) is result


def test_a_text_keeps_head_and_tail() -> None:
    result = fit_to_limit(ToolResult(content=(Text(WORDS),)), 10)
    assert result.content == (Text("abcde\n[16 bytes cut]\nvwxyz"),)
    assert result.details == {"truncated": True}


def test_what_is_kept_is_said_where_it_was_cut() -> None:
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return "result_1"

    result = fit_to_limit(ToolResult(content=(Text(WORDS),)), 10, keep)
    assert result.text == (
        'abcde\n[16 bytes cut; to read on call read_result with {"id": "result_1", "offset": 5}]\nvwxyz'
    )
    assert result.details == {"full_result": {"id": "result_1", "bytes": 26}, "truncated": True}
    assert kept == [WORDS]


def test_where_nothing_can_be_kept_the_line_promises_nothing() -> None:
    result = fit_to_limit(ToolResult(content=(Text(WORDS),)), 10, lambda _: None)
    assert result.text == "abcde\n[16 bytes cut]\nvwxyz"
    assert "full_result" not in result.details


def test_several_texts_share_the_limit_and_pictures_stay() -> None:
    picture = Image(b"png", "image/png")
    result = fit_to_limit(ToolResult(content=(Text("12345"), picture, Text(WORDS), Text("more"))), 10)
    assert result.content == (Text("12345"), picture, Text("ab\n[21 bytes cut]\nxyz"), Text("\n[4 bytes cut]\n"))


def test_an_error_stays_one_and_what_a_tool_printed_is_cut_in_details_too() -> None:
    failed = ToolResult(
        content=(Text(WORDS),), error=ToolFailure("exit_status", "no"), details={"stderr": WORDS, "n": [WORDS]}
    )
    result = fit_to_limit(failed, 10)
    assert result.error == failed.error
    assert result.details == {"stderr": "abcde\n[16 bytes cut]\nvwxyz", "n": [WORDS], "truncated": True}


def test_data_that_is_too_long_is_an_error() -> None:
    details: JsonObject = {"stdout": "x"}
    result = truncate_result(ToolResult.success([WORDS], details=details), 10)
    assert result.error == ToolFailure(
        "output_limit", "the tool gave 30 bytes of data, more than its output limit of 10; ask for less"
    )
    assert result.details == details
    assert len(result.content) == 1


def test_where_results_are_kept_the_data_can_be_read_on() -> None:
    result = truncate_result(ToolResult.success([WORDS]), 10, keeps=True)
    assert result.error is not None
    assert result.content[1] == Text(f'["{WORDS}"]')


def test_so_is_a_picture_a_recording_or_a_file() -> None:
    for block, name in (
        (Image(b"x" * 11, "image/png"), "an image"),
        (Audio(b"x" * 11, "audio/wav"), "a recording"),
        (Resource(b"x" * 11, "application/pdf", "a.pdf"), "the file 'a.pdf'"),
    ):
        result = truncate_result(ToolResult(content=(block,)), 10)
        assert result.error == ToolFailure(
            "output_limit", f"the tool gave {name} of 11 bytes, more than its output limit of 10; ask for a smaller one"
        )
        assert truncate_result(ToolResult(content=(block,)), 11).error is None

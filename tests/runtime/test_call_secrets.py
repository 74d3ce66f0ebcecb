"""What leaves a call is without its secrets, and still says what it said."""

from __future__ import annotations

import pytest

from toolc.result import Image, Resource, Text, ToolFailure, ToolResult
from toolc.runtime.redaction import Redactor
from toolc.runtime.secrets import redacted


def test_a_secret_is_taken_out_of_every_part_of_a_result() -> None:
    value = "correct-horse"
    result = ToolResult(
        content=(
            Text(f"<{value}>"),
            Image(b"GIF89a" + value.encode(), "image/gif"),
            Resource(value.encode(), "text/plain", f"{value}.txt"),
        ),
        structured=({value: value},),
        error=ToolFailure("execution", f"no {value}"),
        details={"tool": {value: 1}, "stderr": value},
    )
    assert redacted(result, Redactor({"KEY": value})) == ToolResult(
        content=(
            Text("<[secret KEY]>"),
            Image(b"GIF89a[secret KEY]", "image/gif"),
            Resource(b"[secret KEY]", "text/plain", "[secret KEY].txt"),
        ),
        structured=({"[secret KEY]": "[secret KEY]"},),
        error=ToolFailure("execution", "no [secret KEY]"),
        details={"tool": {"[secret KEY]": 1}, "stderr": "[secret KEY]"},
    )


def test_a_type_with_a_secret_in_it_is_none() -> None:
    result = ToolResult(content=(Resource(b"x", "application/correct-horse", "x"),))
    assert redacted(result, Redactor({"KEY": "correct-horse"})).content == (
        Resource(b"x", "application/octet-stream", "x"),
    )


@pytest.mark.parametrize("value", ["truncated", "duration_ms", "timing_ms"])
def test_a_secret_that_is_a_word_of_ours_leaves_it_to_those_who_look_for_it(value: str) -> None:
    result = ToolResult(content=(), details={value: False, "timing_ms": {value: 1}})
    assert redacted(result, Redactor({"KEY": value})) == result

import pytest

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonValue
from toolc.model.result import Capture, Text, ToolFailure, ToolResult, failure


@pytest.mark.parametrize(
    ("data", "text", "structured"),
    [("words", "words", None), ({"n": 1}, '{"n":1}', ({"n": 1},)), ([], "[]", ([],)), (None, "null", (None,))],
)
def test_success_has_data_and_text(data: JsonValue, text: str, structured: object) -> None:
    result = ToolResult.success(data)
    assert not result.is_error
    assert (result.text, result.structured) == (text, structured)


def test_success_with_a_message() -> None:
    result = ToolResult.success("raw", message="for the model", details={"source": "cache"})
    assert (result.text, result.data, result.details) == ("for the model", "raw", {"source": "cache"})


def test_failure_has_a_kind_and_a_message() -> None:
    result = ToolResult.failure("no such city", kind="not_found")
    assert result.is_error
    assert result.error == ToolFailure("not_found", "no such city")
    assert result.content == (Text("no such city"),)
    assert ToolResult.failure("broken").error == ToolFailure("execution", "broken")
    assert failure("timeout", "late", {"after": 1}) == ToolResult.failure("late", kind="timeout", details={"after": 1})


@pytest.mark.slow
def test_data_that_is_not_json_has_no_text_until_the_call_converts_it() -> None:
    nested: JsonValue = []
    for _ in range(100_000):
        nested = [nested]
    for data in (object(), nested):
        assert ToolResult.success(data).text == ""  # type: ignore[arg-type]


def test_an_unknown_kind_of_error_is_rejected() -> None:
    with pytest.raises(UsageError, match=r"^'lost' is not a kind of error; use one of: invalid_args, not_found, "):
        ToolResult.failure("no such city", kind="lost")  # type: ignore[arg-type]


def test_data_is_none_without_structured_data() -> None:
    assert ToolResult(content=()).data is None
    assert ToolResult(content=(), structured=(0,)).data == 0


def test_a_truncated_stream_says_how_much_is_missing() -> None:
    capture = Capture(b"ab\xc3", b"\xa4yz", 10)
    assert capture.text() == "ab\n[4 bytes cut]\nyz"
    assert capture.text("request less") == "ab\n[4 bytes cut; request less]\nyz"
    assert Capture(b"\xff", b"", 1).text("never said") == "\ufffd"

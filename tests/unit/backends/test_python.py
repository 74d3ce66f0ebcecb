"""The Python backend: the plan of a call, and the strict validation of replies."""

import base64
import json

import pytest
from calls.scripted_tools import captured
from hypothesis import given
from hypothesis import strategies as st

from toolc.backends.python import Python
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonValue, Schema
from toolc.model.plan import Profile, PythonCall
from toolc.model.result import Capture, Image, Outcome, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.model.spec.tool import ResultFormat, ResultSpec, ToolSpec

FILES = (File(path="tool.py", text="def main(): ...\n"),)
BACKEND = PythonBackend(entry="tool.py", function="main", files=FILES)
PNG = b"\x89PNG\r\n\x1a\nrest"


def read_bytes(reply: bytes, format_: ResultFormat = "text", stdout: bytes = b"", stderr: bytes = b"") -> ToolResult:
    outcome = Outcome(ending="exited", stdout=captured(stdout), stderr=captured(stderr), reply=captured(reply))
    return Python().read(BACKEND, ResultSpec(format=format_), outcome)


def read(reply: JsonValue, format_: ResultFormat = "text") -> ToolResult:
    return read_bytes(json.dumps(reply).encode(), format_)


def image(data: bytes = PNG, mime_type: str = "image/png") -> JsonValue:
    return {"type": "image", "mime_type": mime_type, "data": base64.b64encode(data).decode()}


def test_the_plan_has_the_files_and_arguments_unchanged() -> None:
    tool = ToolSpec(name="t", description="d", parameters=Schema({"type": "object"}), backend=BACKEND)
    call = BoundCall(tool=tool, arguments={"x": ["-rf", "a\0b", None]}, call_id="call_1")
    planned = Python().plan(BACKEND, call, Profile())
    assert planned.invocation == PythonCall(
        entry="tool.py", function="main", arguments={"x": ["-rf", "a\0b", None]}, files=FILES
    )
    assert ("TOOLC_CALL_ID", "call_1") in {(v.name, v.value) for v in planned.env}


def test_text_and_images_become_content() -> None:
    result = read({"content": [{"type": "text", "text": "hi"}, image()], "structured": None, "details": {}})
    assert result == ToolResult(content=(Text("hi"), Image(PNG, "image/png")))


@pytest.mark.parametrize("value", [None, 0, False, [], {"a": [1.5]}])
def test_all_json_values_including_null_are_data(value: JsonValue) -> None:
    result = read({"content": [{"type": "text", "text": "x"}], "structured": [value], "details": {}})
    assert result.structured == (value,)


def test_details_of_a_tool_have_a_separate_key() -> None:
    result = read({"content": [{"type": "text", "text": ""}], "structured": None, "details": {"engine": "forged"}})
    assert result.details == {"tool": {"engine": "forged"}}


@pytest.mark.parametrize("format_", ["text", "json", "image", "none"])
@pytest.mark.parametrize(
    "reply", [{"content": [{"type": "text", "text": ""}]}, {"error": {"kind": "file", "message": "no"}}]
)
def test_printed_output_is_always_in_the_details(reply: JsonValue, format_: ResultFormat) -> None:
    result = read_bytes(json.dumps(reply).encode(), format_, stdout=b"debug\n", stderr=b"warning\n")
    assert result.details == {"stdout": "debug\n", "stderr": "warning\n"}


def test_a_model_reads_what_a_function_that_returned_nothing_printed() -> None:
    printed = read_bytes(b'{"content": []}', "text", stdout=b"10%\n", stderr=b"warning\n")
    assert (printed.text, printed.details["returned_nothing"]) == ("10%\n", True)
    assert read({"content": []}).text == "[the function returned nothing]"
    assert read_bytes(b'{"content": []}', "none", stdout=b"10%\n").content == ()


def test_the_place_of_an_exception_is_in_the_details_and_not_shown_to_the_model() -> None:
    result = read(
        {"error": {"kind": "not_found", "message": "no a.txt", "file": "tool.py", "line": 7, "traceback": "T"}}
    )
    assert result == ToolResult(
        content=(Text("no a.txt"),),
        error=ToolFailure("not_found", "no a.txt"),
        details={"traceback": "T", "file": "tool.py", "line": 7},
    )


def test_an_error_can_have_no_location() -> None:
    result = read({"error": {"kind": "denied", "message": "no", "file": None, "line": None, "traceback": ""}})
    assert result == ToolResult(content=(Text("no"),), error=ToolFailure("denied", "no"))


@pytest.mark.parametrize("kind", ["", "bug", None, 3, ["timeout"]])
def test_an_unknown_kind_is_execution(kind: JsonValue) -> None:
    assert read({"error": {"kind": kind, "message": "m"}}).error == ToolFailure("execution", "m")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ([], "the answer is not an object"),
        ({}, "'content' is not a list"),
        ({"content": [], "structured": []}, "'structured' is not a list with one item"),
        ({"content": [], "structured": {"a": 1}}, "'structured' is not a list with one item"),
        ({"content": [], "details": []}, None),
        ({"content": [], "details": [1]}, "details is not an object"),
        ({"error": "no"}, "error is not an object"),
        ({"error": {"kind": "file"}}, "error.message is not a string"),
    ],
)
def test_a_malformed_reply_is_an_execution_error(reply: JsonValue, reason: str | None) -> None:
    error = read(reply).error
    expected = ToolFailure("execution", f"the function's response cannot be read: {reason}") if reason else None
    assert error == expected


@pytest.mark.slow
@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["content", "structured", "error", "type", "text", "message", "data", "details"]), inner
    ),
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_replies_never_raise_exceptions(reply: bytes) -> None:
    result = read_bytes(reply)
    assert result.error is None or result.error.kind


def test_a_missing_reply_reports_how_the_process_ended() -> None:
    outcome = Outcome(ending="exited", status=3, stderr=Capture(head=b"bye", total_bytes=3))
    assert Python().read(BACKEND, ResultSpec(), outcome) == ToolResult(
        content=(Text("bye\n[the function's process ended with status 3 and without a response]"),),
        error=ToolFailure("execution", "the function's process ended with status 3 and without a response"),
    )


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (Outcome(ending="not_started", reason="too large"), ToolFailure("invalid_args", "too large")),
        (
            Outcome(ending="signaled", status=11),
            ToolFailure("execution", "the function's process was killed by SIGSEGV"),
        ),
    ],
)
def test_the_error_of_an_outcome_without_a_reply(outcome: Outcome, error: ToolFailure) -> None:
    assert Python().read(BACKEND, ResultSpec(), outcome).error == error


def test_a_truncated_reply_is_an_output_limit_error() -> None:
    outcome = Outcome(ending="exited", reply=Capture(head=b'{"content":', total_bytes=10**6))
    error = Python().read(BACKEND, ResultSpec(), outcome).error
    assert error is not None
    assert error.kind == "output_limit"


@pytest.mark.parametrize(("format_", "ok"), [("text", True), ("none", True), ("json", False), ("image", False)])
def test_the_result_format_is_enforced(format_: ResultFormat, *, ok: bool) -> None:
    result = read({"content": [{"type": "text", "text": "hi"}], "structured": None, "details": {}}, format_)
    assert result.is_error is not ok
    assert result.error is None or result.error.kind == "serialization"
    assert format_ != "none" or result.content == ()

"""The journal of a batch: what a later run finds after a crash at any step."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from toolc.batch.calls_file import CallLine
from toolc.batch.journal import LARGE_BYTES, Journal, Record, Unknown
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.result import Text, ToolResult, failure

BATCH: JsonObject = {"calls": "sha256:1"}


def journal(out: Path, *, keep: Callable[[Record], bool] = lambda _: True, batch: JsonObject = BATCH) -> Journal:
    return Journal(out, batch, keep, lambda _: None)


def call(line: int) -> CallLine:
    return CallLine(line=line, call_id=f"c{line}", tool="echo", arguments={})


def result(text: str) -> ToolResult:
    return ToolResult(content=(Text(text),), details={"duration_ms": 2.5})


def lines(out: Path) -> list[JsonObject]:
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def test_a_later_run_knows_what_started_and_what_ended(out: Path) -> None:
    with journal(out) as first:
        first.start([1, 2])
        first.end([(call(1), result("hi"))])
    with journal(out) as second:
        assert [second.state(line) for line in (1, 2, 3)] == ["ended", "started", "new"]


def test_each_result_is_a_line(out: Path) -> None:
    with journal(out) as written:
        written.end([(call(1), result("hi")), (call(2), failure("denied", "no")), (call(3), Unknown(reason="died"))])
    assert [(each["id"], each["status"], each.get("error_kind"), each.get("message")) for each in lines(out)] == [
        ("c1", "ok", None, None),
        ("c2", "error", "denied", None),
        ("c3", "unknown", None, "died"),
    ]


def test_a_large_result_is_a_file_that_is_named_by_its_digest(out: Path) -> None:
    with journal(out) as written:
        written.end([(call(number), result("x" * LARGE_BYTES)) for number in (1, 2)])
    names = {str(each["result_file"]) for each in lines(out)}
    (name,) = names
    assert name.startswith("results.jsonl.files/sha256-")
    assert json.loads((out.parent / name).read_text())["content"][0]["text"] == "x" * LARGE_BYTES


def test_nothing_is_written_where_a_link_that_a_tool_made_leads(out: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    with journal(out) as written:
        (tmp_path / "results.jsonl.files").symlink_to(tmp_path / "private")
        with pytest.raises(OSError, match="leads to a different file than when the batch started"):
            written.end([(call(1), result("x" * LARGE_BYTES))])
    assert [*(tmp_path / "private").iterdir()] == []


def test_an_incomplete_last_line_is_removed(out: Path) -> None:
    with journal(out) as first:
        first.start([1, 2])
        first.end([(call(1), result("hi"))])
    whole = out.read_bytes()
    out.write_bytes(whole + b'{"line": 2, "id": "c2", "status": "o')
    with journal(out) as second:
        assert second.state(2) == "started"
    assert out.read_bytes() == whole


def test_records_that_are_not_kept_are_removed_and_their_calls_are_started(out: Path) -> None:
    with journal(out) as first:
        first.start([1, 2])
        first.end([(call(1), Unknown(reason="died")), (call(2), result("hi"))])
    with journal(out, keep=lambda record: record.status != "unknown") as second:
        assert [second.state(line) for line in (1, 2)] == ["started", "ended"]
        second.end([(call(1), result("again"))])
    assert [(each["id"], each["status"]) for each in lines(out)] == [("c2", "ok"), ("c1", "ok")]


def test_results_are_sorted_by_the_order_of_the_calls(out: Path) -> None:
    with journal(out) as written:
        for number in (3, 1, 2):
            written.end([(call(number), result("hi"))])
        written.sort()
        written.end([(call(4), result("hi"))])
    assert [each["line"] for each in lines(out)] == [1, 2, 3, 4]


def test_files_of_another_batch_are_refused(out: Path) -> None:
    journal(out).__exit__()
    with pytest.raises(UsageError, match="belongs to other calls or to another version of the tools"):
        journal(out, batch={"calls": "sha256:2"})


def test_another_file_is_not_overwritten(out: Path) -> None:
    out.write_text("my notes\n")
    with pytest.raises(UsageError, match="already exists and is not the result of a batch"):
        journal(out)
    assert out.read_text() == "my notes\n"


def test_damaged_results_are_refused_with_the_position(out: Path) -> None:
    journal(out).__exit__()
    out.write_text('{"status": "ok"}\n')
    with pytest.raises(UsageError, match="has a line that is not a result, at byte 0"):
        journal(out)


def test_only_one_batch_writes_to_a_file(out: Path) -> None:
    with journal(out), pytest.raises(UsageError, match="is in use by another toolc batch"):
        journal(out)


def test_a_call_that_was_withdrawn_is_new(out: Path) -> None:
    with journal(out) as first:
        first.start([1, 2])
        first.withdraw([2])
        assert first.state(2) == "new"
    with journal(out) as second:
        assert [second.state(line) for line in (1, 2)] == ["started", "new"]


def test_results_without_their_journal_are_refused_and_nothing_is_created(out: Path) -> None:
    out.write_text("{}\n")
    with pytest.raises(UsageError, match="already exists and is not the result of a batch"):
        journal(out)
    assert [each.name for each in out.parent.iterdir()] == [out.name]


def test_a_journal_without_its_results_is_refused_because_all_calls_would_be_unknown(out: Path) -> None:
    with journal(out) as first:
        first.start([1])
        first.end([(call(1), result("hi"))])
    out.unlink()
    with pytest.raises(UsageError, match="restore the results, or remove the journal to start again"):
        journal(out)


def test_a_journal_whose_first_line_is_incomplete_is_new(out: Path) -> None:
    out.touch()
    out.with_name("results.jsonl.journal").write_text('{"calls": "sha')
    with journal(out) as first:
        first.start([1])
    with journal(out) as second:
        assert second.state(1) == "started"


def test_results_are_written_to_a_file_only(out: Path) -> None:
    with pytest.raises(UsageError, match="is not a regular file"):
        journal(out.parent)


def test_sorted_results_replace_the_file_that_a_link_names(out: Path) -> None:
    (out.parent / "disk").mkdir()
    out.symlink_to(out.parent / "disk" / "results.jsonl")
    with journal(out) as written:
        written.end([(call(2), result("hi")), (call(1), result("hi"))])
        written.sort()
    assert out.is_symlink()
    assert [each["line"] for each in lines(out)] == [1, 2]

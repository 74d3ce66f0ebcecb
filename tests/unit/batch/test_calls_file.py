"""Files of calls: what a line may contain, and what is refused before any call starts."""

import json
import os
from pathlib import Path

import pytest

from toolc.batch.calls_file import CallLine, CallsFile
from toolc.model.errors import UsageError


def known(name: str) -> None:
    if name != "echo":
        raise UsageError(f"there is no tool {name!r}")


def calls_file(folder: Path, *lines: object) -> CallsFile:
    path = folder / "calls.jsonl"
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
    return CallsFile(path, known)


def test_each_line_is_a_call(tmp_path: Path) -> None:
    calls = calls_file(
        tmp_path,
        {"id": "a", "tool": "echo", "arguments": {"word": "hi"}},
        "",
        {"id": "b", "tool": "echo", "workspace": "w", "session": "s", "timeout": 2, "caller": {"sub": "u"}},
    )
    assert [*calls] == [
        CallLine(line=1, call_id="a", tool="echo", arguments={"word": "hi"}),
        CallLine(
            line=3,
            call_id="b",
            tool="echo",
            arguments={},
            workspace=Path("w"),
            session="s",
            timeout=2.0,
            caller={"sub": "u"},
        ),
    ]
    assert (calls.count, calls.last_lines) == (2, {"s": 3})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "column 2: Expecting property name enclosed in double quotes"),
        ("[]", 'a line must be an object such as {"id": "1", "tool": "count_words", "arguments": {}}'),
        ({"tool": "echo"}, "'id' is missing"),
        ({"id": "", "tool": "echo"}, "'id' is missing"),
        ({"id": 1, "tool": "echo"}, "'id' must be a text"),
        ({"id": "a\n", "tool": "echo"}, "'id' must have at most 4096 characters, all printable"),
        ({"id": "b", "tool": "echo", "arguments": "{}"}, "'arguments' must be an object"),
        ({"id": "b", "tool": "echo", "timeout": True}, "'timeout' must be a number of seconds above 0"),
        ({"id": "b", "tool": "echo", "timeout": 0}, "'timeout' must be a number of seconds above 0"),
        ({"id": "b", "tool": "echo", "timeout": 1e300}, "'timeout' must be a number of seconds above 0 and below 9e12"),
        ({"id": "b", "tool": "echo", "workspace": "a\0b"}, "'workspace' must be a path"),
        ({"id": "b", "tool": "echo", "caller": "u"}, "'caller' must be an object"),
        ({"id": "b", "tool": "echo", "caller": {"sub": 1}}, "caller['sub'] must be a string; got 1"),
        ({"id": "b", "tool": "echo", "args": {}}, "unknown key 'args'; write 'arguments'"),
        ({"id": "b", "tool": "wipe"}, "there is no tool 'wipe'"),
        ({"id": "a", "tool": "echo"}, "line 1 already has the id 'a'; each call needs its own id"),
    ],
)
def test_an_invalid_line_is_refused_with_its_number(tmp_path: Path, line: object, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        calls_file(tmp_path, {"id": "a", "tool": "echo"}, line)
    assert str(refused.value).startswith(f"{tmp_path}/calls.jsonl:2: {message}")


def test_the_digest_is_that_of_the_lines(tmp_path: Path) -> None:
    first = calls_file(tmp_path, {"id": "a", "tool": "echo"}).digest
    assert calls_file(tmp_path, {"id": "a", "tool": "echo"}).digest == first
    assert calls_file(tmp_path, {"id": "b", "tool": "echo"}).digest != first


def test_the_digest_changes_with_the_number_of_a_line_because_the_journal_has_these_numbers(tmp_path: Path) -> None:
    first = calls_file(tmp_path, {"id": "a", "tool": "echo"}).digest
    assert calls_file(tmp_path, "", {"id": "a", "tool": "echo"}).digest != first


def test_a_byte_order_mark_and_the_line_ends_of_windows_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_bytes(b'\xef\xbb\xbf{"id": "a", "tool": "echo"}\r\n\r\n')
    assert [(each.line, each.call_id) for each in CallsFile(tmp_path / "calls.jsonl", known)] == [(1, "a")]


def test_calls_from_a_pipe_are_refused_because_they_are_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is not a regular file; calls are read twice"):
        CallsFile(tmp_path / "pipe", known)


def test_sessions_that_would_need_too_many_sandboxes_are_refused(tmp_path: Path) -> None:
    def line(number: int, session: int) -> object:
        return {"id": str(number), "tool": "echo", "session": f"s{session}"}

    calls_file(tmp_path, *(line(number, number // 2) for number in range(400)))
    with pytest.raises(UsageError, match=r"calls.jsonl:101: more than 100 sessions would be open"):
        calls_file(tmp_path, *(line(number, number % 200) for number in range(400)))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        CallsFile(tmp_path / "none.jsonl", known)

"""The output of an MCP server as messages, and the limits that are checked before it is parsed."""

import json
from itertools import chain

import pytest

from toolc.runtime.sessions.mcp_lines import BURST, MAX_DEPTH, MAX_LINE, MAX_VALUES, MessageReader, ServerError


def test_messages_are_lines_that_arrive_in_pieces() -> None:
    reader = MessageReader()
    assert [*reader.feed(b'{"a": 1}\n{"b":')] == [{"a": 1}]
    assert [*reader.feed(b" 2")] == []
    assert [*reader.feed(b'}\r\n{"c": 3}\n')] == [{"b": 2}, {"c": 3}]


@pytest.mark.parametrize("line", [b"", b"Starting...", b"[1]", b'"text"', b"null"])
def test_other_lines_are_ignored(line: bytes) -> None:
    assert [*MessageReader().feed(line + b'\n{"a": 1}\n')] == [{"a": 1}]


@pytest.mark.parametrize("text", ['[{[{"', "\\\\", '\\"', ",,,,", "\u00e4"])
def test_brackets_and_commas_in_texts_do_not_count(text: str) -> None:
    value = {"text": text * (2 * MAX_DEPTH)}
    assert [*MessageReader().feed(json.dumps(value).encode() + b"\n")] == [value]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{" + b" " * MAX_LINE, "it sent a message of more than 8MiB"),
        (b"{" + b" " * MAX_LINE + b"}\n", "it sent a message of more than 8MiB"),
        (b"\n" * (BURST + 10), "it sent too many or too large messages too fast"),
        (b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}\n", "it sent a message that is nested more than 100"),
        (b'{"a":' + b"[" * 100_000 + b"\n", "it sent a message that is nested more than 100"),
        (b'{"a":[' + b"0," * MAX_VALUES + b"0]}\n", "it sent a message with more than 200000 values"),
        (b'{"a": 1, "a": 2}\n', "it sent a message that is not JSON: the key 'a' occurs twice"),
        (b'{"a": ' + b"9" * 309 + b"}\n", "it sent a number of more than 308 digits"),
        (b'{"a": NaN}\n', "it sent a message that is not JSON"),
        (b'{"a\n', "it sent a message that is not JSON"),
        (b'{"a": "\xff"}\n', "it sent a message that is not JSON: byte 7 is not UTF-8"),
    ],
)
def test_a_message_beyond_a_limit_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ServerError, match=reason):
        [*MessageReader().feed(data)]


def test_large_lines_count_more() -> None:
    reader, line = MessageReader(), b"x" * (MAX_LINE - 1) + b"\n"
    assert [*reader.feed(line)] == []
    with pytest.raises(ServerError, match="it sent too many or too large messages too fast"):
        [*chain.from_iterable(reader.feed(line) for _ in range(50))]


def test_answers_to_requests_are_never_too_many() -> None:
    reader = MessageReader()
    for number in range(2 * BURST):
        reader.allow_answer()
        assert [*reader.feed(b'{"progress": 1}\n{"id": %d}\n' % number)] == [{"progress": 1}, {"id": number}]

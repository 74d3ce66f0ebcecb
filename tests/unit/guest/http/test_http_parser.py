"""Valid and invalid HTTP responses."""

import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest.http.response_parser import MAX_FIELDS, MAX_LINE, ResponseError, read_body, read_head

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n"


def parsed(data: bytes, method: str = "GET") -> tuple[int, str, dict[str, str], bytes]:
    stream: io.BufferedReader = io.BufferedReader(io.BytesIO(data))
    head = read_head(stream)
    return head.status, head.reason, head.fields, b"".join(read_body(stream, head, method))


def problem(data: bytes) -> str:
    with pytest.raises(ResponseError) as caught:
        parsed(data)
    return str(caught.value)


def test_a_response_has_status_fields_and_body() -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nX-A: 1\r\nx-a:  2 \r\nX-B:\r\n folded\r\n"
    data += b"Content-Length: 3\r\n\r\nabcdef"
    fields = {"content-type": "a/b", "x-a": "1, 2", "x-b": " folded", "content-length": "3"}
    assert parsed(data) == (200, "OK", fields, b"abc")


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end"),
        (b"HTTP/1.1 200\n\nonly line feeds", b"only line feeds"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx", b"x"),
        (b"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nabcde", b""),
        (b"HTTP/1.1 304 No\r\n\r\nabcde", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nabc", b"ab"),
        (CHUNKED + b"Content-Length: 9\r\n\r\n1\r\na\r\n00A \r\n0123456789\r\n0\r\n\r\n", b"a0123456789"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\na\r\n0\r\nTrailer: x\r\n\r\n", b"a"),
    ],
)  # fmt: skip
def test_the_end_of_a_body(data: bytes, body: bytes) -> None:
    assert parsed(data)[3] == body


def test_a_response_to_head_has_no_body() -> None:
    assert parsed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD")[3] == b""


NOT_HTTP = "the server's response is not HTTP: "


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the server ended the connection without a response"),
        (b"SSH-2.0-x\r\n", NOT_HTTP + "'SSH-2.0-x\\r\\n'"),
        (b"HTTP/2 200 OK\r\n\r\n", NOT_HTTP + "'HTTP/2 200 OK\\r\\n'"),
        (b"HTTP/1.1 099 No\r\n\r\n", NOT_HTTP + "'HTTP/1.1 099 No\\r\\n'"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", "the connection ended before the end of the response's headers"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", NOT_HTTP + "'no colon'"),
        (b"HTTP/1.1 200 OK\r\na b: c\r\n\r\n", NOT_HTTP + "'a b: c'"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 201 + b"\r\n", NOT_HTTP + f"it has more than {MAX_FIELDS} fields"),
        (
            b"HTTP/1.1 200 OK\r\nA: " + b"b" * MAX_LINE + b"\r\n\r\n",
            NOT_HTTP + f"it has a line of more than {MAX_LINE} bytes",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            NOT_HTTP + "its Content-Length is invalid",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab", NOT_HTTP + "its Content-Length is invalid"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            NOT_HTTP + "its transfer coding is 'gzip, chunked'",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", "the connection ended 3 bytes before the end of the body"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            "the connection ended 3 bytes before the end of the body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
            "the server's response has an invalid chunk",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n",
            "the connection ended within the body, or the chunked encoding of the body is invalid",
        ),
    ],
)
def test_invalid_responses_are_rejected_by_the_parser(data: bytes, message: str) -> None:
    assert problem(data) == message


@given(st.binary(max_size=300))
def test_random_bytes_raise_only_response_errors(data_: bytes) -> None:
    for data in (
        data_,
        b"HTTP/1.1 200 OK\r\n" + data_,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data_,
    ):
        with suppress(ResponseError):
            assert parsed(data)[0] >= 101

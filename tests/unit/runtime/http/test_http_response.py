import http.client

import pytest

from toolc.runtime.http import token
from toolc.runtime.http.token import HttpResponse, InvalidResponseError

CHUNKED = b"HTTP/1.1 200 -\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "status", "body"),
    [
        (b"HTTP/1.1 200 -\r\nContent-Length: 5\r\n\r\nwhole", 200, b"whole"),
        (b"HTTP/1.1 204 -\r\n\r\n", 204, b""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 -\r\nContent-Length: 2\r\n\r\nno", 401, b"no"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 -\r\nContent-Length: 0\r\n\r\n", 200, b""),
        (CHUNKED + b"3\r\nwho\r\n2;x=y\r\nle\r\n0\r\n\r\n", 200, b"whole"),
        (CHUNKED + b"5\r\nwhole\r\n0\r\nDigest: x\r\nMore: y\r\n\r\n", 200, b"whole"),
        (CHUNKED + b"0\r\n\r\n", 200, b""),
    ],
    ids=["length", "no body", "continue", "hints", "chunks", "trailer", "no chunk"],
)
def test_a_response_is_complete_with_its_last_byte(data: bytes, status: int, body: bytes) -> None:
    by_bytes, whole = HttpResponse(10_000), HttpResponse(10_000)
    assert [by_bytes.feed(data[at : at + 1]) for at in range(len(data))] == [False] * (len(data) - 1) + [True]
    assert whole.feed(data)
    assert by_bytes.read() == whole.read() == (status, body)


def test_a_response_without_a_length_ends_with_its_connection() -> None:
    response = HttpResponse(1000)
    assert not response.feed(b"HTTP/1.1 200 -\r\n\r\nwhole")
    assert response.read() == (200, b"whole")


@pytest.mark.parametrize(
    "data",
    [
        CHUNKED + b"f" * 999,
        CHUNKED + b"; " * 600,
        CHUNKED + b"-1\r\n",
        b"HTTP/1.1 200 -\r\nContent-Length: 5\r\n\r\n" + b"x" * 1000,
    ],
)
def test_a_response_that_is_too_long_or_malformed_is_invalid(data: bytes) -> None:
    with pytest.raises(InvalidResponseError):
        HttpResponse(1000).feed(data)


def test_the_head_is_parsed_once_however_many_pieces_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    parse_head = token._parse_head

    def counted(data: bytes) -> http.client.HTTPResponse:
        parsed.append(len(data))
        return parse_head(data)

    monkeypatch.setattr(token, "_parse_head", counted)
    response = HttpResponse(64 * 1024)
    whole = CHUNKED + b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n"
    assert [response.feed(whole[at : at + 1]) for at in range(len(whole))].count(True) == 1
    assert response.read() == (200, b"x" * 10_000)
    assert parsed == [len(CHUNKED), len(whole)]

"""A short answer on the host: when it is whole, however it comes, and at what price."""

from __future__ import annotations

import http.client

import pytest

from toolc.runtime.http import token
from toolc.runtime.http.token import AnswerError, HttpResponse

CHUNKED = b"HTTP/1.1 200 -\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "status", "body"),
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
def test_an_answer_is_whole_with_its_last_byte_and_not_before(answer: bytes, status: int, body: bytes) -> None:
    by_bytes, at_once = HttpResponse(10_000), HttpResponse(10_000)
    assert [by_bytes.feed(answer[at : at + 1]) for at in range(len(answer))] == [False] * (len(answer) - 1) + [True]
    assert at_once.feed(answer)
    assert by_bytes.read() == at_once.read() == (status, body)


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    answer = HttpResponse(1000)
    assert not answer.feed(b"HTTP/1.1 200 -\r\n\r\nwhole")
    assert answer.read() == (200, b"whole")


@pytest.mark.parametrize(
    ("piece", "most"),
    [
        (CHUNKED + b"f" * 999, 1000),
        (CHUNKED + b"; " * 600, 1000),
        (CHUNKED + b"-1\r\n", 1000),
        (b"HTTP/1.1 200 -\r\nContent-Length: 5\r\n\r\n" + b"x" * 1000, 1000),
    ],
)
def test_an_answer_that_can_have_no_end_is_given_up(piece: bytes, most: int) -> None:
    with pytest.raises(AnswerError):
        HttpResponse(most).feed(piece)


def test_the_price_of_an_answer_grows_with_its_length_and_not_with_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    begun = token._begun

    def counted(data: bytes) -> http.client.HTTPResponse:
        parsed.append(len(data))
        return begun(data)

    monkeypatch.setattr(token, "_begun", counted)
    answer = HttpResponse(64 * 1024)
    whole = CHUNKED + b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n"
    assert [answer.feed(whole[at : at + 1]) for at in range(len(whole))].count(True) == 1
    assert answer.read() == (200, b"x" * 10_000)
    assert parsed == [len(CHUNKED), len(whole)]

"""A response that is an error, in the words that a model gets."""

from __future__ import annotations

import pytest
from http_responses import response

from toolc.guest.http.errors import MAX_HTML, error_of

PAGE = (
    b"<html><head><title>Oops</title><STYLE>a{}</STYLE><script>x('<b>')</script></head>"
    b"<body><h1>sorry &amp; bye</h1></body>"
)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"", "text/plain", "HTTP 500 Status"),
        (b'{"title": "no"}', "application/problem+json", 'HTTP 500 Status: {"title": "no"}'),
        (b"a\n  b", "text/plain", "HTTP 500 Status: a b"),
        (PAGE, "text/html", "HTTP 500 Status: Oops sorry & bye"),
        (b"before<script>never closed", "text/html", "HTTP 500 Status: before"),
        (b"c<style>a</script>b", "text/html", "HTTP 500 Status: c"),
        (b"a < b <i>c</i>", "text/html", "HTTP 500 Status: a < b c"),
        (b"\x00\x01\xff", "application/octet-stream", "HTTP 500 Status"),
        (b"\x89PNG", "image/png", "HTTP 500 Status"),
        ("\u00e9".encode("utf-16"), "text/plain", "HTTP 500 Status: \u00e9"),
        (b"w" * 600, "text/plain", "HTTP 500 Status: " + "w" * 500 + "..."),
        (b"a" + b" " * 5000 + b"b", "text/plain", "HTTP 500 Status: a..."),
        (b"a" + b"<br>" * MAX_HTML + b"b", "text/html", "HTTP 500 Status: a..."),
    ],
)
def test_the_message_is_the_status_and_the_head_of_a_body_that_is_text(body: bytes, kind: str, words: str) -> None:
    assert str(error_of(response(body, 500, content_type=kind), None)) == words


@pytest.mark.parametrize("piece", [b"<", b"<script", b"<script>", b"<!--", b"</style><style>"])
def test_a_page_of_nothing_but_open_tags_is_read_in_one_go(piece: bytes) -> None:
    # Each of these took seconds while what was left open was looked for from each of its beginnings.
    page = response(piece * (MAX_HTML // len(piece)), 500, content_type="text/html")
    assert str(error_of(page, None)).startswith("HTTP 500 Status")


@pytest.mark.parametrize(
    ("header", "words"), [("0", "try again now"), ("1", "try again in 1 second"), ("1.5", "try again in 2 seconds")]
)
def test_a_limit_says_when_to_try_again(header: str, words: str) -> None:
    error = error_of(response(status=429, retry_after=header), None)
    assert (error.kind, str(error)) == ("rate_limit", f"HTTP 429 Status ({words})")


def test_a_limit_that_is_told_as_403_is_one() -> None:
    error = error_of(response(status=403, x_ratelimit_remaining="0", x_ratelimit_reset="90"), None)
    assert (error.kind, str(error)) == ("rate_limit", "HTTP 403 Status (try again in 90 seconds)")


def test_a_rule_of_the_specs_comes_first() -> None:
    rule: dict[str, str | None] = {"kind": "denied", "status": "429", "when": None, "message": "not today"}
    assert str(error_of(response(status=429), rule)) == "not today"
    assert error_of(response(status=429), rule | {"message": None}).kind == "denied"


def test_another_protocol_is_no_answer() -> None:
    assert error_of(response(status=101), None).kind == "execution"

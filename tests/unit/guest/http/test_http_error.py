"""The kinds and messages of error responses."""

import pytest
from http_responses import response

from toolc.guest.http.response_errors import MAX_HTML, error_of

PAGE = (
    b"<html><head><title>Oops</title><STYLE>a{}</STYLE><script>x('<b>')</script></head>"
    b"<body><h1>sorry &amp; bye</h1></body>"
)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
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
def test_the_message_has_the_status_and_the_start_of_a_text_body(body: bytes, kind: str, message: str) -> None:
    assert str(error_of(response(body, 500, content_type=kind), None)) == message


@pytest.mark.parametrize("piece", [b"<", b"<script", b"<script>", b"<!--", b"</style><style>"])
def test_unclosed_tags_do_not_cause_repeated_scans(piece: bytes) -> None:
    page = response(piece * (MAX_HTML // len(piece)), 500, content_type="text/html")
    assert str(error_of(page, None)).startswith("HTTP 500 Status")


@pytest.mark.parametrize(
    ("header", "message"), [("0", "try again now"), ("1", "try again in 1 second"), ("1.5", "try again in 2 seconds")]
)
def test_a_rate_limit_has_the_time_to_try_again(header: str, message: str) -> None:
    error = error_of(response(status=429, retry_after=header), None)
    assert (error.kind, str(error)) == ("rate_limit", f"HTTP 429 Status ({message})")


def test_a_rate_limit_with_status_403_is_detected() -> None:
    error = error_of(response(status=403, x_ratelimit_remaining="0", x_ratelimit_reset="90"), None)
    assert (error.kind, str(error)) == ("rate_limit", "HTTP 403 Status (try again in 90 seconds)")


def test_a_rule_of_the_spec_has_priority() -> None:
    rule: dict[str, str | None] = {"kind": "denied", "status": "429", "when": None, "message": "not today"}
    assert str(error_of(response(status=429), rule)) == "not today"
    assert error_of(response(status=429), rule | {"message": None}).kind == "denied"


def test_statuses_from_500_are_network_errors() -> None:
    kinds = [error_of(response(status=status), None).kind for status in (499, 500, 501, 599)]
    assert kinds == ["execution", "network", "network", "network"]


def test_another_protocol_is_an_error() -> None:
    assert error_of(response(status=101), None).kind == "execution"

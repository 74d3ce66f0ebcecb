"""The answer of an HTTP call: by the format of the result, with tokens, redirects and retries."""

import json
import time
from typing import Any

import pytest
from http_responses import FakeRequests, Request, job, response

from toolc.guest.http.exchange import Exchange
from toolc.guest.http.http_tool import run_call
from toolc.guest.http.response_parser import Head
from toolc.guest.http.round_trip import Response

PNG = b"\x89PNG\r\n\x1a\n"
RETRY = {"attempts": 3, "backoff_ms": 1, "statuses": [503]}


def called(answers: list[Response], **more: object) -> tuple[dict[str, Any], list[Request]]:
    """Return the answer of a call, and the requests. The last of ``answers`` is repeated."""
    left = [*answers]
    requests = FakeRequests(lambda _: left.pop(0) if len(left) > 1 else left[0])
    http = job(**more)
    return json.loads(run_call(http, Exchange(http, requests, time.monotonic() + 80, lambda _: None))), requests.sent


def error(*answers: Response, **more: object) -> tuple[object, object]:
    found = called([*answers], **more)[0]["error"]
    return found["kind"], found["message"]


@pytest.mark.parametrize(
    ("more", "answer", "texts", "data"),
    [
        ({"format": "none"}, response(b"x"), [], None), ({"format": "text"}, response(b""), [], None),
        ({"format": "none", "template": "{{ args.a }}", "arguments": {"a": "b"}}, response(b"x"), ["b"], None),
        ({}, response(b" ", 204), [], None), ({"method": "HEAD"}, response(b""), [], None),
        ({"format": "json", "select": "a"}, response(b'{"a": [1]}'), ["[1]"], [[1]]),
        ({"format": "text"}, response(b'{"a": 1}', content_type="application/json"), ['{"a":1}'], [{"a": 1}]),
        ({"format": "text", "select": "a"}, response(b'{"a": 1}', content_type="text/plain"), ["1"], [1]),
        ({"format": "text"}, response(b"words", content_type="text/plain"), ["words"], None),
        ({"format": "text", "template": "<{{ text }}>"}, response(b"a", content_type="text/plain"), ["<a>"], None),
    ],
)  # fmt: skip
def test_text_and_data_of_each_format(more: Request, answer: Response, texts: list[str], data: object) -> None:
    found, _ = called([answer], **more)
    assert (found["content"], found["structured"]) == ([{"type": "text", "text": text} for text in texts], data)


@pytest.mark.parametrize(
    ("kind", "answer", "block"),
    [
        ("image", response(PNG, content_type="text/plain"), {"type": "image", "mime_type": "image/png"}),
        ("text", response(PNG), {"type": "image", "mime_type": "image/png"}),
        ("text", response(b"\0\1", content_type="a/b"), {"type": "resource", "mime_type": "a/b", "name": "list"}),
    ],
)
def test_images_and_files(kind: str, answer: Response, block: dict[str, str]) -> None:
    (found,) = called([answer], format=kind)[0]["content"]
    assert found.items() >= block.items()


def test_a_text_beyond_the_limit_is_truncated_in_the_middle() -> None:
    found, _ = called([response(b"a" * 50 + b"b" * 50, content_type="text/plain")], format="text", limit=20)
    assert found["details"]["truncated"] is True
    assert "a" * 50 not in str(found["content"])


NO_IMAGE = "the response must be a PNG, JPEG, GIF or WebP image, but it is "
NO_JSON = "the response is not JSON: "
LONG = Response(Head(200, "OK", {}, []), b"abc", cut=True)


@pytest.mark.parametrize(
    ("more", "answer", "kind", "message"),
    [
        ({"format": "image"}, response(b"<p>", content_type="text/html"), "serialization", f"{NO_IMAGE}text/html"),
        ({"format": "image"}, response(b"abc"), "serialization", f"{NO_IMAGE}3 bytes without a type"),
        ({"format": "image"}, response(b""), "serialization", f"{NO_IMAGE}empty"),
        ({"format": "image", "limit": 5}, response(PNG), "output_limit",
         "the result has 8 bytes; the maximum is 5; request less data"),
        ({"format": "text", "select": "a"}, response(b"words", content_type="text/plain"), "serialization",
         f"{NO_JSON}line 1 column 1: Expecting value. It begins with: words"),
        ({}, response(b"1e999", content_type="a/b"), "serialization", f"{NO_JSON}1e999 is too large a number"),
        ({}, response(b"1" * 4301, content_type="a/b"), "serialization",
         f"{NO_JSON}a number has more than 4300 digits"),
        ({"format": "text"}, LONG, "output_limit", "the response is longer than 16 MiB; request less data"),
    ],
)  # fmt: skip
def test_a_response_without_a_result_is_an_error(more: Request, answer: Response, kind: str, message: str) -> None:
    assert error(answer, **more) == (kind, message)


@pytest.mark.parametrize(
    ("when", "body", "message"),
    [
        ("ok == `false`", b'{"ok": false}', "not ok"), ("ok == `false`", b'{"ok": true}', None),
        ("code", b'{"code": 0}', "not ok"), ("code", b"words", None),
    ],
)  # fmt: skip
def test_error_rules_apply_to_successful_statuses(when: str, body: bytes, message: str | None) -> None:
    rule = {"kind": "denied", "status": "2xx", "when": when, "message": "not ok"}
    found, _ = called([response(body, content_type="text/plain")], errors=[rule], format="text")
    assert found.get("error", {}).get("message") == message


def test_a_rule_of_another_status_does_not_apply() -> None:
    rule = {"kind": "denied", "status": "40x", "when": None, "message": None}
    assert error(response(status=418), errors=[rule])[0] == "execution"
    assert error(response(status=404), errors=[rule])[0] == "denied"


def test_a_failed_request_is_repeated_until_the_attempts_or_the_time_are_used() -> None:
    found, sent = called([response(status=503), response(b"1")], retry=RETRY)
    assert (found["structured"], sent) == ([1], [{}, {}])
    found, sent = called([response(status=503)], retry=RETRY)
    assert ("error" in found, len(sent)) == (True, 3)
    found, sent = called([response(status=503, retry_after="90")], retry=RETRY)
    assert (found["details"]["retries"], found["details"]["retry_after_ms"], len(sent)) == (0, 90_000, 1)


def test_an_endless_redirect_is_an_error() -> None:
    target = "https://a.example/next"
    message = f"more than 10 redirects, the last one to {target} -> {target} -> {target}"
    assert error(response(status=302, location="/next?key=secret")) == ("network", message)


TOKEN: Request = {"token": True}


def test_a_refused_token_is_renewed_once() -> None:
    found, sent = called([response(status=401), response(), response(b"1")], has_token=True)
    assert (found["structured"], sent) == ([1], [{}, TOKEN, {}])
    refused, sent = called([response(status=401), response(), response(status=401)], has_token=True)
    assert ("error" in refused, sent) == (True, [{}, TOKEN, {}])


def test_the_credentials_are_sent_in_the_form_if_the_header_is_refused() -> None:
    found, sent = called([response(status=400), response(), response(b"1")], needs_token=True)
    assert (found["structured"], sent) == ([1], [TOKEN, TOKEN | {"in_form": True}, {}])


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [(401, b"bad\n client", "authentication", "(HTTP 401): bad client"), (502, b"", "network", "(HTTP 502)")],
)
def test_without_a_token_the_call_fails(status: int, body: bytes, kind: str, message: str) -> None:
    expected = f"the token server returned no access token {message}"
    assert error(response(body, status), needs_token=True) == (kind, expected)


@pytest.mark.parametrize(
    ("link", "urls"),
    [
        ('</list?page=2>; rel="prev next", </>; rel=first', ["https://a.example/list?page=2"]),
        ("</list?page=2>; rel=last", []), ("", []),
    ],
)  # fmt: skip
def test_the_link_header_has_the_next_page(link: str, urls: list[str]) -> None:
    style = {"style": "link", "next": None, "items": None, "max_items": None, "max_pages": 5, "parameter": None}
    found, sent = called([response(b"[1]", link=link), response(b"2")], pagination=style)
    assert [each["url"] for each in sent[1:]] == urls
    assert found["structured"] == [[1, 2] if urls else [1]]
    assert (found["details"]["pages"], found["details"]["truncated"]) == (len(sent), False)

"""What is told of an HTTP call that has no answer."""

from __future__ import annotations

from toolc.model.http_plan import HttpCall, TokenRequest
from toolc.model.json_schema import JsonObject
from toolc.runtime.http.message import so_far

TOKEN = TokenRequest(url="https://login.example.com/token?tenant=1", form=(), client_id=(), client_secret=())
CALL = HttpCall(method="GET", url="https://api.example.com/a?key=1", token=TOKEN)


def test_a_call_begins_with_its_own_request_or_with_that_for_a_token() -> None:
    told = [so_far(CALL, {}), so_far(HttpCall(method="GET", url=CALL.url, token=TOKEN, needs_token=True), {})]
    assert told == [
        {"url": "https://api.example.com/a", "redirects": 0, "retries": 0},
        {"url": "https://login.example.com/token", "redirects": 0, "retries": 0},
    ]


def test_what_the_guest_has_told_counts_where_it_makes_sense() -> None:
    told: JsonObject = {"url": "https://api.example.com/b", "redirects": 1, "retries": "?", "status": 302, "x": 1}
    assert so_far(CALL, told) == {"url": told["url"], "redirects": 1, "retries": 0, "status": 302}

from toolc.model.http_plan import HttpCall, TokenRequest
from toolc.model.json_schema import JsonObject
from toolc.runtime.http.message import interim_details

TOKEN = TokenRequest(url="https://login.example.com/token?tenant=1", form=(), client_id=(), client_secret=())
CALL = HttpCall(method="GET", url="https://api.example.com/a?key=1", token=TOKEN)


def test_the_first_url_is_that_of_the_call_or_of_its_token() -> None:
    details = [
        interim_details(CALL, {}),
        interim_details(HttpCall(method="GET", url=CALL.url, token=TOKEN, needs_token=True), {}),
    ]
    assert details == [
        {"url": "https://api.example.com/a", "redirects": 0, "retries": 0},
        {"url": "https://login.example.com/token", "redirects": 0, "retries": 0},
    ]


def test_only_valid_details_of_the_guest_are_used() -> None:
    reported: JsonObject = {"url": "https://api.example.com/b", "redirects": 1, "retries": "?", "status": 302, "x": 1}
    assert interim_details(CALL, reported) == {"url": reported["url"], "redirects": 1, "retries": 0, "status": 302}

"""Responses and jobs of HTTP tools for tests."""

from collections.abc import Callable

from toolc.guest.http.response_parser import Head
from toolc.guest.http.round_trip import Requests, Response
from toolc.guest.job import HttpJob

Request = dict[str, object]


def response(body: bytes = b"", status: int = 200, **headers: str) -> Response:
    """Return a response. ``_`` in the names of headers becomes ``-``."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(Head(status, "Status", fields, []), body, cut=False)


def job(**more: object) -> HttpJob:
    """Return a job with default values and ``more``."""
    message: dict[str, object] = {
        "method": "GET", "url": "https://a.example/list", "format": "json", "limit": 1 << 20, "needs_token": False,
        "has_token": False, "retry": None, "pagination": None, "errors": [], "select": None, "template": None,
        "arguments": {},
    }  # fmt: skip
    return HttpJob(message | more)


class FakeRequests(Requests):
    """Answers each request with a function, and records the requests."""

    def __init__(self, answer: Callable[[Request], Response]) -> None:
        super().__init__(("", 0))
        self.answer = answer
        self.sent: list[Request] = []

    def send(self, request: Request, method: str, limit: int = 0) -> Response:
        del method, limit
        self.sent.append(request)
        return self.answer(request)

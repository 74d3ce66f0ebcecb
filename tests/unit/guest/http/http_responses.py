"""Responses and jobs of HTTP tools for tests."""

from toolc.guest.http.round_trip import Response
from toolc.guest.job import HttpJob


def response(body: bytes = b"", status: int = 200, **headers: str) -> Response:
    """Return a response. ``_`` in the names of headers becomes ``-``."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, "Status", fields, body, cut=False)


def job(**more: object) -> HttpJob:
    """Return a job with default values and ``more``."""
    message: dict[str, object] = {
        "method": "GET", "url": "https://a.example/list", "format": "json", "limit": 1 << 20, "needs_token": False,
        "has_token": False, "retry": None, "pagination": None, "errors": [], "select": None, "template": None,
        "arguments": {},
    }  # fmt: skip
    return HttpJob(message | more)

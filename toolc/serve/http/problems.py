"""Errors of the server as problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import JSONResponse


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a response that says what is wrong with a request and how to correct it."""
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(document, status, headers=headers, media_type="application/problem+json")


def retry_later(status: int, detail: str, seconds: int) -> JSONResponse:
    """Return a response to a request that may succeed after ``seconds``."""
    return problem(status, f"{detail}; try again in {seconds} seconds", {"Retry-After": str(seconds)})

"""The cookies that redirects set, for the other requests of the same call (RFC 6265)."""

from __future__ import annotations

from email.message import Message
from http.cookiejar import CookieJar
from urllib.request import Request


class Cookies:
    """The cookies of one call."""

    def __init__(self) -> None:
        self._jar = CookieJar()

    def add(self, url: str, fields: list[str]) -> None:
        """Store the cookies in the ``Set-Cookie`` fields of the response from ``url`` that its host may set."""
        self._jar.extract_cookies(_Answer(fields), Request(url))  # type: ignore[arg-type]  # noqa: S310  opens nothing

    def header(self, url: str) -> str:
        """Return the value of the ``Cookie`` field for a request to ``url``, or an empty string."""
        request = Request(url)  # noqa: S310  opens nothing
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie", "")


class _Answer:
    """A response as ``CookieJar`` reads it."""

    def __init__(self, fields: list[str]) -> None:
        self._message = Message()
        for field in fields:
            self._message["Set-Cookie"] = field

    def info(self) -> Message:
        """Return the headers."""
        return self._message

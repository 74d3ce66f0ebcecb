"""Send the requests of an HTTP call, with token renewal, redirects, retries and pagination."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

from toolc.guest import truncate
from toolc.guest.context import ToolError
from toolc.guest.http.request import MAX_BODY, Requests, Response
from toolc.guest.http.response import HttpJob, needed_json, rule_for
from toolc.guest.http.shaping import jmespath_search

MAX_REDIRECTS = 10
MAX_ERROR_BODY = 64 * 1024
"""The maximum size of a body that is only quoted in a message, in bytes."""


class Exchange:
    """The requests of one call. ``deadline`` is a time of ``time.monotonic``.

    ``tell`` is called with the current state before each request but the first, in case the call ends early.
    """

    def __init__(
        self, job: HttpJob, requests: Requests, deadline: float, tell: Callable[[dict[str, object]], None]
    ) -> None:
        self._job = job
        self._requests = requests
        self._deadline = deadline
        self._tell = tell
        self._url = job.url
        self._renewed = False
        self._last: Response | None = None
        self._redirects = 0
        self._retries = 0
        self.pages = 0

    def about(self) -> dict[str, object]:
        """Return the state of the call for ``details.http``, without the query of the URL, which may contain a
        key.
        """
        told: dict[str, object] = {} if self._last is None else {
            "status": self._last.status, "content_type": self._last.headers.get("content-type", ""),
        }  # fmt: skip
        told["url"] = self._url.partition("?")[0]
        told["redirects"] = self._redirects
        told["retries"] = self._retries
        if self._job.pagination is not None:
            told["pages"] = self.pages
        if self._last is not None and self._last.status >= 400:
            from toolc.guest.http.errors import retry_after  # few calls fail

            seconds = retry_after(self._last)
            if seconds is not None:
                told["retry_after_ms"] = int(seconds * 1000)
        return told

    def first(self) -> Response:
        """Return the response to the call's request. Raise ``ToolError``, also for an error response."""
        if self._job.needs_token:
            self._renew_token()
        return self._checked({})

    def next(self, ask: dict[str, object]) -> Response:
        """Return the response to ``ask`` (see ``toolc.guest.http.request``). Raise ``ToolError`` like ``first``."""
        return self._checked(ask)

    @property
    def url(self) -> str:
        """The URL of the last request."""
        return self._url

    @property
    def status(self) -> int | None:
        """The status of the last response; None if there was no response."""
        return self._last.status if self._last else None

    def _checked(self, ask: dict[str, object]) -> Response:
        """Return the response to ``ask``, with the retries defined in the spec."""
        retry = self._job.retry
        attempts = int(str(retry["attempts"])) if retry else 1
        attempt = 1
        while True:
            response = self._redirected(ask)
            if response.status == 401 and self._job.has_token and not self._renewed:
                self._renew_token()
                continue
            again = retry is not None and response.status in retry["statuses"]  # type: ignore[operator]
            if again and retry is not None and attempt < attempts:
                from toolc.guest.http.errors import retry_after  # few calls fail

                wait = max(retry_after(response) or 0.0, int(str(retry["backoff_ms"])) / 1000 * 2 ** (attempt - 1))
                if time.monotonic() + wait < self._deadline:
                    time.sleep(wait)
                    attempt += 1
                    self._retries += 1
                    continue
            rule = rule_for(self._job, response)
            if rule is None and 200 <= response.status < 300:
                return response
            from toolc.guest.http.errors import error_of  # few calls fail

            raise error_of(response, rule)

    def _redirected(self, ask: dict[str, object]) -> Response:
        """Return the response to ``ask``, following redirects (RFC 9110, 15.4)."""
        method = str(ask.get("method", self._job.method))
        url = str(ask.get("url", self._job.url))
        seen = [url]
        while True:
            self._url = url
            if self._requests.count:
                self._tell(self.about())
            self._last = None
            try:
                response = self._requests.send(ask, method)
            except ToolError as error:
                if "url" not in ask:
                    raise
                led = "the next page is at" if len(seen) == 1 else "the server redirected to"
                raise ToolError(error.kind, "%s %s: %s" % (led, _shown(url), error)) from error
            self._last = response
            location = _location(response)
            if response.status not in (301, 302, 303, 307, 308) or not location:
                return response
            url = joined(url, location).partition("#")[0]
            if (response.status == 303 and method != "HEAD") or (response.status in (301, 302) and method == "POST"):
                method = "GET"
            if len(seen) > MAX_REDIRECTS:
                loop = " -> ".join(map(_shown, seen[-3:]))
                raise ToolError("network", "more than %d redirects, the last of them %s" % (MAX_REDIRECTS, loop))
            seen.append(url)
            self._redirects += 1
            # A page's cursor is in the body, which is dropped if the method changes.
            keeps = "cursor" in ask and method == self._job.method
            ask = {"url": url, "method": method} | ({"cursor": ask["cursor"]} if keeps else {})

    def _renew_token(self) -> None:
        """Have the host get an access token, with the client credentials in the header first, then in the form."""
        self._renewed = not self._job.needs_token
        self._job.needs_token = False
        response = self._requests.send({"token": True}, "POST", MAX_ERROR_BODY)
        if response.status in (400, 401):
            # Some servers accept only the form, contrary to RFC 6749 (2.3.1).
            response = self._requests.send({"token": True, "in_form": True}, "POST", MAX_ERROR_BODY)
        if response.status >= 300:
            words = " ".join(response.body.decode("utf-8", "replace").split())[:300]
            kind = "network" if response.status >= 500 else "authentication"
            told = ": %s" % words if words else ""
            raise ToolError(kind, "the token server gave no access token (HTTP %d)%s" % (response.status, told))


def _location(response: Response) -> str:
    """Return the target of a redirect, decoded as UTF-8 as servers expect, with spaces escaped as browsers do."""
    location = response.headers.get("location", "").strip()
    return location.encode("latin-1", "replace").decode("utf-8", "replace").replace(" ", "%20")


def joined(base: str, reference: str) -> str:
    """Return ``reference`` resolved against ``base``, or unchanged if it is not a URL; the host reports that
    error.
    """
    from urllib.parse import urljoin  # slow to import, and most calls have no redirects

    try:
        return urljoin(base, reference)
    except ValueError:
        return reference  # such as ``http://[``


def _shown(url: str) -> str:
    """Return a URL for an error message: shortened, and without its query."""
    return truncate.truncate_end(url.partition("?")[0], 200)


LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
MAX_DEPTH = 64
"""The maximum nesting of a cursor, in levels."""

RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]*))", re.IGNORECASE)


def all_pages(job: HttpJob, exchange: Exchange) -> tuple[list[object], bool]:
    """Return the items of all pages, and whether there are more that were not requested. Raise ``ToolError``."""
    pagination = job.pagination
    assert pagination is not None
    most, max_pages = pagination["max_items"], int(str(pagination["max_pages"]))
    found: list[object] = []
    asked = {"{}"}
    response = exchange.first()
    size = 0
    while True:
        exchange.pages += 1
        size += len(response.body)
        if size > MAX_BODY:
            raise ToolError("output_limit", "the pages are longer than %d MiB; ask for less" % (MAX_BODY >> 20))
        page = None if response.status == 204 else needed_json(response)
        items = _items(page, pagination["items"])
        found += items
        ask = _following(job, exchange, response, page, items, len(found))
        # Stop if the server repeats a page that was already requested.
        key = json.dumps(ask, sort_keys=True)
        goes_on = ask is not None and key not in asked
        if most is not None and len(found) >= int(str(most)):
            return found[: int(str(most))], goes_on or len(found) > int(str(most))
        if ask is None or not goes_on or exchange.pages >= max_pages:
            return found, goes_on
        asked.add(key)
        try:
            response = exchange.next(ask)
        except ToolError:
            if pagination["style"] in ("offset", "page") and exchange.status == 404:
                # A missing page number means that the previous page was the last one.
                return found, False
            raise


def _following(
    job: HttpJob, exchange: Exchange, response: Response, page: object, items: list[object], total: int
) -> dict[str, object] | None:
    """Return the request for the next page; None if this was the last page."""
    pagination = job.pagination
    assert pagination is not None
    style = pagination["style"]
    if style == "link":
        led = _link(response) if pagination["next"] is None else jmespath_search(str(pagination["next"]), page)
        if not led:
            return None
        if not isinstance(led, str):
            raise ToolError("serialization", "what leads to the next page is no URL")
        return {"url": joined(exchange.url, led), "method": job.method}
    if style == "cursor":
        value = jmespath_search(str(pagination["next"]), page)
        if value is None or value is False or value in ("", [], {}):
            return None
        if _is_deep(value):
            raise ToolError("serialization", "the cursor of the next page is nested deeper than %d levels" % MAX_DEPTH)
        if pagination["parameter"] is None:
            return {"cursor": value}
    elif not items:
        return None
    else:
        value = int(str(pagination["start"])) + (total if style == "offset" else exchange.pages)
    if value is True or not isinstance(value, (str, int, float)):
        raise ToolError("serialization", "what leads to the next page is neither a text nor a number")
    return {"query": {str(pagination["parameter"]): value if isinstance(value, str) else json.dumps(value)}}


def _is_deep(value: object) -> bool:
    """Return whether the value is nested too deeply for the host."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
    return bool(level)


def _items(page: object, expression: object) -> list[object]:
    found = page if expression is None else jmespath_search(str(expression), page)
    if found is None:
        return []
    if isinstance(found, list):
        return found
    if expression is None:
        return [found]
    raise ToolError("serialization", "%s finds no list in a page" % expression)


def _link(response: Response) -> str:
    """Return the target of ``rel="next"`` in the Link header (RFC 8288); empty if there is none."""
    for match in LINK.finditer(response.headers.get("link", "")):
        for relation in RELATION.finditer(match.group(2)):
            if "next" in (relation.group(1) or relation.group(2) or "").lower().split():
                return match.group(1).strip()
    return ""

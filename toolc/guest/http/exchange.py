"""Send the requests of an HTTP call, with token renewal, redirects, retries and pagination."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from toolc.guest import truncate
from toolc.guest.context import ToolError
from toolc.guest.http.body import needed_json, rule_for
from toolc.guest.http.response_errors import error_of, retry_after
from toolc.guest.http.round_trip import MAX_RESPONSE_BODY, Requests, Response
from toolc.guest.http.shaping import jmespath_search
from toolc.guest.job import HttpJob

if TYPE_CHECKING:
    from toolc.guest.http.cookies import Cookies

MAX_REDIRECTS = 10
"""The maximum number of redirects. Real servers need up to three, and a loop must end."""

MAX_ERROR_BODY = 64 * 1024
"""The maximum size of a body that is only quoted in a message, in bytes.

The message shows ``errors.MAX_HEAD`` characters of it.
"""

LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
MAX_DEPTH = 64
"""The maximum nesting depth of a cursor. The cursors of real servers are numbers or strings."""

RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]*))", re.IGNORECASE)


class Exchange:
    """The requests of one call. ``deadline`` is a time on the clock of ``time.monotonic``.

    In case the call ends early, ``on_state`` receives the current state before each request except the first. ``url``
    is the URL of the last request, ``last`` its response if there is one, and ``pages`` the number of pages.
    """

    def __init__(
        self, job: HttpJob, requests: Requests, deadline: float, on_state: Callable[[dict[str, object]], None]
    ) -> None:
        self._job = job
        self._requests = requests
        self._deadline = deadline
        self._on_state = on_state
        self.url = job.url
        self._cookies: Cookies | None = None
        self._renewed = False
        self.last: Response | None = None
        self._redirects = 0
        self._retries = 0
        self.pages = 0

    def metadata(self) -> dict[str, object]:
        """Return the state of the call for ``details.http``. Its URL has no query, which may contain a key."""
        state: dict[str, object] = {} if self.last is None else {
            "status": self.last.status, "content_type": self.last.headers.get("content-type", ""),
        }  # fmt: skip
        state["url"] = self.url.partition("?")[0]
        state["redirects"] = self._redirects
        state["retries"] = self._retries
        if self._job.pagination is not None:
            state["pages"] = self.pages
        if self.last is not None and self.last.status >= 400:
            seconds = retry_after(self.last)
            if seconds is not None:
                state["retry_after_ms"] = int(seconds * 1000)
        return state

    def first(self) -> Response:
        """Return the response to the call's request. Raises ``ToolError`` if it fails or is an error response."""
        if self._job.needs_token:
            self._renew_token()
        return self.send({})

    def send(self, request: dict[str, object]) -> Response:
        """Return the response to ``request`` (see ``toolc.guest.http.round_trip``), after the retries of the spec.

        Raises ``ToolError`` if the request fails or the response is an error.
        """
        retry = self._job.retry
        attempts = int(str(retry["attempts"])) if retry else 1
        attempt = 1
        while True:
            response = self._send_with_redirects(request)
            if response.status == 401 and self._job.has_token and not self._renewed:
                self._renew_token()
                continue
            again = retry is not None and response.status in retry["statuses"]  # type: ignore[operator]
            if again and retry is not None and attempt < attempts:
                wait = max(retry_after(response) or 0.0, int(str(retry["backoff_ms"])) / 1000 * 2 ** (attempt - 1))
                if time.monotonic() + wait < self._deadline:
                    time.sleep(wait)
                    attempt += 1
                    self._retries += 1
                    continue
            rule = rule_for(self._job, response)
            if rule is None and 200 <= response.status < 300:
                return response
            raise error_of(response, rule)

    def _send_with_redirects(self, request: dict[str, object]) -> Response:
        """Return the response to ``request``, following redirects (RFC 9110, 15.4)."""
        method = str(request.get("method", self._job.method))
        url = str(request.get("url", self._job.url))
        seen = [url]
        while True:
            self.url = url
            if self._requests.count:
                self._on_state(self.metadata())
            self.last = None
            cookie = self._cookies.header(url) if self._cookies else ""
            try:
                response = self._requests.send({**request, "cookie": cookie} if cookie else request, method)
            except ToolError as error:
                if "url" not in request:
                    raise
                source = "the next page is at" if len(seen) == 1 else "the server redirected to"
                raise ToolError(error.kind, "%s %s: %s" % (source, _short_url(url), error)) from error
            self.last = response
            location = _location(response)
            if response.status not in (301, 302, 303, 307, 308) or not location:
                return response
            self._keep_cookies(url, response)
            url = resolve_url(url, location).partition("#")[0]
            if (response.status == 303 and method != "HEAD") or (response.status in (301, 302) and method == "POST"):
                method = "GET"
            if len(seen) > MAX_REDIRECTS:
                loop = " -> ".join(map(_short_url, seen[-3:]))
                raise ToolError("network", "more than %d redirects, the last one to %s" % (MAX_REDIRECTS, loop))
            seen.append(url)
            self._redirects += 1
            # A page's cursor is in the body, which is dropped if the method changes.
            has_cursor = "cursor" in request and method == self._job.method
            request = {"url": url, "method": method} | ({"cursor": request["cursor"]} if has_cursor else {})

    def _keep_cookies(self, url: str, response: Response) -> None:
        if response.cookies:
            from toolc.guest.http.cookies import Cookies  # lazy: +40 ms; few redirects set cookies

            self._cookies = self._cookies or Cookies()
            self._cookies.add(url, response.cookies)

    def _renew_token(self) -> None:
        """Have the host request an access token.

        The client credentials are in the header of the first attempt, and in the form of the second one.
        """
        self._renewed = not self._job.needs_token
        self._job.needs_token = False
        response = self._requests.send({"token": True}, "POST", MAX_ERROR_BODY)
        if response.status in (400, 401):
            # Some servers accept only the form, contrary to RFC 6749 (2.3.1).
            response = self._requests.send({"token": True, "in_form": True}, "POST", MAX_ERROR_BODY)
        if response.status >= 300:
            body = " ".join(response.body.decode("utf-8", "replace").split())[:300]
            kind = "network" if response.status >= 500 else "authentication"
            quoted = ": %s" % body if body else ""
            raise ToolError(kind, "the token server returned no access token (HTTP %d)%s" % (response.status, quoted))


def _location(response: Response) -> str:
    """Return the target of a redirect, decoded as UTF-8 as servers expect, with spaces escaped as browsers do."""
    location = response.headers.get("location", "").strip()
    return location.encode("latin-1", "replace").decode("utf-8", "replace").replace(" ", "%20")


def resolve_url(base: str, reference: str) -> str:
    """Return ``reference`` resolved against ``base``, or unchanged if it is not a URL. The host then reports it."""
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference  # such as ``http://[``


def _short_url(url: str) -> str:
    """Return a URL for an error message, shortened and without its query."""
    return truncate.truncate_end(url.partition("?")[0], 200)


def all_pages(job: HttpJob, exchange: Exchange) -> tuple[list[object], bool]:
    """Return the items of all requested pages, and whether there are more pages. Raises ``ToolError``."""
    pagination = job.pagination
    assert pagination is not None
    max_items = None if pagination["max_items"] is None else int(str(pagination["max_items"]))
    max_pages = int(str(pagination["max_pages"]))
    found: list[object] = []
    sent = {"{}"}
    response = exchange.first()
    size = 0
    while True:
        exchange.pages += 1
        size += len(response.body)
        if size > MAX_RESPONSE_BODY:
            raise ToolError(
                "output_limit", "the pages are longer than %d MiB; request less data" % (MAX_RESPONSE_BODY >> 20)
            )
        page = needed_json(response) if response.body.strip() else None
        items = _items(page, pagination["items"])
        found += items
        request = _next_request(job, exchange, response, page, items, len(found))
        # Stop if the server repeats a page that was already requested.
        key = json.dumps(request, sort_keys=True)
        has_next = request is not None and key not in sent
        if max_items is not None and len(found) >= max_items:
            return found[:max_items], has_next or len(found) > max_items
        if request is None or not has_next or exchange.pages >= max_pages:
            return found, has_next
        sent.add(key)
        try:
            response = exchange.send(request)
        except ToolError:
            if pagination["style"] in ("offset", "page") and exchange.last is not None and exchange.last.status == 404:
                # A missing page number means that the previous page was the last one.
                return found, False
            raise


def _next_request(
    job: HttpJob, exchange: Exchange, response: Response, page: object, items: list[object], total: int
) -> dict[str, object] | None:
    """Return the request for the next page, or None if this was the last page."""
    pagination = job.pagination
    assert pagination is not None
    style = pagination["style"]
    if style == "link":
        link = _next_link(response) if pagination["next"] is None else jmespath_search(str(pagination["next"]), page)
        if not link:
            return None
        if not isinstance(link, str):
            raise ToolError("serialization", "the link to the next page is not a URL")
        return {"url": resolve_url(exchange.url, link), "method": job.method}
    if style == "cursor":
        value = jmespath_search(str(pagination["next"]), page)
        if value is None or value is False or value in ("", [], {}):
            return None
        if _is_too_deep(value):
            raise ToolError("serialization", "the cursor of the next page is nested deeper than %d levels" % MAX_DEPTH)
        if pagination["parameter"] is None:
            return {"cursor": value}
    elif not items:
        return None
    else:
        value = int(str(pagination["start"])) + (total if style == "offset" else exchange.pages)
    if value is True or not isinstance(value, (str, int, float)):
        raise ToolError("serialization", "the cursor of the next page is neither a string nor a number")
    return {"query": {str(pagination["parameter"]): value if isinstance(value, str) else json.dumps(value)}}


def _is_too_deep(value: object) -> bool:
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
    items = page if expression is None else jmespath_search(str(expression), page)
    if items is None:
        return []
    if isinstance(items, list):
        return items
    if expression is None:
        return [items]
    raise ToolError("serialization", "the pagination expression %r does not select a list" % expression)


def _next_link(response: Response) -> str:
    """Return the target of ``rel="next"`` in the Link header (RFC 8288), or ``""`` if there is none."""
    for match in LINK.finditer(response.headers.get("link", "")):
        for relation in RELATION.finditer(match.group(2)):
            if "next" in (relation.group(1) or relation.group(2) or "").lower().split():
                return match.group(1).strip()
    return ""

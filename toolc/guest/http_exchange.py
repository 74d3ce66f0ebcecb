"""From the first request of a call to its last response: tokens, redirects, retries and pages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from toolc.guest.brought import search
from toolc.guest.context import ToolError
from toolc.guest.http_reading import HttpJob, check, check_length, parse_json
from toolc.guest.http_request import MAX_BODY, Requests, Response

MAX_REDIRECTS = 10
MAX_ERROR_BODY = 64 * 1024
"""How much of a body is read that only a message repeats, in bytes."""


class Exchange:
    """One call's requests. ``deadline`` is of ``time.monotonic``.

    ``tell`` is told what came of it so far with each request but the first, in case there is no more to tell.
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
        """What came of it so far, for ``details.http``, without the URL's query, which may be a key."""
        told: dict[str, object] = {} if self._last is None else {
            "status": self._last.status, "content_type": self._last.headers.get("content-type", ""),
        }  # fmt: skip
        told["url"] = self._url.partition("?")[0]
        told["redirects"] = self._redirects
        told["retries"] = self._retries
        if self._job.pagination is not None:
            told["pages"] = self.pages
        wanted = None if self._last is None or self._last.status < 300 else _wanted(self._last)
        if wanted is not None:
            told["retry_after_ms"] = int(wanted * 1000)
        return told

    def first(self) -> Response:
        """The response of the call's request. Raises ``ToolError``, also where it is an error."""
        if self._job.needs_token:
            self._renew_token()
        return self._checked({})

    def all_pages(self) -> object:
        """What all pages hold together. Raises ``ToolError``."""
        pagination = self._job.pagination
        assert pagination is not None
        most = pagination["max_items"]
        found: list[object] = []
        ask: dict[str, object] | None = {}
        response = self.first()
        size = 0
        while True:
            self.pages += 1
            size += len(response.body)
            if size > MAX_BODY:
                raise ToolError("output_limit", "the pages are longer than %d MiB; ask for less" % (MAX_BODY >> 20))
            page = self._page(response)
            items = _items(page, pagination["items"])
            found += items
            if most is not None and len(found) >= int(str(most)):
                return found[: int(str(most))]
            if self.pages >= int(str(pagination["max_pages"])):
                return found
            following = self._following(pagination, response, page, items, len(found))
            if following is None or following == ask:
                return found
            ask = following
            response = self._checked(ask)

    def _page(self, response: Response) -> object:
        check_length(response)
        try:
            return parse_json(response)
        except ValueError as error:
            raise ToolError("serialization", "the response is not JSON: %s" % error) from error

    def _following(
        self, pagination: dict[str, object], response: Response, page: object, items: list[object], total: int
    ) -> dict[str, object] | None:
        """What to ask for the next page; None where this was the last."""
        style = pagination["style"]
        if style == "link":
            target = _next_link(response.headers.get("link", ""))
            return {"url": _joined(self._url, target), "method": self._job.method} if target else None
        if style == "cursor":
            value = search(str(pagination["next"]), page)
            if value is None or value is False or value in ("", [], {}):
                return None
        elif not items:
            return None
        elif style == "offset":
            value = total
        else:
            value = int(str(pagination["first"])) + self.pages
        text = value if isinstance(value, str) else ("%d" % value if isinstance(value, int) else None)
        if text is None:
            raise ToolError("serialization", "what leads to the next page is neither a text nor a number")
        return {"query": {str(pagination["parameter"]): text}}

    def _checked(self, ask: dict[str, object]) -> Response:
        """The response to ``ask``, retried as the spec has it."""
        retry = self._job.retry
        attempts = int(str(retry["attempts"])) if retry else 1
        attempt = 1
        while True:
            response = self._redirected(ask)
            if response.status == 401 and self._job.has_token and not self._renewed:
                self._renew_token()
                continue
            wanted = _wanted(response)
            again = retry is not None and response.status in retry["statuses"]  # type: ignore[operator]
            if again and retry is not None and attempt < attempts:
                wait = max(wanted or 0.0, int(str(retry["backoff_ms"])) / 1000 * 2 ** (attempt - 1))
                if time.monotonic() + wait < self._deadline:
                    time.sleep(wait)
                    attempt += 1
                    self._retries += 1
                    continue
            check(self._job, response, wanted if response.status in (429, 503) else None)
            return response

    def _redirected(self, ask: dict[str, object]) -> Response:
        """The response to ``ask`` or to where it leads (RFC 9110, 15.4)."""
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
                if len(seen) == 1:
                    raise
                raise ToolError(error.kind, "the server redirected to %s: %s" % (_shown(url), error)) from error
            self._last = response
            location = _location(response)
            if response.status not in (301, 302, 303, 307, 308) or not location:
                return response
            url = _joined(url, location).partition("#")[0]
            if (response.status == 303 and method != "HEAD") or (
                response.status in (301, 302) and method == "POST"
            ):
                method = "GET"
            if len(seen) > MAX_REDIRECTS:
                loop = " -> ".join(map(_shown, seen[-3:]))
                raise ToolError("network", "more than %d redirects, the last of them %s" % (MAX_REDIRECTS, loop))
            seen.append(url)
            self._redirects += 1
            ask = {"url": url, "method": method}

    def _renew_token(self) -> None:
        """Have the host get an access token; the client stands in the header first, then in the form."""
        self._renewed = not self._job.needs_token
        self._job.needs_token = False
        response = self._requests.send({"token": True}, "POST", MAX_ERROR_BODY)
        if response.status in (400, 401):
            # Some servers read the form only, against RFC 6749 (2.3.1).
            response = self._requests.send({"token": True, "in_form": True}, "POST", MAX_ERROR_BODY)
        if response.status >= 300:
            words = " ".join(response.body.decode("utf-8", "replace").split())[:300]
            kind = "network" if response.status >= 500 else "authentication"
            told = ": %s" % words if words else ""
            raise ToolError(kind, "the token server gave no access token (HTTP %d)%s" % (response.status, told))


def _location(response: Response) -> str:
    """Where a redirect leads, as the UTF-8 that servers mean, spaces escaped as every browser does."""
    location = response.headers.get("location", "").strip()
    return location.encode("latin-1", "replace").decode("utf-8", "replace").replace(" ", "%20")


def _joined(base: str, reference: str) -> str:
    from urllib.parse import urljoin  # slow, and most calls are led nowhere

    try:
        return urljoin(base, reference)
    except ValueError:
        # Such as ``http://[``: the host says what is wrong with it.
        return reference


def _shown(url: str) -> str:
    """A URL to name in an error: without its query, in which a secret may stand that a cut would make unknown."""
    return url.partition("?")[0][:200]


def _items(page: object, expression: object) -> list[object]:
    found = page if expression is None else search(str(expression), page)
    if found is None and expression is not None:
        return []
    if isinstance(found, list):
        return found
    if expression is None:
        return [found]
    raise ToolError("serialization", "%s finds no list in a page" % expression)


def _next_link(header: str) -> str:
    """The target of ``rel="next"`` in a Link header (RFC 8288); empty where there is none."""
    for match in re.finditer(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)", header):
        for relation in re.finditer(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]*))", match.group(2), re.IGNORECASE):
            if "next" in (relation.group(1) or relation.group(2) or "").lower().split():
                return match.group(1).strip()
    return ""


def _wanted(response: Response) -> float | None:
    return _retry_after(response.headers.get("retry-after", ""))


def _retry_after(header: str) -> float | None:
    """The seconds of a Retry-After header (RFC 9110, 10.2.3), at least 0; None where it says nothing."""
    header = header.strip()
    if re.fullmatch(r"[0-9]{1,9}", header):
        return float(header)
    if not header:
        return None
    import email.utils  # slow, and hardly any server writes a date

    try:
        when = email.utils.parsedate_to_datetime(header)
        return max(0.0, when.timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None

"""Convert an HTTP error response to a ``ToolError``, and read rate-limit headers."""

from __future__ import annotations

import html
import re
import time

from toolc.guest import truncate
from toolc.guest.context import ToolError
from toolc.guest.http.body import is_text, text_of
from toolc.guest.http.round_trip import Response

FIRST_TIME = 1_000_000_000
"""The smallest reset time that is a time in seconds since 1970. A smaller value is a number of seconds from now.

A value of at least a thousand times this is in milliseconds since 1970.
"""

NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")

MAX_HEAD = 500
"""The maximum length of the part of an error body that the message quotes, in characters.

A model needs the reason, not the whole page.
"""

MAX_HTML = 64 * 1024
"""The maximum length of an HTML page that is searched for text, in characters. The reason is at the beginning."""

STATUS_KINDS = {
    400: "invalid_args", 401: "authentication", 403: "authentication", 404: "not_found", 407: "authentication",
    408: "network", 410: "not_found", 413: "invalid_args", 414: "invalid_args", 422: "invalid_args",
    425: "network", 429: "rate_limit",
}  # fmt: skip
"""The default kind of error for a status. A 5xx status is ``network``, and any other status is ``execution``."""

SILENT = re.compile(r"<(/?)(script|style)\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")


def is_rate_limited(response: Response) -> bool:
    """Return whether the response reports too many requests. Some servers, such as GitHub, use status 403."""
    if response.status == 429:
        return True
    return response.status == 403 and ("retry-after" in response.headers or 0.0 in _numbers(response, "remaining"))


def retry_after(response: Response) -> float | None:
    """Return the seconds to wait before the next request, at least 0, or None if the response does not say."""
    seconds = _parse_retry_after(response.headers.get("retry-after", "").strip())
    return _reset_seconds(response) if seconds is None else seconds


def _parse_retry_after(header: str) -> float | None:
    """Parse seconds or a date (RFC 9110, 10.2.3)."""
    if NUMBER.fullmatch(header):
        return float(header)
    if not header:
        return None
    import email.utils  # lazy: +7 ms; few servers send a date

    try:
        when = email.utils.parsedate_to_datetime(header)
        return max(0.0, when.timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _reset_seconds(response: Response) -> float | None:
    """Return the seconds until the exhausted limit resets. With several limits, both lists have the same order."""
    remaining, resets = _numbers(response, "remaining"), _numbers(response, "reset")
    if not remaining and response.status == 429:
        remaining = [0.0] * len(resets)
    used_up = [resets[at] for at, left in enumerate(remaining[: len(resets)]) if not left]
    if not used_up:
        return None
    last = max(used_up)
    last = last / 1000 if last >= 1000 * FIRST_TIME else last
    return max(0.0, last - time.time()) if last >= FIRST_TIME else last


def _numbers(response: Response, what: str) -> list[float]:
    header = response.headers.get("x-ratelimit-" + what) or response.headers.get("ratelimit-" + what, "")
    numbers = [each.strip() for each in header.split(",")]
    return [float(each) for each in numbers] if all(map(NUMBER.fullmatch, numbers)) else []


def error_of(response: Response, rule: dict[str, str | None] | None) -> ToolError:
    """Return the error for a response, from a rule of the spec or from the status."""
    if rule is not None:
        return ToolError(str(rule["kind"]), rule["message"] or _message(response))
    status = response.status
    kind = STATUS_KINDS.get(status, "network" if status >= 500 else "execution")
    return ToolError("rate_limit" if is_rate_limited(response) else kind, _message(response))


def _message(response: Response) -> str:
    text = text_of(response) if is_text(response) else ""
    size = len(text)
    if "html" in response.media_type:
        text = _html_text(text[:MAX_HTML])
    is_cut = size > MAX_HTML or len(text) > 8 * MAX_HEAD
    text = " ".join(text[: 8 * MAX_HEAD].split())
    is_cut = is_cut or len(text) > MAX_HEAD
    message = ("HTTP %d %s" % (response.status, truncate.truncate_end(response.reason, 100))).strip()
    if text:
        message += ": " + text[:MAX_HEAD] + (truncate.mark + "..." if is_cut else "")
    seconds = retry_after(response) if response.status >= 400 else None
    if seconds is not None:
        count = int(-(-seconds // 1))
        message += " (try again %s)" % ("in %d second%s" % (count, "s" * (count > 1)) if count else "now")
    return message


def _html_text(page: str) -> str:
    """Return the text between the tags. The page is scanned only once, even if it has unclosed tags."""
    kept = []
    start, inside = 0, ""
    for tag in SILENT.finditer(page):
        ends, name = tag.group(1), tag.group(2).lower()
        if not inside and not ends:
            kept.append(page[start : tag.start()])
            inside = name
        elif inside == name and ends:
            start, inside = tag.end(), ""
    if not inside:
        kept.append(page[start:])
    return html.unescape(TAG.sub(" ", " ".join(kept)))

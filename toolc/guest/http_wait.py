"""How long a server wants to be left alone: by Retry-After, or by the limit that it says is used up."""

from __future__ import annotations

import re
import time

from toolc.guest.http_request import Response

FIRST_TIME = 1_000_000_000
"""A reset from here on is a time (in seconds since 1970), and one below it is that many seconds from now.

From a thousand times as much on, it is in milliseconds.
"""

NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")


def is_limited(response: Response) -> bool:
    """Whether the response says that there were too many requests. Some servers say so with 403, as GitHub does."""
    if response.status == 429:
        return True
    return response.status == 403 and ("retry-after" in response.headers or 0.0 in _numbers(response, "remaining"))


def wanted(response: Response) -> float | None:
    """The seconds to wait before another request, at least 0; None where the response does not say."""
    seconds = _retry_after(response.headers.get("retry-after", "").strip())
    return _reset(response) if seconds is None else seconds


def _retry_after(header: str) -> float | None:
    """Seconds, or a date (RFC 9110, 10.2.3)."""
    if NUMBER.fullmatch(header):
        return float(header)
    if not header:
        return None
    import email.utils  # slow, and hardly any server writes a date

    try:
        when = email.utils.parsedate_to_datetime(header)
        return max(0.0, when.timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _reset(response: Response) -> float | None:
    """When the limit that is used up begins anew. Where there are several, each has its place in both lists."""
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

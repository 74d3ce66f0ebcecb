"""A response that is an error: of which kind, and in which words."""

from __future__ import annotations

import re

from toolc.guest import cut
from toolc.guest.context import ToolError
from toolc.guest.http_reading import is_text, text_of
from toolc.guest.http_request import Response
from toolc.guest.http_wait import is_limited, wanted

MAX_HEAD = 500
"""How many characters of an error's body its message repeats."""

MAX_HTML = 64 * 1024
"""How many characters of a page are searched for its words."""

STATUS_KINDS = {
    400: "invalid_args", 401: "authentication", 403: "authentication", 404: "not_found", 407: "authentication",
    408: "network", 410: "not_found", 413: "invalid_args", 414: "invalid_args", 422: "invalid_args",
    425: "network", 429: "rate_limit",
}  # fmt: skip
"""The kind of error that a status is where the spec says nothing else; 5xx is ``network``, others ``execution``."""

SILENT = re.compile(r"<(/?)(script|style)\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")


def error_of(response: Response, rule: dict[str, str | None] | None) -> ToolError:
    """The error that a response is: by a rule of the spec's, or by its status."""
    if rule is not None:
        return ToolError(str(rule["kind"]), rule["message"] or _words(response))
    status = response.status
    kind = STATUS_KINDS.get(status, "network" if status >= 500 else "execution")
    return ToolError("rate_limit" if is_limited(response) else kind, _words(response))


def _words(response: Response) -> str:
    text = text_of(response) if is_text(response) else ""
    whole = len(text)
    if "html" in response.media_type:
        text = _words_of_html(text[:MAX_HTML])
    is_cut = whole > MAX_HTML or len(text) > 8 * MAX_HEAD
    text = " ".join(text[: 8 * MAX_HEAD].split())
    is_cut = is_cut or len(text) > MAX_HEAD
    words = ("HTTP %d %s" % (response.status, cut.head(response.reason, 100))).strip()
    if text:
        words += ": " + text[:MAX_HEAD] + (cut.mark + "..." if is_cut else "")
    seconds = wanted(response) if response.status >= 400 else None
    if seconds is not None:
        count = int(-(-seconds // 1))
        words += " (try again %s)" % ("in %d second%s" % (count, "s" * (count > 1)) if count else "now")
    return words


def _words_of_html(page: str) -> str:
    """What stands between the tags. Each character is looked at a few times only, whatever is left open."""
    import html  # slow, and few calls fail with a page

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

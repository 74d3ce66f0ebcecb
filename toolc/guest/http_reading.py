"""What the worker is told of an HTTP call, and how one response becomes data: errors, JSON, pictures, text."""

from __future__ import annotations

import codecs
import json
import re

from toolc.guest import cut
from toolc.guest.brought import search
from toolc.guest.context import ToolError, image_type
from toolc.guest.http_request import MAX_BODY, Response

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

CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)

MAX_DIGITS = 4300
"""How many digits a whole number may have."""

NOTHING = object()
"""No data: a body that is no JSON, or none."""


class HttpJob:
    """The ``http`` of a CALL: see ``toolc.runtime.http_message``."""

    def __init__(self, message: dict) -> None:  # type: ignore[type-arg]
        self.method: str = message["method"]
        self.url: str = message["url"]
        self.format: str = message["format"]
        self.limit: int = message["limit"]
        self.needs_token: bool = message["needs_token"]
        self.has_token: bool = message["has_token"]
        self.retry: dict[str, object] | None = message["retry"]
        self.pagination: dict[str, object] | None = message["pagination"]
        self.errors: list[dict[str, str | None]] = message["errors"]
        self.select: str | None = message["select"]
        self.template: str | None = message["template"]
        self.arguments: dict[str, object] = message["arguments"]


def data(response: Response) -> object:
    """The body as JSON where it is that; else ``NOTHING``."""
    if response.cut or not response.body.strip():
        return NOTHING
    try:
        return parse_json(response)
    except ValueError:
        return NOTHING


def parse_json(response: Response) -> object:
    """The body as JSON. Raises ``ValueError`` with words for a person."""
    body = response.body
    try:
        # Not the codec ``utf-8-sig``, which takes longer to load than most bodies to read.
        text = (body[len(codecs.BOM_UTF8) :] if body.startswith(codecs.BOM_UTF8) else body).decode("utf-8")
        return json.loads(text, parse_constant=_refuse, parse_float=_float, parse_int=_int)
    except UnicodeDecodeError as error:
        raise ValueError("byte %d is not UTF-8" % error.start) from None
    except json.JSONDecodeError as error:
        raise ValueError("line %d column %d: %s" % (error.lineno, error.colno, error.msg)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("%s is too large a number" % cut.head(digits, 40))
    return value


def _int(digits: str) -> int:
    # As Python 3.11 and later have it, which guards against numbers that take minutes to read.
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number has more than %d digits" % MAX_DIGITS)
    return int(digits)


def _refuse(name: str) -> object:
    raise ValueError("%s is not JSON" % name)


def check(job: HttpJob, response: Response, retry_after: float | None) -> None:
    """Raise ``ToolError`` where the response is an error, by the spec's rules or by its status."""
    for rule in job.errors:
        if _fits(rule, response):
            raise ToolError(str(rule["kind"]), rule["message"] or _words(response, retry_after))
    if response.status >= 300:
        kind = STATUS_KINDS.get(response.status, "network" if response.status >= 500 else "execution")
        raise ToolError(kind, _words(response, retry_after))


def _fits(rule: dict[str, str | None], response: Response) -> bool:
    status, when = rule["status"], rule["when"]
    if status is not None and not re.fullmatch(status.replace("x", "[0-9]"), str(response.status)):
        return False
    if when is None:
        return True
    found = data(response)
    if found is NOTHING:
        return False
    held = search(when, found)
    # As JMESPath has it: 0 is true.
    return not (held is None or held is False or held in ("", [], {})) or (held == 0 and held is not False)


def _words(response: Response, retry_after: float | None) -> str:
    text = text_of(response)
    whole = len(text)
    if "html" in response.media_type:
        text = re.sub(
            r"<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text[:MAX_HTML], flags=re.DOTALL | re.IGNORECASE
        )
    is_cut = whole > MAX_HTML or len(text) > 8 * MAX_HEAD
    text = " ".join(text[: 8 * MAX_HEAD].split())
    is_cut = is_cut or len(text) > MAX_HEAD
    words = ("HTTP %d %s" % (response.status, cut.head(response.reason, 100))).strip()
    if text:
        words += ": " + text[:MAX_HEAD] + (cut.mark + "..." if is_cut else "")
    if retry_after is not None:
        words += " (try again in %d seconds)" % -(-retry_after // 1)
    return words


def text_of(response: Response) -> str:
    """The body as text, in the charset that it says or UTF-8; what does not fit it is replaced."""
    match = CHARSET.search(response.headers.get("content-type", ""))
    charset = match.group(1) if match else "utf-8"
    try:
        known = codecs.lookup(charset)
        is_text = getattr(known, "_is_text_encoding", True)
    except LookupError:
        is_text = False
    return response.body.decode(charset if is_text else "utf-8", "replace")


def check_length(response: Response) -> None:
    """Raise ``ToolError`` for a body that was too long to be read to its end."""
    if response.cut:
        raise ToolError("output_limit", "the response is longer than %d MiB; ask for less" % (MAX_BODY >> 20))


def picture(response: Response) -> bytes | None:
    """The body where it is a picture that every provider takes, whatever it says that it is; else None."""
    return response.body if image_type(response.body) else None


def is_text(response: Response) -> bool:
    """Whether the body is text: by its media type or, where there is none, by its bytes."""
    kind = response.media_type
    if kind.startswith("text/") or kind.endswith(("+xml", "+json")):
        return True
    if kind in ("application/json", "application/xml", "application/javascript", "application/x-ndjson",
                "application/yaml", "application/x-yaml", "application/toml", "application/graphql",
                "application/x-www-form-urlencoded", "application/sql"):  # fmt: skip
        return True
    if kind and kind != "application/octet-stream":
        return False
    try:
        return "\0" not in response.body.decode("utf-8")
    except UnicodeDecodeError:
        return False

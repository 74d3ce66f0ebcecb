"""The body of a response: JSON, an image, a file or text."""

from __future__ import annotations

import codecs
import json
import re
from urllib.parse import unquote

from toolc.guest import truncate
from toolc.guest.context import Resource, ToolError, image_type
from toolc.guest.http.round_trip import MAX_RESPONSE_BODY, Response
from toolc.guest.http.shaping import jmespath_search
from toolc.guest.job import HttpJob

JSON_TYPE = re.compile(r"(application|text)/(x-)?json|.+\+json")
CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
"""The byte order marks and their charsets."""

NO_CHARSETS = ("idna", "punycode", "undefined")
"""Python codecs that are not charsets, and cannot replace invalid bytes. ``punycode`` takes minutes for 1 MiB."""

MAX_DIGITS = 4300
"""The maximum number of digits of an integer, as in Python, which needs quadratic time to parse one."""

NOTHING = object()
"""Marks the absence of data: the body is empty or not JSON."""

MAX_NAME = 100
"""The maximum length of a file name, in characters. All providers accept names of this length."""

TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,99}/[a-z0-9][a-z0-9.+-]{0,99}")
ENCODED = re.compile(r";\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)", re.IGNORECASE)
QUOTED = re.compile(r";\s*filename\s*=\s*\"((?:[^\"\\]|\\.)*)\"", re.IGNORECASE)
PLAIN = re.compile(r";\s*filename\s*=\s*([^\";\s]+)", re.IGNORECASE)


def data(response: Response) -> object:
    """Return the body as JSON, or ``NOTHING`` if it is not JSON."""
    if response.cut or not response.body.strip():
        return NOTHING
    try:
        return parse_json(response)
    except ValueError:
        return NOTHING


def parse_json(response: Response) -> object:
    """Return the body as JSON. Raises ``ValueError`` with a message for the user."""
    if not response.body.strip():
        raise ValueError("it is empty")
    try:
        return json.loads(_json_text(response), parse_constant=_refuse, parse_float=_float, parse_int=_int)
    except UnicodeDecodeError as error:
        raise ValueError("byte %d is not UTF-8" % error.start) from None
    except json.JSONDecodeError as error:
        raise ValueError("line %d column %d: %s" % (error.lineno, error.colno, error.msg)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def needed_json(response: Response) -> object:
    """Return the body as JSON. Raises ``ToolError`` if it is not JSON (serialization) or too long (output_limit)."""
    check_length(response)
    try:
        return parse_json(response)
    except ValueError as error:
        start = " ".join(truncate.truncate_end(text_of(response), 200).split()) if is_text(response) else ""
        begins = ". It begins with: %s" % start if start else ""
        raise ToolError("serialization", "the response is not JSON: %s%s" % (error, begins)) from error


def _json_text(response: Response) -> str:
    """Return the body as text. JSON is UTF-8 (RFC 8259, 8.1), except from servers that predate this rule."""
    body = response.body
    # Not the codec ``utf-8-sig``: loading it takes longer than reading most bodies.
    body = body[len(codecs.BOM_UTF8) :] if body.startswith(codecs.BOM_UTF8) else body
    if b"\0" in body[:4]:
        return body.decode(json.detect_encoding(body))
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        charset = _charset(response)
        if charset == "utf-8":
            raise
        return body.decode(charset)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("%s is too large a number" % truncate.truncate_end(digits, 40))
    return value


def _int(digits: str) -> int:
    # The same check as in Python 3.11 and later, against numbers that take minutes to parse.
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number has more than %d digits" % MAX_DIGITS)
    return int(digits)


def _refuse(name: str) -> object:
    raise ValueError("%s is not JSON" % name)


def rule_for(job: HttpJob, response: Response) -> dict[str, str | None] | None:
    """Return the first rule of the spec that makes the response an error. Raises ``ToolError``."""
    return next((rule for rule in job.errors if _matches(rule, response)), None)


def _matches(rule: dict[str, str | None], response: Response) -> bool:
    status, when = rule["status"], rule["when"]
    if status is not None and not re.fullmatch(status.replace("x", "[0-9]"), str(response.status)):
        return False
    if when is None:
        return True
    body = data(response)
    if body is NOTHING:
        return False
    value = jmespath_search(when, body)
    # Truth is as in JMESPath, where 0 is true.
    return not (value is None or value is False or value in ("", [], {}))


def text_of(response: Response) -> str:
    """Return the body as text, decoded by its byte order mark, its declared charset or as UTF-8.

    Invalid bytes are replaced.
    """
    body = response.body
    for mark, charset in MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace")
    return body.decode(_charset(response), "replace")


def _charset(response: Response) -> str:
    """Return the declared charset, or UTF-8 if it is absent or unknown."""
    match = CHARSET.search(response.headers.get("content-type", ""))
    try:
        known = codecs.lookup(match.group(1) if match else "utf-8")
    except LookupError:
        return "utf-8"
    is_charset = getattr(known, "_is_text_encoding", True) and known.name not in NO_CHARSETS
    return known.name if is_charset else "utf-8"


def check_length(response: Response) -> None:
    """Raise ``ToolError`` if the body was too long to be read completely."""
    if response.cut:
        raise ToolError(
            "output_limit", "the response is longer than %d MiB; request less data" % (MAX_RESPONSE_BODY >> 20)
        )


def image_block(response: Response) -> bytes | None:
    """Return the body if it is an image that every provider accepts, whatever its declared type, otherwise None."""
    return response.body if image_type(response.body) else None


def is_json(response: Response) -> bool:
    """Return whether the media type declares the body as a single JSON text."""
    return JSON_TYPE.fullmatch(response.media_type) is not None


def is_text(response: Response) -> bool:
    """Return whether the body is text, by its media type, or by its bytes if it has no media type."""
    kind = response.media_type
    if kind.startswith("text/") or kind.endswith("+xml") or "json" in kind:
        return True
    if kind in ("application/xml", "application/javascript", "application/yaml", "application/x-yaml",
                "application/toml", "application/graphql", "application/x-www-form-urlencoded",
                "application/sql"):  # fmt: skip
        return True
    if "/" in kind and kind != "application/octet-stream":
        return False
    try:
        return "\0" not in response.body.decode("utf-8")
    except UnicodeDecodeError:
        return False


def file_of(response: Response, url: str, call_url: str) -> Resource:
    """Return the body as a file. Its name comes from Content-Disposition (RFC 6266) or the end of ``url``.

    ``call_url`` is the URL of the call's own request, which contains no secret. Other URLs come from a server.
    """
    path = url.partition("?")[0].partition("://")[2].partition("/")[2]
    path = path.rpartition("/")[2] if url == call_url.partition("?")[0] else path
    name = _name(_declared_name(response.headers.get("content-disposition", ""))) or _name(unquote(path)) or "response"
    kind = response.media_type
    return Resource(response.body, kind if TYPE.fullmatch(kind) else "application/octet-stream", name)


def _declared_name(header: str) -> str:
    if match := ENCODED.search(header):
        return unquote(match.group(1))
    if match := QUOTED.search(header):
        return _decode_header(re.sub(r"\\(.)", r"\1", match.group(1)))
    match = PLAIN.search(header)
    return _decode_header(match.group(1)) if match else ""


def _decode_header(text: str) -> str:
    """Decode the text of a header as UTF-8, as servers expect."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def _name(text: str) -> str:
    """Return a file name without folders, which may be empty. If it was cut, a mark shows where."""
    last = re.split(r"[/\\]", text)[-1]
    name = "".join(each for each in last if each.isprintable()).strip(" .")[-MAX_NAME:]
    return truncate.mark + name if name and name != text else name

"""Create the message to the guest of an HTTP call, which says how to read responses, and the required libraries."""

import importlib.util
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

from toolc.model.http_plan import HttpCall, ResponseHandling, slots
from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import File
from toolc.model.spec.http_backend import CursorPages, LinkPages, NumberedPages, OffsetPages, Pagination
from toolc.model.spec.tool import ResultSpec

ADDRESS: Final = ("127.0.0.1", 3129)
"""The address on the sandbox's loopback interface at which the supervisor accepts requests."""

FOLDER: Final = "lib"
"""The folder of the libraries, below ``/tool``."""


_DETAIL_TYPES: Final[Mapping[str, type]] = {
    "status": int, "content_type": str, "url": str, "redirects": int, "retries": int, "pages": int,
}  # fmt: skip


def libraries(reading: ResponseHandling) -> tuple[File, ...]:
    """Return the source files that the guest needs. They are pure Python and need not be in the image.

    They run in the guest because they process data from a server.
    """
    names: list[str] = []
    pages = reading.pagination
    has_expression = pages is not None and (pages.items is not None or _next(pages) is not None)
    if reading.select is not None or has_expression or any(each.when is not None for each in reading.errors):
        names.append("jmespath")
    if reading.template is not None:
        names += ["jinja2", "markupsafe"]
    return tuple(file for name in names for file in _package(name))


def guest_libraries(shape: ResultSpec) -> tuple[File, ...]:
    """Return the source files that the guest needs to shape a result."""
    return libraries(ResponseHandling(select=shape.select, template=shape.template))


@cache
def _package(name: str) -> tuple[File, ...]:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    return tuple(
        File(path=f"{FOLDER}/{name}/{path.name}", text=path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.py"))
    )


def http_message(call: HttpCall, output_bytes: int) -> JsonObject:
    """Return the ``http`` value of a CALL. It contains neither secrets nor the data for the server."""
    reading = call.reading
    return {
        "address": [*ADDRESS],
        "method": call.method,
        "url": call.url,
        "format": reading.format,
        "limit": output_bytes,
        "cut_mark": call.cut_mark,
        "has_token": call.token is not None,
        "needs_token": call.needs_token,
        "is_begun": call.can_send_early,
        "retry": {
            "statuses": [*reading.retry.statuses],
            "attempts": reading.retry.attempts,
            "backoff_ms": reading.retry.backoff_ms,
        }
        if reading.retry
        else None,
        "pagination": _pagination(call, reading.pagination) if reading.pagination else None,
        "errors": [
            {"kind": each.kind, "status": each.status, "when": each.when, "message": each.message}
            for each in reading.errors
        ],
        "select": reading.select,
        "template": reading.template,
        "arguments": reading.arguments,
    }


def interim_details(call: HttpCall, reported: JsonObject) -> JsonObject:
    """Return ``details.http`` of a call without a response, from the valid values that its guest has reported."""
    first = call.token.url if call.token is not None and call.needs_token else call.url
    details: JsonObject = {"url": first.partition("?")[0], "redirects": 0, "retries": 0}
    for name, kind in _DETAIL_TYPES.items():
        if type(reported.get(name)) is kind:
            details[name] = reported[name]
    return details


def _pagination(call: HttpCall, pagination: Pagination) -> JsonObject:
    style = pagination.style
    return {
        "style": style.tag,
        "parameter": None if isinstance(style, LinkPages) else style.parameter,
        "next": _next(pagination),
        "start": _start(call, style) if isinstance(style, OffsetPages | NumberedPages) else None,
        "items": pagination.items,
        "max_pages": pagination.max_pages,
        "max_items": pagination.max_items,
    }


def _next(pagination: Pagination) -> str | None:
    return pagination.style.next if isinstance(pagination.style, CursorPages | LinkPages) else None


def _start(call: HttpCall, style: OffsetPages | NumberedPages) -> int:
    """Return the first page number or offset, from the request's own query or else the default of ``style``."""
    fields = [each.partition("=") for each in call.url.partition("?")[2].split("&")]
    values = {name: value for name, _, value in fields}
    values |= {each.name: "".join(map(str, each.value)) for each in call.query if not slots(each.value)}
    value = values.get(quote(style.parameter, safe=""), "")
    if re.fullmatch("[0-9]{1,15}", value):
        return int(value)
    return style.first if isinstance(style, NumberedPages) else 0

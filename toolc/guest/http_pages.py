"""The pages of a call, asked for one after the other, and what they hold together."""

from __future__ import annotations

import json
import re

from toolc.guest.brought import search
from toolc.guest.context import ToolError
from toolc.guest.http_exchange import Exchange, joined
from toolc.guest.http_reading import HttpJob, needed_json
from toolc.guest.http_request import MAX_BODY, Response

LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
MAX_DEPTH = 64
"""Of a cursor, in levels."""

RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]*))", re.IGNORECASE)


def all_pages(job: HttpJob, exchange: Exchange) -> tuple[list[object], bool]:
    """The items of all pages, and whether there are more that were not asked for. Raises ``ToolError``."""
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
        # A server that leads in a circle has told all that it has to tell.
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
                # What has no page of that number has ended before it.
                return found, False
            raise


def _following(
    job: HttpJob, exchange: Exchange, response: Response, page: object, items: list[object], total: int
) -> dict[str, object] | None:
    """What to ask for the next page; None where this was the last."""
    pagination = job.pagination
    assert pagination is not None
    style = pagination["style"]
    if style == "link":
        led = _link(response) if pagination["next"] is None else search(str(pagination["next"]), page)
        if not led:
            return None
        if not isinstance(led, str):
            raise ToolError("serialization", "what leads to the next page is no URL")
        return {"url": joined(exchange.url, led), "method": job.method}
    if style == "cursor":
        value = search(str(pagination["next"]), page)
        if value is None or value is False or value in ("", [], {}):
            return None
        if _is_deep(value):
            raise ToolError(
                "serialization", "the cursor of the next page is nested deeper than %d levels" % MAX_DEPTH
            )
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
    """Whether the host would not read it."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
    return bool(level)


def _items(page: object, expression: object) -> list[object]:
    found = page if expression is None else search(str(expression), page)
    if found is None:
        return []
    if isinstance(found, list):
        return found
    if expression is None:
        return [found]
    raise ToolError("serialization", "%s finds no list in a page" % expression)


def _link(response: Response) -> str:
    """The target of ``rel="next"`` in the header Link (RFC 8288); empty where there is none."""
    for match in LINK.finditer(response.headers.get("link", "")):
        for relation in RELATION.finditer(match.group(2)):
            if "next" in (relation.group(1) or relation.group(2) or "").lower().split():
                return match.group(1).strip()
    return ""

"""Convert the responses of an operation to result format, retries and pagination."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.importers.openapi.operations import READING, Operation
from toolc.importers.openapi.schemas import Schemas, converted
from toolc.importers.openapi.source import Document, LeftOutError
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under

_JSON: Final = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?json", re.IGNORECASE)
_EMPTY: Final = frozenset({"204", "205", "304"})
_KINDS: Final = {"408": "timeout", "409": "conflict", "412": "conflict", "423": "conflict"}
"""The kinds of errors that a status means and that toolc does not assume by itself."""

_CURSORS: Final = {
    "cursor": ("next_cursor", "nextCursor"), "page_token": ("next_page_token", "nextPageToken"),
    "pageToken": ("nextPageToken", "next_page_token"), "next_token": ("next_token", "nextToken"),
    "nextToken": ("nextToken", "NextToken"), "NextToken": ("NextToken",), "continue": ("continue",),
}  # fmt: skip
"""The parameters that take the cursor of the next page, and the properties of a response that have it."""


@dataclass(frozen=True, slots=True)
class Response:
    """Keys of ``backend.http``, headers of the request, and ``result``."""

    http: JsonObject = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    result: JsonObject = field(default_factory=dict)


def read_responses(document: Document, value: JsonObject, operation: Operation) -> Response:
    """Return the keys of a spec that follow from the declared responses of an operation."""
    responses = map_under(value, "responses")
    http: JsonObject = {}
    kinds: JsonObject = {status: _KINDS[status] for status in sorted(responses) if status in _KINDS}
    busy = [status for status in ("429", "503") if status in responses]
    is_repeatable = operation.method in READING or operation.method in {"PUT", "DELETE"}
    if busy and is_repeatable and any(_has_header(document, responses[each], "retry-after") for each in busy):
        http["retry"] = {"statuses": [int(each) for each in busy]}
    if kinds:
        http["errors"] = kinds
    good = sorted(each for each in responses if re.fullmatch("2..|default", each, re.IGNORECASE))
    status = next((each for each in good if each not in _EMPTY and each != "default"), good[-1] if good else "")
    if not status or operation.method == "HEAD":
        return Response(http)
    response, base = document.object_at(responses[status], operation.base)
    content = map_under(response, "content")
    media_type = next((each for each in content if _JSON.match(each.partition(";")[0])), "")
    if not media_type:
        is_image = bool(content) and all(each.startswith("image/") for each in content)
        accepted = {"Accept": next(iter(content)).partition(";")[0]} if len(content) == 1 else {}
        return Response(http, accepted if "*" not in str(accepted) else {}, {"format": "image"} if is_image else {})
    schema = document.object_at(content[media_type], base)[0].get("schema", {})
    if operation.method == "GET" and (pagination := _pagination(document, value, operation, response, schema, base)):
        http["pagination"] = pagination
        items = pagination.get("items")
        if isinstance(items, str):
            page, base = _page(document, schema, base)
            schema = map_under(page, "properties")[items]
    result: JsonObject = {"format": "json"}
    if not (_EMPTY & responses.keys()) and status != "default" and schema:
        with suppress(LeftOutError):  # without a schema, the result is still JSON
            result["schema"] = converted(document, is_request=False, build=lambda each: each.convert(schema, base))
    return Response(http, {"Accept": media_type.partition(";")[0]}, result)


def _has_header(document: Document, response: JsonValue, name: str) -> bool:
    inner, _ = document.object_at(response, document.base)
    return any(each.lower() == name for each in map_under(inner, "headers"))


def _page(document: Document, schema: JsonValue, base: str) -> tuple[JsonObject, str]:
    inner, inner_base = document.object_at(schema, base)
    return Schemas(document, is_request=False).merged(inner, inner_base)


def _pagination(
    document: Document, value: JsonObject, operation: Operation, response: JsonObject, schema: JsonValue, base: str
) -> JsonObject:
    """Return the pagination of an operation, if the document describes it unambiguously."""
    page, page_base = _page(document, schema, base)
    properties = map_under(page, "properties")
    lists = [
        name for name, each in properties.items()
        if document.object_at(each, page_base)[0].get("type") == "array" and re.fullmatch(r"[A-Za-z_]\w*", name)
    ]  # fmt: skip
    if _has_header(document, response, "link") and page.get("type") == "array":
        return {"link": True}
    pageable = map_under(value, "x-ms-pageable")
    link = pageable.get("nextLinkName")
    if isinstance(link, str) and re.fullmatch(r"[A-Za-z_]\w*", link):
        items = str(pageable.get("itemName", "value"))
        return {"link": link, "items": items} if items in lists else {}
    parameters = [
        document.object_at(each, operation.base)[0]
        for each in (*list_under(operation.shared, "parameters"), *list_under(operation.value, "parameters"))
    ]
    for parameter in parameters:
        name = str(parameter.get("name"))
        following = next((each for each in _CURSORS.get(name, ()) if each in properties), None)
        if parameter.get("in") == "query" and following and len(lists) == 1:
            return {"cursor": {"parameter": name, "next": following}, "items": lists[0]}
    return {}

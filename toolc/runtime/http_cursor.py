"""The cursor of a page in the body of a request, where a JSON Pointer (RFC 6901) leads."""

from __future__ import annotations

import json

from toolc.backends.content import parse_json
from toolc.model.json_schema import JsonValue, list_index, tokens
from toolc.runtime.egress_transport import RefusedError


def with_cursor(body: bytes, pointer: str, cursor: JsonValue) -> bytes:
    """``body``, which is JSON, with ``cursor`` where ``pointer`` leads; objects that are missing or null are made.

    Raises ``RefusedError`` where it leads into something that has no places.
    """
    whole = [parse_json(body)]
    place: JsonValue = whole
    key = "0"
    for token in tokens(pointer):
        place = _child(place, key, pointer)
        key = token
    _put(place, key, cursor, pointer)
    return written(whole[0]).encode()


def written(value: JsonValue) -> str:
    """A cursor, or a body with one, as JSON. Raises ``RefusedError`` where it is nested too deeply."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise RefusedError("the cursor of the next page is nested too deeply", "network") from None


def _child(place: JsonValue, key: str, pointer: str) -> JsonValue:
    """What stands in ``place`` under ``key``; an object that is put there where that is nothing or null."""
    found: JsonValue = None
    if isinstance(place, dict):
        found = place.get(key)
    elif isinstance(place, list):
        found = place[_index(place, key, pointer)]
    if found is None:
        found = {}
        _put(place, key, found, pointer)
    return found


def _put(place: JsonValue, key: str, value: JsonValue, pointer: str) -> None:
    if isinstance(place, dict):
        place[key] = value
    elif isinstance(place, list):
        place[_index(place, key, pointer)] = value
    else:
        raise RefusedError(f"the body has no place for a cursor at {pointer}", "network")


def _index(place: list[JsonValue], key: str, pointer: str) -> int:
    index = list_index(key)
    if index is None or index >= len(place):
        raise RefusedError(f"the body has no place for a cursor at {pointer}", "network")
    return index

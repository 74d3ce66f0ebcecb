"""Pagination in the formats of real services."""

import json
from collections.abc import Callable

import pytest
from http_responses import FakeRequests, Request, job, response

from toolc.guest.context import ToolError
from toolc.guest.http.exchange import Exchange, all_pages
from toolc.guest.http.round_trip import Response

STYLE: dict[str, object] = {
    "style": "cursor", "parameter": "after", "next": "next", "start": None, "items": "items", "max_pages": 10,
    "max_items": None,
}  # fmt: skip


def pages(
    answer: Callable[[Request], Response], method: object = "GET", **style: object
) -> tuple[list[object], bool, list[Request]]:
    """Return the items, whether there are more, and the requests."""
    requests = FakeRequests(answer)
    http = job(method=method, pagination=STYLE | style)
    found, has_more = all_pages(http, Exchange(http, requests, 0.0, lambda _: None))
    return found, has_more, requests.sent


def page(value: object) -> Response:
    return response(json.dumps(value).encode(), content_type="application/json")


def field(request: Request, name: str = "after") -> str:
    query = request.get("query", {})
    assert isinstance(query, dict)
    return str(query.get(name, ""))


def test_the_last_item_can_be_the_cursor() -> None:
    stripe = {
        "": page({"data": [{"id": "a"}, {"id": "b"}], "has_more": True}),
        "b": page({"data": [{"id": "c"}], "has_more": False}),
    }
    found, has_more, sent = pages(
        lambda request: stripe[field(request)], items="data[].id", next="has_more && data[-1].id"
    )
    assert (found, has_more, sent) == (["a", "b", "c"], False, [{}, {"query": {"after": "b"}}])


@pytest.mark.parametrize(("cursor", "text"), [("a b&c", "a b&c"), (0, "0"), (12, "12"), (1.5, "1.5")])
def test_a_cursor_is_a_string_or_a_number(cursor: object, text: str) -> None:
    _, _, sent = pages(lambda request: page({"items": [1], "next": None if "query" in request else cursor}))
    assert sent[1:] == [{"query": {"after": text}}]


@pytest.mark.parametrize("cursor", [True, {"a": 1}, [1]])
def test_another_cursor_is_an_error(cursor: object) -> None:
    with pytest.raises(ToolError, match="neither a string nor a number"):
        pages(lambda _: page({"items": [1], "next": cursor}))


@pytest.mark.parametrize("cursor", ["a", 12, [1, "b"], {"a": None}])
def test_a_cursor_in_a_body_is_any_json(cursor: object) -> None:
    _, _, sent = pages(
        lambda request: page({"items": [1], "next": None if "cursor" in request else cursor}), parameter=None
    )
    assert sent == [{}, {"cursor": cursor}]


@pytest.mark.parametrize("levels", [64, 65, 500])
def test_a_cursor_that_is_nested_too_deeply_is_an_error(levels: int) -> None:
    cursor: object = 1
    for _ in range(levels):
        cursor = [cursor]

    def answer(request: Request) -> Response:
        return page({"items": [1], "next": None if "cursor" in request else cursor})

    if levels > 64:
        with pytest.raises(ToolError, match="the cursor of the next page is nested deeper than 64 levels"):
            pages(answer, parameter=None)
    else:
        assert pages(answer, parameter=None)[0] == [1, 1]


def test_cursors_are_compared_as_json() -> None:
    cursors = {"None": 1, "1": True, "True": None}
    found, has_more, _ = pages(
        lambda request: page({"items": [request.get("cursor")], "next": cursors[str(request.get("cursor"))]}),
        parameter=None,
    )
    assert (found, has_more) == ([None, 1, True], False)


@pytest.mark.parametrize(
    ("statuses", "cursors"),
    [([307, 308], [None, "c", "c", "c"]), ([302], [None, "c", None]), ([303], [None, "c", None])],
)
def test_a_redirect_keeps_the_cursor_with_the_body(statuses: list[int], cursors: list[object]) -> None:
    left = [*statuses]

    def answer(request: Request) -> Response:
        if left and ("cursor" in request or "url" in request):
            return response(status=left.pop(0), location="/b")
        return page({"items": [1], "next": None if "url" in request else "c"})

    _, _, sent = pages(answer, method="POST", parameter=None)
    assert [each.get("cursor") for each in sent] == cursors


@pytest.mark.parametrize("cursor", [None, False, "", [], {}])
def test_an_empty_cursor_is_the_end(cursor: object) -> None:
    assert pages(lambda _: page({"items": [1], "next": cursor}))[:2] == ([1], False)


def test_a_link_in_the_body_is_followed() -> None:
    odata = {
        "https://a.example/list": page({"value": [1], "@odata.nextLink": "https://a.example/list?$skip=1"}),
        "https://a.example/list?$skip=1": page({"value": [2], "@odata.nextLink": "?$skip=2"}),
        "https://a.example/list?$skip=2": page({"value": [3]}),
    }

    def answer(request: Request) -> Response:
        return odata[str(request.get("url", "https://a.example/list"))]

    style = {"style": "link", "items": "value", "next": '"@odata.nextLink"'}
    found, has_more, sent = pages(answer, **style)
    assert (found, has_more) == ([1, 2, 3], False)
    assert [each.get("method") for each in sent] == [None, "GET", "GET"]
    with pytest.raises(ToolError, match="the link to the next page is not a URL"):
        pages(lambda _: page({"value": [1], "@odata.nextLink": {"href": "/x"}}), **style)


def test_repeated_pages_end_the_pagination() -> None:
    circle = {"": "a", "a": "b", "b": "a"}
    found, has_more, _ = pages(lambda request: page({"items": [field(request)], "next": circle[field(request)]}))
    assert (found, has_more) == (["", "a", "b"], False)


@pytest.mark.parametrize("start", [0, 2])
def test_offsets_are_counted_from_the_start(start: int) -> None:
    def answer(request: Request) -> Response:
        first = int(field(request) or start)
        return page({"items": list(range(first, min(first + 2, 5)))})

    found, has_more, _ = pages(answer, style="offset", start=start)
    assert (found, has_more) == (list(range(start, 5)), False)


def test_page_numbers_are_counted_from_the_start_to_a_missing_page() -> None:
    def answer(request: Request) -> Response:
        number = int(field(request) or 3)
        return page({"items": [number]}) if number < 5 else response(b"no such page", 404)

    assert pages(answer, style="page", start=3)[:2] == ([3, 4], False)
    with pytest.raises(ToolError, match="HTTP 500"):
        pages(
            lambda request: response(status=500) if "query" in request else page({"items": [1]}), style="page", start=1
        )
    with pytest.raises(ToolError, match="HTTP 404"):
        pages(lambda _: response(b"no such list", 404), style="page", start=1)
    with pytest.raises(ToolError, match="HTTP 404"):
        pages(lambda request: response(status=404) if "query" in request else page({"items": [1], "next": "x"}))


@pytest.mark.parametrize(
    ("limit", "items", "has_more"),
    [
        ({"max_pages": 2}, [0, 1, 2, 3], True), ({"max_items": 3}, [0, 1, 2], True),
        ({"max_items": 4}, [0, 1, 2, 3], True), ({"max_items": 6}, [0, 1, 2, 3, 4, 5], False),
        ({"max_items": 5}, [0, 1, 2, 3, 4], True), ({}, [0, 1, 2, 3, 4, 5], False),
    ],
)  # fmt: skip
def test_more_items_beyond_the_limits_are_reported(limit: Request, items: list[int], has_more: bool) -> None:
    def answer(request: Request) -> Response:
        first = int(field(request) or 0)
        return page({"items": [first, first + 1], "next": first + 2 if first < 4 else None})

    assert pages(answer, **limit)[:2] == (items, has_more)


@pytest.mark.parametrize(
    ("answer", "items"),
    [(page({"other": 1}), []), (page({"items": None}), []), (response(status=204), []), (response(b""), [])],
)
def test_a_page_without_items_has_none(answer: Response, items: list[object]) -> None:
    assert pages(lambda _: answer)[0] == items


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (page({"items": {"a": 1}}), "the pagination expression 'items' does not select a list"),
        (response(b"{", content_type="application/json"), "the response is not JSON: "),
    ],
)
def test_an_invalid_page_is_an_error(answer: Response, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        pages(lambda _: answer)

"""Redirects and pages of HTTP tools."""

import json
import re
import socket

import pytest
from calls.http_tools import KEY_IN_HEADER, KEY_OF_THIS_HOST, Ask, ask, failed, redirect, server, text
from calls.scripted_server import Answer, Request, ScriptedServer, json_reply, reply

from toolc.model.json_schema import JsonObject, JsonValue

__all__ = ["ask", "server"]


def test_a_redirect_is_followed(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/b/c"] = redirect("../d?x=1#y")
    server.answers["/d"] = reply(b"there")
    assert text(ask(redirect("/b/c"))) == "there"
    assert [each.path for each in server.received] == ["/", "/b/c", "/d?x=1"]


def cookies(received: list[Request]) -> list[str]:
    return [each.headers.get("cookie", "") for each in received]


def test_a_cookie_of_a_redirect_is_sent_to_its_host_and_path_until_the_call_ends(
    ask: Ask, server: ScriptedServer
) -> None:
    several = "id=1; Path=/; HttpOnly\r\nSet-Cookie: low=2; Path=/low; Expires=Wed, 01 Jan 2098 00:00:00 GMT"
    server.answers["/low/b"] = reply(b"", status=302, Location="/c")
    server.answers["/c"] = reply(b"there")
    first = reply(b"", status=302, Location="/low/b", Set_Cookie=several)
    for _ in range(2):  # nothing is left for the second call
        assert text(ask(first)) == "there"
    assert cookies(server.received) == 2 * ["", "low=2; id=1", "id=1"]


def test_a_cookie_of_a_redirect_is_added_to_that_of_the_spec(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/b"] = reply(b"there")
    first = reply(b"", status=302, Location="/b", Set_Cookie="id=1")
    assert text(ask(first, http={"headers": {"Cookie": "lang=en"}})) == "there"
    assert cookies(server.received) == ["lang=en", "lang=en; id=1"]


@pytest.mark.parametrize("value", ["id=1; Domain=example.com", "id=1; Path=/other", "id=1; Secure", "id=1; Max-Age=0"])
def test_a_cookie_for_another_host_path_or_protocol_is_not_sent(ask: Ask, server: ScriptedServer, value: str) -> None:
    server.answers["/b"] = reply(b"there")
    assert text(ask(reply(b"", status=302, Location="/b", Set_Cookie=value))) == "there"
    assert cookies(server.received) == ["", ""]


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_a_redirect_determines_the_next_method(ask: Ask, server: ScriptedServer, status: int, method: str) -> None:
    server.answers["/b"] = reply(b"there")
    assert text(ask(redirect("/b", status), http={"method": "POST", "body": {"text": "x"}})) == "there"
    last = server.received[-1]
    assert (last.method, last.body) == (method, b"x" if method == "POST" else b"")


def test_a_redirect_to_an_unescaped_url_is_followed(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/caf%C3%A9%20b"] = reply(b"there")
    answer = "HTTP/1.1 302 Found\r\nLocation: /café b\r\nContent-Length: 0\r\n\r\n".encode()
    assert text(ask(answer)) == "there"


def test_a_redirect_to_a_host_that_is_not_allowed_is_refused(ask: Ask) -> None:
    found = failed(ask(redirect("http://127.0.0.1:9/")))
    reason = "no entry of network.allow covers 127.0.0.1:9"
    assert found == ("denied", f"the server redirected to http://127.0.0.1:9/: {reason}")
    assert failed(ask(redirect("file:///etc/passwd")))[0] == "denied"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://[", "'http://[' has no port from 1 to 65535"),
        ("http://[::1", "'http://[::1' has no port from 1 to 65535"),
        ("http://a\u2100b", "is not in ASCII, and letters outside ASCII can look alike"),
        ("https:evil", "'https:evil' is not an http or https URL"),
        (
            "http://[::ffff:127.0.0.1]/",
            "the host of the URL is invalid: '[::ffff:127.0.0.1]' is an IPv4 address in IPv6 form",
        ),
    ],
)
def test_a_redirect_to_an_invalid_url_is_refused(ask: Ask, location: str, reason: str) -> None:
    kind, message = failed(ask(reply(b"", status=302, Location=location)))
    assert kind == "denied"
    assert reason in message


def test_an_error_about_a_redirect_contains_no_secret_from_the_query(ask: Ask) -> None:
    secret = "0123456789" * 30
    location = f"http://127.0.0.1:9/?{secret}"
    found = ask(redirect(location), http=KEY_IN_HEADER, sandbox=KEY_OF_THIS_HOST, secrets={"KEY": secret})
    assert failed(found) == (
        "denied",
        "the server redirected to http://127.0.0.1:9/: the server redirected to another host, with a secret in the URL",
    )


def test_an_error_about_a_redirect_contains_no_part_of_a_secret(ask: Ask) -> None:
    secret = "0123456789" * 30
    start = f"http://127.0.0.1:9/{'x' * 150}/"
    found = ask(redirect(f"{start}{secret}"), http=KEY_IN_HEADER, sandbox=KEY_OF_THIS_HOST, secrets={"KEY": secret})
    assert failed(found) == (
        "denied",
        f"the server redirected to {start}: the server redirected to another host, with a secret in the URL",
    )


def test_the_number_of_redirects_is_limited(ask: Ask, server: ScriptedServer) -> None:
    kind, message = failed(ask(redirect("/")))
    assert kind == "network"
    assert message.startswith("more than 10 redirects, the last one to http://127.0.0.1:")
    assert len(server.received) == 11


def test_a_secret_is_sent_only_to_the_same_origin(ask: Ask, server: ScriptedServer) -> None:
    with ScriptedServer({"/": reply(b"other")}) as other:
        sandbox: JsonObject = {
            "network": {"allow": [f"127.0.0.1:{other.port}"]},
            "secrets": {"KEY": {"hosts": ["127.0.0.1"]}},
        }
        http: JsonObject = {"headers": {"X-Key": "{{ secrets.KEY }}", "X-Plain": "p"}}
        secrets = {"KEY": "correct horse"}
        server.answers["/b"] = reply(b"same")
        assert text(ask(redirect("/b"), http=http, sandbox=sandbox, secrets=secrets)) == "same"
        assert [each.headers.get("x-key") for each in server.received] == ["correct horse"] * 2
        assert text(ask(redirect(f"{other.url}/"), http=http, sandbox=sandbox, secrets=secrets)) == "other"
        assert (other.received[0].headers.get("x-key"), other.received[0].headers["x-plain"]) == (None, "p")
        body: JsonObject = {"method": "POST", "body": {"form": {"k": "{{ secrets.KEY }}"}}}
        found = failed(ask(redirect(f"{other.url}/", 307), http=body, sandbox=sandbox, secrets=secrets))
        assert found[0] == "denied"
        assert server.received[-1].body == b"k=correct+horse"
        assert len(other.received) == 1


def paged(pages: dict[str, JsonValue], name: str) -> Answer:
    def answer(request: Request, connection: socket.socket) -> None:
        match = re.search(rf"[?&]{name}=([^&]*)", request.path)
        connection.sendall(json_reply(pages.get(match[1] if match else "", [])))

    return answer


def test_cursors_lead_to_the_next_page(ask: Ask, server: ScriptedServer) -> None:
    pages: dict[str, JsonValue] = {
        "": {"items": [1, 2], "next": "a/b"},
        "a%2Fb": {"items": [3], "next": "c"},
        "c": {"items": [4], "next": None},
    }
    http: JsonObject = {
        "query": {"x": "1"},
        "pagination": {"cursor": {"parameter": "cursor", "next": "next"}, "items": "items"},
    }
    assert ask(paged(pages, "cursor"), http=http, result={"format": "json"}).structured == ([1, 2, 3, 4],)
    assert [each.path for each in server.received] == ["/?x=1", "/?x=1&cursor=a%2Fb", "/?x=1&cursor=c"]


def test_cursors_can_be_sent_in_the_body(ask: Ask, server: ScriptedServer) -> None:
    def graphql(request: Request, connection: socket.socket) -> None:
        after = json.loads(request.body)["variables"].get("after")
        ends: dict[str, JsonValue] = {"endCursor": None if after == "b" else "b" if after else "a"}
        connection.sendall(json_reply({"data": {"nodes": [after], "pageInfo": ends}}))

    http: JsonObject = {
        "method": "POST",
        "body": {"json": {"query": "query { nodes }", "variables": {"first": "{{ first }}"}}},
        "pagination": {
            "cursor": {"pointer": "/variables/after", "next": "data.pageInfo.endCursor"},
            "items": "data.nodes",
        },
    }
    parameters: JsonObject = {"first": {"type": "integer"}}
    found = ask(graphql, http=http, parameters=parameters, arguments={"first": 1})
    assert found.structured == ([None, "a", "b"],)
    assert [json.loads(each.body) for each in server.received] == [
        {"query": "query { nodes }", "variables": {"first": 1} | after}
        for after in ({}, {"after": "a"}, {"after": "b"})
    ]


def test_pages_by_a_cursor_in_a_body_that_is_redirected(ask: Ask, server: ScriptedServer) -> None:
    def items(request: Request, connection: socket.socket) -> None:
        cursor = json.loads(request.body).get("c", 0)
        connection.sendall(json_reply({"items": [cursor], "next": cursor + 1 if cursor < 2 else None}))

    server.answers["/moved"] = items
    http: JsonObject = {
        "method": "POST",
        "body": {"json": {"q": 1}},
        "pagination": {"cursor": {"pointer": "/c", "next": "next"}, "items": "items"},
    }
    found = ask(reply(b"", status=308, Location="/moved"), http=http)
    assert found.structured == ([0, 1, 2],)
    assert [each.path for each in server.received] == ["/", "/moved"] * 3


def test_links_offsets_and_numbers_lead_to_the_next_page(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/two"] = json_reply([2])
    first = json_reply([1], Link='</other>; rel="prev", </two>; title="a, b"; rel="x next"')
    assert ask(first, http={"pagination": {"link": True}}).structured == ([1, 2],)
    offset: JsonObject = {"pagination": {"offset": {"parameter": "skip"}, "items": "@"}}
    assert ask(paged({"": [1, 2], "2": [3]}, "skip"), http=offset).structured == ([1, 2, 3],)
    number: JsonObject = {"pagination": {"page": {"parameter": "p", "first": 0}, "items": "@"}}
    assert ask(paged({"": [1], "1": [2], "2": [3]}, "p"), http=number).structured == ([1, 2, 3],)


def test_urls_in_the_body_lead_to_the_next_page(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/two"] = json_reply({"value": [2]})
    first = json_reply({"value": [1], "@odata.nextLink": f"{server.url}/two"})
    pagination: JsonObject = {"link": '"@odata.nextLink"', "items": "value"}
    assert ask(first, http={"pagination": pagination}).structured == ([1, 2],)
    away = json_reply({"value": [1], "@odata.nextLink": "http://127.0.0.1:9/x?y"})
    reason = "no entry of network.allow covers 127.0.0.1:9"
    found = failed(ask(away, http={"pagination": pagination}))
    assert found == ("denied", f"the next page is at http://127.0.0.1:9/x: {reason}")


@pytest.mark.parametrize(
    ("http", "paths"),
    [
        ({"query": {"skip": "{{ first }}"}}, ["/?skip=2", "/?skip=3", "/?skip=4"]),
        ({"query": {"skip": 2}}, ["/?skip=2", "/?skip=3", "/?skip=4"]),
        ({}, ["/", "/?skip=1", "/?skip=2", "/?skip=3", "/?skip=4"]),
    ],
)
def test_pages_begin_at_the_offset_of_the_query(
    ask: Ask, server: ScriptedServer, http: JsonObject, paths: list[str]
) -> None:
    items: dict[str, JsonValue] = {"": ["a"], "1": ["b"], "2": ["c"], "3": ["d"]}
    pagination: JsonObject = {"offset": {"parameter": "skip"}, "items": "@"}
    parameters: JsonObject = {"first": {"type": "integer", "description": "From where"}}
    found = ask(
        paged(items, "skip"), http={"pagination": pagination, **http}, parameters=parameters, arguments={"first": 2}
    )
    assert found.structured == (["a", "b", "c", "d"][5 - len(paths) :],)
    assert [each.path for each in server.received] == paths


def test_the_number_of_pages_is_limited(ask: Ask, server: ScriptedServer) -> None:
    endless: JsonObject = {"page": {"parameter": "p"}, "items": "@", "max_pages": 3}
    found = ask(json_reply([1, 2]), http={"pagination": endless})
    assert (found.structured, found.details["truncated"]) == (([1, 2] * 3,), True)
    assert ask(json_reply([1, 2]), http={"pagination": endless | {"max_items": 3}}).structured == ([1, 2, 1],)
    same: JsonObject = {"cursor": {"parameter": "c", "next": "n"}, "items": "i"}
    assert ask(json_reply({"n": "x", "i": [1]}), http={"pagination": same}).structured == ([1, 1],)


def test_a_next_page_on_another_host_is_refused(ask: Ask) -> None:
    answer = json_reply([1], Link="<http://127.0.0.1:9/>; rel=next")
    assert failed(ask(answer, http={"pagination": {"link": True}}))[0] == "denied"

"""Calls of HTTP tools, whole: what a server says, and what comes of it. On one engine; every engine has a few."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import ssl
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from configurations import CONFIGURATIONS
from http_tools import call_http, failed, http_spec
from scripted_server import Answer, Asked, ScriptedServer, certificate, json_reply, reply

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Image, Resource, Text, ToolResult
from toolc.sandbox.oci.engine import OciEngine

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MIB = 1024 * 1024

Ask: TypeAlias = Callable[..., ToolResult]
"""See the fixture ``ask``."""


@pytest.fixture(scope="module")
def engine() -> Iterator[OciEngine]:
    if reason := CONFIGURATIONS["oci root"].lacks():
        pytest.skip(reason)
    made = OciEngine()
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


@pytest.fixture
def ask(engine: OciEngine, server: ScriptedServer, tmp_path: Path) -> Ask:
    """Asks the server for ``/`` and returns the result; what it answers is ``answer``."""

    def asked(
        answer: Answer | bytes | None = None,
        *,
        http: JsonObject | None = None,
        result: JsonObject | None = None,
        sandbox: JsonObject | None = None,
        parameters: JsonObject | None = None,
        arguments: JsonObject | None = None,
        timeout: float = 100,
        secrets: dict[str, str] | None = None,
        workspace: Path | None = None,
    ) -> ToolResult:
        if answer is not None:
            server.answers["/"] = answer
        spec = http_spec(
            {"url": f"{server.url}/", **(http or {})}, result=result, sandbox=sandbox, parameters=parameters
        )
        return call_http(engine, tmp_path, spec, arguments, secrets, workspace, timeout)

    return asked


def text(result: ToolResult) -> str:
    assert not result.is_error, result
    return result.text


# What comes back.


def test_json_is_data(ask: Ask) -> None:
    found = ask(json_reply({"a": [1, 2.5, None, "é"]}))
    assert (found.structured, text(found)) == (({"a": [1, 2.5, None, "é"]},), '{"a":[1,2.5,null,"é"]}')
    assert isinstance(about := found.details["http"], dict)
    assert str(about.pop("url")).startswith("http://127.0.0.1:")
    assert about == {"status": 200, "content_type": "application/json", "redirects": 0, "retries": 0}
    network = found.details["network"]
    assert isinstance(network, list)
    assert [(each["host"], each["allowed"]) for each in network if isinstance(each, dict)] == [("127.0.0.1", True)]


@pytest.mark.parametrize(
    ("body", "kind", "wanted"),
    [
        ("grüß\n".encode(), "text/plain; charset=utf-8", "grüß\n"),
        ("grüß".encode("latin-1"), "text/html; charset=ISO-8859-1", "grüß"),
        (b"\xff", "text/plain; charset=nonsense", "\ufffd"),
        (b"\xff", "text/plain; charset=idna", "\ufffd"),
        ("gr\u00fc\u00df".encode("utf-16"), "text/plain", "grüß"),
        (b'{"a": 1}\n{"a": 2}\n', "application/x-ndjson", '{"a": 1}\n{"a": 2}\n'),
        (b"plain", "", "plain"),
        (b"", "text/plain", ""),
        (b"<a/>", "application/xml", "<a/>"),
    ],
)
def test_text_is_text(ask: Ask, body: bytes, kind: str, wanted: str) -> None:
    assert text(ask(reply(body, kind=kind))) == wanted


def test_a_picture_is_a_picture_whatever_its_type_says(ask: Ask) -> None:
    assert ask(reply(PNG, kind="application/octet-stream")).content == (Image(PNG, "image/png"),)


def test_other_bytes_are_a_file(ask: Ask) -> None:
    found = ask(reply(b"%PDF-\0", kind="application/pdf"))
    assert found.content == (Resource(b"%PDF-\0", "application/pdf", "response"),)
    named = ask(reply(b"%PDF-\0", kind="application/pdf", Content_Disposition='attachment; filename="../a.pdf"'))
    assert named.content == (Resource(b"%PDF-\0", "application/pdf", "a.pdf"),)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"words", mtime=0)),
        ("gzip", b"".join(gzip.compress(piece, mtime=0) for piece in (b"wo", b"rds"))),
        ("deflate", zlib.compress(b"words")),
        ("deflate", zlib.compress(b"words")[2:-4]),
        ("identity", b"words"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"words", mtime=0), mtime=0)),
        ("gzip", gzip.compress(b"words", mtime=0) + b"\0\0left over"),
    ],
)
def test_a_body_is_unpacked(ask: Ask, encoding: str, packed: bytes) -> None:
    assert text(ask(reply(packed, Content_Encoding=encoding))) == "words"


def test_chunks_are_joined(ask: Ask) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwor\r\n2;x=y\r\nds\r\n0\r\n\r\n"
    assert text(ask(answer)) == "words"


def test_interim_responses_are_passed_over(ask: Ask) -> None:
    assert text(ask(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + reply(b"words"))) == "words"


def test_a_long_text_is_cut_in_its_middle(ask: Ask) -> None:
    found = ask(reply(b"a" * 5000 + b"z" * 5000), sandbox={"limits": {"output": "1KiB"}})
    assert text(found) == "a" * 512 + "\n[8976 bytes cut]\n" + "z" * 512
    assert found.details["truncated"] is True


def test_nothing_is_nothing(ask: Ask) -> None:
    found = ask(b"HTTP/1.1 204 No Content\r\n\r\n", result={"format": "json"})
    assert (found.is_error, found.content, found.structured) == (False, (), None)


def test_words_may_be_all_there_is(ask: Ask) -> None:
    assert text(ask(reply(b"noise"), result={"format": "none", "template": "Done{{ result }}."})) == "Done."


def test_a_selection_and_words_for_the_model(ask: Ask) -> None:
    result: JsonObject = {
        "format": "json",
        "select": "items[?n > `1`].{name: name, n: n}",
        "template": "{% for each in result %}{{ loop.index }}. {{ each.name }} for {{ args.who }}\n{% endfor %}",
    }
    found = ask(
        json_reply({"items": [{"name": "{{ 7 * 7 }}", "n": 2, "x": 0}, {"name": "b", "n": 1}]}),
        result=result,
        parameters={"who": {"type": "string", "description": "Who"}},
        arguments={"who": "you"},
    )
    assert text(found) == "1. {{ 7 * 7 }} for you\n"
    assert found.structured == ([{"name": "{{ 7 * 7 }}", "n": 2}],)


def test_data_must_be_what_the_spec_promises(ask: Ask) -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    result: JsonObject = {"format": "json", "schema": schema}
    assert ask(json_reply({"n": 1}), result=result).structured == ({"n": 1},)
    assert failed(ask(json_reply({"n": "1"}), result=result)) == (
        "serialization",
        ("the tool's data does not match the result.schema of its spec:\n- n: expected an integer, got the string '1'"),
    )


# What goes out.


def test_the_request_is_as_the_spec_has_it(ask: Ask, server: ScriptedServer) -> None:
    http: JsonObject = {
        "method": "POST",
        "url": f"{server.url}/items/{{{{ id }}}}?x=1",
        "query": {"q": "{{ id }}"},
        "headers": {"X-Id": "{{ id }}"},
        "body": {"json": {"id": "{{ id }}", "n": 1}},
    }
    server.answers["/items/a%2Fb"] = reply(b"made")
    parameters: JsonObject = {"id": {"type": "string", "description": "The id"}}
    assert text(ask(http=http, parameters=parameters, arguments={"id": "a/b"})) == "made"
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/items/a%2Fb?x=1&q=a%2Fb", b'{"id":"a/b","n":1}')
    assert asked.headers == {
        "host": f"127.0.0.1:{server.port}",
        "x-id": "a/b",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "user-agent": asked.headers["user-agent"],
        "content-type": "application/json",
        "content-length": "18",
        "connection": "close",
    }


def test_a_file_of_the_workspace_is_sent_and_none_beside_it(ask: Ask, server: ScriptedServer, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_bytes(b"--toolc\0bytes")
    (work / "link").symlink_to("/etc/passwd")
    http: JsonObject = {"method": "POST", "body": {"multipart": {"f": {"file": "{{ path }}"}, "note": "hi"}}}
    parameters: JsonObject = {"path": {"type": "string", "description": "The file"}}
    more: JsonObject = {"parameters": parameters, "sandbox": {"workspace": "ro"}, "http": http}
    ask(reply(), arguments={"path": "a.txt"}, workspace=work, **more)
    boundary = server.asked[0].headers["content-type"].removeprefix("multipart/form-data; boundary=").encode()
    assert re.fullmatch(rb"toolc-[0-9a-f]{40}", boundary)
    assert server.asked[0].body == (
        b"--" + boundary + b'\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n--toolc\0bytes\r\n"
        b"--" + boundary + b'\r\nContent-Disposition: form-data; name="note"\r\n\r\nhi\r\n--' + boundary + b"--\r\n"
    )
    assert failed(ask(reply(), arguments={"path": "link"}, workspace=work, **more)) == (
        "denied",
        "the file 'link' cannot be sent: Too many levels of symbolic links",
    )
    assert len(server.asked) == 1


# Statuses.


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_args"),
        (401, "authentication"),
        (403, "authentication"),
        (404, "not_found"),
        (409, "execution"),
        (422, "invalid_args"),
        (429, "rate_limit"),
        (500, "network"),
        (503, "network"),
    ],
)
def test_a_status_is_a_kind_of_error_and_the_body_its_message(ask: Ask, status: int, kind: str) -> None:
    answer = reply(b"<p>so <b>what</b></p><script>no</script>", status=status, kind="text/html")
    assert failed(ask(answer)) == (kind, f"HTTP {status} Status: so what")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 404 Gone\r\nContent-Length: 99\r\n\r\nno such", "HTTP 404 Gone: no such"),
        (reply(b"\x8b\x02", status=404, Content_Encoding="br"), "HTTP 404 Status"),
        (reply(b"words", status=404, Content_Encoding="gzip"), "HTTP 404 Status"),
    ],
)
def test_an_error_whose_body_cannot_be_read_is_that_error(ask: Ask, answer: bytes, message: str) -> None:
    found = ask(answer)
    assert failed(found) == ("not_found", message)
    assert isinstance(about := found.details["http"], dict)
    assert about["status"] == 404


def test_another_protocol_is_no_response(ask: Ask) -> None:
    found = failed(ask(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"))
    assert found == ("execution", "HTTP 101 Switching Protocols")


def test_a_limit_that_is_told_as_403_is_a_limit(ask: Ask) -> None:
    found = ask(reply(b"slow down", status=403, X_RateLimit_Remaining="0", X_RateLimit_Reset="90"))
    assert failed(found) == ("rate_limit", "HTTP 403 Status: slow down (try again in 90 seconds)")
    assert isinstance(about := found.details["http"], dict)
    assert about["retry_after_ms"] == 90_000


def test_details_say_what_came_of_a_request_that_failed(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/gone"] = reply(b"no more", status=410)
    result = ask(redirect("/gone?signature=opens-it"))
    assert failed(result) == ("not_found", "HTTP 410 Status: no more")
    assert result.details["http"] == {
        "status": 410,
        "content_type": "text/plain",
        "url": f"{server.url}/gone",
        "redirects": 1,
        "retries": 0,
    }


def test_a_limit_says_when_to_try_again(ask: Ask) -> None:
    answer = json_reply({"m": "slow"}, status=429, Retry_After="30")
    assert failed(ask(answer)) == ("rate_limit", 'HTTP 429 Status: {"m": "slow"} (try again in 30 seconds)')
    later = reply(b"slow", status=429, Retry_After="Wed, 21 Oct 2099 07:28:00 GMT")
    assert re.fullmatch(r"HTTP 429 Status: slow \(try again in [0-9]{9,} seconds\)", failed(ask(later))[1])


def test_the_spec_says_what_is_an_error(ask: Ask) -> None:
    rules: JsonValue = [
        {"when": "error == 'limit'", "kind": "rate_limit"},
        {"when": "ok == `false`", "kind": "execution", "message": "it did not work"},
        {"status": 404, "kind": "denied"},
    ]
    http: JsonObject = {"errors": rules}
    assert failed(ask(json_reply({"ok": False}), http=http)) == ("execution", "it did not work")
    limit = failed(ask(json_reply({"ok": False, "error": "limit"}), http=http))
    assert limit == ("rate_limit", 'HTTP 200 Status: {"ok": false, "error": "limit"}')
    assert failed(ask(reply(b"x", status=404), http=http))[0] == "denied"
    assert text(ask(json_reply({"ok": True}), http=http)) == '{"ok":true}'


def test_what_may_be_sent_twice_is_tried_again(ask: Ask, server: ScriptedServer) -> None:
    answers = [reply(status=503), reply(status=429, Retry_After="0"), reply(b"at last")]

    def in_turn(_: Asked, connection: socket.socket) -> None:
        connection.sendall(answers.pop(0))

    http: JsonObject = {"retry": {"statuses": [429, 503], "attempts": 3, "backoff": "10ms"}}
    assert text(ask(in_turn, http=http)) == "at last"
    found = failed(ask(reply(status=503), http=http))
    assert found == ("network", "HTTP 503 Status")
    assert len(server.asked) == 6


def test_a_wait_beyond_the_deadline_is_not_begun(ask: Ask, server: ScriptedServer) -> None:
    http: JsonObject = {"retry": {"statuses": [429]}}
    found = failed(ask(reply(status=429, Retry_After="3600"), http=http))
    assert found == ("rate_limit", "HTTP 429 Status (try again in 3600 seconds)")
    assert len(server.asked) == 1


# Redirects.


def redirect(to: str, status: int = 302) -> bytes:
    return reply(b"", status=status, Location=to)


def test_a_redirect_is_followed(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/b/c"] = redirect("../d?x=1#y")
    server.answers["/d"] = reply(b"there")
    assert text(ask(redirect("/b/c"))) == "there"
    assert [each.path for each in server.asked] == ["/", "/b/c", "/d?x=1"]


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_what_is_sent_to_where_a_redirect_leads(ask: Ask, server: ScriptedServer, status: int, method: str) -> None:
    server.answers["/b"] = reply(b"there")
    assert text(ask(redirect("/b", status), http={"method": "POST", "body": {"text": "x"}})) == "there"
    last = server.asked[-1]
    assert (last.method, last.body) == (method, b"x" if method == "POST" else b"")


def test_a_redirect_that_is_not_quite_a_url_is_understood(ask: Ask, server: ScriptedServer) -> None:
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
        ("http://a\u2100b", "is not in ASCII, where letters can look alike"),
        ("https:evil", "'https:evil' is not an http or https URL"),
        ("http://[::ffff:127.0.0.1]/", "the URL's host: '[::ffff:127.0.0.1]' is an IPv4 address in the form of IPv6"),
    ],
)
def test_a_redirect_to_nothing_is_refused_with_what_is_wrong(ask: Ask, location: str, reason: str) -> None:
    kind, message = failed(ask(reply(b"", status=302, Location=location)))
    assert kind == "denied"
    assert reason in message


def test_a_query_that_holds_a_secret_is_in_no_error_of_a_redirect(ask: Ask) -> None:
    secret = "0123456789" * 30
    location = f"http://127.0.0.1:9/?{secret}"
    found = ask(
        reply(b"", status=302, Location=location),
        http={"headers": {"X-Key": "{{ secrets.KEY }}"}},
        sandbox={"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}},
        secrets={"KEY": secret},
    )
    assert failed(found) == (
        "denied",
        "the server redirected to http://127.0.0.1:9/: the server redirected to another host, with a secret in the URL",
    )


def test_no_piece_of_a_secret_stands_where_an_error_cuts_a_url(ask: Ask) -> None:
    secret = "0123456789" * 30
    start = f"http://127.0.0.1:9/{'x' * 150}/"
    found = ask(
        reply(b"", status=302, Location=f"{start}{secret}"),
        http={"headers": {"X-Key": "{{ secrets.KEY }}"}},
        sandbox={"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}},
        secrets={"KEY": secret},
    )
    assert failed(found) == (
        "denied",
        f"the server redirected to {start}: the server redirected to another host, with a secret in the URL",
    )


def test_a_loop_of_redirects_has_an_end(ask: Ask, server: ScriptedServer) -> None:
    kind, message = failed(ask(redirect("/")))
    assert kind == "network"
    assert message.startswith("more than 10 redirects, the last of them http://127.0.0.1:")
    assert len(server.asked) == 11


def test_a_secret_goes_to_the_same_origin_only(ask: Ask, server: ScriptedServer) -> None:
    with ScriptedServer({"/": reply(b"other")}) as other:
        sandbox: JsonObject = {
            "network": {"allow": [f"127.0.0.1:{other.port}"]},
            "secrets": {"KEY": {"hosts": ["127.0.0.1"]}},
        }
        http: JsonObject = {"headers": {"X-Key": "{{ secrets.KEY }}", "X-Plain": "p"}}
        secrets = {"KEY": "correct horse"}
        server.answers["/b"] = reply(b"same")
        assert text(ask(redirect("/b"), http=http, sandbox=sandbox, secrets=secrets)) == "same"
        assert [each.headers.get("x-key") for each in server.asked] == ["correct horse"] * 2
        assert text(ask(redirect(f"{other.url}/"), http=http, sandbox=sandbox, secrets=secrets)) == "other"
        assert (other.asked[0].headers.get("x-key"), other.asked[0].headers["x-plain"]) == (None, "p")
        body: JsonObject = {"method": "POST", "body": {"form": {"k": "{{ secrets.KEY }}"}}}
        found = failed(ask(redirect(f"{other.url}/", 307), http=body, sandbox=sandbox, secrets=secrets))
        assert found[0] == "denied"
        assert server.asked[-1].body == b"k=correct+horse"
        assert len(other.asked) == 1


# Pages.


def paged(pages: dict[str, JsonValue], name: str) -> Answer:
    def answer(asked: Asked, connection: socket.socket) -> None:
        match = re.search(rf"[?&]{name}=([^&]*)", asked.path)
        connection.sendall(json_reply(pages.get(match[1] if match else "", [])))

    return answer


def test_pages_by_cursor(ask: Ask, server: ScriptedServer) -> None:
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
    assert [each.path for each in server.asked] == ["/?x=1", "/?x=1&cursor=a%2Fb", "/?x=1&cursor=c"]


def test_pages_by_a_cursor_in_the_body(ask: Ask, server: ScriptedServer) -> None:
    def graphql(asked: Asked, connection: socket.socket) -> None:
        after = json.loads(asked.body)["variables"].get("after")
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
    assert [json.loads(each.body) for each in server.asked] == [
        {"query": "query { nodes }", "variables": {"first": 1} | after}
        for after in ({}, {"after": "a"}, {"after": "b"})
    ]


def test_pages_by_a_cursor_in_a_body_that_is_redirected(ask: Ask, server: ScriptedServer) -> None:
    def items(asked: Asked, connection: socket.socket) -> None:
        cursor = json.loads(asked.body).get("c", 0)
        connection.sendall(json_reply({"items": [cursor], "next": cursor + 1 if cursor < 2 else None}))

    server.answers["/moved"] = items
    http: JsonObject = {
        "method": "POST",
        "body": {"json": {"q": 1}},
        "pagination": {"cursor": {"pointer": "/c", "next": "next"}, "items": "items"},
    }
    found = ask(reply(b"", status=308, Location="/moved"), http=http)
    assert found.structured == ([0, 1, 2],)
    assert [each.path for each in server.asked] == ["/", "/moved"] * 3


def test_pages_by_link_offset_and_number(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/two"] = json_reply([2])
    first = json_reply([1], Link='</other>; rel="prev", </two>; title="a, b"; rel="x next"')
    assert ask(first, http={"pagination": {"link": True}}).structured == ([1, 2],)
    offset: JsonObject = {"pagination": {"offset": {"parameter": "skip"}, "items": "@"}}
    assert ask(paged({"": [1, 2], "2": [3]}, "skip"), http=offset).structured == ([1, 2, 3],)
    number: JsonObject = {"pagination": {"page": {"parameter": "p", "first": 0}, "items": "@"}}
    assert ask(paged({"": [1], "1": [2], "2": [3]}, "p"), http=number).structured == ([1, 2, 3],)


def test_pages_by_a_url_in_the_body(ask: Ask, server: ScriptedServer) -> None:
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
def test_pages_go_on_from_where_the_query_begins(
    ask: Ask, server: ScriptedServer, http: JsonObject, paths: list[str]
) -> None:
    items: dict[str, JsonValue] = {"": ["a"], "1": ["b"], "2": ["c"], "3": ["d"]}
    pagination: JsonObject = {"offset": {"parameter": "skip"}, "items": "@"}
    parameters: JsonObject = {"first": {"type": "integer", "description": "From where"}}
    found = ask(
        paged(items, "skip"), http={"pagination": pagination, **http}, parameters=parameters, arguments={"first": 2}
    )
    assert found.structured == (["a", "b", "c", "d"][5 - len(paths) :],)
    assert [each.path for each in server.asked] == paths


def test_pages_have_an_end(ask: Ask, server: ScriptedServer) -> None:
    endless: JsonObject = {"page": {"parameter": "p"}, "items": "@", "max_pages": 3}
    found = ask(json_reply([1, 2]), http={"pagination": endless})
    assert (found.structured, found.details["truncated"]) == (([1, 2] * 3,), True)
    assert ask(json_reply([1, 2]), http={"pagination": endless | {"max_items": 3}}).structured == ([1, 2, 1],)
    same: JsonObject = {"cursor": {"parameter": "c", "next": "n"}, "items": "i"}
    assert ask(json_reply({"n": "x", "i": [1]}), http={"pagination": same}).structured == ([1, 1],)


def test_a_link_to_another_host_is_refused(ask: Ask) -> None:
    answer = json_reply([1], Link="<http://127.0.0.1:9/>; rel=next")
    assert failed(ask(answer, http={"pagination": {"link": True}}))[0] == "denied"


# Faults.


def slowly(_: Asked, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
    connection.recv(1)


def endless(_: Asked, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def endless_headers(_: Asked, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-A: b\r\n" * 1000)


def bomb(_: Asked, connection: socket.socket) -> None:
    packed = gzip.compress(b"\0" * (64 * MIB))
    connection.sendall(reply(packed, Content_Encoding="gzip"))


FAULTS = {
    "drops before a word": (b"", "network", "the server ended the connection without a response"),
    "drops midway": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab",
        "network",
        "the connection ended 8 bytes before the end of the body",
    ),
    "drops in a chunk": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
        "network",
        "the connection ended .*",
    ),
    "a chunk without a length": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab", "network", ".*"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "network", "the server's response is not HTTP: .*"),
    "no gzip": (reply(b"words", Content_Encoding="gzip"), "serialization", "the response says that it is compressed.*"),
    "half a gzip": (
        reply(gzip.compress(b"words")[:-9], Content_Encoding="gzip"),
        "network",
        "the compressed response ends too early",
    ),
    "brotli": (
        reply(b"x", Content_Encoding="br"),
        "serialization",
        "the response has the unsupported encoding 'br'; use gzip or deflate",
    ),
    "an endless body": (endless, "output_limit", "the response is longer than 16 MiB; ask for less"),
    "endless headers": (endless_headers, "network", "the server's response is not HTTP: it has more than 200 fields"),
    "a bomb": (bomb, "output_limit", "the response is longer than 16 MiB; ask for less"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_servers_is_told(ask: Ask, name: str) -> None:
    answer, kind, message = FAULTS[name]
    found = failed(ask(answer))
    assert found[0] == kind
    assert re.fullmatch(message, found[1]), found[1]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "line 1 column 2: Expecting property name enclosed in double quotes; it begins: {"),
        (b"<html>oops", "line 1 column 1: Expecting value; it begins: <html>oops"),
        (b"NaN", "NaN is not JSON; it begins: NaN"),
        (b"[1e999]", "1e999 is too large a number; it begins: [1e999]"),
        (b"1" * 4301, "a number has more than 4300 digits; it begins: " + "1" * 200),
        (b'"\xff"', 'byte 1 is not UTF-8; it begins: "\ufffd"'),
        (b"", "it is empty"),
        (b"[" * 100_000, "it is nested too deeply; it begins: " + "[" * 200),
    ],
)
def test_json_that_is_none(ask: Ask, body: bytes, reason: str) -> None:
    found = failed(ask(reply(body, kind="application/json"), result={"format": "json"}))
    assert found == ("serialization", f"the response is not JSON: {reason}")


def test_an_image_that_is_none(ask: Ask) -> None:
    found = failed(ask(reply(b"words"), result={"format": "image"}))
    assert found == ("serialization", "the response is not a PNG, JPEG, GIF or WebP image, but text/plain")


def test_more_data_than_the_limit(ask: Ask) -> None:
    found = failed(ask(json_reply("x" * 5000), sandbox={"limits": {"output": "1KiB"}}))
    assert found == ("output_limit", "the result has 5002 bytes; the maximum is 1024; ask for less")


def test_a_template_without_an_end(ask: Ask) -> None:
    template = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
    found = failed(ask(json_reply(1), result={"format": "json", "template": template}))
    assert found[0] == "output_limit"


def test_a_server_that_stalls(ask: Ask) -> None:
    found = ask(slowly, timeout=2)
    assert found.error is not None
    about = found.details["http"]
    assert isinstance(about, dict)
    asked = str(about.pop("url"))
    stopped = "the call did not finish within 2 s and was stopped"
    assert (found.error.kind, found.error.message) == (
        "timeout", f"{stopped}; its last request was to {asked}; request less work per call"
    )  # fmt: skip
    assert asked.startswith("http://127.0.0.1:")
    assert about == {"redirects": 0, "retries": 0}


def test_how_far_a_call_came_is_told_after_its_deadline_too(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/slow"] = slowly
    found = ask(moved := reply(status=302, Location="/slow?key=value"), timeout=2)
    if not server.asked[-1].path.startswith("/slow"):  # a machine that stalls left no time to come so far
        found = ask(moved, timeout=60)
    assert (found.error and found.error.kind) == "timeout"
    assert found.details["http"] == {
        "url": f"{server.url}/slow", "status": 302, "content_type": "text/plain", "redirects": 1, "retries": 0,
    }  # fmt: skip


@pytest.mark.parametrize("shown", [1, 7, 19])
def test_of_a_secret_where_an_error_is_cut_nothing_is_told(ask: Ask, shown: int) -> None:
    secret = "s3cret-of-20-letters"
    body = b"x" * (500 - shown) + secret.encode() + b"y" * 100
    kind, message = failed(
        ask(
            reply(body, status=500),
            http={"headers": {"X-Key": "{{ secrets.KEY }}"}},
            sandbox={"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}},
            secrets={"KEY": secret},
        )
    )
    assert (kind, message) == ("network", f"HTTP 500 Status: {'x' * (500 - shown)}...")


@pytest.mark.parametrize("name", ["s3cret/of/20/letters", "s3cret%2Fof%2F20%2Fletters"])
def test_of_a_secret_where_a_files_name_is_cut_nothing_is_told(ask: Ask, server: ScriptedServer, name: str) -> None:
    key: JsonObject = {
        "http": {"headers": {"X-Key": "{{ secrets.KEY }}"}},
        "sandbox": {"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}},
        "secrets": {"KEY": "s3cret/of/20/letters"},
    }
    file = reply(b"%PDF-\0", kind="application/pdf")
    server.answers[f"/{name}"] = file
    (led,) = ask(redirect(f"/{name}"), **key).content
    said = reply(b"%PDF-\0", kind="application/pdf", Content_Disposition=f"inline; filename*=UTF-8''{name}.pdf")
    (named,) = ask(said, **key).content
    assert isinstance(led, Resource)
    assert isinstance(named, Resource)
    assert ("letters" in led.name, named.name) == (False, ".pdf")


def test_of_a_secret_where_a_text_loses_its_middle_nothing_is_told(ask: Ask) -> None:
    secret = "s3cret-of-20-letters"
    body = b"x" * 505 + secret.encode() + b"y" * 100 + secret.encode() + b"z" * 503
    found = ask(
        reply(body),
        http={"headers": {"X-Key": "{{ secrets.KEY }}"}},
        sandbox={"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}, "limits": {"output": "1KiB"}},
        secrets={"KEY": secret},
    )
    assert text(found) == f"{'x' * 505}\n[124 bytes cut]\n{'z' * 503}"


def test_a_connection_that_breaks_is_told_to_the_model_and_in_the_details(ask: Ask) -> None:
    def broken_off(_: Asked, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    result = ask(broken_off)
    reason = "the connection broke: connection reset by peer"
    assert failed(result) == ("network", reason)
    assert isinstance(network := result.details["network"], list)
    assert [attempt["reason"] for attempt in network if isinstance(attempt, dict)] == [reason]


def test_a_server_that_is_not_there(engine: OciEngine, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = failed(call_http(engine, tmp_path, http_spec({"url": f"http://127.0.0.1:{port}/"})))
    assert found == ("network", f"127.0.0.1, port {port}: connection refused")


def test_a_name_that_does_not_resolve(engine: OciEngine, tmp_path: Path) -> None:
    kind, message = failed(call_http(engine, tmp_path, http_spec({"url": "https://toolc.invalid/"})))
    assert kind == "network"
    assert message.startswith("toolc.invalid")


# TLS.


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))


def test_tls_is_spoken_by_the_host(
    engine: OciEngine, tls: tuple[ssl.SSLContext, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, authority = tls
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with ScriptedServer({"/": reply(b"safe" * 100_000)}, context) as server:
        found = call_http(
            engine, tmp_path, http_spec({"url": f"{server.url}/"}, sandbox={"limits": {"output": "1MiB"}})
        )
        assert text(found) == "safe" * 100_000


def test_a_certificate_that_nobody_vouches_for(
    engine: OciEngine, tls: tuple[ssl.SSLContext, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with ScriptedServer({"/": reply(b"safe")}, tls[0]) as server:
        found = failed(call_http(engine, tmp_path, http_spec({"url": f"{server.url}/"})))
        assert found == ("network", "the certificate of 127.0.0.1 is not trusted: self-signed certificate")
        assert server.asked == []


def test_a_certificate_of_another(engine: OciEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, authority = certificate(tmp_path, "DNS:example.com")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with ScriptedServer({"/": reply(b"safe")}, context) as server:
        kind, message = failed(call_http(engine, tmp_path, http_spec({"url": f"{server.url}/"})))
        assert kind == "network"
        assert message.startswith("the certificate of 127.0.0.1 is not trusted: IP address mismatch")


def test_no_tls_where_tls_should_be(ask: Ask, server: ScriptedServer) -> None:
    def hello(_: Asked, connection: socket.socket) -> None:
        connection.sendall(b"no")

    server.answers["/"] = hello
    kind, message = failed(ask(http={"url": f"https://127.0.0.1:{server.port}/"}, timeout=5))
    assert kind in {"network", "timeout"}, message


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_engine_sends_a_request_with_a_secret(name: str, tmp_path: Path) -> None:
    configuration = CONFIGURATIONS[name]
    if reason := configuration.lacks():
        pytest.skip(reason)
    with ScriptedServer() as server:
        server.answers["/"] = lambda asked, connection: connection.sendall(json_reply({**asked.headers}))
        spec = http_spec(
            {"url": f"{server.url}/", "auth": {"bearer": "{{ secrets.KEY }}"}},
            result={"format": "json", "select": "authorization"},
            sandbox={"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}, **configuration.sandbox},
        )
        folder = Path("/tmp") if configuration.uid else tmp_path

        def work(engine: object) -> JsonValue:
            import tempfile

            with tempfile.TemporaryDirectory() as made:
                return call_http(engine, Path(made), spec, secrets={"KEY": "correct horse"}).text  # type: ignore[arg-type]

        del folder
        assert configuration.run(work) == json.dumps("Bearer [secret KEY]")
        assert server.asked[0].headers["authorization"] == "Bearer correct horse"


def test_the_text_of_a_result_is_text(ask: Ask) -> None:
    assert ask(reply(b"a")).content == (Text("a"),)

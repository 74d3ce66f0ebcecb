"""Responses, requests and statuses of HTTP tools, on one engine."""

import base64
import gzip
import re
import socket
import zlib
from pathlib import Path

import pytest
from calls.http_tools import Ask, ask, failed, redirect, server, text
from calls.scripted_server import Request, ScriptedServer, json_reply, reply

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Image, Resource

__all__ = ["ask", "server"]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


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
    ("body", "kind", "expected"),
    [
        ("grüß\n".encode(), "text/plain; charset=utf-8", "grüß\n"),
        ("grüß".encode("latin-1"), "text/html; charset=ISO-8859-1", "grüß"),
        (b"\xff", "text/plain; charset=nonsense", "\ufffd"), (b"\xff", "text/plain; charset=idna", "\ufffd"),
        ("gr\u00fc\u00df".encode("utf-16"), "text/plain", "grüß"),
        (b'{"a": 1}\n{"a": 2}\n', "application/x-ndjson", '{"a": 1}\n{"a": 2}\n'), (b"plain", "", "plain"),
        (b"", "text/plain", ""), (b"<a/>", "application/xml", "<a/>"),
    ],
)  # fmt: skip
def test_text_is_decoded(ask: Ask, body: bytes, kind: str, expected: str) -> None:
    assert text(ask(reply(body, kind=kind))) == expected


def test_an_image_is_recognised_by_its_content(ask: Ask) -> None:
    assert ask(reply(PNG, kind="application/octet-stream")).content == (Image(PNG, "image/png"),)


def test_other_data_is_a_file(ask: Ask) -> None:
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
def test_a_body_is_decompressed(ask: Ask, encoding: str, packed: bytes) -> None:
    assert text(ask(reply(packed, Content_Encoding=encoding))) == "words"


def test_chunks_are_joined(ask: Ask) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwor\r\n2;x=y\r\nds\r\n0\r\n\r\n"
    assert text(ask(answer)) == "words"


def test_interim_responses_are_skipped(ask: Ask) -> None:
    assert text(ask(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + reply(b"words"))) == "words"


def test_a_long_text_is_cut_in_the_middle(ask: Ask) -> None:
    found = ask(reply(b"a" * 5000 + b"z" * 5000), sandbox={"limits": {"output": "1KiB"}})
    assert text(found) == "a" * 512 + "\n[8976 bytes cut]\n" + "z" * 512
    assert found.details["truncated"] is True


def test_an_empty_response_has_no_content(ask: Ask) -> None:
    for answer in (
        b"HTTP/1.1 204 No Content\r\n\r\n",
        *(reply(b" \n", kind="application/json", status=s) for s in (200, 202)),
    ):
        found = ask(answer, result={"format": "json"})
        assert (found.is_error, found.content, found.structured) == (False, (), None)


def test_an_empty_response_is_an_error_if_a_schema_says_what_it_has(ask: Ask) -> None:
    empty = reply(b"", kind="application/json")
    assert failed(ask(empty, result={"format": "json", "schema": {"type": "object"}}))[0] == "serialization"


def test_a_template_replaces_the_response(ask: Ask) -> None:
    assert text(ask(reply(b"noise"), result={"format": "none", "template": "Done{{ result }}."})) == "Done."


def test_select_and_template_shape_the_result(ask: Ask) -> None:
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


def test_data_must_match_the_schema(ask: Ask) -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    result: JsonObject = {"format": "json", "schema": schema}
    assert ask(json_reply({"n": 1}), result=result).structured == ({"n": 1},)
    assert failed(ask(json_reply({"n": "1"}), result=result)) == (
        "serialization",
        (
            "the tool's data does not match the result.schema of its spec:\n- n: expected an integer, got the string "
            "'1'; it must be the number itself, not its JSON text in a string"
        ),
    )


def test_the_request_is_built_from_the_spec(ask: Ask, server: ScriptedServer) -> None:
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
    (request,) = server.received
    assert (request.method, request.path, request.body) == ("POST", "/items/a%2Fb?x=1&q=a%2Fb", b'{"id":"a/b","n":1}')
    assert request.headers == {
        "host": f"127.0.0.1:{server.port}",
        "x-id": "a/b",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "user-agent": request.headers["user-agent"],
        "content-type": "application/json",
        "content-length": "18",
        "connection": "close",
    }


def test_only_files_of_the_workspace_are_sent(ask: Ask, server: ScriptedServer, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_bytes(b"--toolc\0bytes")
    (work / "link").symlink_to("/etc/passwd")
    http: JsonObject = {"method": "POST", "body": {"multipart": {"f": {"file": "{{ path }}"}, "note": "hi"}}}
    parameters: JsonObject = {"path": {"type": "string", "description": "The file"}}
    more: JsonObject = {"parameters": parameters, "sandbox": {"workspace": "ro"}, "http": http}
    ask(reply(), arguments={"path": "a.txt"}, workspace=work, **more)
    boundary = server.received[0].headers["content-type"].removeprefix("multipart/form-data; boundary=").encode()
    assert re.fullmatch(rb"toolc-[0-9a-f]{40}", boundary)
    assert server.received[0].body == (
        b"--" + boundary + b'\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n--toolc\0bytes\r\n"
        b"--" + boundary + b'\r\nContent-Disposition: form-data; name="note"\r\n\r\nhi\r\n--' + boundary + b"--\r\n"
    )
    assert failed(ask(reply(), arguments={"path": "link"}, workspace=work, **more)) == (
        "denied",
        "the file 'link' cannot be sent: Too many levels of symbolic links",
    )
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_args"), (401, "authentication"), (403, "authentication"), (404, "not_found"),
        (409, "execution"), (422, "invalid_args"), (429, "rate_limit"), (500, "network"), (503, "network"),
    ],
)  # fmt: skip
def test_a_status_determines_the_kind_of_error(ask: Ask, status: int, kind: str) -> None:
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
def test_an_error_with_an_unreadable_body_is_reported(ask: Ask, answer: bytes, message: str) -> None:
    found = ask(answer)
    assert failed(found) == ("not_found", message)
    assert isinstance(about := found.details["http"], dict)
    assert about["status"] == 404


def test_a_switch_of_protocols_is_an_error(ask: Ask) -> None:
    found = failed(ask(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"))
    assert found == ("execution", "HTTP 101 Switching Protocols")


def test_a_rate_limit_may_have_status_403(ask: Ask) -> None:
    found = ask(reply(b"slow down", status=403, X_RateLimit_Remaining="0", X_RateLimit_Reset="90"))
    assert failed(found) == ("rate_limit", "HTTP 403 Status: slow down (try again in 90 seconds)")
    assert isinstance(about := found.details["http"], dict)
    assert about["retry_after_ms"] == 90_000


def test_details_of_a_failed_request(ask: Ask, server: ScriptedServer) -> None:
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


def test_rate_limit_errors_have_a_retry_time(ask: Ask) -> None:
    answer = json_reply({"m": "slow"}, status=429, Retry_After="30")
    assert failed(ask(answer)) == ("rate_limit", 'HTTP 429 Status: {"m": "slow"} (try again in 30 seconds)')
    later = reply(b"slow", status=429, Retry_After="Wed, 21 Oct 2099 07:28:00 GMT")
    assert re.fullmatch(r"HTTP 429 Status: slow \(try again in [0-9]{9,} seconds\)", failed(ask(later))[1])


def test_error_rules_of_the_spec(ask: Ask) -> None:
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


def test_a_request_is_retried(ask: Ask, server: ScriptedServer) -> None:
    answers = [reply(status=503), reply(status=429, Retry_After="0"), reply(b"at last")]

    def next_answer(_: Request, connection: socket.socket) -> None:
        connection.sendall(answers.pop(0))

    http: JsonObject = {"retry": {"statuses": [429, 503], "attempts": 3, "backoff": "10ms"}}
    assert text(ask(next_answer, http=http)) == "at last"
    found = failed(ask(reply(status=503), http=http))
    assert found == ("network", "HTTP 503 Status")
    assert len(server.received) == 6


def test_there_is_no_retry_beyond_the_deadline(ask: Ask, server: ScriptedServer) -> None:
    http: JsonObject = {"retry": {"statuses": [429]}}
    found = failed(ask(reply(status=429, Retry_After="3600"), http=http))
    assert found == ("rate_limit", "HTTP 429 Status (try again in 3600 seconds)")
    assert len(server.received) == 1

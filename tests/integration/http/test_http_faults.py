"""Failures of servers and connections of HTTP tools."""

import gzip
import json
import re
import socket
import ssl
import struct
import tempfile
from pathlib import Path

import pytest
from calls.http_tools import (
    KEY_IN_HEADER,
    KEY_OF_THIS_HOST,
    Ask,
    ask,
    call_http,
    failed,
    http_spec,
    redirect,
    server,
    text,
)
from calls.scripted_server import Request, ScriptedServer, certificate, json_reply, reply
from calls.tcp_server import tcp
from engines.configurations import CONFIGURATIONS, available

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Resource
from toolc.sandbox.oci.engine import OciEngine

__all__ = ["ask", "server"]

MIB = 1024 * 1024


def slowly(_: Request, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
    connection.recv(1)


def endless(_: Request, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def endless_headers(_: Request, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-A: b\r\n" * 1000)


def bomb(_: Request, connection: socket.socket) -> None:
    packed = gzip.compress(b"\0" * (64 * MIB))
    connection.sendall(reply(packed, Content_Encoding="gzip"))


FAULTS = {
    "no response": (b"", "network", "the server ended the connection without a response"),
    "incomplete body": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab", "network",
        "the connection ended 8 bytes before the end of the body",
    ),
    "incomplete chunk": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab", "network", "the connection ended .*",
    ),
    "a chunk without a length": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab", "network", ".*"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "network", "the server's response is not HTTP: .*"),
    "not gzip": (reply(b"words", Content_Encoding="gzip"), "serialization", "the response cannot be decompressed: .*"),
    "incomplete gzip": (
        reply(gzip.compress(b"words")[:-9], Content_Encoding="gzip"), "network",
        "the compressed response ends too early",
    ),
    "brotli": (
        reply(b"x", Content_Encoding="br"), "serialization",
        "the response has the unsupported encoding 'br'; use gzip or deflate",
    ),
    "an endless body": (endless, "output_limit", "the response is longer than 16 MiB; request less data"),
    "endless headers": (endless_headers, "network", "the server's response is not HTTP: it has more than 200 fields"),
    "a compression bomb": (bomb, "output_limit", "the response is longer than 16 MiB; request less data"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_malformed_response_is_an_error(ask: Ask, name: str) -> None:
    answer, kind, message = FAULTS[name]
    found = failed(ask(answer))
    assert found[0] == kind
    assert re.fullmatch(message, found[1]), found[1]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "line 1 column 2: Expecting property name enclosed in double quotes. It begins with: {"),
        (b"<html>oops", "line 1 column 1: Expecting value. It begins with: <html>oops"),
        (b"NaN", "NaN is not JSON. It begins with: NaN"),
        (b"[1e999]", "1e999 is too large a number. It begins with: [1e999]"),
        (b"1" * 4301, "a number has more than 4300 digits. It begins with: " + "1" * 200),
        (b'"\xff"', 'byte 1 is not UTF-8. It begins with: "\ufffd"'),
        (b"[" * 100_000, "it is nested too deeply. It begins with: " + "[" * 200),
    ],
)
def test_invalid_json_is_an_error(ask: Ask, body: bytes, reason: str) -> None:
    found = failed(ask(reply(body, kind="application/json"), result={"format": "json"}))
    assert found == ("serialization", f"the response is not JSON: {reason}")


def test_an_invalid_image_is_an_error(ask: Ask) -> None:
    found = failed(ask(reply(b"words"), result={"format": "image"}))
    assert found == ("serialization", "the response must be a PNG, JPEG, GIF or WebP image, but it is text/plain")


def test_data_over_the_limit_is_an_error(ask: Ask) -> None:
    found = failed(ask(json_reply("x" * 5000), sandbox={"limits": {"output": "1KiB"}}))
    assert found == ("output_limit", "the result has 5002 bytes; the maximum is 1024; request less data")


def test_the_output_of_a_template_is_limited(ask: Ask) -> None:
    template = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
    found = failed(ask(json_reply(1), result={"format": "json", "template": template}))
    assert found[0] == "output_limit"


def test_a_server_that_does_not_respond(ask: Ask) -> None:
    seconds = 2
    while "its last request" not in failed(found := ask(slowly, timeout=seconds))[1]:
        seconds *= 10  # a machine that stalls may leave no time for the request
    assert found.error is not None
    about = found.details["http"]
    assert isinstance(about, dict)
    url = str(about.pop("url"))
    stopped = f"the call did not finish within {seconds} s and was stopped"
    assert (found.error.kind, found.error.message) == (
        "timeout", f"{stopped}; its last request was to {url}; request less work per call"
    )  # fmt: skip
    assert url.startswith("http://127.0.0.1:")
    assert about == {"redirects": 0, "retries": 0}


def test_details_of_a_call_that_timed_out(ask: Ask, server: ScriptedServer) -> None:
    server.answers["/slow"] = slowly
    found = ask(moved := reply(status=302, Location="/slow?key=value"), timeout=2)
    if not any(each.path.startswith("/slow") for each in server.received):  # a slow machine
        found = ask(moved, timeout=60)
    assert (found.error and found.error.kind) == "timeout"
    assert found.details["http"] == {
        "url": f"{server.url}/slow", "status": 302, "content_type": "text/plain", "redirects": 1, "retries": 0,
    }  # fmt: skip


@pytest.mark.parametrize("visible", [1, 7, 19])
def test_a_cut_error_contains_no_part_of_a_secret(ask: Ask, visible: int) -> None:
    secret = "s3cret-of-20-letters"
    body = b"x" * (500 - visible) + secret.encode() + b"y" * 100
    answer = reply(body, status=500)
    found = failed(ask(answer, http=KEY_IN_HEADER, sandbox=KEY_OF_THIS_HOST, secrets={"KEY": secret}))
    assert found == ("network", f"HTTP 500 Status: {'x' * (500 - visible)}...")


@pytest.mark.parametrize("name", ["s3cret/of/20/letters", "s3cret%2Fof%2F20%2Fletters"])
def test_a_cut_file_name_contains_no_part_of_a_secret(ask: Ask, server: ScriptedServer, name: str) -> None:
    key: JsonObject = {"http": KEY_IN_HEADER, "sandbox": KEY_OF_THIS_HOST, "secrets": {"KEY": "s3cret/of/20/letters"}}
    file = reply(b"%PDF-\0", kind="application/pdf")
    server.answers[f"/{name}"] = file
    (redirected,) = ask(redirect(f"/{name}"), **key).content
    with_name = reply(b"%PDF-\0", kind="application/pdf", Content_Disposition=f"inline; filename*=UTF-8''{name}.pdf")
    (named,) = ask(with_name, **key).content
    assert isinstance(redirected, Resource)
    assert isinstance(named, Resource)
    assert ("letters" in redirected.name, named.name) == (False, ".pdf")


def test_a_text_without_its_middle_contains_no_part_of_a_secret(ask: Ask) -> None:
    secret = "s3cret-of-20-letters"
    body = b"x" * 505 + secret.encode() + b"y" * 100 + secret.encode() + b"z" * 503
    found = ask(
        reply(body),
        http=KEY_IN_HEADER,
        sandbox={**KEY_OF_THIS_HOST, "limits": {"output": "1KiB"}},
        secrets={"KEY": secret},
    )
    assert text(found) == f"{'x' * 505}\n[124 bytes cut]\n{'z' * 503}"


def test_a_reset_connection_is_reported(ask: Ask) -> None:
    def reset(_: Request, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    result = ask(reset)
    reason = "the connection broke: connection reset by peer"
    assert failed(result) == ("network", reason)
    assert isinstance(network := result.details["network"], list)
    assert [attempt["reason"] for attempt in network if isinstance(attempt, dict)] == [reason]


def test_an_unreachable_server_is_reported(engine: OciEngine, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        found = failed(call_http(engine, tmp_path, http_spec({"url": f"http://127.0.0.1:{port}/"})))
    assert found == ("network", f"127.0.0.1, port {port}: connection refused")


def test_a_name_that_does_not_resolve(engine: OciEngine, tmp_path: Path) -> None:
    kind, message = failed(call_http(engine, tmp_path, http_spec({"url": "https://toolc.invalid/"})))
    assert kind == "network"
    assert message.startswith("toolc.invalid")


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))


def test_a_trusted_certificate_is_accepted(
    engine: OciEngine, tls: tuple[ssl.SSLContext, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, authority = tls
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with ScriptedServer({"/": reply(b"safe" * 100_000)}, context) as server:
        found = call_http(
            engine, tmp_path, http_spec({"url": f"{server.url}/"}, sandbox={"limits": {"output": "1MiB"}})
        )
        assert text(found) == "safe" * 100_000


def test_an_untrusted_certificate_is_refused(
    engine: OciEngine, tls: tuple[ssl.SSLContext, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with ScriptedServer({"/": reply(b"safe")}, tls[0]) as server:
        found = failed(call_http(engine, tmp_path, http_spec({"url": f"{server.url}/"})))
        assert found == ("network", "the certificate of 127.0.0.1 is not trusted: self-signed certificate")
        assert server.received == []


def test_a_certificate_of_another_host_is_refused(
    engine: OciEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, authority = certificate(tmp_path, "DNS:example.com")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with ScriptedServer({"/": reply(b"safe")}, context) as server:
        kind, message = failed(call_http(engine, tmp_path, http_spec({"url": f"{server.url}/"})))
        assert kind == "network"
        assert message.startswith("the certificate of 127.0.0.1 is not trusted: IP address mismatch")


def test_a_server_without_tls_is_reported(ask: Ask) -> None:
    with tcp(lambda connection: connection.sendall(reply(status=400))) as port:
        kind, message = failed(ask(http={"url": f"https://127.0.0.1:{port}/"}))
    assert kind == "network", message


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_engine_sends_a_request_with_a_secret(name: str) -> None:
    configuration = available(name)
    with ScriptedServer() as server:
        server.answers["/"] = lambda request, connection: connection.sendall(json_reply({**request.headers}))
        spec = http_spec(
            {"url": f"{server.url}/", "auth": {"bearer": "{{ secrets.KEY }}"}},
            result={"format": "json", "select": "authorization"},
            sandbox={"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}, **configuration.sandbox},
        )

        def work(engine: object) -> JsonValue:
            with tempfile.TemporaryDirectory() as folder:
                return call_http(engine, Path(folder), spec, secrets={"KEY": "correct horse"}).text  # type: ignore[arg-type]

        assert configuration.run(work) == json.dumps("Bearer [secret KEY]")
        assert server.received[0].headers["authorization"] == "Bearer correct horse"

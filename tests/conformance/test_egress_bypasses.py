"""Attempts to bypass an allow-list from inside sandboxes, through the proxy and without it."""

import http.server
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from calls.tcp_server import tcp
from egress_calls import everywhere, network, run
from engines.bypass_attempts import ADDRESSES, ALLOW, GREETINGS, HOSTS, REQUESTS, SPELLINGS
from engines.configurations import available

from toolc.model.json_schema import JsonObject
from toolc.runtime.egress import polling
from toolc.runtime.egress.polling import ResolvedHost

INSIDE: Final = ".inside.toolc.test"
"""Names below this resolve to addresses that no name may resolve to."""

TOOL: Final = """\
import os, socket, urllib.parse

def through_the_proxy(greeting):
    proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
    with socket.create_connection((proxy.hostname, proxy.port), 10) as connection:
        connection.sendall(greeting)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while data := connection.recv(65536):
            answer += data
    return answer.split(b"\\r\\n")[0].decode("latin-1")

def directly(host, port):
    try:
        if host.partition("\\0")[0].encode("idna").lower() == b"api.example.com":
            # Python normalises it to the allowed name (and cuts at NUL) before it is resolved.
            return "the allowed name"
    except UnicodeError:
        pass
    try:
        socket.create_connection((host, port), 5).close()
    except (OSError, UnicodeError, ValueError, OverflowError) as error:
        return type(error).__name__
    return "connected"

def attempt(hosts, inside, greetings):
    found = {}
    for host, port in hosts:
        raw = host.encode("utf-8", "surrogatepass")
        there = raw + b":%d" % port
        found[f"{host!a}:{port}"] = [
            through_the_proxy(b"CONNECT " + there + b" HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n"),
            through_the_proxy(b"GET http://" + there + b"/ HTTP/1.1\\r\\nHost: a.example.org\\r\\n\\r\\n"),
            directly(host, port),
        ]
    for host in inside:
        found[host] = [through_the_proxy(f"CONNECT {host}:443 HTTP/1.1\\r\\n\\r\\n".encode())]
    for greeting in greetings:
        found[greeting] = [through_the_proxy(greeting.encode("latin-1"))]
    return found
"""


REACHING: Final = """\
import os, socket, urllib.parse

def responses(address, *requests):
    with socket.create_connection(address, 10) as connection:
        answers = connection.makefile("rb")
        for request in requests:
            connection.sendall(request.encode())
            status = answers.readline()
            fields = dict(line.split(b": ", 1) for line in iter(answers.readline, b"\\r\\n"))
        return (status + answers.read(int(fields[b"Content-Length"]))).decode()

def reach(hosts, port):
    found = {}
    proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
    proxy = (proxy.hostname, proxy.port)
    for each in hosts:
        there = f"{each}:{port}"
        get = f"GET / HTTP/1.1\\r\\nHost: {there}\\r\\n\\r\\n"
        found[each] = [
            responses(proxy, f"CONNECT {there} HTTP/1.1\\r\\n\\r\\n", get),
            responses(proxy, f"GET http://{there}/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"),
        ]
        if "example.org" not in each.lower():
            # A name in the list needs no proxy.
            found[each].append(responses((each.strip("[]"), port), get))
    return found
"""


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str) -> ResolvedHost:
        number = host.removesuffix(INSIDE)
        return (
            ResolvedHost(host, (ADDRESSES[int(number)][0],))
            if number.isdigit()
            else ResolvedHost(host, reason="no such name")
        )

    monkeypatch.setattr(polling, "look_up", look_up)


@everywhere
def test_no_attempt_reaches_another_destination(name: str, tmp_path: Path) -> None:
    args: JsonObject = {
        "hosts": [[host, port] for host, port, _ in HOSTS],
        "inside": [f"{number}{INSIDE}" for number in range(len(ADDRESSES))],
        "greetings": [greeting for greeting, _ in GREETINGS],
    }
    sandbox: JsonObject = {"network": {"allow": [*ALLOW, f"*{INSIDE}:443"]}}
    result = run(available(name), {"python": {"code": TOOL, "function": "attempt"}}, sandbox, tmp_path, args=args)
    assert not result["is_error"], result
    found = result["structured"]
    assert isinstance(found, dict)
    assert len(found) == len({(host, port) for host, port, _ in HOSTS}) + len(ADDRESSES) + len(GREETINGS)
    reached = {
        attempt: responses
        for attempt, responses in found.items()
        if isinstance(responses, list) and any(" 2" in str(each)[:12] or each == "connected" for each in responses)
    }
    assert reached == {}
    assert not [each for each in network(result) if each["allowed"]]


SENDING: Final = """\
import os, socket, time, urllib.parse

def ended(connection):
    try:
        return connection.recv(65536) == b""
    except ConnectionResetError:
        return True

def sent(connection, pieces):
    try:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        return ended(connection)
    except OSError:
        return True

def attempt(requests, host, port):
    proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
    count = 0
    for each in requests:
        data = each.replace("HOST", f"{host}:{port}").encode("latin-1")
        for pieces in ([data], [data[at:at + 1] for at in range(len(data))]):
            with socket.create_connection((host, port), 20) as connection:
                count += sent(connection, pieces)
        with socket.create_connection((proxy.hostname, proxy.port), 20) as connection:
            connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n".encode())
            assert b" 200 " in connection.recv(65536)
            count += sent(connection, [data])
    return count
"""


@contextmanager
def recording_server() -> Iterator[tuple[int, list[bytes]]]:
    """Yield the port of a server, and the data of each connection, which it only records."""
    received: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        data = b""
        with suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                data += piece
        received.append(data)

    with tcp(serve) as port:
        yield port, received


@everywhere
def test_no_request_names_another_site(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.1",)))
    with recording_server() as (port, received):
        sandbox: JsonObject = {"network": {"allow": [f"api.example.com:{port}", f"127.0.0.1:{port}"]}}
        args: JsonObject = {"requests": [each for each, _ in REQUESTS], "host": "api.example.com", "port": port}
        backend: JsonObject = {"python": {"code": SENDING, "function": "attempt"}}
        result = run(available(name), backend, sandbox, tmp_path, args=args)
    assert result["structured"] == 3 * len(REQUESTS), result
    assert [data for data in received if re.search(rb"evil\.test[^\n]*\n", data)] == []
    attempts = network(result)
    assert len(attempts) == 3 * len(REQUESTS)
    assert [each for each in attempts if each["allowed"]] == []
    assert {str(each["would_allow"]) for each in attempts} == {f'{{to: "api.example.com:{port}", any_host: true}}'}


class _HostHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Respond with the values of the header Host."""
        body = ", ".join(self.headers.get_all("Host", [])).encode()
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _BothFamilies(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True

    def server_bind(self) -> None:
        """Accept IPv4 connections too."""
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


@contextmanager
def host_server() -> Iterator[int]:
    """Yield the port of a server that responds with the requested host."""
    with _BothFamilies(("::", 0), _HostHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@everywhere
def test_allowed_destinations_are_reached_in_any_spelling(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.1",)))
    with host_server() as port:
        allowed = ("api.example.com", "*.example.org", "127.0.0.1", "[::1]")
        sandbox: JsonObject = {"network": {"allow": [f"{host}:{port}" for host in allowed]}}
        args: JsonObject = {"hosts": [host for host, _ in SPELLINGS], "port": port}
        result = run(available(name), {"python": {"code": REACHING, "function": "reach"}}, sandbox, tmp_path, args=args)
    assert result["structured"] == {
        host: [f"HTTP/1.1 200 OK\r\n{host}:{port}"] * (2 if "example.org" in host.lower() else 3)
        for host, _ in SPELLINGS
    }

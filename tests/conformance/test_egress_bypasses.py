"""The ways around an allow-list once more, from inside of real sandboxes: by the proxy, and without it."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from bypass_attempts import ADDRESSES, ALLOW, GREETINGS, HOSTS, SPELLINGS
from configurations import CONFIGURATIONS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.user_config import Configuration as UserConfiguration
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.runtime.egress import polling
from toolc.runtime.egress.polling import ResolvedHost
from toolc.sandbox.base import Engine

INSIDE: Final = ".inside.toolc.test"
"""Names below this lead, one each, to what no name may lead to."""

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
            # Python itself makes the allowed name of it (and cuts at NUL), before anybody is asked.
            return "the name that is allowed"
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

def heard(address, *says):
    with socket.create_connection(address, 10) as connection:
        answers = connection.makefile("rb")
        for say in says:
            connection.sendall(say.encode())
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
            heard(proxy, f"CONNECT {there} HTTP/1.1\\r\\n\\r\\n", get),
            heard(proxy, f"GET http://{there}/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"),
        ]
        if "example.org" not in each.lower():
            # What is listed by its name needs no proxy.
            found[each].append(heard((each.strip("[]"), port), get))
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


@pytest.mark.parametrize("name", list(CONFIGURATIONS))
def test_no_attempt_gets_out_of_a_sandbox(name: str, tmp_path: Path) -> None:
    configuration = CONFIGURATIONS[name]
    if reason := configuration.lacks():
        pytest.skip(reason)
    spec: JsonObject = {
        "toolc": 1,
        "name": "attempt",
        "description": "Try to get out of the sandbox. Use it in the conformance suite and nowhere else.",
        "parameters": {
            "hosts": {"type": "array", "description": "Hosts and ports"},
            "inside": {"type": "array", "description": "Names"},
            "greetings": {"type": "array", "description": "What is said to the proxy"},
        },
        "backend": {"python": {"code": TOOL}},
        "sandbox": {"network": {"allow": [*ALLOW, f"*{INSIDE}:443"]}, **configuration.sandbox},
    }
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    registry = Registry.load(path)
    hosts: list[JsonValue] = [[host, port] for host, port, _ in HOSTS]
    inside: list[JsonValue] = [f"{number}{INSIDE}" for number in range(len(ADDRESSES))]
    greetings: list[JsonValue] = [greeting for greeting, _ in GREETINGS]

    def work(engine: Engine) -> JsonValue:
        executor = Executor(registry, engine=engine, configuration=UserConfiguration())
        result = executor.run("attempt", {"hosts": hosts, "inside": inside, "greetings": greetings})
        assert not result.is_error, result
        return [result.structured[0] if result.structured else None, result.details["network"]]

    answer = configuration.run(work)
    assert isinstance(answer, list)
    found, listed = answer
    assert isinstance(found, dict)
    assert isinstance(listed, list)
    assert len(found) == len({(host, port) for host, port, _ in HOSTS}) + len(ADDRESSES) + len(GREETINGS)
    got_out = {
        attempt: said
        for attempt, said in found.items()
        if isinstance(said, list) and any(" 2" in str(each)[:12] or each == "connected" for each in said)
    }
    assert got_out == {}
    assert not [each for each in listed if isinstance(each, dict) and each["allowed"]]


class _TellsHost(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the host that was asked for, or with all of them."""
        body = ", ".join(self.headers.get_all("Host", [])).encode()
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _BothFamilies(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True

    def server_bind(self) -> None:
        """Take IPv4 too."""
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


@contextmanager
def telling_server() -> Iterator[int]:
    """The port of a server that tells what host it was asked for."""
    with _BothFamilies(("::", 0), _TellsHost) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize("name", list(CONFIGURATIONS))
def test_what_is_allowed_is_reached_however_it_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.1",)))
    configuration = CONFIGURATIONS[name]
    if reason := configuration.lacks():
        pytest.skip(reason)
    with telling_server() as port:
        allowed = ("api.example.com", "*.example.org", "127.0.0.1", "[::1]")
        spec: JsonObject = {
            "toolc": 1,
            "name": "reach",
            "description": "Reach a server in several ways. Use it in the conformance suite and nowhere else.",
            "parameters": {
                "hosts": {"type": "array", "description": "Hosts"},
                "port": {"type": "integer", "description": "Their port"},
            },
            "backend": {"python": {"code": REACHING}},
            "sandbox": {"network": {"allow": [f"{host}:{port}" for host in allowed]}, **configuration.sandbox},
        }
        path = tmp_path / "spec.yaml"
        path.write_text(json.dumps(spec), encoding="utf-8")
        registry = Registry.load(path)

        def work(engine: Engine) -> JsonValue:
            executor = Executor(registry, engine=engine, configuration=UserConfiguration())
            result = executor.run("reach", {"hosts": [host for host, _ in SPELLINGS], "port": port})
            return result.structured[0] if result.structured else result.text

        answer = configuration.run(work)
    assert answer == {
        host: [f"HTTP/1.1 200 OK\r\n{host}:{port}"] * (2 if "example.org" in host.lower() else 3)
        for host, _ in SPELLINGS
    }

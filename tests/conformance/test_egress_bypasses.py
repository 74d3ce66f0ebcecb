"""The ways around an allow-list once more, from inside of real sandboxes: by the proxy, and without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from bypass_attempts import ADDRESSES, ALLOW, HOSTS
from configurations import CONFIGURATIONS

from toolc.api import Executor, Registry
from toolc.configuration import Configuration as UserConfiguration
from toolc.engines.base import Engine
from toolc.runtime import egress_names
from toolc.runtime.egress_names import Answer
from toolc.schema import JsonObject, JsonValue

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

def attempt(hosts, inside):
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
    return found
"""


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str) -> Answer:
        number = host.removesuffix(INSIDE)
        return (
            Answer(host, (ADDRESSES[int(number)][0],)) if number.isdigit() else Answer(host, reason="no such name")
        )

    monkeypatch.setattr(egress_names, "look_up", look_up)


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
        },
        "backend": {"python": {"code": TOOL}},
        "sandbox": {"network": {"allow": [*ALLOW, f"*{INSIDE}:443"]}, **configuration.sandbox},
    }
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    registry = Registry.load(path)
    hosts: list[JsonValue] = [[host, port] for host, port, _ in HOSTS]
    inside: list[JsonValue] = [f"{number}{INSIDE}" for number in range(len(ADDRESSES))]

    def work(engine: Engine) -> JsonValue:
        executor = Executor(registry, engine=engine, configuration=UserConfiguration())
        result = executor.run("attempt", {"hosts": hosts, "inside": inside})
        assert not result.is_error, result
        return [result.structured[0] if result.structured else None, result.details["network"]]

    answer = configuration.run(work)
    assert isinstance(answer, list)
    found, listed = answer
    assert isinstance(found, dict)
    assert isinstance(listed, list)
    assert len(found) == len({(host, port) for host, port, _ in HOSTS}) + len(ADDRESSES)
    got_out = {
        attempt: said
        for attempt, said in found.items()
        if isinstance(said, list) and any(" 2" in str(each)[:12] or each == "connected" for each in said)
    }
    assert got_out == {}
    assert not [each for each in listed if isinstance(each, dict) and each["allowed"]]

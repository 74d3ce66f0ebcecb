"""Answers of daemons that the tests cannot run, recorded in ``tests/data/daemons.yaml`` with their sources."""

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from project.data_files import load_yaml

from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.container import EventStream
from toolc.sandbox.docker.daemon import choose_version, parse
from toolc.sandbox.host import cgroups

DATA = load_yaml("daemons")


def named(key: str) -> list[Any]:
    return [pytest.param(each, id=each["name"]) for each in DATA[key]]


@pytest.mark.parametrize("recorded", named("answers"))
def test_a_daemon_is_read_as_it_is(recorded: dict[str, Any]) -> None:
    found = parse(Client("/run/docker.sock"), recorded["version"], DATA["base"] | recorded["info"])
    assert {name: getattr(found, name) for name in recorded["daemon"]} == recorded["daemon"]
    version = recorded["version"]
    assert choose_version(version["ApiVersion"], version["MinAPIVersion"]) == tuple(recorded["api"])


@pytest.mark.parametrize("recorded", named("events"))
def test_events_are_read_in_every_version(recorded: dict[str, Any], tmp_path: Path) -> None:
    lines = "".join(json.dumps(each) + "\n" for each in recorded["lines"]).encode()

    watched = threading.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
                assert watched.wait(60)
                connection.sendall(lines)

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        stream = EventStream(Client(str(tmp_path / "s")), "me")
        watch = stream.watch("c1")
        watched.set()
        assert watch.removed.wait(60)
        stream.unwatch("c1")
        stream.stop()
        server.join(60)
    assert (watch.out_of_memory, watch.exit_status) == (True, 137)


@pytest.mark.parametrize("recorded", named("control_groups"))
def test_control_groups_of_both_versions_are_found(recorded: dict[str, Any]) -> None:
    group = cgroups.groups(recorded["mountinfo"], recorded["cgroup"])["memory"]
    assert {"version": group.version, "folder": str(group.folder), "parent": str(group.parent)} == recorded["memory"]

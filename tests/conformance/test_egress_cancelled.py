"""A cancellation amid a download: it is heard at once, however much is on its way."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from configurations import CONFIGURATIONS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.user_config import Configuration
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.base import Engine

GIGABYTE = 1024 * 1024 * 1024

DOWNLOAD = """
import socket
def tool(port, ctx):
    received, told = 0, False
    with socket.create_connection(("127.0.0.1", port)) as connection:
        room = bytearray(1 << 18)
        while size := connection.recv_into(room):
            received += size
            if received > 4_000_000 and not told:
                told = True
                ctx.progress(0.4, "well under way")
    return received
"""


class _Gigabyte(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        piece = bytes(65536)
        with suppress(OSError):
            while self.server.sent < GIGABYTE:
                self.server.sent += self.request.send(piece)


class _Server(socketserver.ThreadingTCPServer):
    sent = 0


@contextmanager
def gigabyte() -> Iterator[_Server]:
    """A server that sends so much to whoever comes, and counts what it could send."""
    with _Server(("127.0.0.1", 0), _Gigabyte) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def cancelled(engine: Engine, registry: Registry, port: int) -> JsonObject:
    """What comes of a download that is cancelled once its tool has said that it is under way."""
    with Cancellation() as cancellation:

        def on_event(event: Event) -> None:
            if isinstance(event, ToolUpdate) and event.message:
                cancellation.cancel()

        executor = Executor(registry, engine=engine, configuration=Configuration())
        result = executor.run("download", {"port": port}, on_event=on_event, cancellation=cancellation)
    attempts = result.details["network"]
    assert isinstance(attempts, list)
    attempt = attempts[0]
    assert isinstance(attempt, dict)
    return {"outcome": result.details["outcome"], "bytes_in": attempt["bytes_in"]}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_cancellation_amid_a_gigabyte_is_heard(configuration: str, tmp_path: Path) -> None:
    chosen = CONFIGURATIONS[configuration]
    if reason := chosen.lacks():
        pytest.skip(reason)
    with gigabyte() as server:
        port = server.server_address[1]
        spec: JsonObject = {
            "toolc": 1,
            "name": "download",
            "description": "Download more than anybody waits for, to see that it can be cancelled.",
            "parameters": {"port": {"type": "integer", "description": "The server's port."}},
            "backend": {"python": {"function": "tool", "code": DOWNLOAD}},
            "sandbox": {
                "network": {"allow": [f"127.0.0.1:{port}"]},
                "limits": {"timeout": "100s"},
                "min_isolation": chosen.min_isolation,
            },
        }
        path = tmp_path / "download.yaml"
        path.write_text(json.dumps(spec), encoding="utf-8")
        registry = Registry.load(path)
        found = chosen.run(lambda engine: cancelled(engine, registry, port))
        assert isinstance(found, dict)
        assert found["outcome"] == "cancelled"
        # What was on its way was all that came: the rest was neither waited for nor read.
        assert isinstance(found["bytes_in"], int)
        assert 4_000_000 < found["bytes_in"] <= server.sent < GIGABYTE // 4

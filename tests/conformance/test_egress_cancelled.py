"""A cancellation during a download takes effect immediately."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from egress_calls import available, everywhere, network, run

from toolc.model.json_schema import JsonObject

GIGABYTE = 1024 * 1024 * 1024

DOWNLOAD = """
import socket
def tool(port, ctx):
    received, reported = 0, False
    with socket.create_connection(("127.0.0.1", port)) as connection:
        room = bytearray(1 << 18)
        while size := connection.recv_into(room):
            received += size
            if received > 4_000_000 and not reported:
                reported = True
                ctx.progress(0.4, "downloading")
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
    """Yield a server that sends a gigabyte to each client and counts the sent bytes."""
    with _Server(("127.0.0.1", 0), _Gigabyte) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@everywhere
def test_cancellation_during_a_download(name: str, tmp_path: Path) -> None:
    with gigabyte() as server:
        port = server.server_address[1]
        sandbox: JsonObject = {"network": {"allow": [f"127.0.0.1:{port}"]}, "limits": {"timeout": "100s"}}
        backend: JsonObject = {"python": {"function": "tool", "code": DOWNLOAD}}
        result = run(available(name), backend, sandbox, tmp_path, args={"port": port}, cancel_at="downloading")
        details, (attempt,) = result["details"], network(result)
        assert isinstance(details, dict)
        assert details["outcome"] == "cancelled"
        # The rest was neither waited for nor read.
        assert isinstance(attempt["bytes_in"], int)
        assert 4_000_000 < attempt["bytes_in"] <= server.sent < GIGABYTE // 4

"""A cancellation during a download takes effect immediately."""

import socket
from pathlib import Path

from calls.tcp_server import tcp
from egress_calls import everywhere, network, run
from engines.configurations import available

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


@everywhere
def test_cancellation_ends_a_download(name: str, tmp_path: Path) -> None:
    sent = 0

    def serve(connection: socket.socket) -> None:
        nonlocal sent
        while sent < GIGABYTE:
            sent += connection.send(bytes(65536))

    with tcp(serve) as port:
        sandbox: JsonObject = {"network": {"allow": [f"127.0.0.1:{port}"]}, "limits": {"timeout": "100s"}}
        backend: JsonObject = {"python": {"function": "tool", "code": DOWNLOAD}}
        result = run(available(name), backend, sandbox, tmp_path, args={"port": port}, cancel_at="downloading")
        details, (attempt,) = result["details"], network(result)
        assert isinstance(details, dict)
        assert details["outcome"] == "cancelled"
        # The rest was neither waited for nor read.
        assert isinstance(attempt["bytes_in"], int)
        assert 4_000_000 < attempt["bytes_in"] <= sent < GIGABYTE // 4

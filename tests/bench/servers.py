"""What the benchmarks ask, and a plain relay: each a process of its own, so that nothing measured waits for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

DOWNLOAD_BYTES: Final = 200_000_000

PEER: Final = f"""
import socket, threading
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listener.getsockname()[1], flush=True)
block = bytes(65536)

def serve(connection):
    with connection:
        if connection.recv(100) == b"download":
            left = {DOWNLOAD_BYTES}
            while left > 0:
                connection.sendall(block[:left])
                left -= len(block)
        else:
            connection.sendall(b"done")

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

HTTP: Final = r"""
import socket
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listener.getsockname()[1], flush=True)
body = b'{"a": 1}'
head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
while True:
    connection, _ = listener.accept()
    asked = b""
    while b"\r\n\r\n" not in asked and (more := connection.recv(65536)):
        asked += more
    connection.sendall(head % len(body) + body)
    connection.close()
"""

RELAY: Final = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0), backlog=512)
print(listener.getsockname()[1], flush=True)

def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass

def serve(client):
    with client, socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        pump(client, server)
        back.join()

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@contextmanager
def peer() -> Iterator[int]:
    """The server's port."""
    with _running(PEER) as port:
        yield port


@contextmanager
def json_server() -> Iterator[int]:
    """The port of a server that answers each request with a little JSON, and closes the connection."""
    with _running(HTTP) as port:
        yield port


@contextmanager
def relay(target: int) -> Iterator[int]:
    """The port of a relay to ``target``."""
    with _running(RELAY, str(target)) as port:
        yield port


@contextmanager
def _running(code: str, *arguments: str) -> Iterator[int]:
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()

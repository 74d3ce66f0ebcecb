"""The servers of the benchmarks and a plain relay, each in a separate process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

DOWNLOAD_BYTES: Final = 1_000_000_000

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

HTTP: Final = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        body = b'{"a": 1}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
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
    with _running(PEER) as port:
        yield port


@contextmanager
def json_server() -> Iterator[int]:
    """Yield the port of a server of the standard library that answers each request with a small JSON object."""
    with _running(HTTP) as port:
        yield port


@contextmanager
def relay(target: int) -> Iterator[int]:
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

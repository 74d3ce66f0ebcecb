"""A request to the host and its response."""

import gzip
import re
import socket
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

import toolc
from toolc.guest.context import ToolError
from toolc.guest.http.round_trip import Requests, Response

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from toolc.guest.http import http_tool
from toolc.guest.http.body import parse_json
from toolc.guest.http.round_trip import Requests
before = set(sys.modules)
print(parse_json(Requests(("127.0.0.1", int(sys.argv[2]))).send({}, "GET")))
print(sorted(set(sys.modules) - before))
"""


def test_an_ordinary_request_imports_no_further_modules() -> None:
    response = b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n\xef\xbb\xbf{"a": 1}'
    framed = b"{}\n" + struct.pack(">I", len(response)) + response + struct.pack(">I", 0) + b"{}"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(framed)

        host = threading.Thread(target=answer)
        host.start()
        folder = Path(toolc.__file__).parents[1]
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(folder), str(listener.getsockname()[1])]
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        host.join()
    assert (found.stdout, found.stderr) == ("{'a': 1}\n[]\n", "")


GZIP, RAW = gzip.compress(b"words", mtime=0), zlib.compress(b"words")[2:-4]
OK, END = b"{}\n", bytes(4)


def piece(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def encoded(encoding: str, body: bytes, status: int = 200) -> bytes:
    head = f"HTTP/1.1 {status} Status\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def received(wire: bytes, limit: int = 100) -> Response:
    """Return the response to a request that the host has begun, from what the host sent."""
    worker, host = socket.socketpair()
    with worker, host:
        host.sendall(wire)
        host.shutdown(socket.SHUT_WR)
        return Requests(("", 0), worker).send({}, "GET", limit)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", GZIP), ("X-GZIP", gzip.compress(b"wo", mtime=0) + gzip.compress(b"rds", mtime=0)),
        ("gzip", GZIP + b"\0\0rest"), ("deflate", zlib.compress(b"words")), ("deflate", RAW), ("identity", b"words"),
        ("", b"words"), ("deflate, gzip", gzip.compress(RAW, mtime=0)),
    ],
)  # fmt: skip
def test_a_body_is_decoded(encoding: str, body: bytes) -> None:
    data = encoded(encoding, body)
    assert received(OK + piece(data[:30]) + piece(data[30:]) + END + b"{}").body == b"words"


@pytest.mark.parametrize(
    ("wire", "kind", "message"),
    [
        (b"", "network", "the connection broke"),
        (b'{"kind": "denied", "reason": "no entry"}\n', "denied", "no entry"),
        (OK + piece(encoded("br", b"x")), "serialization", "the response has the unsupported encoding 'br'; .*"),
        (OK + piece(encoded("gzip", b"xy")), "serialization", "the response cannot be decompressed: .* header .*"),
        (OK + piece(encoded("gzip", GZIP[:-1])), "network", "the compressed response ends too early"),
        (OK + piece(b"SSH-2.0-x\r\n"), "network", "the server's response is not HTTP: .*"),
        (OK + piece(encoded("", b"x")[:-1]) + END + b'{"reason": "it is reset"}', "network", "it is reset"),
        (OK + struct.pack(">I", 99) + b"HTTP/1.1 200 OK\r\n\r\nab", "network", "the connection broke"),
    ],
)  # fmt: skip
def test_a_refused_request_and_a_damaged_response_are_errors(wire: bytes, kind: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        received(wire)
    assert caught.value.kind == kind
    assert re.fullmatch(message, str(caught.value))


@pytest.mark.parametrize(
    ("data", "limit", "status", "body"),
    [(encoded("gzip", b"xy", 404), 100, 404, b""), (encoded("gzip", GZIP), 4, 200, b"word")],
)
def test_a_damaged_error_response_and_a_long_body_are_cut(data: bytes, limit: int, status: int, body: bytes) -> None:
    found = received(OK + piece(data) + END, limit)
    assert (found.status, found.body, found.cut) == (status, body, True)

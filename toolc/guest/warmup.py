"""Warm-up: run code paths before the first call to avoid cold-start costs.

This copies pages shared by fork, lets the interpreter specialize code, and fills caches. Each part runs in the process
that later handles the call, and imports only modules that this process will need.
"""

from __future__ import annotations

import marshal
import socket

from toolc.guest import frames
from toolc.guest.frames import CLOSE, DATA, END, FIRST_CONNECTION, LENGTH, OPENED, FrameReader, encode
from toolc.guest.job import HttpJob, Job
from toolc.guest.network.listener import GuestNetwork

REPEATS = 3
"""How often a response is processed. Python specializes code after a few runs, and more runs have no effect."""

RESPONSE = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}'
MESSAGES = b"{}\n" + LENGTH.pack(len(RESPONSE)) + RESPONSE + LENGTH.pack(0) + b"{}"
"""The data that the worker of an HTTP tool reads (see ``toolc.runtime.http.transport``)."""

HTTP: dict[str, object] = {
    "method": "GET", "url": "", "format": "json", "limit": 1 << 16, "is_begun": True, "needs_token": False,
    "has_token": False, "retry": None, "pagination": None, "errors": [], "select": None, "template": None,
    "arguments": {}, "address": ["127.0.0.1", 3129], "cut_mark": "",
}  # fmt: skip
"""A message as created by ``toolc.runtime.http.message``."""

CALL = {
    "call_id": "", "timeout_ms": 1000, "directory": "/tmp", "environment": {}, "files": [], "open_files": 64,
    "file_size_bytes": 1 << 20, "network": {"requests": HTTP["address"]}, "http": HTTP,
}  # fmt: skip
"""A message as created by ``toolc.runtime.wire.protocol``."""


def process_response() -> bytes:
    """Process a response as the worker of an HTTP tool does, and return its reply."""
    from toolc.guest.http import exchange, http_tool, round_trip  # lazy: +7 ms; process 1 reads no HTTP responses

    reply = b""
    for _ in range(REPEATS):
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(MESSAGES)
        job = HttpJob(Job(marshal.dumps(CALL)).http or {})
        requests = round_trip.Requests(("", 0), ours)
        reply = http_tool.run_call(job, exchange.Exchange(job, requests, 0.0, lambda _: None))
        requests.close()
    return reply


def forward_request() -> bytes:
    """Forward a request as the supervisor does, and return the frames for the host."""
    out = bytearray()
    for _ in range(REPEATS):
        out.clear()
        for _, _, message in FrameReader().feed(encode(frames.CALL, 0, marshal.dumps(CALL))):
            Job(bytes(message))
        network = GuestNetwork()
        ours, theirs = socket.socketpair()
        with theirs:
            network.adopt(ours.detach())
            network.receive(OPENED, FIRST_CONNECTION, b"", out)
            network.receive(DATA, FIRST_CONNECTION, MESSAGES, out)
            network.receive(END, FIRST_CONNECTION, b"", out)
        network.serve(out, len(out) + 1)
        network.receive(CLOSE, FIRST_CONNECTION, b"{}", out)
        network.close()
    return bytes(out)

"""Build the bundle of guest modules that the host sends to a sandbox, so both always have the same version.

Process 1 of a sandbox is ``python3`` with ``BOOTSTRAP_ARGUMENTS``. It reads ``bundle()``, which is one
Python program: the loader, followed by a call to it with the source of every guest module.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from toolc.guest.frames import LENGTH

__all__ = ["BOOTSTRAP_ARGUMENTS", "CANNOT_CONNECT", "bundle"]

PACKAGES: Final = ("http", "network")
"""The subpackages of the guest that are sent."""

MODULES: Final = (
    "answer", "connections", "context", "flow_control", "frames", "http.body", "http.errors", "http.exchange",
    "http.parser", "http.round_trip", "http.shaping", "http.tool", "job", "launch_args", "network.connection",
    "network.listener", "network.proxy", "processes", "python_function", "session", "streams", "supervisor",
    "truncate", "warmup", "worker",
)  # fmt: skip
"""The modules that are sent. This module and the loader are not imported inside the sandbox."""

CANNOT_CONNECT: Final = b"-"
"""The first output on stdout if process 1 cannot connect to the socket in its arguments."""

_BOOTSTRAP: Final = """\
import os, sys
for word in sys.argv:
    if word.startswith("wire="):
        import socket
        wire = socket.socket(socket.AF_UNIX)
        try:
            wire.connect(word[5:])
        except OSError:
            os.write(1, b"{cannot_connect}")
        else:
            os.dup2(wire.fileno(), 0)
            os.dup2(wire.fileno(), 1)
        wire.close()
def read(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            os._exit(1)
        data += piece
    return data
exec(compile(read(int.from_bytes(read(4), "big")), "<toolc.guest.loader>", "exec"))
""".replace("{cannot_connect}", CANNOT_CONNECT.decode())

BOOTSTRAP_ARGUMENTS: Final = ("-I", "-S", "-c", _BOOTSTRAP)
"""The arguments of ``python3`` (3.9 or later): isolated mode, no ``site`` module, and the bootstrap code."""


@cache
def bundle() -> bytes:
    """Return the guest's source after its length (u32): the first bytes that a host sends to a sandbox."""
    folder = files("toolc.guest")
    sources = {"toolc": "", "toolc.guest": "", **{f"toolc.guest.{name}": "" for name in PACKAGES}}
    for name in MODULES:
        path = folder.joinpath(*name.split(".")[:-1], f"{name.rpartition('.')[2]}.py")
        sources[f"toolc.guest.{name}"] = path.read_text(encoding="utf-8")
    loader = (folder / "loader.py").read_text(encoding="utf-8")
    program = f"{loader}\nrun({sources!r})\n".encode()
    return LENGTH.pack(len(program)) + program

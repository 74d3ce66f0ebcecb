"""Build the bundle of guest modules that the host sends to a sandbox, so both always have the same version.

Process 1 of a sandbox is ``python3`` with ``BOOTSTRAP_ARGUMENTS``. It reads ``bundle()``: the length of the bundle
(u32), the length of a Python program (u32), the program, and the modules as ``marshal`` writes them. The program is the
loader and a call to it. The modules are::

    (MAGIC_NUMBER, {"toolc.guest.frames": (source, code), ...})

``code`` is the compiled module. A Python with another magic number compiles the source instead, which takes about ten
milliseconds.
"""

from __future__ import annotations

import marshal
from functools import cache
from importlib.util import MAGIC_NUMBER, find_spec
from threading import Thread
from types import CodeType
from typing import Any, Final

from toolc.guest.frames import LENGTH

PACKAGES: Final = ("forks", "http", "network", "programs")
"""The subpackages of the guest that are sent."""

MODULES: Final = (
    "answer", "connections", "context", "flow_control", "forks.fork_supervisor", "forks.isolation", "forks.preloading",
    "frames", "http.body", "http.cookies", "http.exchange", "http.http_tool", "http.response_errors",
    "http.response_parser", "http.round_trip", "http.shaping", "job", "json_text", "launch_args", "network.connection",
    "network.listener", "network.proxy", "preload", "processes", "programs.file_operations", "programs.process",
    "programs.program", "programs.program_server", "python_function", "session", "streams", "supervisor", "truncate",
    "values", "warmup", "worker",
)  # fmt: skip
"""The modules that are sent. This module and the loader are not imported inside the sandbox."""

CANNOT_CONNECT: Final = b"-"
"""The first byte on stdout if process 1 cannot connect to the socket in its arguments."""

_BOOTSTRAP: Final = """\
import os, sys
for word in sys.argv:
    if word.startswith("wire="):
        try:
            import _socket  # the module socket takes long to import
            wire = _socket.socket(_socket.AF_UNIX)
            wire.connect(word[5:])
        except (ImportError, OSError):
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
bundle = read(int.from_bytes(read(4), "big"))
end = 4 + int.from_bytes(bundle[:4], "big")
exec(compile(bundle[4:end], "<toolc.guest.loader>", "exec"))
""".replace("{cannot_connect}", CANNOT_CONNECT.decode())

BOOTSTRAP_ARGUMENTS: Final = ("-I", "-S", "-c", _BOOTSTRAP)
"""The arguments of ``python3`` (3.9 or later): isolated mode, no ``site`` module, and the bootstrap code."""


MARSHAL_VERSION: Final = 4
"""A version of the ``marshal`` format that every supported Python can read (3.4 and later)."""


def prepare_bundle() -> None:
    """Create the bundle on another thread. Engines call it when all that is left of a start is to wait."""
    if not bundle.cache_info().currsize:
        Thread(target=bundle, name="toolc bundle", daemon=True).start()


@cache
def bundle() -> bytes:
    """Return the first bytes that a host sends to a sandbox."""
    packages = ("toolc", "toolc.guest", *(f"toolc.guest.{name}" for name in PACKAGES))
    modules = dict.fromkeys(packages, ("", b"")) | {f"toolc.guest.{name}": _module(name) for name in MODULES}
    loader, _ = _module("loader")
    # The bootstrap code defines both names, ``bundle`` and ``end``.
    program = f"{loader}\nrun(bundle, end)\n".encode()
    content = LENGTH.pack(len(program)) + program + marshal.dumps((MAGIC_NUMBER, modules), MARSHAL_VERSION)
    return LENGTH.pack(len(content)) + content


def _module(name: str) -> tuple[str, bytes]:
    """Return the source and the compiled code of a module."""
    full_name = f"toolc.guest.{name}"
    spec = find_spec(full_name)
    loader: Any = spec and spec.loader
    # The loader reads Python's bytecode cache. Compiling all modules would take long. importlib.resources is slow.
    code = marshal.dumps(_renamed(loader.get_code(full_name), f"<{full_name}>"))
    return loader.get_source(full_name), code


def _renamed(code: CodeType, path: str) -> CodeType:
    """Return ``code`` without the path of its file on this machine, which a tool must not see."""
    constants = tuple(_renamed(each, path) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=path, co_consts=constants)

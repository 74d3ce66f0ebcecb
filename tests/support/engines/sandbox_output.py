"""What a program in a sandbox of any engine prints, and the mount of its workspace."""

import select
import time
from pathlib import Path

from toolc.model.plan import Mount
from toolc.sandbox.interface import EngineSandbox

TIMEOUT = 60.0
"""The maximum number of seconds that a step may take on a loaded machine."""


def output(sandbox: EngineSandbox) -> str:
    """Return all output of the guest, until its end."""
    return _read(sandbox, b"").decode()


def line(sandbox: EngineSandbox, timeout: float = TIMEOUT) -> str:
    """Return the first line of the guest's output."""
    found, newline, _ = _read(sandbox, b"\n", timeout).partition(b"\n")
    assert newline, found + sandbox.error_output().encode()
    return found.decode()


def _read(sandbox: EngineSandbox, until: bytes, timeout: float = TIMEOUT) -> bytes:
    collected, deadline = b"", time.monotonic() + timeout
    while not until or until not in collected:
        data = sandbox.read()
        if data == b"":
            break
        collected += data or b""
        if data is None:
            assert select.select([sandbox], [], [], max(0, deadline - time.monotonic()))[0], collected
    return collected


def workspace(folder: Path, mode: str = "rw") -> Mount:
    found = folder.stat()
    assert mode in {"ro", "rw"}
    return Mount(source=str(folder), mode="ro" if mode == "ro" else "rw", owner=found.st_uid, group=found.st_gid)

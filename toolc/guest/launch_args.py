"""What an engine tells process 1 on its command line: ``pids=128 memory=268435456 not-kernel=6.1.0``.

``pids`` and ``memory`` are limits that the engine cannot set itself. ``not-kernel`` is the release of the
host's own kernel, where the sandbox was to have another. ``network``: a call may come that connects somewhere.
"""

from __future__ import annotations

import os
import resource
import sys

__all__ = [
    "LOWER",
    "NETWORK_ARGUMENT",
    "kernel",
]

LIMITS = {"memory": resource.RLIMIT_DATA, "pids": resource.RLIMIT_NPROC}
"""What of a process's own limits comes near to each."""


NETWORK_ARGUMENT = "network"


def may_connect() -> bool:
    """Whether a call may come that connects somewhere."""
    return NETWORK_ARGUMENT in sys.argv[1:]


def insist_on_kernel() -> None:
    """End the sandbox if it runs on the kernel that it was to be kept from; the host shows what is said here."""
    if ("not-kernel=%s" % os.uname().release) in sys.argv[1:]:
        os.write(2, b"its runtime is registered as one with a kernel of its own, and runs on the host's kernel\n")
        os._exit(1)


def set_limits() -> None:
    """Limit this process and its children, for good, as told."""
    for word in sys.argv[1:]:
        name, _, value = word.partition("=")
        if name in LIMITS and value.isdigit():
            hard = resource.getrlimit(LIMITS[name])[1]
            limit = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
            resource.setrlimit(LIMITS[name], (limit, limit))


WORKSPACE = "/workspace"

LOWER = "/dev/.workspace"
"""Where the folder below an overlay stands, if the engine cannot be sure which one it mounted."""


def seen() -> dict[str, object] | None:
    """The folder's identity for READY; ``lower`` is that of the folder below an overlay, if it can be told."""
    found = _identity(WORKSPACE)
    return found and {**found, "lower": _identity(LOWER)}


def _identity(path: str) -> dict[str, object] | None:
    """Which kernel says so, device and inode there, and the last change."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return {
        "kernel": kernel(),
        "device": status.st_dev,
        "inode": status.st_ino,
        "changed_ns": status.st_mtime_ns,
    }


def kernel() -> str:
    """This boot's random id, by random(4): two processes that read the same one share a kernel."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""

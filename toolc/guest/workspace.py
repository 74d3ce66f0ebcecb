"""What stands at ``/workspace``, told to the host, which knows what should."""

from __future__ import annotations

import os

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

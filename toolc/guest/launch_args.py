"""Read the arguments that an engine passes to process 1: ``pids=128 memory=268435456 not-kernel=6.1.0``.

``pids`` and ``memory`` are limits that the engine cannot set itself. ``not-kernel`` is the release of the host's
kernel, if the sandbox must run on another one. With ``network``, a call may use the network. With
``preload=json,numpy.linalg``, a Python function is called that uses these modules. With ``fork``, this process forks a
process for each of several calls (``toolc.guest.loader``).
"""

from __future__ import annotations

import os
import resource
import sys

LIMITS = {"memory": resource.RLIMIT_DATA, "pids": resource.RLIMIT_NPROC}
"""The process resource limit that is closest to each setting."""

NETWORK_ARGUMENT = "network"

FORK_ARGUMENT = "fork"

PRELOAD = "preload="

WORKSPACE = "/workspace"

LOWER = "/dev/.workspace"
"""The mount point of an overlay's lower folder. It is mounted if the engine cannot tell which folder it mounted."""


def may_connect() -> bool:
    """Return whether a call may use the network."""
    return NETWORK_ARGUMENT in sys.argv[1:]


def preload_argument(modules: tuple[str, ...]) -> str:
    """Return the argument for a sandbox of a Python tool that preloads ``modules``, which may be empty."""
    return PRELOAD + ",".join(modules)


def preloaded_modules() -> list[str] | None:
    """Return the modules to import before the call, or None if it does not call a Python function."""
    for word in sys.argv[1:]:
        if word.startswith(PRELOAD):
            return [name for name in word[len(PRELOAD) :].split(",") if name]
    return None


def require_separate_kernel() -> None:
    """Exit if the sandbox runs on the kernel it must be isolated from. The host shows the message that this prints."""
    if ("not-kernel=%s" % os.uname().release) in sys.argv[1:]:
        os.write(2, b"the runtime must give sandboxes a separate kernel, but it uses the host's kernel\n")
        os._exit(1)


def set_limits() -> None:
    """Set the requested limits permanently for this process and its children."""
    for word in sys.argv[1:]:
        name, _, value = word.partition("=")
        if name in LIMITS and value.isdigit():
            hard = resource.getrlimit(LIMITS[name])[1]
            limit = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
            resource.setrlimit(LIMITS[name], (limit, limit))


def process_identity() -> dict[str, object] | None:
    """Return where this process runs: the id of the boot and the inode number of its PID namespace."""
    try:
        return {"kernel": boot_id(), "pid_namespace": os.stat("/proc/self/ns/pid").st_ino}
    except OSError:
        return None


def workspace_identity(process: dict[str, object] | None) -> dict[str, object] | None:
    """Return the identity of the workspace folder for READY, and of the ``lower`` folder of an overlay.

    ``process`` is the result of ``process_identity``, so that a waiting call does not read it again.
    """
    found = process and _identity(WORKSPACE, process)
    return found and {**found, "lower": _identity(LOWER, found)}


def _identity(path: str, process: dict[str, object]) -> dict[str, object] | None:
    """Return ``process`` with the device and inode numbers of a folder, and the time of its last change."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return {**process, "device": status.st_dev, "inode": status.st_ino, "changed_ns": status.st_mtime_ns}


def boot_id() -> str:
    """Return this boot's random id (see random(4)). Processes that read the same id share a kernel."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""

"""Runtimes that did not start: each is tried once, for every failed start leaves processes behind.

Remembered in this user's runtime folder, which is gone after a reboot. A runtime whose registration or program has
changed is another one, and is tried again.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path
from typing import Final

from toolc.engines.docker_daemon import Daemon
from toolc.engines.docker_runtime import Runtime
from toolc.engines.owner import shared_directory
from toolc.engines.passing import is_passing
from toolc.model.errors import InfrastructureError

_MAX_MESSAGE: Final = 1000


def is_runtimes_own(message: str) -> bool:
    """Whether a daemon's words are about a runtime that does not work, and not about this container or moment."""
    own = "OCI runtime" in message or "shim" in message or "nknown runtime" in message
    return own and not is_passing(message)


def remember(daemon: Daemon, runtime: Runtime, message: str) -> None:
    """Keep in mind that ``runtime`` does not work on this daemon, and what it said."""
    with contextlib.suppress(OSError, InfrastructureError):
        _place(daemon, runtime).write_text(message[:_MAX_MESSAGE], encoding="utf-8")


def recall(daemon: Daemon, runtime: Runtime) -> str | None:
    """Why it did not work when it was tried, and what to do about it; None if it is not known to fail."""
    try:
        place = _place(daemon, runtime)
        message = place.read_text(encoding="utf-8")
    except (OSError, InfrastructureError):
        return None
    return (
        f"the Docker runtime {runtime.name!r} does not work: {message}; {_remedy(runtime, message)}; "
        f"it is tried again once {place} is removed"
    )


def _remedy(runtime: Runtime, message: str) -> str:
    if "network" in message:
        arguments = '"runtimeArgs": ["--network=none", "--oci-seccomp"]'
        return f"register {runtime.name} with {arguments} in /etc/docker/daemon.json"
    return f"see that this runs on the daemon's machine: docker run --rm --runtime {runtime.name} IMAGE true"


def _place(daemon: Daemon, runtime: Runtime) -> Path:
    words = [daemon.id, daemon.version, runtime.name, runtime.definition, *_programs(runtime)]
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    return shared_directory() / f"broken-runtime-{digest}"


def _programs(runtime: Runtime) -> list[str]:
    """When the program that a registration names was last changed, where it is on this machine."""
    found = []
    for path in re.findall(r"path=(/\S+)", runtime.definition):
        with contextlib.suppress(OSError):
            found.append(str(Path(path).stat().st_mtime_ns))
    return found

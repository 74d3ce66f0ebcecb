"""What Podman's Docker API does otherwise (seen with 4.3.1), and how it is told the same."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from toolc.engines.owner import shared_directory
from toolc.model.plan import Profile

_UNKNOWN_OPTIONS: Final = ("uid=", "gid=", "nr_inodes=")
"""Of a tmpfs, what it refuses to pass on."""


def is_podman(version: object) -> bool:
    """Whether ``GET /version`` was answered by Podman, from its ``Components``."""
    return "Podman" in str(version)


def no_runtime(profile: Profile) -> str:
    """Why Podman cannot isolate as ``profile`` demands, and the remedy."""
    return (
        f"the tool demands min_isolation: {profile.min_isolation}, and Podman starts every container with its "
        "default runtime, which does not isolate so; set runtime in containers.conf to one that does, or use Docker"
    )


def tmpfs_options(options: str) -> str:
    """The options of a tmpfs without those that Podman does not know."""
    return ",".join(each for each in options.split(",") if not each.startswith(_UNKNOWN_OPTIONS))


def filter_file(text: str) -> Path:
    """A file of this user's that holds a system call filter: Podman takes none in a request, only a path.

    Raises ``InfrastructureError`` where there is no safe place for it.
    """
    folder = shared_directory()
    path = folder / f"seccomp-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    if not path.exists():
        # Another process may write the same; whoever reads it must find it whole.
        written = folder / f"{path.name}.{os.getpid()}"
        written.write_text(text, encoding="utf-8")
        written.replace(path)
    return path

"""The ``VOLUME`` lines of an image: where a bounded ``tmpfs`` stands in for writable disk without a limit."""

from __future__ import annotations

from typing import Final

from toolc.model.errors import InfrastructureError

OWN: Final = frozenset({"/tmp", "/tool", "/dev/shm"})
"""What every sandbox has, bounded already, whatever an image says of it."""

_KERNELS: Final = frozenset({"proc", "sys", "dev"})


def volumes(declared: object) -> tuple[str, ...]:
    """The paths that an image's ``Volumes`` name, in one spelling, less what every sandbox has.

    Raises ``InfrastructureError`` for a path that no sandbox can have as its image's: the root, the kernel's own
    folders, or one in the workspace, where its mount point would be made among the user's files.
    """
    named = map(str, declared) if isinstance(declared, dict) else ()
    return tuple(sorted({path for path in map(_checked, named) if path not in OWN}))


def _checked(path: str) -> str:
    parts = [part for part in path.split("/") if part not in {"", "."}]
    spelled = "/" + "/".join(parts)
    inside = len(parts) > 1 and parts[0] == "workspace"
    if not parts or ".." in parts or inside or (parts[0] in _KERNELS and spelled not in OWN):
        raise InfrastructureError(
            f"the image declares a volume at {path!r:.100}, which a sandbox cannot have; build it without it"
        )
    return spelled

"""Whether a sandbox has the workspace that it was meant to have, by what its guest sees there.

A daemon on another machine, or in another container, would mount its own folder of that path; and between
the check of a path and its mount somebody could put another folder in its place. Nothing is written into the
user's folder to find out: on the same kernel device and inode are proof, elsewhere (a virtual machine, gVisor)
the time of the folder's last change must do, to the microsecond or to what the sandbox can tell.
"""

from __future__ import annotations

from pathlib import Path

from toolc.guest.launch_args import kernel
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount


def check(mount: Mount | None, ready: JsonObject) -> None:
    """Compare ``mount`` with what the guest's READY says of it. Raises ``InfrastructureError``."""
    if mount is None or not mount.inode:
        return
    seen = ready.get("workspace")
    if mount.mode == "overlay" and isinstance(seen, dict):
        seen = seen.get("lower")
        if seen is None:
            # Its engine mounted the very folder that this process holds open.
            return
    if not isinstance(seen, dict):
        raise InfrastructureError(f"the sandbox has no workspace, though {mount.source} was mounted in it")
    if seen.get("kernel") and seen["kernel"] == kernel():
        if (seen.get("device"), seen.get("inode")) != (mount.device, mount.inode):
            raise InfrastructureError(
                f"the sandbox was given another folder than {mount.source}: it was replaced "
                "meanwhile, or the daemon runs in another container, where another folder has this path; call "
                "again, or use a folder that the daemon sees too"
            )
        return
    if not _is_same_time(seen.get("changed_ns"), mount):
        raise InfrastructureError(
            f"the sandbox has another folder than {mount.source}: it was replaced meanwhile, or the daemon runs on "
            "another machine, where another folder has this path; call again, or use a folder that both share"
        )


def _is_same_time(seen: object, mount: Mount) -> bool:
    """Whether a folder changed when this one did, which must still be where it was."""
    if not isinstance(seen, int):
        return False
    try:
        status = Path(mount.source).stat()
    except OSError:
        return False
    if (status.st_dev, status.st_ino) != (mount.device, mount.inode):
        return False
    own = status.st_mtime_ns
    # Shared folders of virtual machines may know whole seconds only.
    unit = 1_000_000_000 if seen % 1_000_000_000 == 0 else 1000
    return seen // unit == own // unit

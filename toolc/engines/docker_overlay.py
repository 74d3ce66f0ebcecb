"""A workspace as an overlay, in the daemon's words: a volume of its local driver."""

from __future__ import annotations

import re

from toolc.engines import overlay
from toolc.engines.docker_daemon import Daemon
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Mount, Profile


def obstacle(profile: Profile, daemon: Daemon) -> str | None:
    """Why this daemon cannot show the workspace as an overlay; None if it may be tried."""
    if profile.min_isolation != "namespace":
        return f"a sandbox with min_isolation: {profile.min_isolation} cannot use one"
    if daemon.rootless or daemon.podman:
        return "toolc uses one only with Docker's own daemon, run by root"
    return None


def volume(mount: Mount) -> JsonObject:
    """A volume without a name, which goes with its container.

    The lower side is a path of this process's: only a daemon on this machine sees it, and it is that folder
    and no other, whatever anybody renames meanwhile.
    """
    options: list[str] = ["nosuid", "nodev", *overlay.options(mount, mount.pinned)]
    driver: JsonValue = {
        "Name": "local",
        "Options": {"type": "overlay", "device": "overlay", "o": ",".join(options)},
    }
    return {
        "Type": "volume",
        "Target": "/workspace",
        "VolumeOptions": {"NoCopy": True, "DriverConfig": driver},
    }


def owner_label(options: JsonObject) -> str:
    """The owner's label in the options of a volume that ``volume`` asked for; empty if it is another's."""
    found = re.search(r"(?:^|,)upperdir=[^,]*/toolc/scratch/([^/,]+)/", str(options.get("o")))
    return found[1] if found else ""

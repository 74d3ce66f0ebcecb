"""A profile in the daemon's words: the body of ``POST /containers/create``, and what it cannot say."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.engines import oci_seccomp
from toolc.engines.docker_daemon import Daemon
from toolc.engines.oci_config import MASKED_PATHS, READONLY_PATHS
from toolc.plan import Mount, Profile
from toolc.schema import JsonObject, JsonValue
from toolc.spec import MIB

OWNER_LABEL: Final = "toolc.owner"
"""The label that says whose a container is: ``toolc.engines.owner.Owner.label()``."""

NOBODY: Final = 65534
"""The uid and gid of a tool that has no workspace."""

TOOL_BYTES: Final = 16 * MIB
"""The size of ``/tool``, where the guest puts the tool's own files, and of ``/dev/shm``."""

LEAST_MEMORY: Final = 6 * MIB
"""The daemon takes no smaller memory limit (moby, daemon/daemon_unix.go)."""


@dataclass(frozen=True, slots=True)
class User:
    """Who a tool is: as the daemon is told, and as ``details`` says it."""

    spec: str
    described: str


@dataclass(frozen=True, slots=True)
class LocalImage:
    """An image that this daemon has: its id, and the paths that its own ``VOLUME`` lines would make writable."""

    id: str
    volumes: tuple[str, ...]


def user_of(profile: Profile, daemon: Daemon) -> User:
    """The workspace's owner; root only where the workspace is root's, and then without any capability.

    Behind a rootless daemon, user 0 inside is the daemon's own user outside.
    """
    mount = profile.workspace
    if mount is None:
        return User(f"{NOBODY}:{NOBODY}", f"{NOBODY}:{NOBODY}")
    if mount.owner == 0 or daemon.rootless:
        return User("0:0", "0:0 (no capabilities)")
    user = f"{mount.owner}:{mount.group or mount.owner}"
    return User(user, user)


def refusal(profile: Profile, daemon: Daemon) -> str | None:
    """Why this daemon cannot keep what ``profile`` demands, with the remedy; None if it can."""
    if profile.min_isolation != "namespace":
        return (
            f"the docker engine has no isolation of kind {profile.min_isolation!r} in this version; "
            "say min_isolation: namespace in the spec if that is enough"
        )
    if not daemon.has_seccomp:
        return "this Docker daemon filters no system calls; run one whose kernel and configuration have seccomp"
    if missing := _unenforced(daemon):
        return (
            f"this Docker daemon cannot limit {' and '.join(missing)}; enable these cgroup controllers "
            "(cgroup v2 with delegation for rootless Docker; swapaccount=1 on the kernel command line for swap)"
        )
    if profile.limits.memory_bytes < LEAST_MEMORY:
        return "Docker limits memory to no less than 6MiB; raise limits.memory in the spec"
    return _workspace_refusal(profile.workspace, daemon, nonroot=profile.nonroot)


def create_body(
    profile: Profile, arguments: Sequence[str], *, daemon: Daemon, image: LocalImage, owner: str
) -> JsonObject:
    """The container that ``profile`` asks for, labelled with its ``owner``; it is gone once it has ended."""
    user = user_of(profile, daemon)
    labels: JsonObject = {OWNER_LABEL: owner}
    command: list[JsonValue] = [*arguments]
    return {
        "Image": image.id,
        "Entrypoint": ["python3"],
        "Cmd": command,
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "User": user.spec,
        "Labels": labels,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host_config(profile, daemon, image, user),
    }


_MASKED_IN_SYS: Final = ("/sys/firmware", "/sys/devices/virtual/powercap")
"""Docker's own list goes on in /sys, which the oci engine does not mount at all."""


def _host_config(profile: Profile, daemon: Daemon, image: LocalImage, user: User) -> JsonObject:
    limits = profile.limits
    # A limit above what the machine has is kept by the machine; the daemon would refuse it.
    cpus = min(limits.cpus, float(daemon.cpus))
    return {
        "AutoRemove": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", *_seccomp(daemon)],
        "NetworkMode": "none",
        "IpcMode": "none",
        "ReadonlyRootfs": True,
        # Root's workspace makes root of the tool, and Docker's own list leaves root things to read.
        "MaskedPaths": [*MASKED_PATHS, *_MASKED_IN_SYS],
        "ReadonlyPaths": [*READONLY_PATHS],
        "LogConfig": {"Type": "none"},
        "RestartPolicy": {"Name": "no"},
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,
        "NanoCpus": round(cpus * 1_000_000_000),
        "PidsLimit": limits.pids,
        # core(5): with 1 the kernel neither writes a core file nor runs the host's crash handler.
        "Ulimits": [{"Name": "core", "Soft": 1, "Hard": 1}],
        "Tmpfs": _tmpfs(profile, image, user),
        "Mounts": [_bind(profile.workspace)] if profile.workspace else [],
    }


def _seccomp(daemon: Daemon) -> list[JsonValue]:
    """toolc's own list of system calls, where the daemon takes one; else its default list stays in force.

    The default of daemons before 25.0 allows io_uring, and is slower to compile.
    """
    if not daemon.takes_seccomp or daemon.architecture not in oci_seccomp.ARCHITECTURES:
        return []
    return ["seccomp=" + json.dumps(oci_seccomp.profile(daemon.architecture))]


def _tmpfs(profile: Profile, image: LocalImage, user: User) -> JsonObject:
    uid, gid = user.spec.split(":")
    # runc before 1.2 gives a tmpfs the mode of the image's own folder, whatever was asked: so it needs its owner.
    options = f"rw,nosuid,nodev,mode=1777,uid={uid},gid={gid}"
    # An image's own volumes would be writable disk without a limit: a bounded tmpfs stands in their place.
    volumes = {path: f"{options},noexec,size={TOOL_BYTES}" for path in image.volumes if path != "/workspace"}
    return {
        **volumes,
        "/tmp": f"{options},exec,size={profile.limits.tmp_bytes}",  # the sandbox's own
        "/tool": f"{options},exec,size={TOOL_BYTES}",
        "/dev/shm": f"{options},noexec,size={TOOL_BYTES}",
    }


def _bind(mount: Mount) -> JsonObject:
    read_only = mount.mode == "ro"
    return {
        "Type": "bind",
        "Source": mount.source,
        "Target": "/workspace",
        "ReadOnly": read_only,
        # Daemons before 25.0, and all on kernels before 5.12, leave what is mounted further down writable.
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": read_only},
    }


def _workspace_refusal(mount: Mount | None, daemon: Daemon, *, nonroot: bool) -> str | None:
    if mount is None:
        return None
    if daemon.remaps_users:
        return (
            "this Docker daemon maps every user to an unused one (userns-remap), so a tool could not use the "
            "workspace's files; use another engine, or a daemon without userns-remap"
        )
    if daemon.rootless and mount.owner != os.geteuid():
        return (
            f"{mount.source} belongs to user {mount.owner}, and a rootless Docker daemon can only act as "
            f"user {os.geteuid()}; use a workspace of your own"
        )
    if nonroot and mount.owner == 0 and not daemon.rootless:
        return (
            f"{mount.source} belongs to root, so the tool would run as root (without capabilities), which "
            "run_as: nonroot forbids; give the workspace to another user (chown), or use another engine"
        )
    return None


def _unenforced(daemon: Daemon) -> list[str]:
    return [
        name
        for name, enforced in (
            ("memory", daemon.limits_memory),
            ("swap", daemon.limits_swap or not _host_swaps()),
            ("cpu", daemon.limits_cpu),
            ("pids", daemon.limits_pids),
        )
        if not enforced
    ]


def _host_swaps() -> bool:
    """Whether there is swap to limit, by proc_meminfo(5); where that cannot be read, there may be."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return True
    return not any(line.startswith("SwapTotal:") and line.split()[1] == "0" for line in lines)

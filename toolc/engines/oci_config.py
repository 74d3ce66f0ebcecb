"""A profile lowered to the ``config.json`` of the OCI runtime specification, version 1.0.2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolc.engines import oci_seccomp
from toolc.engines.oci_rootfs import HOSTNAME, Interpreter, binds
from toolc.engines.oci_user import Identity, Pair
from toolc.plan import Profile
from toolc.schema import JsonObject, JsonValue
from toolc.spec import MIB, Limits

MASKED_PATHS: Final = (
    "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/kpagecgroup",
    "/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/pagetypeinfo", "/proc/sched_debug",
    "/proc/scsi", "/proc/slabinfo", "/proc/timer_list", "/proc/timer_stats", "/proc/vmallocinfo",
)  # fmt: skip
"""What a container runtime hides of the kernel, and what root may read there without any capability."""

READONLY_PATHS: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
NAMESPACES: Final = ("pid", "ipc", "uts", "mount", "user", "network", "cgroup")
ENVIRONMENT: Final = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/tmp",
    "LANG=C.UTF-8",
)

CPU_PERIOD_US: Final = 100_000
TOOL_BYTES: Final = 16 * MIB
SHM_BYTES: Final = 16 * MIB

READ_ONLY_BIND: Final = ("rbind", "rro", "rnosuid", "rnodev", "rprivate")
WRITABLE_BIND: Final = ("rbind", "rw", "rnosuid", "rnodev", "rprivate")


def config(
    profile: Profile,
    identity: Identity,
    *,
    root: Path,
    workspace: str | None,
    python: Interpreter,
    arguments: Sequence[str],
    swap: JsonObject,
) -> JsonObject:
    """The whole configuration.

    ``workspace`` is the host path to bind; ``swap`` is what ``oci_cgroup.swap_limit`` says.
    """
    mounts = [*_own_mounts(profile.limits), *(_bind(path, path, READ_ONLY_BIND) for path in binds(python))]
    if profile.workspace and workspace:
        options = WRITABLE_BIND if profile.workspace.mode == "rw" else READ_ONLY_BIND
        mounts.append(_bind(workspace, "/workspace", options))
    return {
        "ociVersion": "1.0.2",
        "process": _process(identity, [python.path, *arguments]),
        "root": {"path": str(root), "readonly": True},
        "hostname": HOSTNAME,
        "mounts": mounts,
        "linux": {
            "namespaces": [{"type": name} for name in NAMESPACES],
            "uidMappings": [_mapping(pair) for pair in identity.uids],
            "gidMappings": [_mapping(pair) for pair in identity.gids],
            "resources": _resources(profile.limits, swap),
            "seccomp": oci_seccomp.profile(),
            "maskedPaths": [*MASKED_PATHS],
            "readonlyPaths": [*READONLY_PATHS],
        },
    }


def _process(identity: Identity, argv: list[str]) -> JsonObject:
    sets = ("bounding", "effective", "inheritable", "permitted", "ambient")
    return {
        "terminal": False,
        "user": {"uid": identity.uid, "gid": identity.gid, "umask": 0o022},
        "args": [*argv],
        "env": [*ENVIRONMENT],
        "cwd": "/",
        "capabilities": {name: [] for name in sets},
        "noNewPrivileges": True,
        # core(5): with 1 the kernel neither writes a core file nor runs the host's crash handler.
        "rlimits": [{"type": "RLIMIT_CORE", "soft": 1, "hard": 1}],
    }


def _own_mounts(limits: Limits) -> list[JsonValue]:
    flags = ["nosuid", "nodev"]
    return [
        {"destination": "/proc", "type": "proc", "source": "proc", "options": [*flags, "noexec"]},
        _tmpfs("/dev", ["nosuid", "noexec", "mode=755", "size=65536"]),
        _tmpfs("/dev/shm", [*flags, "noexec", "mode=1777", f"size={SHM_BYTES}"]),
        _tmpfs("/tmp", [*flags, "mode=1777", f"size={limits.tmp_bytes}"]),
        _tmpfs("/tool", [*flags, "mode=1777", f"size={TOOL_BYTES}"]),
    ]


def _tmpfs(destination: str, options: list[str]) -> JsonObject:
    return {"destination": destination, "type": "tmpfs", "source": "tmpfs", "options": [*options]}


def _bind(source: str, destination: str, options: Sequence[str]) -> JsonObject:
    return {"destination": destination, "type": "bind", "source": source, "options": [*options]}


def _resources(limits: Limits, swap: JsonObject) -> JsonObject:
    return {
        "devices": [{"allow": False, "access": "rwm"}],
        "memory": {"limit": limits.memory_bytes, **swap},
        "pids": {"limit": limits.pids},
        "cpu": {"quota": max(int(limits.cpus * CPU_PERIOD_US), 1000), "period": CPU_PERIOD_US},
    }


def _mapping(pair: Pair) -> JsonObject:
    return {"containerID": pair.inside, "hostID": pair.outside, "size": 1}

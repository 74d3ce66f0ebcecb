"""Convert a profile to a ``config.json`` of the OCI runtime specification, version 1.0.2."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from toolc.guest.launch_args import LOWER
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox import seccomp
from toolc.sandbox.common_config import HOSTNAME, MASKED_PATHS, READONLY_PATHS, tmpfs_bounds
from toolc.sandbox.host.cgroups import CONTROLLERS
from toolc.sandbox.host.kernel import overlay_options
from toolc.sandbox.oci.root import RootSpec
from toolc.sandbox.oci.user_namespace import IdMapping, SandboxUser

NAMESPACES: Final = ("pid", "ipc", "uts", "mount", "user", "network", "cgroup")
ENVIRONMENT: Final = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "LANG=C.UTF-8")

CPU_PERIOD_US: Final = 100_000
TOOL_BYTES: Final = 16 * MIB
SHM_BYTES: Final = 16 * MIB

TERMINALS: Final = 64
"""The maximum number of pseudo terminals in a sandbox: the kernel has only some thousands for the whole machine."""

READ_ONLY_BIND: Final = ("rbind", "rro", "rnosuid", "rnodev", "rprivate")
WRITABLE_BIND: Final = ("rbind", "rw", "rnosuid", "rnodev", "rprivate")


def config(
    profile: Profile,
    user: SandboxUser,
    *,
    root: Path,
    workspace: str,
    root_spec: RootSpec,
    arguments: Sequence[str],
    resources: JsonObject,
) -> JsonObject:
    """Return the whole configuration.

    ``root_spec`` has the command of the guest and the folders to bind into ``root``. ``workspace`` is the host path
    to bind, empty if it is mounted later. ``resources`` is the result of the function ``resources``.
    """
    image = root_spec.image
    volumes = [path for path in (image.volumes if image else ()) if path != "/workspace" or profile.workspace is None]
    mounts = [*_standard_mounts(profile.limits), *_volumes(volumes)]
    mounts += [_bind(source, target, READ_ONLY_BIND) for source, target in root_spec.binds]
    if profile.workspace:
        mounts += _workspace(profile.workspace, workspace, root)
    return {
        "ociVersion": "1.0.2",
        "process": _process(user, [*root_spec.command, *arguments], image.search_path if image else None),
        "root": {"path": str(root), "readonly": True},
        "hostname": HOSTNAME,
        "mounts": mounts,
        "linux": {
            "namespaces": [{"type": name} for name in NAMESPACES],
            "uidMappings": [_mapping(pair) for pair in user.uids],
            "gidMappings": [_mapping(pair) for pair in user.gids],
            "resources": resources,
            # The unprivileged guest listens on the ports where the tool's programs expect a server.
            **({"sysctl": {"net.ipv4.ip_unprivileged_port_start": "0"}} if profile.loopback.forwards else {}),
            "seccomp": seccomp.profile(),
            "maskedPaths": [*MASKED_PATHS],
            "readonlyPaths": [*READONLY_PATHS],
        },
    }


def resources(limits: Limits, *, swap: JsonObject, controllers: Collection[str] = CONTROLLERS) -> JsonObject:
    """Return the limits that ``controllers`` can enforce: the runtime refuses those that need another one.

    ``swap`` is the result of ``toolc.sandbox.host.cgroups.swap_limit``.
    """
    quota = max(int(limits.cpus * CPU_PERIOD_US), 1000)
    limited: JsonObject = {
        "memory": {"limit": limits.memory_bytes, **swap},
        "pids": {"limit": limits.pids},
        "cpu": {"quota": quota, "period": CPU_PERIOD_US},
    }
    devices: JsonObject = {"devices": [{"allow": False, "access": "rwm"}]}
    return devices | {name: value for name, value in limited.items() if name in controllers}


def _process(user: SandboxUser, argv: list[str], search_path: str | None) -> JsonObject:
    path = [f"PATH={search_path}"] if search_path else []
    sets = ("bounding", "effective", "inheritable", "permitted", "ambient")
    return {
        "terminal": False,
        "user": {"uid": user.uid, "gid": user.gid, "umask": 0o022},
        "args": [*argv],
        # The last entry with a name counts.
        "env": [*ENVIRONMENT, *path],
        "cwd": "/",
        "capabilities": {name: [] for name in sets},
        "noNewPrivileges": True,
        # core(5): with 1 the kernel neither writes a core file nor runs the host's crash handler.
        "rlimits": [{"type": "RLIMIT_CORE", "soft": 1, "hard": 1}],
    }


def _volumes(paths: Sequence[str]) -> list[JsonValue]:
    # Volumes of an image would be writable; here each is a tmpfs of limited size, as in the docker engine.
    return [_tmpfs(path, ["nosuid", "nodev", "noexec", "mode=1777", f"size={TOOL_BYTES}"]) for path in paths]


def _standard_mounts(limits: Limits) -> list[JsonValue]:
    flags = ["nosuid", "nodev"]
    return [
        {"destination": "/proc", "type": "proc", "source": "proc", "options": [*flags, "noexec"]},
        # Read-only, because it belongs to the tool if toolc runs as an ordinary user; the runtime creates the
        # devices first.
        _tmpfs("/dev", ["nosuid", "noexec", "ro", "mode=755", "size=65536"]),
        # Terminals of the sandbox, for programs that need one (script, expect, ssh).
        {
            "destination": "/dev/pts",
            "type": "devpts",
            "source": "devpts",
            "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", f"max={TERMINALS}"],
        },
        _tmpfs("/dev/shm", [*flags, "noexec", "mode=1777", *tmpfs_bounds(SHM_BYTES)]),
        _tmpfs("/tmp", [*flags, "mode=1777", *tmpfs_bounds(limits.tmp_bytes)]),
        _tmpfs("/tool", [*flags, "mode=1777", *tmpfs_bounds(TOOL_BYTES)]),
    ]


def _tmpfs(destination: str, options: list[str]) -> JsonObject:
    return {"destination": destination, "type": "tmpfs", "source": "tmpfs", "options": [*options]}


def _bind(source: str, destination: str, options: Sequence[str]) -> JsonObject:
    return {"destination": destination, "type": "bind", "source": source, "options": [*options]}


def _workspace(mount: Mount, source: str, root: Path) -> list[JsonObject]:
    if not source:
        return []
    if mount.mode != "overlay":
        return [_bind(source, "/workspace", WRITABLE_BIND if mount.mode == "rw" else READ_ONLY_BIND)]
    below: list[JsonObject] = []
    if source == mount.source:
        # Another process may replace the folder at this path: the guest reports what it finds, and the host
        # compares.
        below = [_bind(source, LOWER, READ_ONLY_BIND)]
        source = f"{root}{LOWER}"
    options: list[JsonValue] = ["nosuid", "nodev", *overlay_options(mount, source)]
    return [*below, {"destination": "/workspace", "type": "overlay", "source": "overlay", "options": options}]


def _mapping(pair: IdMapping) -> JsonObject:
    return {"containerID": pair.inside, "hostID": pair.outside, "size": 1}

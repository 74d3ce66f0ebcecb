"""Convert a profile to a ``config.json`` of the OCI runtime specification, version 1.0.2."""

import marshal
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from toolc.guest.bundle import MARSHAL_VERSION
from toolc.guest.launch_args import LOWER
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox import seccomp
from toolc.sandbox.common_config import HOSTNAME, MASKED_PATHS, READONLY_PATHS, tmpfs_bounds
from toolc.sandbox.host.cgroups import CONTROLLERS
from toolc.sandbox.host.kernel import overlay_options
from toolc.sandbox.oci.filter_program import strict_filter
from toolc.sandbox.oci.root import RootSpec
from toolc.sandbox.oci.user_namespace import IdMapping, SandboxUser

NAMESPACES: Final = ("pid", "ipc", "uts", "mount", "user", "network", "cgroup")
ENVIRONMENT: Final = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "LANG=C.UTF-8")

SERVER_CAPABILITIES: Final = ("CAP_SETPCAP", "CAP_SYS_ADMIN")
"""The capabilities of a fork server in the user namespace of its sandbox. With them, it creates namespaces and mounts
for a call, and drops these capabilities from the bounding set before the call runs."""

_OF_EACH_CALL: Final = frozenset({"tmpfs", "devpts"})
"""The kinds of file systems that a tool can write to."""

CPU_PERIOD_US: Final = 100_000
"""The period of the processor limit in microseconds, which is the kernel's default."""

TOOL_BYTES: Final = 16 * MIB
SHM_BYTES: Final = 16 * MIB

TERMINALS: Final = 64
"""The maximum number of pseudo terminals in a sandbox. The kernel has only a few thousand for the whole machine."""

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

    ``root_spec`` has the command of the guest and the folders to bind into ``root``. ``workspace`` is the host path to
    bind, or ``""`` if it is mounted later. ``resources`` is the result of the function ``resources``.
    """
    image = root_spec.image
    volumes = [path for path in (image.volumes if image else ()) if path != "/workspace" or profile.workspace is None]
    mounts = [*_standard_mounts(profile.limits), *_volumes(volumes)]
    mounts += [_bind(source, target, READ_ONLY_BIND) for source, target in root_spec.binds]
    if profile.workspace:
        mounts += _workspace(profile.workspace, workspace, root)
    return {
        "ociVersion": "1.0.2",
        "process": _process(
            user,
            [*root_spec.command, *arguments],
            image.search_path if image else None,
            SERVER_CAPABILITIES if profile.has_fork_server else (),
        ),
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
            "seccomp": seccomp.fork_server_profile() if profile.has_fork_server else seccomp.profile(),
            "maskedPaths": [*MASKED_PATHS],
            "readonlyPaths": [*READONLY_PATHS],
        },
    }


def fork_setup(configuration: JsonObject, profile: Profile) -> bytes:
    """Return the settings with which a fork server isolates calls (``toolc.guest.forks.isolation.Setup``).

    Except for the workspace, each call gets its own instance of every file system that it can write to. Raises
    ``InfrastructureError``.
    """
    mounts = configuration["mounts"]
    assert isinstance(mounts, list)
    own: list[JsonValue] = []
    for each in mounts:
        if isinstance(each, dict) and each["type"] in _OF_EACH_CALL and each["destination"] != "/dev":
            options = each["options"]
            assert isinstance(options, list)
            # Otherwise it belongs to the user that mounts it, which is the tool's.
            owner: list[JsonValue] = ["uid=0", "gid=0"] if each["type"] == "tmpfs" else []
            own.append([each["destination"], each["type"], [*options, *owner]])
    setup: JsonObject = {
        "is_locked": bool(profile.requirements) and all("@sha256:" in each for each in profile.requirements),
        "mounts": own,
        "masked": [*MASKED_PATHS],
        "read_only": [*READONLY_PATHS],
    }
    return marshal.dumps(setup | {"filter": strict_filter()}, MARSHAL_VERSION)


def resources(limits: Limits, *, swap: JsonObject, controllers: Collection[str] = CONTROLLERS) -> JsonObject:
    """Return the limits that ``controllers`` can enforce. The runtime rejects limits that need other controllers.

    ``swap`` is the result of ``toolc.sandbox.host.cgroups.swap_limit``.
    """
    quota = max(int(limits.cpus * CPU_PERIOD_US), 1000)  # the kernel accepts no less
    limited: JsonObject = {
        "memory": {"limit": limits.memory_bytes, **swap},
        "pids": {"limit": limits.pids},
        "cpu": {"quota": quota, "period": CPU_PERIOD_US},
    }
    devices: JsonObject = {"devices": [{"allow": False, "access": "rwm"}]}
    return devices | {name: value for name, value in limited.items() if name in controllers}


def _process(user: SandboxUser, argv: list[str], search_path: str | None, capabilities: Sequence[str]) -> JsonObject:
    path = [f"PATH={search_path}"] if search_path else []
    sets = ("bounding", "effective", "inheritable", "permitted", "ambient")
    return {
        "terminal": False,
        "user": {"uid": user.uid, "gid": user.gid, "umask": 0o022},
        "args": [*argv],
        # The last entry with a name counts.
        "env": [*ENVIRONMENT, *path],
        "cwd": "/",
        "capabilities": {name: [*capabilities] for name in sets},
        "noNewPrivileges": True,
        # core(5): with 1 the kernel neither writes a core file nor runs the host's crash handler.
        "rlimits": [{"type": "RLIMIT_CORE", "soft": 1, "hard": 1}],
    }


def _volumes(paths: Sequence[str]) -> list[JsonValue]:
    # An image's volumes would be writable. As in the docker engine, each is a tmpfs of limited size.
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
        # Another process may replace the folder at this path. So the guest reports the folder that it finds,
        # and the host compares.
        below = [_bind(source, LOWER, READ_ONLY_BIND)]
        source = f"{root}{LOWER}"
    options: list[JsonValue] = ["nosuid", "nodev", *overlay_options(mount, source)]
    return [*below, {"destination": "/workspace", "type": "overlay", "source": "overlay", "options": options}]


def _mapping(pair: IdMapping) -> JsonObject:
    return {"containerID": pair.inside, "hostID": pair.outside, "size": 1}

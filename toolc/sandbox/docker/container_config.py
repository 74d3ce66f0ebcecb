"""Convert a profile to the body of ``POST /containers/create``, and report demands that the daemon cannot meet."""

import json
import os
import resource
from collections.abc import Sequence
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox import seccomp
from toolc.sandbox.common_config import (
    FILES,
    HOSTNAME,
    LOOPBACK,
    MASKED_PATHS,
    READONLY_PATHS,
    guest_limits,
    hosts,
    tmpfs_bounds,
)
from toolc.sandbox.docker.daemon import (
    OWNER_LABEL,
    Daemon,
    Runtime,
    choose_runtime,
    podman_isolation_error,
    podman_tmpfs_options,
    shared_file,
)
from toolc.sandbox.docker.enforced_limits import MIN_MEMORY, capabilities_for
from toolc.sandbox.host.kernel import overlay_options
from toolc.sandbox.host.start_folder import StartFolder
from toolc.sandbox.interface import unenforced, unenforced_reason

NOBODY: Final = 65534
"""The uid and gid of a tool that has no workspace."""

TOOL_BYTES: Final = 16 * MIB
"""The size in bytes of ``/tool``, where the guest puts the files of the tool, and of ``/dev/shm``.

The files of a tool are never larger, see ``toolc.compiler.project.files``.
"""

GVISOR_THREADS: Final = 16
GVISOR_OWN: Final = 1024
"""How many threads the host counts under gVisor, for each process of the tool and for gVisor itself.

The kernel of gVisor enforces the tool's own limit inside the sandbox. Measurements show seven threads for each process.
Twice that leaves a reserve for busy machines.
"""

GVISOR_MEMORY: Final = 32 * MIB
"""The memory that gVisor needs in addition to the tool's, in bytes. It does not start with less than 24 MiB."""

PODMAN_FILES: Final = 1 << 20
PODMAN_PROCESSES: Final = 1 << 15
"""The maximum numbers of open files and processes of a container if root runs Podman. The tool's limits are lower.

This is the kernel's default maximum of open files per process (``fs.nr_open``). As many processes suffice for any tool.
"""

_NO_RUNTIME: Final = {
    "gvisor": (
        "the tool requires min_isolation: gvisor, but this Docker daemon has no such runtime; install gVisor "
        '(apt-get install runsc), add "runtimes": {"runsc": {"path": "/usr/bin/runsc", "runtimeArgs": '
        '["--network=none", "--oci-seccomp"]}} to /etc/docker/daemon.json, and restart Docker'
    ),
    "vm": (
        "the tool requires min_isolation: vm, but this Docker daemon has no such runtime; install Kata Containers "
        'on a machine with KVM, add "runtimes": {"kata": {"runtimeType": "io.containerd.kata.v2"}} to '
        "/etc/docker/daemon.json, and restart Docker"
    ),
}
"""For each isolation, why a daemon cannot provide it."""

_MASKED: Final = (*MASKED_PATHS, "/dev/mqueue", "/sys/firmware", "/sys/devices/virtual/powercap", "/sys/kernel")
"""The masked paths. If the workspace belongs to root, the tool is root, which can read files that Docker does not mask.

Unlike the oci engine, Docker mounts all of /sys and a writable /dev/mqueue.
"""

_PODMAN_FOLDERS: Final = ("/run", "/var/tmp")
"""The paths where Podman mounts a tmpfs without a size limit that a tool can write to."""

_DROPPED: Final = 2 | 4 | 8
"""``ST_NOSUID``, ``ST_NODEV`` and ``ST_NOEXEC`` (statvfs(3)), which some runtimes drop from a read-only bind."""

_FILTERS: Final = "oci-seccomp"
"""The option that makes gVisor apply a seccomp filter."""


def is_plain(profile: Profile, daemon: Daemon) -> bool:
    """Return whether containers of ``profile`` run on this kernel, under a Docker daemon that maps and labels nothing.

    Podman is excluded, because it is mostly used with SELinux, which would log each attempt to use a file of toolc.
    """
    runtime = runtime_of(profile, daemon)
    is_on_this_kernel = runtime is not None and runtime.isolation == "namespace" and daemon.kernel == os.uname().release
    return is_on_this_kernel and not (daemon.podman or daemon.remaps_users or daemon.has_selinux)


def runtime_makes_network(profile: Profile, daemon: Daemon) -> bool:
    """Return whether the runtime creates the network namespace of a container, without the network code of the daemon.

    The namespace has only a loopback interface, as with the daemon's network ``none``. But a start takes half the time,
    and version 20.10 of the daemon cannot block forever when two containers end at the same moment.

    The daemon then writes no ``/etc/hosts`` and ``/etc/resolv.conf``, so it must be able to mount toolc's files. If
    runc maps users, versions before 1.1 cannot mount a file of a private folder.
    """
    return is_plain(profile, daemon) and not daemon.rootless


def overlay_volume(mount: Mount, folder: StartFolder, owner: str) -> JsonObject:
    """Return an anonymous volume for the workspace overlay, which is removed with its container.

    The lower directory is a path below ``/proc`` of this process. Only a daemon on this machine can see this path. It
    refers to the same folder even if another process renames the folder.
    """
    named = replace(mount, scratch=folder.link(mount.scratch))
    options = ",".join(["nosuid", "nodev", *overlay_options(named, folder.link(mount.pinned))])
    driver: JsonValue = {"Name": "local", "Options": {"type": "overlay", "device": "overlay", "o": options}}
    settings: JsonObject = {"NoCopy": True, "Labels": {OWNER_LABEL: owner}, "DriverConfig": driver}
    return {"Type": "volume", "Target": "/workspace", "VolumeOptions": settings}


@dataclass(frozen=True, slots=True)
class User:
    """The user of a tool, in the daemon's format and in the format of ``details``."""

    spec: str
    described: str


@dataclass(frozen=True, slots=True)
class LocalImage:
    """An image that this daemon has: its id, and the paths of its ``VOLUME`` instructions, which would be writable.

    ``ours`` is True for images that toolc has built, which contain a Python for the guest. ``command`` starts the
    guest's Python. ``binds`` are the folders of the store (source, target) that its sandboxes see read-only. ``names``
    are the names of the image's content.
    """

    id: str
    volumes: tuple[str, ...]
    ours: bool = False
    command: tuple[str, ...] = ("python3",)
    binds: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()


def user_of(profile: Profile, daemon: Daemon) -> User:
    """Return the owner of the workspace. If that is root, the tool is root without capabilities.

    With a rootless daemon, user 0 inside is the daemon's user outside.
    """
    mount = profile.workspace
    if mount is None:
        return User(f"{NOBODY}:{NOBODY}", f"{NOBODY}:{NOBODY}")
    if mount.owner == 0 or daemon.rootless:
        return User("0:0", "0:0 (no capabilities)")
    user = f"{mount.owner}:{mount.group or mount.owner}"
    return User(user, user)


def unsupported_reason(profile: Profile, daemon: Daemon) -> str | None:
    """Return why this daemon cannot meet the demands of ``profile``, with the remedy, or None if it can."""
    if profile.has_fork_server:
        return (
            "lifetime: fork needs a user namespace for each sandbox, which Docker and gVisor do not offer, so its "
            "server would have a capability on the host; use the oci engine, or lifetime: call"
        )
    if runtime_of(profile, daemon) is None:
        return podman_isolation_error(profile) if daemon.podman else _NO_RUNTIME[profile.min_isolation]
    if not daemon.has_seccomp:
        return "this Docker daemon does not filter system calls; use one whose kernel and configuration support seccomp"
    if reason := unenforced_reason(capabilities_for(profile, daemon), profile):
        return reason
    if profile.limits.memory_bytes < MIN_MEMORY:
        return "Docker cannot limit memory to less than 6MiB; raise limits.memory in the spec"
    if reason := _unfiltered(profile, daemon):
        return reason
    return _workspace_refusal(profile.workspace, daemon, nonroot=profile.nonroot)


def runtime_of(profile: Profile, daemon: Daemon) -> Runtime | None:
    """Return a runtime with the isolation that ``profile`` requires, or None if the daemon has none."""
    return choose_runtime(daemon.runtimes, profile.min_isolation)


def create_config(
    profile: Profile, arguments: Sequence[str], *, daemon: Daemon, image: LocalImage, owner: str, folder: StartFolder,
    has_files: bool = False,
) -> JsonObject:  # fmt: skip
    """Return the configuration of a container with the label ``owner``. It removes itself when it ends.

    The links and files that its mounts refer to are created in ``folder``. With ``has_files``, toolc's name files are
    mounted and ``runtime_makes_network`` holds. Raises ``InfrastructureError``.
    """
    user = user_of(profile, daemon)
    labels: JsonObject = {OWNER_LABEL: owner}
    command: list[JsonValue] = [*arguments, *guest_arguments(profile, daemon)]
    # Podman rejects DNS options without a network.
    names = {} if daemon.podman or has_files else _names(profile)
    read_only = [*image.binds]
    for source, _ in image.binds:
        folder.link(source)  # so that the store sees that it is in use
    if not names:
        read_only += [(folder.file(text), path) for path, text in _files(profile, daemon).items()]
    mounts = [*_workspace(profile, folder, owner), *(_bind(*each, read_only=True) for each in read_only)]
    return {
        "Image": image.id,
        "Entrypoint": [*image.command],
        "Cmd": command,
        "WorkingDir": "/",
        "Hostname": HOSTNAME,
        "User": user.spec,
        "Labels": labels,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        **({"NetworkDisabled": True} if has_files else {}),
        "HostConfig": _host_config(profile, daemon, image, user) | names | {"Mounts": mounts},
    }


def _host_config(profile: Profile, daemon: Daemon, image: LocalImage, user: User) -> JsonObject:
    limits = profile.limits
    runtime = runtime_of(profile, daemon) or daemon.runtimes[0]
    memory = limits.memory_bytes + (GVISOR_MEMORY if runtime.isolation == "gvisor" else 0)
    # The daemon rejects a limit of more CPUs than the machine has.
    cpus = min(limits.cpus, float(daemon.cpus))
    return {
        "AutoRemove": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", *_seccomp(profile, daemon), *_masks(daemon)],
        "NetworkMode": "none",
        "IpcMode": "none",
        "ReadonlyRootfs": True,
        "MaskedPaths": [*_MASKED],
        # With version 1 of control groups, newer runtimes leave the folder of their mounts writable for root.
        "ReadonlyPaths": [*READONLY_PATHS, "/sys/fs/cgroup"],
        "LogConfig": {"Type": "none"},
        "RestartPolicy": {"Name": "no"},
        **({"Memory": memory, "MemorySwap": memory} if daemon.limits_memory else {}),
        **({"NanoCpus": round(cpus * 1_000_000_000)} if daemon.limits_cpu else {}),
        **({"PidsLimit": _pids(limits, runtime)} if daemon.limits_pids else {}),
        # Set only if necessary, because some daemons do not accept the reported name of their default runtime.
        **({"Runtime": runtime.name} if runtime != daemon.runtimes[0] else {}),
        "Ulimits": _ulimits(daemon),
        "Tmpfs": _tmpfs(profile, daemon, image, user),
        **_sysctls(profile),
    }


def _ulimits(daemon: Daemon) -> list[JsonValue]:
    # core(5): with 1 the kernel neither writes a core file nor runs the host's crash handler.
    limits = {"core": 1}
    if daemon.podman and not daemon.rootless:
        # With any limit in a request, Podman sets these two to a million, which fails if root may not raise limits.
        limits |= {"nofile": _hard_limit(resource.RLIMIT_NOFILE), "nproc": PODMAN_PROCESSES}
    return [{"Name": name, "Soft": number, "Hard": number} for name, number in limits.items()]


def _hard_limit(number: int) -> int:
    hard = resource.getrlimit(number)[1]
    return PODMAN_FILES if hard == resource.RLIM_INFINITY else min(hard, PODMAN_FILES)


def _names(profile: Profile) -> JsonObject:
    """Configure names as the oci engine does. Without the DNS options, Docker uses the host's resolver."""
    return {
        "Dns": [LOOPBACK],
        "DnsSearch": ["."],
        "DnsOptions": ["ndots:1"],
        "ExtraHosts": _extra_hosts(((LOOPBACK, HOSTNAME), *profile.hosts)),
    }


def _files(profile: Profile, daemon: Daemon) -> dict[str, str]:
    """Return the name files by path. Without them, Podman copies the host's files, and Docker uses the image's."""
    files = {f"/etc/{name}": text for name, text in {**FILES, "hosts": hosts(profile.hosts)}.items()}
    if not daemon.podman:
        del files["/etc/hostname"]  # Docker always writes this one, with the same text.
    return files


def _extra_hosts(names: Sequence[tuple[str, str]]) -> list[JsonValue]:
    return [f"{name}:{address}" for address, name in names]


def _sysctls(profile: Profile) -> JsonObject:
    """Return the sysctls that let the unprivileged guest listen on any port."""
    if not profile.loopback.forwards:
        return {}
    settings: JsonObject = {"net.ipv4.ip_unprivileged_port_start": "0"}
    if any(":" in each.address for each in profile.loopback.forwards):
        # In a network without interfaces, the daemon disables IPv6 in the container, even on loopback.
        settings["net.ipv6.conf.all.disable_ipv6"] = "0"
    return {"Sysctls": settings}


def _pids(limits: Limits, runtime: Runtime) -> int:
    return limits.pids * GVISOR_THREADS + GVISOR_OWN if runtime.isolation == "gvisor" else limits.pids


def guest_arguments(profile: Profile, daemon: Daemon) -> tuple[str, ...]:
    """Return further arguments of process 1: the limits that it sets itself, and the kernel that it must not run on."""
    runtime = runtime_of(profile, daemon) or daemon.runtimes[0]
    names = {*unenforced(capabilities_for(profile, daemon))}
    if runtime.isolation == "gvisor":
        names.add("pids")
    foreign = () if runtime.isolation == "namespace" else (f"not-kernel={daemon.kernel}",)
    return (*guest_limits(profile.limits, sorted(names)), *foreign)


def _seccomp(profile: Profile, daemon: Daemon) -> list[JsonValue]:
    """Return the option for toolc's seccomp filter, or none on an architecture that the filter does not support.

    In that case the daemon's default filter remains in force. Before version 25.0, this default allows io_uring. It
    also takes longer to compile.
    """
    if daemon.architecture not in seccomp.ARCHITECTURES:
        return []
    runtime = runtime_of(profile, daemon)
    gvisor = runtime is not None and runtime.isolation == "gvisor"
    make = seccomp.gvisor_profile if gvisor else seccomp.profile
    text = json.dumps(make(daemon.architecture))
    return [f"seccomp={shared_file('seccomp', text) if daemon.podman else text}"]


def _masks(daemon: Daemon) -> list[JsonValue]:
    """Return the masked paths in Podman's own format, because it ignores ``MaskedPaths``."""
    return [f"mask={':'.join(_MASKED)}"] if daemon.podman else []


def _tmpfs(profile: Profile, daemon: Daemon, image: LocalImage, user: User) -> JsonObject:
    uid, gid = user.spec.split(":")
    # Before 1.2, runc always gives a tmpfs the mode of the image's folder, so its owner must be set.
    options = f"rw,nosuid,nodev,mode=1777,uid={uid},gid={gid}"
    # An image's volumes would be writable disk space without a limit, so each is a tmpfs of limited size.
    small = ",".join(tmpfs_bounds(TOOL_BYTES))
    volumes = [path for path in image.volumes if path != "/workspace" or profile.workspace is None]
    mounts = {
        **dict.fromkeys(volumes, f"{options},noexec,{small}"),
        "/tmp": f"{options},exec,{','.join(tmpfs_bounds(profile.limits.tmp_bytes))}",  # inside the sandbox
        "/tool": f"{options},exec,{small}",
        "/dev/shm": f"{options},noexec,{small}",
    }
    if profile.workspace and not profile.workspace.source:
        # With this, the daemon creates the folder if the image has none.
        mounts["/workspace"] = "ro,nosuid,nodev,noexec,size=4096"
    if not daemon.podman:
        return {**mounts}
    read_only = dict.fromkeys(_PODMAN_FOLDERS, "ro,nosuid,nodev,noexec,size=4k")
    return {**read_only, **{path: podman_tmpfs_options(each) for path, each in mounts.items()}}


def _workspace(profile: Profile, folder: StartFolder, owner: str) -> list[JsonValue]:
    mount = profile.workspace
    if mount is None or not mount.source:
        return []
    if mount.mode == "overlay":
        return [overlay_volume(mount, folder, owner)]
    return [_bind(mount.source, "/workspace", read_only=mount.mode == "ro")]


def _bind(source: str, target: str, *, read_only: bool) -> JsonObject:
    return {
        "Type": "bind",
        "Source": source,
        "Target": target,
        "ReadOnly": read_only,
        # Daemons before 25.0, and all on kernels before 5.12, leave submounts writable.
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": read_only},
    }


def can_mount_later(profile: Profile, daemon: Daemon) -> bool:
    """Return whether a workspace can be mounted in a running container. This process must be root on the same kernel.

    SELinux and Podman are excluded, because there the daemon labels its mounts. Read-only workspaces are excluded if
    their file system has flags that only some runtimes keep in a read-only bind. Raises ``OSError`` if the workspace
    was removed.
    """
    if profile.workspace is None or os.geteuid() != 0 or daemon.rootless or not is_plain(profile, daemon):
        return False
    return profile.workspace.mode == "rw" or not os.statvfs(profile.workspace.source).f_flag & _DROPPED


def guards_process_1(profile: Profile, daemon: Daemon) -> bool:
    """Return whether no process in the sandbox can kill process 1. With gVisor, this requires toolc's filter."""
    runtime = runtime_of(profile, daemon)
    if runtime is None or runtime.isolation != "gvisor":
        return True
    return _FILTERS in runtime.definition and daemon.architecture in seccomp.ARCHITECTURES


def _unfiltered(profile: Profile, daemon: Daemon) -> str | None:
    """Return why a tool in gVisor needs the seccomp filter, or None if the filter is active or not needed.

    gVisor has its own kernel, but the files of the workspace are on the host.
    """
    runtime, mount = runtime_of(profile, daemon), profile.workspace
    if runtime is None or runtime.isolation != "gvisor" or mount is None or mount.mode == "ro":
        return None
    # A registration by the name of a containerd shim does not show its options here.
    if "path=" not in runtime.definition or _FILTERS in runtime.definition:
        return None
    return (
        f"the Docker runtime {runtime.name!r} does not filter system calls, so a tool could leave set-user-id files in "
        'the workspace; add "--oci-seccomp" to its runtimeArgs in /etc/docker/daemon.json, and restart Docker'
    )


def _workspace_refusal(mount: Mount | None, daemon: Daemon, *, nonroot: bool) -> str | None:
    if mount is None:
        return None
    if daemon.remaps_users:
        return (
            "this Docker daemon maps every user to an unused one (userns-remap), so a tool could not use the files of "
            "the workspace; use another engine, or a daemon without userns-remap"
        )
    if daemon.rootless and mount.owner != os.geteuid():
        return (
            f"{mount.source} belongs to user {mount.owner}, but a rootless Docker daemon can act only as "
            f"user {os.geteuid()}; use a workspace that belongs to this user"
        )
    if nonroot and mount.owner == 0 and not daemon.rootless:
        return (
            f"{mount.source} belongs to root, so the tool would run as root (without capabilities), which "
            "run_as: nonroot forbids; give the workspace to another user (chown), or use another engine"
        )
    return None

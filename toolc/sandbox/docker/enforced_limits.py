"""The limits that a Docker daemon enforces for each kind of isolation, and runtimes that do not work."""

from pathlib import Path
from typing import Final

from toolc.model.plan import LimitName, Profile
from toolc.model.spec.sandbox import MIB, MinIsolation
from toolc.sandbox import seccomp
from toolc.sandbox.docker.daemon import Daemon, Runtime, choose_runtime
from toolc.sandbox.host.kernel import is_transient
from toolc.sandbox.interface import ISOLATION, Capabilities, Enforcement, Level, User, offer

MIN_MEMORY: Final = 6 * MIB
"""The smallest memory limit in bytes that the daemon accepts (moby, daemon/daemon_unix.go)."""

REMEDY: Final = (
    "Enable these cgroup controllers for it (cgroup v2 with delegation for rootless Docker; "
    "cgroup_enable=memory swapaccount=1 on the kernel command line for memory and swap)."
)


def capabilities(daemon: Daemon) -> tuple[Capabilities, ...]:
    """Return what ``daemon`` enforces for each kind of isolation, weakest first."""
    chosen = (choose_runtime(daemon.runtimes, kind) for kind in ISOLATION)
    kinds = dict.fromkeys(runtime.isolation for runtime in chosen if runtime)
    return tuple(_capabilities(daemon, kind) for kind in kinds)


def capabilities_for(profile: Profile, daemon: Daemon) -> Capabilities:
    """Return what the daemon enforces with the isolation that ``profile`` uses."""
    return offer(capabilities(daemon), profile.min_isolation)


def runtime_failure(runtime: Runtime | None, message: str) -> str | None:
    """Return why a runtime other than the daemon's own does not work at all, with the remedy.

    Return None if the error is transient or concerns only one container.
    """
    names_runtime = "OCI runtime" in message or "shim" in message or "nknown runtime" in message
    if runtime is None or runtime.isolation == "namespace" or not names_runtime or is_transient(message):
        return None
    return f"the Docker runtime {runtime.name!r} does not work: {message}; {_remedy(runtime, message)}"


def _capabilities(daemon: Daemon, isolation: MinIsolation) -> Capabilities:
    weak: dict[LimitName, Enforcement] = {}
    if not daemon.limits_memory:
        weak["memory"] = _lacks("memory", "each process separately", "approximate")
    elif not (daemon.limits_swap or not _host_swaps()):
        weak["memory"] = _lacks("swap", "memory above the limit may be swapped out", "approximate")
    if not daemon.limits_cpu:
        weak["cpus"] = _lacks("cpus", "nothing", "not")
    # gVisor's own kernel limits the number of processes.
    if not daemon.limits_pids and isolation != "gvisor":
        weak["pids"] = _lacks("pids", "the processes of the tool's user", "approximate")
    return Capabilities(
        isolation=isolation,
        weak=weak,
        users=_users(daemon),
        workspaces=("none",) if daemon.remaps_users else ("none", "ro", "rw", "transaction"),
        overlay_obstacle=_overlay_obstacle(daemon, isolation),
        notes=_notes(daemon, isolation),
    )


def _overlay_obstacle(daemon: Daemon, isolation: MinIsolation) -> str:
    if isolation != "namespace":
        return f"a sandbox with min_isolation: {isolation} cannot use an overlay"
    return "toolc uses overlays only with Docker's own daemon, run by root" if daemon.rootless or daemon.podman else ""


def _lacks(what: str, instead: str, level: Level) -> Enforcement:
    return Enforcement(level=level, reason=f"This Docker daemon cannot limit {what}.", instead=instead, remedy=REMEDY)


def _users(daemon: Daemon) -> tuple[User, ...]:
    if daemon.remaps_users:
        return ("nobody",)
    return ("owner", "nobody") if daemon.rootless else ("owner", "nobody", "root")


def _notes(daemon: Daemon, isolation: MinIsolation) -> tuple[str, ...]:
    notes = []
    if isolation == "gvisor":
        notes.append("Running out of memory ends the whole sandbox, not only the process that requested more.")
    elif daemon.architecture not in seccomp.ARCHITECTURES:
        notes.append("System calls are filtered with the daemon's list instead of toolc's.")
    if daemon.podman:
        notes.append("Podman limits the size of /tmp, but not the number of files in it.")
    if daemon.remaps_users:
        notes.append("The daemon maps every user to an unused one (userns-remap).")
    return tuple(notes)


def _host_swaps() -> bool:
    """Return whether the host has swap, by proc_meminfo(5), or True if this cannot be read."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return True
    return not any(line.startswith("SwapTotal:") and line.split()[1] == "0" for line in lines)


def _remedy(runtime: Runtime, message: str) -> str:
    if "network" in message:
        arguments = '"runtimeArgs": ["--network=none", "--oci-seccomp"]'
        return f"register {runtime.name} with {arguments} in /etc/docker/daemon.json"
    return f"make this command work on the daemon's machine: docker run --rm --runtime {runtime.name} IMAGE true"

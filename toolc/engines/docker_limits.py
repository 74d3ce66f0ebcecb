"""Which limits a Docker daemon enforces, for each kind of isolation that its runtimes offer."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolc.engines import oci_seccomp
from toolc.engines.base import ISOLATION, Capabilities, Enforcement, Level, User, offer
from toolc.engines.docker_daemon import Daemon
from toolc.engines.docker_runtime import choose
from toolc.model.plan import LimitName, Profile
from toolc.model.spec.sandbox import MIB, MinIsolation

LEAST_MEMORY: Final = 6 * MIB
"""The daemon takes no smaller memory limit (moby, daemon/daemon_unix.go)."""

REMEDY: Final = (
    "Enable these cgroup controllers for it (cgroup v2 with delegation for rootless Docker; "
    "cgroup_enable=memory swapaccount=1 on the kernel command line for memory and swap)."
)


def capabilities(daemon: Daemon) -> tuple[Capabilities, ...]:
    """What ``daemon`` enforces, weakest isolation first."""
    chosen = (choose(daemon.runtimes, kind) for kind in ISOLATION)
    kinds = dict.fromkeys(runtime.isolation for runtime in chosen if runtime)
    return tuple(_of(daemon, kind) for kind in kinds)


def for_profile(profile: Profile, daemon: Daemon) -> Capabilities:
    """What it enforces with the isolation that ``profile`` gets."""
    return offer(capabilities(daemon), profile.min_isolation)


def _of(daemon: Daemon, isolation: MinIsolation) -> Capabilities:
    weak: dict[LimitName, Enforcement] = {}
    if not daemon.limits_memory:
        weak["memory"] = _lacks("memory", "each process by itself", "approximate")
    elif not (daemon.limits_swap or not _host_swaps()):
        weak["memory"] = _lacks("swap", "what goes beyond the limit may go to swap", "approximate")
    if not daemon.limits_cpu:
        weak["cpus"] = _lacks("cpus", "nothing", "not")
    # gVisor's own kernel counts processes for itself.
    if not daemon.limits_pids and isolation != "gvisor":
        weak["pids"] = _lacks("pids", "the processes of the tool's user", "approximate")
    return Capabilities(
        isolation=isolation,
        weak=weak,
        users=_users(daemon),
        workspaces=("none",) if daemon.remaps_users else ("none", "ro", "rw", "transaction"),
        notes=_notes(daemon, isolation),
    )


def _lacks(what: str, instead: str, level: Level) -> Enforcement:
    return Enforcement(
        level=level, reason=f"This Docker daemon cannot limit {what}.", instead=instead, remedy=REMEDY
    )


def _users(daemon: Daemon) -> tuple[User, ...]:
    if daemon.remaps_users:
        return ("nobody",)
    return ("owner", "nobody") if daemon.rootless else ("owner", "nobody", "root")


def _notes(daemon: Daemon, isolation: MinIsolation) -> tuple[str, ...]:
    notes = []
    if isolation == "gvisor":
        notes.append("Running out of memory ends the whole sandbox, not only the process that asked for more.")
    elif daemon.architecture not in oci_seccomp.ARCHITECTURES:
        notes.append("System calls are filtered by the daemon's own list, not by toolc's.")
    if daemon.podman:
        notes.append("Podman bounds the size of /tmp, and not the number of its files.")
    if daemon.remaps_users:
        notes.append("The daemon maps every user to an unused one (userns-remap).")
    return tuple(notes)


def _host_swaps() -> bool:
    """Whether there is swap to limit, by proc_meminfo(5); where that cannot be read, there may be."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return True
    return not any(line.startswith("SwapTotal:") and line.split()[1] == "0" for line in lines)

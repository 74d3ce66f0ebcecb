"""What every sandbox has in ``/etc`` about names, whatever its image or the host says: nothing of the host's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolc.model.plan import LimitName
from toolc.model.spec.sandbox import Limits

HOSTNAME: Final = "sandbox"

LOOPBACK: Final = "127.0.0.1"
"""Where nobody answers for names, so a question ends at once."""


def hosts(names: Sequence[tuple[str, str]] = ()) -> str:
    """The text of hosts(5) with these addresses and names beside those of the sandbox itself."""
    own = ((LOOPBACK, f"localhost {HOSTNAME}"), ("::1", "localhost"))
    return "".join(f"{address} {name}\n" for address, name in (*own, *names))


FILES: Final[Mapping[str, str]] = {"hostname": f"{HOSTNAME}\n", "hosts": hosts(), "resolv.conf": ""}
"""These files by name. An empty resolv.conf(5) means a resolver on loopback."""


def guest_limits(limits: Limits, names: Iterable[LimitName]) -> tuple[str, ...]:
    """The words for those of ``names`` that a process's own limits come near to.

    ``memory`` is then the data of each single process, ``pids`` the processes of the tool's user in its sandbox.
    """
    values: dict[LimitName, int] = {"memory": limits.memory_bytes, "pids": limits.pids}
    return tuple(f"{name}={values[name]}" for name in names if name in values)


MASKED_PATHS: Final = (
    "/proc/acpi", "/proc/asound", "/proc/bootconfig", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts",
    "/proc/iomem", "/proc/ioports", "/proc/kallsyms", "/proc/kcore", "/proc/key-users", "/proc/keys",
    "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/modules",
    "/proc/pagetypeinfo", "/proc/partitions", "/proc/sched_debug", "/proc/scsi", "/proc/slabinfo",
    "/proc/timer_list", "/proc/timer_stats", "/proc/vmallocinfo",
)  # fmt: skip
"""What a container runtime hides of the kernel, what root may read there without any capability, and what tells
of this very machine: how it was started, its disks and its modules."""

READONLY_PATHS: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

FILE_BYTES: Final = 4096
"""A tmpfs has room for as many files as pages: each costs about a kilobyte of the kernel's memory."""

LEAST_FILES: Final = 1024


def tmpfs_bounds(size_bytes: int) -> tuple[str, str]:
    """A tmpfs's options for this size: empty files have none, and would fill the memory instead."""
    return f"size={size_bytes}", f"nr_inodes={max(size_bytes // FILE_BYTES, LEAST_FILES)}"

"""What every sandbox shares, whatever its engine: name files in ``/etc``, hidden paths and tmpfs options.

The name files depend neither on the image nor on the host, and contain nothing of the host.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolc.model.plan import LimitName
from toolc.model.spec.sandbox import Limits

HOSTNAME: Final = "sandbox"

LOOPBACK: Final = "127.0.0.1"
"""The loopback address of a sandbox. No name server listens there, so name lookups fail immediately."""

RUNTIME: Final = "/.toolc"
"""The mount point of the portable Python in a sandbox."""

SITE: Final = "/opt/toolc/site"
"""The mount point of the packages in a sandbox."""

IMAGE_COMMAND: Final = ("python3",)
"""The command of an image's own Python."""

PYTHONS: Final = "pythons"
"""The kind of the notes in the store about the Python of each image; empty for an image without one."""

MASKED_PATHS: Final = (
    "/proc/acpi", "/proc/asound", "/proc/bootconfig", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts",
    "/proc/iomem", "/proc/ioports", "/proc/kallsyms", "/proc/kcore", "/proc/key-users", "/proc/keys",
    "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/modules",
    "/proc/pagetypeinfo", "/proc/partitions", "/proc/sched_debug", "/proc/scsi", "/proc/slabinfo",
    "/proc/timer_list", "/proc/timer_stats", "/proc/vmallocinfo",
)  # fmt: skip
"""Kernel files that a sandbox must not read: those that container runtimes hide, those that root may read without
any capability, and those that identify the machine: its boot command line, its disks and its modules."""

READONLY_PATHS: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

FILE_BYTES: Final = 4096
"""A tmpfs allows one file per this number of bytes. A file costs about a kilobyte of kernel memory."""

MIN_INODES: Final = 1024
"""The least number of files in a tmpfs. A small one would otherwise be full of empty folders."""


def hosts(names: Sequence[tuple[str, str]] = ()) -> str:
    """Return the text of hosts(5) with these pairs of address and name after those of the sandbox itself."""
    own = ((LOOPBACK, f"localhost {HOSTNAME}"), ("::1", "localhost"))
    return "".join(f"{address} {name}\n" for address, name in (*own, *names))


FILES: Final[Mapping[str, str]] = {"hostname": f"{HOSTNAME}\n", "hosts": hosts(), "resolv.conf": ""}
"""The files by name. An empty resolv.conf(5) makes the resolver ask on loopback."""


def guest_limits(limits: Limits, names: Iterable[LimitName]) -> tuple[str, ...]:
    """Return the guest's arguments for those of ``names`` that resource limits of a process approximate.

    ``memory`` is then the data size of each single process, ``pids`` the number of processes of the tool's user in
    its sandbox.
    """
    values: dict[LimitName, int] = {"memory": limits.memory_bytes, "pids": limits.pids}
    return tuple(f"{name}={values[name]}" for name in names if name in values)


def tmpfs_bounds(size_bytes: int) -> tuple[str, str]:
    """Return the tmpfs options for this size, with a limit for inodes: empty files have no size but use memory."""
    return f"size={size_bytes}", f"nr_inodes={max(size_bytes // FILE_BYTES, MIN_INODES)}"

"""The configuration that the sandboxes of all engines share: name files in ``/etc``, hidden paths and tmpfs options.

The name files do not depend on the image, and contain nothing from the host.
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
"""The kind of the store's notes about the Python of each image. The note is empty for an image without Python."""

MASKED_PATHS: Final = (
    "/proc/acpi", "/proc/asound", "/proc/bootconfig", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts",
    "/proc/iomem", "/proc/ioports", "/proc/kallsyms", "/proc/kcore", "/proc/key-users", "/proc/keys",
    "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/modules",
    "/proc/pagetypeinfo", "/proc/partitions", "/proc/sched_debug", "/proc/scsi", "/proc/slabinfo",
    "/proc/timer_list", "/proc/timer_stats", "/proc/vmallocinfo",
)  # fmt: skip
"""Kernel files that a sandbox must not read: the files that container runtimes hide, files that root may read without
any capability, and files that identify the machine by its boot command line, disks or modules."""

READONLY_PATHS: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

FILE_BYTES: Final = 4096
"""The number of bytes per file that a tmpfs allows. A file takes about a kilobyte of kernel memory."""

MIN_INODES: Final = 1024
"""The minimum number of files that a tmpfs allows. Otherwise a few folders would fill a small one."""


def hosts(names: Sequence[tuple[str, str]] = ()) -> str:
    """Return the text of hosts(5): the sandbox's own names, followed by these pairs of address and name."""
    own = ((LOOPBACK, f"localhost {HOSTNAME}"), ("::1", "localhost"))
    return "".join(f"{address} {name}\n" for address, name in (*own, *names))


FILES: Final[Mapping[str, str]] = {"hostname": f"{HOSTNAME}\n", "hosts": hosts(), "resolv.conf": ""}
"""The name files by path. An empty resolv.conf(5) makes the resolver query the loopback address."""


def guest_limits(limits: Limits, names: Iterable[LimitName]) -> tuple[str, ...]:
    """Return the guest's arguments for the limits in ``names`` that process resource limits can approximate.

    ``memory`` then limits the data size of each process, and ``pids`` limits the processes of the tool's user in the
    sandbox.
    """
    values: dict[LimitName, int] = {"memory": limits.memory_bytes, "pids": limits.pids}
    return tuple(f"{name}={values[name]}" for name in names if name in values)


def tmpfs_bounds(size_bytes: int) -> tuple[str, str]:
    """Return the tmpfs options for this size. They limit inodes, because empty files have no size but use memory."""
    return f"size={size_bytes}", f"nr_inodes={max(size_bytes // FILE_BYTES, MIN_INODES)}"

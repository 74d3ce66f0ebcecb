"""Which limits the oci engine enforces here, and what stands in for those that it cannot."""

from __future__ import annotations

import os
from typing import Final

from toolc.engines import oci_cgroup
from toolc.engines.base import Capabilities, Enforcement, Level
from toolc.model.plan import LimitName

_LIMITS: Final[dict[str, tuple[LimitName, Level, str]]] = {
    "memory": ("memory", "approximate", "each process by itself"),
    "pids": ("pids", "approximate", "the processes of the tool's user"),
    "cpu": ("cpus", "not", "nothing"),
}
"""By controller: the limit that needs it, how well it is kept without, and what is limited instead."""


def capabilities() -> Capabilities:
    """What it enforces for this process, found by trying."""
    missing = oci_cgroup.unenforceable()
    reason, remedy = _why(missing)
    weak = {
        name: Enforcement(level=level, reason=reason, instead=instead, remedy=remedy)
        for name, level, instead in map(_LIMITS.__getitem__, missing)
    }
    return Capabilities(
        weak=weak,
        users=("owner", "nobody") if os.geteuid() == 0 else ("owner",),
        notes=("A tool that names no image sees this machine's own /usr, read-only.",),
    )


def enforceable() -> frozenset[str]:
    """The controllers that can be used."""
    missing = oci_cgroup.unenforceable()
    return frozenset(oci_cgroup.CONTROLLERS) - set(missing)


def _why(missing: list[str]) -> tuple[str, str]:
    """Why these controllers cannot be used, and what to do."""
    if os.geteuid() == 0:
        return (
            f"No control group with {', '.join(missing)} can be made below /sys/fs/cgroup.",
            "Run toolc outside of this container, or mount the control groups writable.",
        )
    return (
        f"No control group with {', '.join(missing)} is delegated to this user.",
        "Run it as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes toolc run TOOL.",
    )

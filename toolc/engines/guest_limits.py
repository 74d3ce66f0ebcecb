"""Limits that the guest sets on the tool itself, where an engine has nothing better.

They go with the arguments of process 1, as ``pids=128``; ``toolc.guest.launch_args`` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolc.model.plan import LimitName
from toolc.model.spec.sandbox import Limits


def guest_limits(limits: Limits, names: Iterable[LimitName]) -> tuple[str, ...]:
    """The words for those of ``names`` that a process's own limits come near to.

    ``memory`` is then the data of each single process, ``pids`` the processes of the tool's user in its sandbox.
    """
    values: dict[LimitName, int] = {"memory": limits.memory_bytes, "pids": limits.pids}
    return tuple(f"{name}={values[name]}" for name in names if name in values)

"""Whether the kernel has killed anything for want of memory meanwhile, anywhere on this machine.

What ends a process with SIGKILL does not say why. A count that did not change says that it was no want of memory;
one that did says only that it may have been.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

KILLED_FROM_OUTSIDE: Final = "process 1 was killed by somebody outside of the sandbox, and not for want of memory"
"""What is said of a sandbox that came to such an end, where nothing inside could do so."""


def kernel_kills() -> int | None:
    """How many processes this kernel has killed so since it started: ``oom_kill`` in /proc/vmstat, Linux 4.13.

    None where it does not say.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return None


def may_have_killed(before: int | None) -> bool:
    """Whether there was such an end since ``kernel_kills`` said ``before``; True where nobody knows."""
    now = kernel_kills()
    return before is None or now is None or now != before

"""What a busy kernel refuses in passing: whoever starts a sandbox, an image's container too, tries again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

TRIES: Final = 5
"""How often something is started where each start meets what the next one may not."""

Started = TypeVar("Started")


def is_passing(message: str) -> bool:
    """Whether a runtime's words, which a daemon passes on, are about what the next start may not meet.

    Linux refuses with EINVAL to put a process into a group of the controller cpu as long as it is not quite forked,
    which on a busy machine takes longer than a runtime tries (``cpu_cgroup_can_attach`` of cgroup v1: TASK_NEW).
    """
    return "cgroup.procs: invalid argument" in message


def persist(start: Callable[[], Started], refusal: type[Exception]) -> Started:
    """What ``start`` returns, called again as long as it raises a passing ``refusal``, ``TRIES`` times at most.

    Nothing of a refused start may be left when it raises. Raises what the last one raises.
    """
    for _ in range(TRIES - 1):
        try:
            return start()
        except refusal as error:
            if not is_passing(str(error)):
                raise
    return start()

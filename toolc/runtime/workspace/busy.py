"""Workspaces that a killed process may still change, because it has not ended. Calls cannot use them until it has.

This happens if a process hangs in the kernel, for example in a file system whose server does not respond. A workspace
is also busy if it contains such a folder or is in one. The marks apply only to this process of toolc.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount

NOT_ENDED: Final = (
    "a process of the call was killed but has not ended, because it hangs in the kernel, for example in a file system "
    "whose server does not respond; until it has ended, use another workspace"
)
"""The error message of a call that leaves such a process."""

RETRY_SECONDS: Final = 0.5
"""How long a call waits while a failed removal is tried again, in seconds.

It is short compared with the time of the first attempt.
"""


class Removal:
    """The removal of the sandbox of a call whose processes were killed."""

    def __init__(self, workspace: Mount | None, close: Callable[[], None]) -> None:
        """``close`` removes the sandbox. If that fails, it raises ``InfrastructureError`` and may be called again."""
        self.workspace = workspace
        self._close = close
        self._is_running = threading.Lock()
        self._is_done = False
        self._failure = ""

    def run(self) -> None:
        """Remove the sandbox, which frees its workspace. Raises ``InfrastructureError`` if that fails."""
        with self._is_running:
            self._close()
            with _MARKS.lock:
                self._is_done = True
                if self in _MARKS.removals:
                    _MARKS.removals.remove(self)

    def mark(self) -> None:
        """Mark the workspace as busy until the sandbox is removed, unless the workspace is a view for one call."""
        with _MARKS.lock:
            if self.workspace is None or self.workspace.scratch or self._is_done:
                return
            if self not in _MARKS.removals:
                _MARKS.removals.append(self)

    def run_again(self) -> str:
        """Remove the sandbox, unless a thread is already removing it. Return why it remains, or an empty string.

        The wait is short, because a process that hangs delays the removal for seconds.
        """
        if not self._is_running.locked():
            thread = threading.Thread(target=self._try, name="toolc removal", daemon=True)
            thread.start()
            thread.join(RETRY_SECONDS)
        with _MARKS.lock:
            return "" if self._is_done else self._failure or "its sandbox is still being removed"

    def _try(self) -> None:
        try:
            self.run()
        except (InfrastructureError, OSError) as error:
            self._failure = str(error)

    def run_and_log(self) -> None:
        """Remove the sandbox. A failure is logged, because no call waits for this removal."""
        try:
            self.run()
        except InfrastructureError as error:
            logging.getLogger("toolc").warning("%s", error)


@dataclass(slots=True)
class _Marks:
    """The removals whose workspaces are busy."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    removals: list[Removal] = field(default_factory=list)

    def forget(self) -> None:
        """Forget all removals in a forked child, which cannot end them, because they run on threads of its parent."""
        self.lock = threading.Lock()
        self.removals = []


_MARKS: Final = _Marks()
os.register_at_fork(after_in_child=_MARKS.forget)


def require_free(workspace: Mount) -> None:
    """Raise ``InfrastructureError`` if the workspace is busy. A failed removal is tried again first."""
    with _MARKS.lock:
        marked = [each for each in _MARKS.removals if _overlaps(each.workspace, workspace)]
    for each in marked:
        if reason := each.run_again():
            raise InfrastructureError(
                f"the workspace {workspace.source} is busy, because a process of an earlier call was killed but has "
                f"not ended ({reason}); call again when it has, or use another workspace"
            )


def _overlaps(one: Mount | None, other: Mount) -> bool:
    """Return whether the workspaces are the same folder, even at different paths, or one contains the other."""
    if one is None:
        return False
    first, second = PurePosixPath(one.source), PurePosixPath(other.source)
    is_same = (one.device, one.inode) == (other.device, other.inode)
    return is_same or first.is_relative_to(second) or second.is_relative_to(first)

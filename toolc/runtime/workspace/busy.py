"""Workspaces that a killed process may still change, because it has not ended: calls cannot use them until it has.

That happens if a process hangs in the kernel, for example in a file system whose server does not respond. The marks
apply to this process of toolc only.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount

__all__ = ["NOT_ENDED", "Removal", "require_free"]

NOT_ENDED: Final = (
    "a process of the call was killed but has not ended: it hangs in the kernel, for example in a file system whose "
    "server does not respond; until it has ended, use another workspace"
)
"""The message of a call that leaves such a process."""

_LOCK: Final = threading.Lock()


class Removal:
    """The removal of the sandbox of a call whose processes were killed."""

    def __init__(self, workspace: Mount | None, close: Callable[[], None]) -> None:
        """``close`` removes the sandbox, and raises ``InfrastructureError`` if that fails. It may be called again."""
        self.workspace = workspace
        self._close = close
        self._is_running = threading.Lock()
        self._is_done = False

    def run(self) -> None:
        """Remove the sandbox; then its workspace is free. Raises ``InfrastructureError`` if that fails."""
        with self._is_running:
            self._close()
            with _LOCK:
                self._is_done = True
                if self in _MARKED:
                    _MARKED.remove(self)

    def mark(self) -> None:
        """Mark the workspace as busy until the sandbox is removed, unless it is a view for one call only."""
        with _LOCK:
            if self.workspace is not None and not self.workspace.scratch and not self._is_done:
                _MARKED.append(self)

    def run_again(self) -> str:
        """Remove the sandbox unless a thread does that now. Return why it is left; empty if it was removed."""
        if self._is_running.locked():
            return "its sandbox is still being removed"
        try:
            self.run()
        except InfrastructureError as error:
            return str(error)
        return ""

    def run_and_log(self) -> None:
        """Remove the sandbox, and log a failure, because no call waits for this removal."""
        try:
            self.run()
        except InfrastructureError as error:
            logging.getLogger("toolc").warning("%s", error)


_MARKED: Final = list[Removal]()


def require_free(workspace: Mount) -> None:
    """Raise ``InfrastructureError`` if the workspace is busy. A removal that has failed is tried again first."""
    with _LOCK:
        marked = [each for each in _MARKED if _is_same(each.workspace, workspace)]
    for each in marked:
        if reason := each.run_again():
            raise InfrastructureError(
                f"the workspace {workspace.source} is busy: a process of an earlier call was killed but has not ended "
                f"({reason}); call again when it has, or use another workspace"
            )


def _is_same(one: Mount | None, other: Mount) -> bool:
    return one is not None and (one.device, one.inode) == (other.device, other.inode)

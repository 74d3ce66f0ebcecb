"""The mount helper: a small process that mounts workspaces in sandboxes that already run.

Its program is ``mount_helper_process.py``, which explains why it is a process. It starts with the first request, and
ends with this process or ``close``.
"""

import array
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Sequence
from typing import Final

from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.model.plan import Mount
from toolc.sandbox.host.mount_helper_process import OK
from toolc.sandbox.host.mounts import open_workspace
from toolc.sandbox.host.programs import is_ready, start_program

SECONDS: Final = 5.0
"""How long one request may take, including the start of the helper, in seconds.

On a busy machine, starting Python takes most of this time. A request takes less than a millisecond.
"""

_RESPONSE_BYTES: Final = 256
"""The maximum length of the helper's response, in bytes. The longest one is an error message."""


class MountHelper:
    """The mount helper of one engine. Its methods are thread-safe.

    ``has_failed`` is True once a running sandbox could not be entered or changed. All others would fail as well.
    """

    def __init__(self) -> None:
        self.has_failed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._pid = -1
        self._owner = -1

    def prepare(self, process: int) -> None:
        """Enter the sandbox of this process (a pidfd), and remove the mount at ``/workspace``.

        Raises ``InfrastructureError``.
        """
        self._request([process])

    def mount(self, process: int, workspace: Mount, flags: int, user_namespace: int | None, *, recursive: bool) -> None:
        """Mount ``workspace`` at ``/workspace`` in the prepared sandbox of this process.

        See ``toolc.sandbox.host.mounts.open_workspace``. After an ``InfrastructureError``, the sandbox must not be
        used.
        """
        try:
            tree = open_workspace(workspace, flags, recursive=recursive, user_namespace=user_namespace)
        except OSError as error:
            raise_shortage(error)
            raise InfrastructureError(f"{workspace.source} cannot be mounted: {error.strerror}") from error
        try:
            self._request([process, tree])
        finally:
            os.close(tree)

    def close(self) -> None:
        """End the helper. The next request starts another one."""
        with self._lock:
            self._end()

    def _request(self, descriptors: Sequence[int]) -> None:
        if descriptors[0] < 0:
            raise InfrastructureError("the workspace cannot be mounted in a sandbox that has ended")
        try:
            try:
                response = self._ask(descriptors)
            except ConnectionError:
                # The helper was killed. If it had already mounted the workspace, the second request fails.
                response = self._ask(descriptors)
        except OSError as error:
            raise_shortage(error)
            response = f"the mount helper does not answer: {error}"
        if response != OK:
            # A pidfd becomes readable when its process has ended.
            self.has_failed = self.has_failed or not is_ready(descriptors[0])
            raise InfrastructureError(f"the workspace cannot be mounted in a waiting sandbox: {response}")

    def _ask(self, descriptors: Sequence[int]) -> str:
        """Return the response to a request. Raises ``OSError``."""
        with self._lock, contextlib.ExitStack() as undo:
            undo.callback(self._end)
            connection = self._socket
            if connection is None or self._owner != os.getpid():
                connection = self._start()
            sent = array.array("i", descriptors)
            connection.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
            response = connection.recv(_RESPONSE_BYTES)
            if not response:
                raise ConnectionResetError("it has ended")
            undo.pop_all()
        return response.decode("utf-8", "replace")

    def _start(self) -> socket.socket:
        """Start the helper and return the socket to it. Raises ``OSError``."""
        self._end()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            ours.settimeout(SECONDS)
            self._pid = start_program("mount_helper_process.py", str(os.getpid()), theirs.fileno())
            undo.pop_all()
        self._socket, self._owner = ours, os.getpid()
        return ours

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._pid >= 0 and self._owner == os.getpid():
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
        self._socket, self._pid = None, -1

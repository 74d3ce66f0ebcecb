"""One live container: the stream to its guest, and the end of the container."""

import os
import threading
import time
from collections.abc import Callable
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.sandbox.docker.api_client import ApiError, Client, StoppedDaemonError
from toolc.sandbox.docker.container import EventStream, remove_container
from toolc.sandbox.docker.streams import AttachedStream, GuestSocketStream
from toolc.sandbox.host.kernel import KILLED_FROM_OUTSIDE, oom_kill_possible
from toolc.sandbox.host.start_folder import StartFolder
from toolc.sandbox.interface import ImageUsed

_GRACE: Final = 0.5
"""How long a guest may run after its stream was closed, in seconds. Then it is killed.

A working guest ends within milliseconds.
"""

_KILLED: Final = 128 + 9

KILLED_BY_DAEMON: Final = "the Docker daemon killed the sandbox: another client requested it, or the daemon was stopped"
KILLED_FROM_INSIDE_OR_OOM: Final = (
    "process 1 was killed by the tool itself, or by an out-of-memory kill that the Docker daemon did not report; to "
    'tell these apart, add "--oci-seccomp" to the runtimeArgs of gVisor in /etc/docker/daemon.json and restart '
    "Docker"
)


@dataclass(kw_only=True, eq=False)
class DockerSandbox:
    """An ``EngineSandbox`` (see ``toolc.sandbox.interface``) that is a container.

    ``created`` is when it was created and attached. If it is ``guarded``, nothing inside can kill process 1.
    ``kernel_kills`` is how often its kernel had run out of memory before the start, or None if that is not this host's
    kernel. ``stream`` is the stream to the guest, which may be ``attached``, the daemon's own stream. ``remove_later``
    is called with the container's ID if it cannot be removed now. ``process`` is a descriptor of process 1
    (pidfd_open(2)), or -1 if it is not needed. ``folder`` has the links and files that its mounts refer to.
    """

    container: str
    user: str
    image: ImageUsed
    created: float
    guarded: bool
    kernel_kills: int | None
    client: Client
    attached: AttachedStream
    stream: AttachedStream | GuestSocketStream
    events: EventStream
    remove_later: Callable[[str], None]
    folder: StartFolder
    process: int = -1

    def __post_init__(self) -> None:
        self._watch = self.events.watch(self.container)
        self._closing = threading.Lock()
        self._killed = False
        self._removed = False
        self._closed = False

    def fileno(self) -> int:
        """Return the descriptor to poll, or -1 once closed."""
        return self.stream.fileno()

    def read(self) -> bytes | None:
        """Return bytes of the guest's stdout, ``b""`` at the end, or None if none have arrived."""
        return self.stream.read()

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as fits now, and return the number of bytes sent."""
        return self.stream.write(data)

    def out_of_memory(self) -> bool:
        """Return whether, by the daemon's events, the kernel killed a process in the sandbox because memory ran out.

        The daemon does not always report this. If nothing inside can kill process 1, a SIGKILL that was not requested
        indicates it as well.
        """
        return self._watch.out_of_memory or (
            self.guarded and self._killed_unexpectedly() and oom_kill_possible(self.kernel_kills)
        )

    def memory_kills(self) -> int:
        """Return 1 if ``out_of_memory``, otherwise 0, because the daemon does not count."""
        return int(self.out_of_memory())

    def error_output(self) -> str:
        """Return the beginning of the guest's stderr, with a note if the sandbox was killed."""
        output = self.attached.error_output()
        if self._watch.killed and not self._killed:
            output = f"{output}\n{KILLED_BY_DAEMON}"
        elif not self.guarded and self._killed_unexpectedly():
            output = f"{output}\n{KILLED_FROM_INSIDE_OR_OOM}"
        elif self._killed_unexpectedly() and not self.out_of_memory():
            output = f"{output}\n{KILLED_FROM_OUTSIDE}"
        return output.lstrip()

    def _killed_unexpectedly(self) -> bool:
        return self._watch.exit_status == _KILLED and not (self._killed or self._watch.killed)

    def close(self) -> None:
        """Stop the container and wait for its removal. Raises ``InfrastructureError`` if this fails."""
        with self._closing:
            if self._closed:
                return
            until = time.monotonic() + _GRACE
            self.stream.close()
            # A daemon that cannot write the guest's output does not remove the container.
            self.attached.drain(_GRACE)
            self.attached.close()
            if self.process >= 0:
                os.close(self.process)
                self.process = -1
            try:
                self._await_removal(until)
                self._closed = True
            finally:
                self.events.unwatch(self.container)

    def stop(self) -> None:
        """Stop the container as ``close`` does, but leave the stream open for its owner, who must close it.

        Raises ``InfrastructureError``.
        """
        with self._closing:
            # A daemon that has stopped cannot answer, which ``close`` reports.
            if not self._closed and self.events.is_alive:
                until = time.monotonic() + _GRACE
                self.stream.shut_down()
                self.attached.drain(_GRACE)
                self.attached.shut_down()
                self._await_removal(until)

    def _await_removal(self, until: float) -> None:
        try:
            if not self._removed and not self._watch.removed.wait(max(until - time.monotonic(), 0)):
                self._kill()
            self._removed = True
        finally:
            # Remove it even if the daemon does not answer, because only a start needs it.
            self.folder.close()

    def _kill(self) -> None:
        self._killed = self._watch.exit_status is None
        try:
            remove_container(self.client, self.container)
        except ApiError as error:
            self.remove_later(self.container)
            running = "start the daemon again, then " if isinstance(error, StoppedDaemonError) else ""
            raise InfrastructureError(
                f"the Docker daemon did not remove the sandbox {self.container[:12]}: {error}; "
                f"{running}remove it with: docker rm -f {self.container[:12]}"
            ) from error
        # The "destroy" event is the last one, so any event about memory has arrived before it.
        if self.events.is_alive:
            self._watch.removed.wait(_GRACE)

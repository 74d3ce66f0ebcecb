"""One live container: the stream to its guest, and how it is ended."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.sandbox.base import ImageUsed
from toolc.sandbox.docker import container as docker_container
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.container import ContainerWatcher, EventStream
from toolc.sandbox.docker.streams import AttachedStream, GuestSocketStream
from toolc.sandbox.host.kernel import KILLED_FROM_OUTSIDE, oom_kill_possible

_GRACE: Final = 0.5
"""How long a guest may run after its stream is closed before it is killed, in seconds."""

_KILLED: Final = 128 + 9

KILLED_BY_DAEMON: Final = "the Docker daemon killed it: somebody asked for that, or the daemon was stopped"
"""The explanation for a container that the daemon killed."""

KILLED_BY_SOMEBODY: Final = (
    "process 1 was killed: by the tool itself, or for want of memory of which the Docker daemon did not tell; to "
    'tell them apart, add "--oci-seccomp" to the runtimeArgs of gVisor in /etc/docker/daemon.json, and restart it'
)
"""The explanation if the tool itself may have killed process 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A started container: its tool's user, its image, and when it was created and attached.

    ``guarded``: nothing inside can kill process 1. ``kernel_kills``: how often its kernel had run out of memory
    before the start; None if that is not this host's kernel.
    """

    id: str
    user: str
    image: ImageUsed
    created: float
    guarded: bool
    kernel_kills: int | None = None


class DockerSandbox:
    """An ``EngineSandbox`` (see ``toolc.sandbox.base``) that is a container."""

    def __init__(
        self,
        container: Container,
        *,
        client: Client,
        attached: AttachedStream,
        wire: GuestSocketStream | None,
        events: EventStream,
    ) -> None:
        """``wire`` is the stream to the guest; None if that is the daemon's own stream, ``attached``."""
        self.container = container.id
        self._about = container
        self._client = client
        self._attached = attached
        self._wire = wire or attached
        self._events = events
        self._watch: ContainerWatcher = events.watch(container.id)
        self._closing = threading.Lock()
        self._killed = False
        self._gone = False

    @property
    def user(self) -> str:
        """The user of the tool inside."""
        return self._about.user

    @property
    def image(self) -> ImageUsed:
        """The image it was created from."""
        return self._about.image

    @property
    def created(self) -> float:
        """When the container was created and attached."""
        return self._about.created

    def fileno(self) -> int:
        """Return the descriptor to poll; -1 once closed."""
        return self._wire.fileno()

    def read(self) -> bytes | None:
        """Return bytes of the guest's stdout, ``b""`` at the end, None if there are none yet."""
        return self._wire.read()

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now and return the number of bytes sent."""
        return self._wire.write(data)

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed a process in it because memory ran out, by the daemon's events.

        The daemon does not always report it. If nothing inside can kill process 1, then a SIGKILL that was not
        requested also indicates it.
        """
        return self._watch.out_of_memory or (
            self._about.guarded and self._killed_by_nobody() and oom_kill_possible(self._about.kernel_kills)
        )

    def error_output(self) -> str:
        """Return the beginning of the guest's stderr, and that it was killed."""
        said = self._attached.error_output()
        if self._watch.killed and not self._killed:
            said = f"{said}\n{KILLED_BY_DAEMON}"
        elif not self._about.guarded and self._killed_by_nobody():
            said = f"{said}\n{KILLED_BY_SOMEBODY}"
        elif self._killed_by_nobody() and not self.out_of_memory():
            said = f"{said}\n{KILLED_FROM_OUTSIDE}"
        return said.lstrip()

    def _killed_by_nobody(self) -> bool:
        return self._watch.exit_status == _KILLED and not (self._killed or self._watch.killed)

    def close(self) -> None:
        """End the container and wait for its removal. Raises ``InfrastructureError`` if the daemon fails to remove
        it."""
        with self._closing:
            if self._gone:
                return
            until = time.monotonic() + _GRACE
            self._wire.close()
            # A daemon that cannot write the guest's output does not remove the container.
            self._attached.read_out(_GRACE)
            self._attached.close()
            if not self._watch.gone.wait(max(until - time.monotonic(), 0)):
                self._kill()
            self._gone = True
            self._events.forget(self.container)

    def _kill(self) -> None:
        self._killed = self._watch.exit_status is None
        try:
            docker_container.remove(self._client, self.container)
        except ApiError as error:
            raise InfrastructureError(
                f"the Docker daemon did not remove the sandbox {self.container[:12]}: {error}; "
                f"remove it with: docker rm -f {self.container[:12]}"
            ) from error
        # The "destroy" event is the last: any event about memory has arrived before it.
        if self._events.alive:
            self._watch.gone.wait(_GRACE)

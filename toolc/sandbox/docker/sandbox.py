"""One live container: the stream to its guest, and its end."""

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
"""Seconds after its stream is closed until a guest is killed."""

_KILLED: Final = 128 + 9

KILLED_BY_DAEMON: Final = "the Docker daemon killed it: somebody asked for that, or the daemon was stopped"
"""What is said of a container that came to such an end."""

KILLED_BY_SOMEBODY: Final = (
    "process 1 was killed: by the tool itself, or for want of memory of which the Docker daemon did not tell; to "
    'tell them apart, add "--oci-seccomp" to the runtimeArgs of gVisor in /etc/docker/daemon.json, and restart it'
)
"""The same where a tool can do that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container that was started: who its tool is, what it was made of, and when it was there and attached to.

    ``guarded``: nothing inside can kill process 1. ``kernel_kills``: how often its kernel had run out of memory
    before it was started; None where that is another kernel than ours.
    """

    id: str
    user: str
    image: ImageUsed
    created: float
    guarded: bool
    kernel_kills: int | None = None


class DockerSandbox:
    """A ``Sandbox`` (see ``toolc.sandbox.base``) that is a container."""

    def __init__(
        self,
        container: Container,
        *,
        client: Client,
        attached: AttachedStream,
        wire: GuestSocketStream | None,
        events: EventStream,
    ) -> None:
        """``wire`` is what its guest speaks on, None where that is the daemon's own stream, ``attached``."""
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
        """Who the tool is inside."""
        return self._about.user

    @property
    def image(self) -> ImageUsed:
        """What it was made of."""
        return self._about.image

    @property
    def created(self) -> float:
        """When the container was there and attached to."""
        return self._about.created

    def fileno(self) -> int:
        """The descriptor to poll; -1 once closed."""
        return self._wire.fileno()

    def read(self) -> bytes | None:
        """The guest's stdout: bytes, ``b""`` at the end, None when there is nothing yet."""
        return self._wire.read()

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now; how many bytes that was."""
        return self._wire.write(data)

    def out_of_memory(self) -> bool:
        """Whether the kernel killed anything in here for want of memory, by the daemon's events.

        The daemon does not always tell of it. Where nothing inside can kill process 1, that it died of a SIGKILL
        that nobody asked for says so too.
        """
        return self._watch.out_of_memory or (
            self._about.guarded and self._killed_by_nobody() and oom_kill_possible(self._about.kernel_kills)
        )

    def complaint(self) -> str:
        """The beginning of the guest's stderr, or that it was killed."""
        said = self._attached.complaint()
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
        """End the container and wait until it is gone. Raises ``InfrastructureError`` if the daemon will not."""
        with self._closing:
            if self._gone:
                return
            until = time.monotonic() + _GRACE
            self._wire.close()
            # A daemon that cannot get rid of what is said there removes nothing.
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
        # The daemon says "gone" last of all: what it has to say of memory is known by then.
        if self._events.alive:
            self._watch.gone.wait(_GRACE)

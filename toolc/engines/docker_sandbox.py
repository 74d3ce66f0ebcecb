"""One live container: its stream taken apart into the guest's two outputs, and its end."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass
from typing import Final

from toolc.engines import docker_container
from toolc.engines.base import ImageUsed
from toolc.engines.docker_events import Events, Watch
from toolc.engines.docker_http import ApiError, Client
from toolc.engines.oom import KILLED_FROM_OUTSIDE, may_have_killed
from toolc.engines.stream import SocketStream
from toolc.errors import InfrastructureError

_HEADER: Final = struct.Struct(">BxxxI")
"""The head of each piece: which output, and how many bytes (API reference, "Stream format")."""

_STDOUT: Final = 1
_STDERR: Final = 2
_COMPLAINT_BYTES: Final = 4096
_RECEIVES: Final = 16
"""How often one read looks for more: a guest that floods its stderr must not hold its caller."""

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


class Demultiplexer:
    """Cuts the daemon's stream into stdout, which it returns, and the beginning of stderr, which it keeps."""

    def __init__(self) -> None:
        self.complaint = bytearray()
        self._header = bytearray()
        self._output = 0
        self._left = 0

    def feed(self, data: bytes) -> bytes:
        """The bytes of stdout in what came next, in any pieces. Raises ``ValueError`` for another format."""
        if self._output == _STDOUT and self._left >= len(data):
            self._left -= len(data)
            return data
        stdout = bytearray()
        view = memoryview(data)
        while view:
            if self._left:
                piece, view = view[: self._left], view[self._left :]
                self._left -= len(piece)
                self._keep(piece, stdout)
                continue
            missing = _HEADER.size - len(self._header)
            self._header += view[:missing]
            view = view[missing:]
            if len(self._header) == _HEADER.size:
                self._output, self._left = _HEADER.unpack(self._header)
                self._header.clear()
                if self._output not in {_STDOUT, _STDERR}:
                    raise ValueError(f"a piece of output {self._output}")
        return bytes(stdout)

    def _keep(self, piece: memoryview, stdout: bytearray) -> None:
        if self._output == _STDOUT:
            stdout += piece
        else:
            self.complaint += piece[: _COMPLAINT_BYTES - len(self.complaint)]


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
    """A ``Sandbox`` (see ``toolc.engines.base``) that is a container."""

    def __init__(self, container: Container, *, client: Client, stream: socket.socket, events: Events) -> None:
        self.container = container.id
        self._about = container
        self._client = client
        self._stream = SocketStream(stream)
        self._events = events
        self._watch: Watch = events.watch(container.id)
        self._demultiplexer = Demultiplexer()
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
        return self._stream.fileno()

    def read(self) -> bytes | None:
        """The guest's stdout: bytes, ``b""`` at the end, None when there is nothing yet."""
        for _ in range(_RECEIVES):
            data = self._stream.read()
            if not data:
                return data
            try:
                if stdout := self._demultiplexer.feed(data):
                    return stdout
            except ValueError:
                return b""
        return None

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now; how many bytes that was."""
        return self._stream.write(data)

    def out_of_memory(self) -> bool:
        """Whether the kernel killed anything in here for want of memory, by the daemon's events.

        The daemon does not always tell of it. Where nothing inside can kill process 1, that it died of a SIGKILL
        that nobody asked for says so too.
        """
        return self._watch.out_of_memory or (
            self._about.guarded and self._killed_by_nobody() and may_have_killed(self._about.kernel_kills)
        )

    def complaint(self) -> str:
        """The beginning of the guest's stderr, or that it was killed."""
        said = self._demultiplexer.complaint.decode("utf-8", "replace")
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
            self._stream.close()
            if not self._watch.gone.wait(_GRACE):
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

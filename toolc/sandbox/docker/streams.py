"""A socket of toolc's own in a container, where calls connect somewhere and so have much to say.

What passes through the daemon's own stream is copied by two of its programs, 32 KiB at a time. So a folder with a
socket is bound into the container, and process 1 moves its stdin and stdout there before it does anything else.
The socket is closed, and its folder gone, once it has. Where it cannot connect (the daemon shows another folder,
or a security module forbids it) it says so on the daemon's stream, and stays there.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolc.guest.bundle import CANNOT_CONNECT
from toolc.guest.launch_args import NETWORK_ARGUMENT
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.base import SocketStream
from toolc.sandbox.docker.container_config import LocalImage, runtime_of
from toolc.sandbox.docker.daemon import Daemon
from toolc.sandbox.host.owner import Owner, dead_directories, shared_directory

_HEADER: Final = struct.Struct(">BxxxI")
"""The head of each piece: which output, and how many bytes (API reference, "Stream format")."""

_STDOUT: Final = 1
_STDERR: Final = 2
_COMPLAINT_BYTES: Final = 4096
_RECEIVES: Final = 16
"""How often one read looks for more: a guest that floods its stderr must not hold its caller."""


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


class AttachedStream(SocketStream):
    """What is written is the guest's stdin, what is read its stdout; its stderr is kept, as far as one needs it."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._demultiplexer = Demultiplexer()

    def read(self) -> bytes | None:
        """The guest's stdout: bytes, ``b""`` at the end, None when there is nothing yet."""
        for _ in range(_RECEIVES):
            data = super().read()
            if not data:
                return data
            try:
                if stdout := self._demultiplexer.feed(data):
                    return stdout
            except ValueError:
                return b""
        return None

    def read_out(self, seconds: float) -> None:
        """Hear what the guest still says on stderr, until the end of the stream or for so long; not once closed."""
        if self.fileno() < 0:
            return
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        deadline = time.monotonic() + seconds
        while self.read() != b"" and (left := deadline - time.monotonic()) > 0:
            poll.poll(left * 1000)

    def complaint(self) -> str:
        """The beginning of the guest's stderr, at most 4 KiB."""
        return self._demultiplexer.complaint.decode("utf-8", "replace")


FOLDER: Final = "/.toolc-wire"
"""Where it stands in the container."""

_NAME: Final = "wire"

ARGUMENT: Final = f"wire={FOLDER}/{_NAME}"
"""What process 1 is told of it (see ``toolc.guest.bundle``)."""

_NUMBERS: Final = itertools.count(1)


def is_of_use(profile: Profile, arguments: Sequence[str], daemon: Daemon) -> bool:
    """Whether a sandbox that is told ``arguments`` would gain by one, and nothing is known to stand in its way.

    A kernel of its own does not reach ours. Podman is left alone: it has SELinux mostly, which would note each try.
    """
    runtime = runtime_of(profile, daemon)
    return (
        NETWORK_ARGUMENT in arguments
        and runtime is not None
        and runtime.isolation == "namespace"
        and daemon.kernel == os.uname().release
        and not (daemon.podman or daemon.remaps_users or daemon.has_selinux)
    )


class GuestListener:
    """One container's socket, from before it is created until its process 1 has come; then it is to be closed."""

    def __init__(self, folder: Path) -> None:
        """Listen in ``folder``, which is empty, and gone once this is closed. Raises ``OSError``."""
        self._folder = folder
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listen()
        except OSError:
            self._socket.close()
            raise

    def _listen(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # An address has 107 bytes at most, whatever the folder is called (unix(7)).
            self._socket.bind(f"/proc/self/fd/{descriptor}/{_NAME}")
        finally:
            os.close(descriptor)
        self._folder.chmod(0o755)
        (self._folder / _NAME).chmod(0o666)
        self._socket.settimeout(0)
        self._socket.listen(1)

    def shown_in(self, image: LocalImage) -> LocalImage:
        """``image`` with this socket in its sandboxes."""
        return replace(image, binds=(*image.binds, (str(self._folder), FOLDER)))

    def fileno(self) -> int:
        """The descriptor to poll for somebody who comes."""
        return self._socket.fileno()

    def accept(self) -> socket.socket | None:
        """Who has come, if anybody. Raises ``InfrastructureError`` for want of a descriptor."""
        try:
            return self._socket.accept()[0]
        except BlockingIOError:
            return None
        except OSError as error:
            raise InfrastructureError(f"cannot speak to a sandbox: {error.strerror}") from error

    def close(self) -> None:
        """Nobody can connect any more, and nothing is left of it; twice is the same as once."""
        self._socket.close()
        with contextlib.suppress(OSError):
            (self._folder / _NAME).unlink()
        with contextlib.suppress(OSError):
            # Whoever has it mounted can read what it was called last: that need not be this process's label.
            self._folder = self._folder.rename(shared_directory() / f"{_NAME}-{os.urandom(8).hex()}")
        _remove(self._folder)


def listen() -> GuestListener | None:
    """A socket for a container that is to be created; None where there is no room for one.

    Nobody else passes through this process's own folder: it is reached by who is in the container, or is its user.
    """
    folder = Owner.current().directory() / f"{_NAME}-{next(_NUMBERS)}"
    with contextlib.suppress(OSError):
        folder.mkdir()
        try:
            return GuestListener(folder)
        except OSError:
            _remove(folder)
    return None


def remove_left() -> None:
    """Remove what owners that are proven dead had just made, or were about to remove."""
    for directory in (shared_directory(), *(each for _, each in dead_directories())):
        for folder in directory.glob(f"{_NAME}-*"):
            _remove(folder)


def _remove(folder: Path) -> None:
    # Without a descriptor: there may be none left.
    for remove, path in ((os.unlink, folder / _NAME), (os.rmdir, folder)):
        with contextlib.suppress(OSError):
            remove(path)


class GuestSocketStream:
    """The stream to a guest that was asked to connect, in the terms of ``toolc.sandbox.base.EngineSandbox``.

    It takes nothing until the guest has come, or has said that it cannot: then it is ``attached``.
    """

    def __init__(self, listener: GuestListener, attached: AttachedStream) -> None:
        self._listener = listener
        self._attached = attached
        self._stream: SocketStream | None = None
        self._either = select.epoll()
        for each in (listener, attached):
            self._either.register(each.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """The descriptor to poll, another one once the guest has come; -1 once closed."""
        if self._stream is not None:
            return self._stream.fileno()
        return -1 if self._either.closed else self._either.fileno()

    def read(self) -> bytes | None:
        """The guest's stdout: bytes, ``b""`` at the end, None when there is nothing yet."""
        if self._stream is not None:
            return self._stream.read()
        if (connection := self._listener.accept()) is not None:
            self._settle(SocketStream(connection))
            return None
        said = self._attached.read()
        if not said or not said.startswith(CANNOT_CONNECT):
            return said
        self._settle(self._attached)
        return said.removeprefix(CANNOT_CONNECT) or None

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now; how many bytes that was."""
        return self._stream.write(data) if self._stream is not None else 0

    def close(self) -> None:
        """End the stream; twice is the same as once."""
        self._listener.close()
        self._either.close()
        (self._stream or self._attached).close()

    def _settle(self, stream: SocketStream) -> None:
        self._stream = stream
        self._listener.close()
        self._either.close()

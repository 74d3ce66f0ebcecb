"""The streams to a guest: a socket in the container, or the daemon's attached stream if a socket does not work.

Two programs of the daemon copy its own stream, 32 KiB at a time, and each message wakes both. So toolc mounts a folder
with a socket into the container, and process 1 first moves its stdin and stdout to that socket. Then the listening
socket is closed and its folder removed. Other users cannot reach the socket, because its folder is in the start folder,
which only this user and root can enter. If process 1 cannot connect (because the daemon shows another folder, or a
security module forbids it), it reports this on the daemon's stream and keeps using that.
"""

import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS, CANNOT_CONNECT
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.docker.container_config import is_plain
from toolc.sandbox.docker.daemon import Daemon
from toolc.sandbox.host.programs import is_ready
from toolc.sandbox.host.start_folder import StartFolder
from toolc.sandbox.interface import SocketStream

_HEADER: Final = struct.Struct(">BxxxI")
"""The header of each frame: the output (stdout or stderr) and the byte count (API reference, "Stream format")."""

_STDOUT: Final = 1
_STDERR: Final = 2
_ERROR_BYTES: Final = 4096
"""How many bytes of stderr are kept. A traceback of the guest fits."""

_RECEIVES: Final = 16
"""The maximum number of receives in one read, so that a guest that floods its stderr does not block its caller."""

FOLDER: Final = "/.toolc-wire"
"""The folder of the socket in the container."""

_NAME: Final = "wire"

ARGUMENT: Final = f"wire={FOLDER}/{_NAME}"
"""The argument of process 1 with the path of the socket (see ``toolc.guest.bundle``)."""


class Demultiplexer:
    """Splits the daemon's stream into stdout, which is returned, and the beginning of stderr, which is kept."""

    def __init__(self) -> None:
        self.error_output = bytearray()
        self._header = bytearray()
        self._output = 0
        self._left = 0

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of stdout in ``data``, which may end in a frame. Raises ``ValueError`` for invalid data."""
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
            self.error_output += piece[: _ERROR_BYTES - len(self.error_output)]


class AttachedStream(SocketStream):
    """The daemon's stream. Writes go to the guest's stdin, and reads return its stdout. The start of stderr is kept."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._demultiplexer = Demultiplexer()

    def read(self) -> bytes | None:
        """Return bytes of the guest's stdout, ``b""`` at the end, None if there are none yet."""
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

    def drain(self, seconds: float) -> None:
        """Read the remaining stderr until the stream ends, at most for this time. Do nothing once closed."""
        if self.fileno() < 0:
            return
        deadline = time.monotonic() + seconds
        while self.read() != b"" and (left := deadline - time.monotonic()) > 0:
            is_ready(self.fileno(), left)

    def error_output(self) -> str:
        """Return the beginning of the guest's stderr, at most 4 KiB."""
        return self._demultiplexer.error_output.decode("utf-8", "replace")


def uses_socket(profile: Profile, arguments: Sequence[str], daemon: Daemon) -> bool:
    """Return whether process 1 with ``arguments`` is a guest that can probably reach a socket.

    A sandbox with another kernel cannot reach a socket of this kernel.
    """
    return any(word.endswith(BOOTSTRAP_ARGUMENTS[-1]) for word in arguments) and is_plain(profile, daemon)


class GuestListener:
    """The listening socket of one container. It is created before the container, and closed when process 1 connects."""

    def __init__(self, folder: Path) -> None:
        """Listen in ``folder``, which must not exist yet. ``close`` removes it. Raises ``OSError``."""
        self.folder = folder
        folder.mkdir()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listen()
        except OSError:
            self.close()
            raise

    def _listen(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # An address has at most 107 bytes, which the path of the folder may exceed (unix(7)).
            self._socket.bind(f"/proc/self/fd/{descriptor}/{_NAME}")
        finally:
            os.close(descriptor)
        self.folder.chmod(0o755)
        (self.folder / _NAME).chmod(0o666)
        self._socket.settimeout(0)
        self._socket.listen(1)

    def fileno(self) -> int:
        """Return the descriptor to poll for a connection."""
        return self._socket.fileno()

    def accept(self) -> socket.socket | None:
        """Return a new connection, or None if there is none. Raises ``InfrastructureError``."""
        try:
            return self._socket.accept()[0]
        except BlockingIOError:
            return None
        except OSError as error:
            raise InfrastructureError(
                f"cannot accept the connection of a sandbox: {error.strerror}; allow more open files (ulimit -n)"
            ) from error

    def close(self) -> None:
        """Stop listening and remove the folder. Repeated calls have no effect."""
        self._socket.close()
        # This needs no descriptor, because there may be none left.
        for remove, path in ((os.unlink, self.folder / _NAME), (os.rmdir, self.folder)):
            with contextlib.suppress(OSError):
                remove(path)


def listen(folder: StartFolder) -> GuestListener:
    """Return a socket in ``folder`` for a container that will be created. Raises ``StartFolderError``."""
    with folder.new() as path:
        return GuestListener(path)


class GuestSocketStream:
    """The stream to a guest that connects to a socket, with the methods of an ``EngineSandbox``.

    Nothing is sent until the guest has connected, or has reported that it cannot. If it cannot, it uses ``attached``.
    """

    def __init__(self, listener: GuestListener, attached: AttachedStream) -> None:
        self._listener = listener
        self._attached = attached
        self._stream: SocketStream | None = None
        self._either = select.epoll()
        for each in (listener, attached):
            self._either.register(each.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        """Return the descriptor to poll, which changes when the guest connects, or -1 once closed."""
        if self._stream is not None:
            return self._stream.fileno()
        return -1 if self._either.closed else self._either.fileno()

    def read(self) -> bytes | None:
        """Return bytes of the guest's stdout, ``b""`` at the end, None if there are none yet."""
        if self._stream is not None:
            return self._stream.read()
        if (connection := self._listener.accept()) is not None:
            self._switch_to(SocketStream(connection))
            return None
        data = self._attached.read()
        if not data or not data.startswith(CANNOT_CONNECT):
            return data
        self._switch_to(self._attached)
        return data.removeprefix(CANNOT_CONNECT) or None

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as fits now, and return the number of bytes sent."""
        return self._stream.write(data) if self._stream is not None else 0

    def shut_down(self) -> None:
        """End the stream in both directions."""
        (self._stream or self._attached).shut_down()

    def close(self) -> None:
        """Close the stream. Repeated calls have no effect."""
        self._listener.close()
        self._either.close()
        (self._stream or self._attached).close()

    def _switch_to(self, stream: SocketStream) -> None:
        self._stream = stream
        self._listener.close()
        self._either.close()

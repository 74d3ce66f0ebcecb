"""A socket of toolc's own in a container, where calls connect somewhere and so have much to say.

What passes through the daemon's own stream is copied by two of its programs, 32 KiB at a time. So a folder with a
socket is bound into the container, and process 1 moves its stdin and stdout there before it does anything else.
The socket is closed, and its folder gone, once it has. Where it cannot connect (the daemon shows another folder,
or a security module forbids it) it says so on the daemon's stream, and stays there.
"""

from __future__ import annotations

import itertools
import os
import select
import shutil
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolc.engines.docker_body import LocalImage, runtime_of
from toolc.engines.docker_daemon import Daemon
from toolc.engines.docker_stream import AttachedStream
from toolc.engines.owner import Owner, dead_directories
from toolc.guest.told import NETWORK_ARGUMENT
from toolc.plan import Profile

FOLDER: Final = "/wire"
"""Where it stands in the container."""

_NAME: Final = "wire"

ARGUMENT: Final = f"{_NAME}={FOLDER}/{_NAME}"
"""What process 1 is told of it (see ``toolc.guest.bundle``)."""

CONNECT_SECONDS: Final = 30.0
"""How long process 1 may take to connect, or to say that it cannot."""

_NUMBERS: Final = itertools.count(1)


def is_refused(message: str) -> bool:
    """Whether a daemon's words are about the folder: it has other files than we, or may not pass through to it."""
    return f"/{_NAME}" in message


def remove_left() -> None:
    """Remove what owners that are proven dead had just made."""
    for _, folder in dead_directories():
        for left in folder.glob(f"{_NAME}-*"):
            shutil.rmtree(left, ignore_errors=True)


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


class NoSocketError(Exception):
    """It cannot be made here, or the daemon cannot show it: the container is to do without."""


class WireSocket:
    """One container's socket, from before it is created until its process 1 has come; then it is to be closed."""

    def __init__(self) -> None:
        """Listen. Raises ``NoSocketError``."""
        # Nobody else passes through the owner's folder: only who is in the container reaches it.
        self.folder = Owner.current().directory() / f"{_NAME}-{next(_NUMBERS)}"
        try:
            self.folder.mkdir()
        except OSError as error:
            raise NoSocketError from error
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listen()
        except OSError as error:
            self.close()
            raise NoSocketError from error

    def _listen(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # An address has 107 bytes at most, whatever the folder is called (unix(7)).
            self._listener.bind(f"/proc/self/fd/{descriptor}/{_NAME}")
        finally:
            os.close(descriptor)
        self.folder.chmod(0o755)
        (self.folder / _NAME).chmod(0o666)
        self._listener.listen(1)

    def shown_in(self, image: LocalImage) -> LocalImage:
        """``image`` with this socket in its sandboxes."""
        return replace(image, binds=(*image.binds, (str(self.folder), FOLDER)))

    def accept(self, attached: AttachedStream) -> socket.socket | None:
        """The connection of a container that was started; None where it speaks through ``attached``, or is dead."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(attached.fileno(), select.POLLIN)
        deadline = time.monotonic() + CONNECT_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000)}
            if self._listener.fileno() in ready:
                return self._listener.accept()[0]
            if attached.fileno() in ready and attached.read() is not None:
                return None
        return None

    def close(self) -> None:
        """Nobody can connect any more, and nothing is left of it; twice is the same as once."""
        self._listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

"""Let other processes of this user inspect the pool of this process, for ``toolc doctor``.

A process with warm sandboxes listens on a socket in its runtime folder, which only its user can enter. Each client gets
one JSON object.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, parse_json
from toolc.sandbox.host.owner import Owner, directories

NAME: Final = "pool"
"""The name of the socket."""

SECONDS: Final = 10.0
"""How long a process may take to answer, in seconds. On a busy machine, stopping many sandboxes takes seconds."""

_ANSWER_BYTES: Final = 4096
"""The maximum size of an answer, in bytes. It is a line of JSON with a few numbers."""


class ControlSocket:
    """The socket of this process. ``serve`` answers its clients."""

    def __init__(self) -> None:
        """Listen. Raises ``OSError`` and ``InfrastructureError``."""
        self._path = Owner.current().directory() / NAME
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with _short_path(self._path) as address:
                self._socket.bind(address)
            self._socket.settimeout(0)
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a client connects."""
        return self._socket.fileno()

    def serve(self, report: Callable[[], JsonObject]) -> None:
        """Answer a client, if there is one. A client that has ended or is slow gets no answer."""
        with suppress(OSError), closing(self._socket.accept()[0]) as connection:
            connection.settimeout(1.0)
            connection.sendall(json.dumps(report()).encode())

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Close the descriptor in a forked child. The parent still listens."""
        self._socket.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """The state of a process's pool: how many sandboxes wait, and how much memory they use."""

    owner: Owner
    waiting: int
    memory_bytes: int


def reports() -> Iterator[PoolReport]:
    """Yield a report for each process of this user with waiting sandboxes."""
    for owner, folder in directories():
        if not owner.is_stale() and (answer := _ask(folder)):
            waiting, memory = answer.get("waiting"), answer.get("memory_bytes")
            if isinstance(waiting, int) and isinstance(memory, int) and waiting:
                yield PoolReport(owner=owner, waiting=waiting, memory_bytes=memory)


def _ask(folder: Path) -> JsonObject | None:
    """Return the answer of a process, or None if it has no pool or does not answer."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(SECONDS)
            with _short_path(folder / NAME) as address:
                connection.connect(address)
            answer = parse_json(connection.recv(_ANSWER_BYTES))
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None


@contextmanager
def _short_path(path: Path) -> Iterator[str]:
    """Yield an address for a socket at ``path``, which may be longer than the 107 bytes of an address (unix(7))."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)

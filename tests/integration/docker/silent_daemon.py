"""A proxy of the real daemon that can drop responses and replace words."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self


class SilentDaemon:
    """A context manager. ``swallow``: a regular expression for request lines that get no response.

    ``reword`` replaces a request by another of the same length.
    """

    def __init__(self, path: Path, upstream: str) -> None:
        self.path = str(path)
        self.swallow: str | None = None
        self.swallowed: list[str] = []
        self.reword: Callable[[bytes], bytes] = bytes
        self._upstream = upstream
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(64)
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._over = False
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            for each in (self._listener, *self._open):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX)
            with self._lock:
                # A request that arrived late, whose client has closed its connection.
                if self._over:
                    client.close()
                    daemon.close()
                    return
                daemon.connect(self._upstream)
                self._open += [client, daemon]
            threading.Thread(target=self._serve, args=(client, daemon), daemon=True).start()

    def _serve(self, client: socket.socket, daemon: socket.socket) -> None:
        """Forward one request; drop its response if the request line matches."""
        with contextlib.suppress(OSError):
            first = client.recv(65536)
            request = first.split(b"\r\n", 1)[0].decode("latin-1")
            daemon.sendall(self.reword(first))
            if self.swallow and re.search(self.swallow, request):
                self.swallowed.append(request)
                return
            threading.Thread(target=_pump, args=(client, daemon), daemon=True).start()
            _pump(daemon, client)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

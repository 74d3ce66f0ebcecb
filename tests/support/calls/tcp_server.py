"""A TCP server of a test: a function that serves one connection."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

SECONDS: Final = 60.0
"""The timeout of each connection."""


@contextmanager
def tcp(serve: Callable[[socket.socket], object], address: str = "127.0.0.1") -> Iterator[int]:
    """Yield the port of a server that calls ``serve`` with each connection on a separate thread."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, 0), family=family, backlog=512)
    threads: list[threading.Thread] = []

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            serve(connection)

    def loop() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(SECONDS)
                threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=loop, daemon=True)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (accepting, *threads):
            thread.join(SECONDS)

"""Serve MCP over stdin and stdout of this process.

The input ends when the client closes the connection, and on SIGTERM and Ctrl-C. The SDK then cancels the running calls,
and each of them waits until its sandbox has been removed.
"""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import TaskStatus
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def serve_stdio(server: Server[dict[str, Any]]) -> None:
    """Serve until the input ends. After Ctrl-C, raise ``KeyboardInterrupt`` once every call has ended.

    Meanwhile, descriptor 0 of the process is empty and descriptor 1 is its stderr, so that only the protocol is written
    to the client. A second signal ends the process immediately.
    """
    received = anyio.run(_serve, server)
    if received == signal.SIGINT:
        raise KeyboardInterrupt


async def _serve(server: Server[dict[str, Any]]) -> int | None:
    incoming = _Input(_claim(0, os.open(os.devnull, os.O_RDONLY)))
    output = _Output(_claim(1, os.dup(2)), on_closed=incoming.end)
    outgoing = io.TextIOWrapper(output, encoding="utf-8", newline="\n", write_through=True)  # type: ignore[type-var]
    received: list[int] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, incoming, received)
        async with stdio_server(anyio.wrap_file(incoming.lines), anyio.wrap_file(outgoing)) as (read, write):
            await server.run(read, write, server.create_initialization_options())
            incoming.end()
        tasks.cancel_scope.cancel()
    incoming.lines.close()
    return received[0] if received else None


async def _end_on_signal(
    incoming: _Input, received: list[int], *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            received.append(number)
            incoming.end()
            return


def _claim(descriptor: int, instead: int) -> int:
    """Return a private copy of a standard descriptor, and replace the original with ``instead``."""
    private = os.dup(descriptor)
    os.dup2(instead, descriptor)
    os.close(instead)
    return private


class _Input:
    """The lines of a descriptor. ``end`` works even while a thread waits for the next line.

    A read from a pipe cannot be interrupted, so a daemon thread forwards the data to a socket pair, which can.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        receiver, self._sender = socket.socketpair()
        with receiver:
            self.lines = receiver.makefile("r", encoding="utf-8", errors="replace", newline="\n")
        threading.Thread(target=self._forward, daemon=True, name="stdin").start()

    def end(self) -> None:
        """End the input. Has no effect if it has already ended."""
        with suppress(OSError):
            self._sender.shutdown(socket.SHUT_WR)

    def _forward(self) -> None:
        with suppress(OSError):
            while data := os.read(self._descriptor, 64 * 1024):
                self._sender.sendall(data)
        self.end()


class _Output(io.RawIOBase):
    """Writes to a descriptor. If its reader has closed it, calls ``on_closed`` and discards further output."""

    def __init__(self, descriptor: int, *, on_closed: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_closed = on_closed

    def writable(self) -> bool:
        """Return True, because the stream is writable."""
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]  # the text layer passes only bytes
        """Write all of ``data``, because the text layer above ignores the number of bytes written."""
        left = memoryview(data)
        size = len(left)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            self._on_closed()
        return size

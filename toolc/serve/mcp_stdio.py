"""Serve MCP over stdin and stdout of this process, and answer the lines that the SDK would ignore.

The input ends when the client closes the connection, on SIGTERM, and on Ctrl-C. The SDK then cancels the running calls.
Each waits until its sandbox has been removed.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, Final

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream, TaskStatus
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from mcp_types.methods import SPEC_CLIENT_NOTIFICATION_METHODS

from toolc.backends.plugin_protocol import encode_line
from toolc.serve.input_lines import read_lines
from toolc.serve.mcp_messages import Refusal, read_messages

_LOG: Final = logging.getLogger("toolc.serve")


def serve_stdio(server: Server[dict[str, Any]]) -> None:
    """Serve until the input ends. After Ctrl-C, raise ``KeyboardInterrupt`` once every call has ended.

    Meanwhile, descriptor 0 of the process is empty and descriptor 1 is stderr, so that the client receives nothing but
    the protocol. A second signal ends the process immediately.
    """
    received = anyio.run(_serve, server)
    if received == signal.SIGINT:
        raise KeyboardInterrupt


async def _serve(server: Server[dict[str, Any]]) -> int | None:
    incoming = _Input(_claim(0, os.open(os.devnull, os.O_RDONLY)))
    output = _Output(_claim(1, os.dup(2)), on_closed=incoming.end)
    to_server, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
    responses, from_server = anyio.create_memory_object_stream[SessionMessage]()
    connection = _Connection(output)
    received: list[int] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, incoming, received)
        async with anyio.create_task_group() as transport:
            transport.start_soon(connection.read, incoming.lines, to_server)
            transport.start_soon(connection.write, from_server)
            await server.run(requests, responses, server.create_initialization_options())
            incoming.end()
        tasks.cancel_scope.cancel()
    incoming.lines.close()
    return received[0] if received else None


class _Connection:
    """The messages of one client. Answers and logs invalid messages, and logs messages without effect."""

    def __init__(self, output: _Output) -> None:
        self._output = output
        self._writing = anyio.Lock()
        self._asked: set[RequestId | None] = set()  # the requests to the client that it has not answered yet

    async def read(self, stream: BinaryIO, to_server: ObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass the client's messages to the server until ``stream`` ends."""
        lines = read_lines(stream)
        async with to_server:
            while (line := await anyio.to_thread.run_sync(next, lines, None)) is not None:
                for message in read_messages(line.data, is_whole=line.is_whole):
                    if isinstance(message, Refusal):
                        _LOG.warning("an invalid message from the client: %s", message.reason)
                        if not message.is_response:
                            await self._send(message.answer())
                    elif not (reason := self._reason_to_drop(message)):
                        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server has ended
                            await to_server.send(SessionMessage(message))
                    else:
                        _LOG.warning("ignored a message from the client: %s", reason)

    def _reason_to_drop(self, message: JSONRPCMessage) -> str:
        """Return the reason why the SDK would silently ignore a message, or an empty string."""
        if isinstance(message, JSONRPCNotification):
            is_known = message.method in SPEC_CLIENT_NOTIFICATION_METHODS
            return "" if is_known else f"the notification {message.method!r:.80} is unknown"
        if isinstance(message, JSONRPCRequest):
            return ""
        is_expected = message.id in self._asked
        self._asked.discard(message.id)
        return "" if is_expected else f"no request with the id {message.id!r:.80} waits for a response"

    async def write(self, from_server: ObjectReceiveStream[SessionMessage]) -> None:
        """Write the server's messages until it ends."""
        async with from_server:
            async for each in from_server:
                message = each.message
                if isinstance(message, JSONRPCRequest):
                    self._asked.add(message.id)
                await self._send(_line(message))

    async def _send(self, line: bytes) -> None:
        async with self._writing:
            await anyio.to_thread.run_sync(self._output.write, line)


def _line(message: JSONRPCMessage) -> bytes:
    """Return the line for a message of the server, or for an error if JSON cannot represent the message."""
    try:
        return encode_line(message.model_dump(by_alias=True, exclude_unset=True))
    except (ValueError, TypeError, RecursionError) as error:
        _LOG.warning("a message to the client could not be written: %s", error)
        request_id = json.dumps(message.id) if isinstance(message, JSONRPCResponse | JSONRPCError) else "null"
        return Refusal(INTERNAL_ERROR, "the response cannot be written as JSON", request_id).answer()


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
            self.lines = receiver.makefile("rb")
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


class _Output:
    """Writes to a descriptor. If the reader has closed it, calls ``on_closed`` and discards further output."""

    def __init__(self, descriptor: int, *, on_closed: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_closed = on_closed

    def write(self, data: bytes) -> None:
        """Write all of ``data``."""
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            self._on_closed()

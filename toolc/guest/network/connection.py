"""A program's connection to a listener of the sandbox, and its stream to the host. No operation blocks."""

from __future__ import annotations

import json
import socket
import struct
from contextlib import suppress

from toolc.guest import frames
from toolc.guest.flow_control import FlowWindow
from toolc.guest.frames import CLOSE, DATA, END, FIRST_WINDOW, MAX_DATA, MAX_PAYLOAD, WINDOW, FrameError, encode
from toolc.guest.network.proxy import HandshakeError, ProxyHandshake, RequestHandshake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Union

    from toolc.guest.frames import Payload

    Handshake = Union[ProxyHandshake, RequestHandshake]

MAX_READS = 4
"""The maximum number of consecutive reads from one program before other connections are served.

With a maximum of one, each piece of an upload would wait for all other connections.
"""

RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which closing the socket sends a reset."""


class GuestConnection:
    """The connection of one program. ``sock`` is None after the program's side has closed.

    With a ``handshake``, the program first sends the address to connect to. After the request to the host,
    ``is_open`` is true, and ``stream`` is the connection's stream number, taken from ``numbers``. ``buffer`` is the
    read buffer of ``MAX_DATA`` bytes that all connections share.
    """

    def __init__(
        self, numbers: Iterator[int], sock: socket.socket, handshake: Handshake | None, buffer: memoryview
    ) -> None:
        self._numbers = numbers
        self._buffer = buffer
        self.stream = 0
        self.sock: socket.socket | None = sock
        self.fd = sock.fileno()
        self.is_open = False
        self.close_sent = False
        self._close_received = False
        self._handshake = handshake
        self._refused = False
        self._has_responded = False
        self._response = b""
        self._response_left = 0
        self._flow = FlowWindow()
        self._host_window = FIRST_WINDOW
        self._to_program = bytearray()
        self._first = b""
        self._program_ended = self._host_ended = self._finished = False

    @property
    def is_closed(self) -> bool:
        """Whether both sides are closed."""
        return self.sock is None and (not self.is_open or (self.close_sent and self._close_received))

    @property
    def is_forwarded(self) -> bool:
        """Whether all data from the program was forwarded."""
        return self.sock is None or (self._program_ended and not self._first)

    @property
    def wants_read(self) -> bool:
        """Whether to read from the program."""
        return not self._program_ended and (self._host_window > 0 or not self.is_open or self._refused)

    @property
    def wants_write(self) -> bool:
        """Whether there is data for the program."""
        return bool(self._to_program)

    def open(self, kind: int, message: dict[str, object], first: bytes, out: bytearray) -> None:
        """Request a connection from the host, and have it send ``first``."""
        self.is_open = True
        self.stream = next(self._numbers)
        self._first = first
        out += encode(kind, self.stream, json.dumps(message).encode())
        self._send_first(out)

    def adopt(self, response: bytes) -> None:
        """Use a connection that the host opened without a request. The program receives ``response`` first."""
        self.is_open = True
        self.stream = next(self._numbers)
        self._response = response

    def receive(self, kind: int, payload: Payload, out: bytearray, target: int) -> None:
        """Process a frame from the host. Raises ``FrameError``."""
        if kind == CLOSE:
            self._close_received = True
            self._handle_close(json.loads(bytes(payload)), out)
        elif kind == WINDOW:
            self._host_window += int(payload)
            self._send_first(out)
            self._close_ended(out)
        elif kind == DATA:
            if not self._flow.spend(len(payload)):
                raise FrameError("more data on connection %d than its window allows" % self.stream)
            if not self.close_sent and self.sock is not None:
                self._deliver(payload, out, target)
        elif kind == END:
            self._host_ended = True
            self.write(out, target)
        elif kind == frames.OPENED:
            self._has_responded = True
            self._to_program += self._response
            self._response_left = len(self._response)
            self.write(out, target)
        else:
            raise FrameError("unexpected frame of type %d on connection %d" % (kind, self.stream))

    def read(self, out: bytearray) -> None:
        """Forward data from the program."""
        for _ in range(MAX_READS):
            if self.sock is None or not self.wants_read:
                return
            try:
                no_window = not self.is_open or self._refused
                size = self.sock.recv_into(self._buffer, MAX_PAYLOAD if no_window else min(MAX_DATA, self._host_window))
            except BlockingIOError:
                return
            except OSError:
                self._abort(out)
                return
            if not size:
                self._program_ended = True
                if self.is_open and not self._first:
                    self._send_frame(END, b"", out)
                self._close_ended(out)
            elif self._refused:
                continue
            elif not self.is_open:
                self._read_handshake(bytes(self._buffer[:size]), out)
            else:
                self._host_window -= size
                out += frames.HEADER.pack(size, DATA, self.stream)
                out += self._buffer[:size]

    def write(self, out: bytearray, target: int) -> None:
        """Send buffered data to the program, as much as it accepts now."""
        if self._to_program:
            del self._to_program[: self._send(self._to_program, out, target)]
        self._close_ended(out)

    def _deliver(self, payload: Payload, out: bytearray, target: int) -> None:
        """Send data to the program directly. Buffer only the data that it does not accept now."""
        sent = 0 if self._to_program else self._send(payload, out, target)
        if sent < len(payload) and self.sock is not None:
            self._to_program += payload[sent:]

    def _send(self, data: Union[Payload, bytearray], out: bytearray, target: int) -> int:
        if self.sock is None:
            return 0
        try:
            sent = self.sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._abort(out)
            return 0
        # The response is generated here, so it does not count against the host's window.
        generated = min(sent, self._response_left)
        self._response_left -= generated
        granted = self._flow.release(sent - generated, target)
        if granted and not self._host_ended:
            self._send_frame(WINDOW, b"%d" % granted, out)
        return sent

    def _read_handshake(self, data: bytes, out: bytearray) -> None:
        """Process the program's request for a connection."""
        assert self._handshake is not None
        try:
            request = self._handshake.feed(data)
        except HandshakeError as error:
            self._refuse("bad", str(error), out)
            return
        if request is not None:
            self._response = request.response
            self.open(request.kind, request.message, request.first, out)

    def _send_first(self, out: bytearray) -> None:
        while self._first and self._host_window:
            piece = self._first[: min(MAX_PAYLOAD, self._host_window)]
            self._first = self._first[len(piece) :]
            self._host_window -= len(piece)
            self._send_frame(DATA, piece, out)
            if self._program_ended and not self._first:
                self._send_frame(END, b"", out)

    def _handle_close(self, message: dict[str, str], out: bytearray) -> None:
        """Process the host's CLOSE."""
        if self.sock is None:
            self._send_close(out)
        elif "reason" not in message:
            self._host_ended = True
            self._close_ended(out)
        elif self._handshake is not None and not self._has_responded:
            self._send_close(out)
            self._refuse(message.get("kind", ""), message["reason"], out)
        else:
            self._abort(out)

    def _refuse(self, kind: str, reason: str, out: bytearray) -> None:
        """Send an error to a proxy client, then read the rest of its data. Closing at once could discard the error."""
        assert self._handshake is not None
        self._refused = self._host_ended = True
        self._to_program += self._handshake.error_response(kind, reason)
        self.write(out, FIRST_WINDOW)

    def _close_ended(self, out: bytearray) -> None:
        """Shut down the directions that have ended, after all data for the program was sent."""
        if self.sock is None or self._to_program:
            return
        if self._host_ended and not self._finished:
            self._finished = True
            with suppress(OSError):  # the program may have closed it already
                self.sock.shutdown(socket.SHUT_WR)
        if self._program_ended and (self._finished or not self.is_open) and not self._first:
            self._shut()
            self._send_close(out)

    def _abort(self, out: bytearray) -> None:
        if self.sock is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._shut()
        self._send_close(out)

    def _shut(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        self._to_program.clear()

    def _send_close(self, out: bytearray) -> None:
        if self.is_open and not self.close_sent:
            self.close_sent = True
            out += encode(CLOSE, self.stream, b"{}")

    def _send_frame(self, kind: int, payload: bytes, out: bytearray) -> None:
        if not self.close_sent:
            out += encode(kind, self.stream, payload)

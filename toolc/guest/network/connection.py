"""A program's connection to a listener of the sandbox, and its stream to the host. No operation blocks."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Union

from toolc.guest.flow_control import FlowWindow
from toolc.guest.frames import (
    CLOSE,
    DATA,
    END,
    FIRST_WINDOW,
    HEADER,
    MAX_DATA,
    MAX_PAYLOAD,
    OPENED,
    WINDOW,
    FrameError,
    Payload,
    encode,
)
from toolc.guest.network.proxy import GreetingError, ProxyHandshake, RequestGreeting

Greeting = Union[ProxyHandshake, RequestGreeting]

TURNS = 4
"""How many reads one program may have before other connections are served."""

RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: closing the socket then sends a reset."""


class GuestConnection:
    """The connection of one program. ``sock`` is None after the program's side has closed.

    With a ``greeting`` the program first sends the address to connect to. After the request to the host
    ``is_open`` is true and ``stream`` is the connection's stream number, taken from ``numbers``. ``room`` is the
    read buffer of ``MAX_DATA`` bytes that all connections share.
    """

    def __init__(
        self, numbers: Iterator[int], sock: socket.socket, greeting: Greeting | None, room: memoryview
    ) -> None:
        self._numbers = numbers
        self._room = room
        self.stream = 0
        self.sock: socket.socket | None = sock
        self.fd = sock.fileno()
        self.is_open = False
        self.close_sent = False
        self._close_received = False
        self._greeting = greeting
        self._refused = False
        self._answered = False
        self._answer = b""
        self._answer_left = 0
        self._credit = FlowWindow()
        self._host_takes = FIRST_WINDOW
        self._to_program = bytearray()
        self._first = b""
        self._program_ended = self._host_ended = self._finished = False

    @property
    def is_gone(self) -> bool:
        """Whether both sides are closed."""
        return self.sock is None and (not self.is_open or (self.close_sent and self._close_received))

    @property
    def is_heard(self) -> bool:
        """Whether all data from the program was forwarded."""
        return self.sock is None or (self._program_ended and not self._first)

    @property
    def wants_read(self) -> bool:
        """Whether to read from the program."""
        return not self._program_ended and (self._host_takes > 0 or not self.is_open or self._refused)

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

    def expect(self, answer: bytes) -> None:
        """Register a connection opened by the host without a request; send ``answer`` to the program first."""
        self.is_open = True
        self.stream = next(self._numbers)
        self._answer = answer

    def take(self, kind: int, payload: Payload, out: bytearray, wanted: int) -> None:
        """Process a frame from the host. Raise ``FrameError``."""
        if kind == CLOSE:
            self._close_received = True
            self._end(json.loads(bytes(payload)), out)
        elif kind == WINDOW:
            self._host_takes += int(payload)
            self._send_first(out)
            self._settle(out)
        elif kind == DATA:
            if not self._credit.spend(len(payload)):
                raise FrameError("data of connection %d beyond its window" % self.stream)
            if not self.close_sent and self.sock is not None:
                self._give(payload, out, wanted)
        elif kind == END:
            self._host_ended = True
            self.write(out, wanted)
        elif kind == OPENED:
            self._answered = True
            self._to_program += self._answer
            self._answer_left = len(self._answer)
            self.write(out, wanted)
        else:
            raise FrameError("frame of type %d on connection %d" % (kind, self.stream))

    def read(self, out: bytearray) -> None:
        """Forward data from the program."""
        for _ in range(TURNS):
            if self.sock is None or not self.wants_read:
                return
            try:
                heard = not self.is_open or self._refused
                size = self.sock.recv_into(self._room, MAX_PAYLOAD if heard else min(MAX_DATA, self._host_takes))
            except BlockingIOError:
                return
            except OSError:
                self._abort(out)
                return
            if not size:
                self._program_ended = True
                if self.is_open and not self._first:
                    self._say(END, b"", out)
                self._settle(out)
            elif self._refused:
                continue
            elif not self.is_open:
                self.greet(bytes(self._room[:size]), out)
            else:
                self._host_takes -= size
                out += HEADER.pack(size, DATA, self.stream)
                out += self._room[:size]

    def write(self, out: bytearray, wanted: int) -> None:
        """Send buffered data to the program, as much as it accepts now."""
        if self._to_program:
            del self._to_program[: self._send(self._to_program, out, wanted)]
        self._settle(out)

    def _give(self, payload: Payload, out: bytearray, wanted: int) -> None:
        """Send data to the program directly, and buffer only the rest."""
        sent = 0 if self._to_program else self._send(payload, out, wanted)
        if sent < len(payload) and self.sock is not None:
            self._to_program += payload[sent:]

    def _send(self, data: Union[Payload, bytearray], out: bytearray, wanted: int) -> int:
        if self.sock is None:
            return 0
        try:
            sent = self.sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._abort(out)
            return 0
        # The answer is generated here, so it does not count against the host's window.
        own = min(sent, self._answer_left)
        self._answer_left -= own
        granted = self._credit.give_back(sent - own, wanted)
        if granted and not self._host_ended:
            self._say(WINDOW, b"%d" % granted, out)
        return sent

    def greet(self, data: bytes, out: bytearray) -> None:
        """Process the program's request for a connection."""
        assert self._greeting is not None
        try:
            greeted = self._greeting.feed(data)
        except GreetingError as error:
            self._refuse("bad", str(error), out)
            return
        if greeted is not None:
            self._answer = greeted.answer
            self.open(greeted.kind, greeted.message, greeted.first, out)

    def _send_first(self, out: bytearray) -> None:
        while self._first and self._host_takes:
            piece = self._first[: min(MAX_PAYLOAD, self._host_takes)]
            self._first = self._first[len(piece) :]
            self._host_takes -= len(piece)
            self._say(DATA, piece, out)
            if self._program_ended and not self._first:
                self._say(END, b"", out)

    def _end(self, message: dict[str, str], out: bytearray) -> None:
        """Process the host's CLOSE."""
        if self.sock is None:
            self._say_close(out)
        elif "reason" not in message:
            self._host_ended = True
            self._settle(out)
        elif self._greeting is not None and not self._answered:
            self._say_close(out)
            self._refuse(message.get("kind", ""), message["reason"], out)
        else:
            self._abort(out)

    def _refuse(self, kind: str, reason: str, out: bytearray) -> None:
        """Send a refusal to a proxy client and read the rest of its data; closing earlier could discard the
        refusal.
        """
        assert self._greeting is not None
        self._refused = self._host_ended = True
        self._to_program += self._greeting.refusal(kind, reason)
        self.write(out, FIRST_WINDOW)

    def _settle(self, out: bytearray) -> None:
        """Shut down the directions that have ended, after all data for the program was sent."""
        if self.sock is None or self._to_program:
            return
        if self._host_ended and not self._finished:
            self._finished = True
            with suppress(OSError):  # the program may have closed it already
                self.sock.shutdown(socket.SHUT_WR)
        if self._program_ended and (self._finished or not self.is_open) and not self._first:
            self._shut()
            self._say_close(out)

    def _abort(self, out: bytearray) -> None:
        if self.sock is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._shut()
        self._say_close(out)

    def _shut(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        self._to_program.clear()

    def _say_close(self, out: bytearray) -> None:
        if self.is_open and not self.close_sent:
            self.close_sent = True
            out += encode(CLOSE, self.stream, b"{}")

    def _say(self, kind: int, payload: bytes, out: bytearray) -> None:
        if not self.close_sent:
            out += encode(kind, self.stream, payload)

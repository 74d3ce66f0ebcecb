"""The protocol between host and guest: length-prefixed frames on one bidirectional byte stream.

::

    u32 payload length | u8 type | u32 stream | payload (at most 64 KiB; of DATA 256 KiB)        big endian

Before any frame, the host sends a u32 length and that many bytes: the guest's bundle (see
``toolc.guest.bundle``). Then:

======== ====== ========== =============================================================================
type     sender stream     payload
======== ====== ========== =============================================================================
READY    guest  0          JSON: ``python``, and ``workspace`` (``toolc.guest.launch_args``); ready for a call
READY    host   0          empty, before CALL: asks the guest for another READY, if it is still ready
PART     both   0          a part of a control message that is longer than one frame
CALL     host   0          ``marshal``, the last part; everything about the call (see ``toolc.guest.job``)
STOP     host   0          empty, after CALL: kill the processes of the call and send only EXIT from now on
DATA     both   1 2 3 4 5  raw bytes of stdin (host), or of stdout, stderr, reply and updates (guest)
END      both   1 2 3 4 5  no more DATA on this stream
WINDOW   both   1 2 3 4 5  JSON number: the additional bytes that may be sent on this stream
PROGRESS guest  0          JSON ``{"percent": 40.0 | null, "message": "..."}``; Python calls only
EXIT     guest  0          JSON, the last frame: how the call ended (see ``toolc.guest.supervisor``)
======== ====== ========== =============================================================================

The CALL of a session starts the process that serves its calls: a plugin, ``toolc.guest.session`` or
``toolc.guest.programs.program_server``. This process reads the calls from stdin, and EXIT reports its end.

Streams from ``FIRST_CONNECTION`` on are connections to servers. The guest chooses their numbers and does not
reuse them. If the CALL of an HTTP tool has ``is_begun``, the host has already opened the first connection:

======== ====== ===============================================================================================
type     sender payload
======== ====== ===============================================================================================
OPEN     guest  JSON ``{"host": "api.example.com", "port": 443}``, the first frame: the server to connect to
REQUEST  guest  JSON, the first frame instead of OPEN: an HTTP request for the host to send
OPENED   host   empty: the server is connected
DATA     both   raw bytes
END      both   no more DATA in this direction
WINDOW   both   JSON number: the additional bytes that may be sent beyond ``FIRST_WINDOW``
CLOSE    both   JSON, the last frame of its sender: ``{}``, or ``{"reason": "...", "kind": "denied"}``
======== ====== ===============================================================================================

The receiver of a CLOSE answers with a CLOSE, unless it has already sent one. The connection is then closed.

The sender of a stream may have at most ``WINDOW_BYTES`` unacknowledged bytes in transit. The receiver sends
WINDOW as it consumes data. If the host closes the byte stream, the sandbox ends.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False  # the module typing takes as long to import as Python takes to start
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeVar, Union

    Payload = Union[bytes, memoryview]
    Data = TypeVar("Data", bytes, memoryview)

HEADER = struct.Struct(">IBI")
LENGTH = struct.Struct(">I")
MAX_PAYLOAD = 64 * 1024
MAX_DATA = 256 * 1024
MAX_CONTROL = 64 * 1024 * 1024
WINDOW_BYTES = 1024 * 1024
"""The maximum sizes, in bytes: a frame other than DATA, a DATA frame, a CALL with all files of a tool, and a window.

The host keeps DATA frames and windows in memory. Larger ones would not make transfers faster.
"""

FIRST_CONNECTION = 16
"""The number of the first connection. Smaller numbers are the streams of a call."""

FIRST_WINDOW = 64 * 1024
"""The initial window of a new connection, in bytes. It can grow up to ``WINDOW_BYTES``, as on other streams."""

MAX_CONNECTIONS = 256
"""The maximum number of simultaneous connections of a sandbox, including those that are closing.

Chromium opens no more than this, and each connection is a socket on the host.
"""

READY, PART, CALL, DATA, END, WINDOW, PROGRESS, EXIT, STOP = range(1, 10)
OPEN, REQUEST, OPENED, CLOSE = range(10, 14)
STDIN, STDOUT, STDERR, REPLY, YIELDED = range(1, 6)

Frame = tuple[int, int, bytes]
"""Type, stream, payload."""


class FrameError(ValueError):
    """Received bytes that do not follow the protocol. Reading cannot continue after this error."""


def encode(kind: int, stream: int = 0, payload: bytes = b"") -> bytes:
    """Return a message as bytes: one frame, or PART frames and a last frame for a long control message.

    If ``stream`` is not 0, ``payload`` has at most ``MAX_PAYLOAD`` bytes, or ``MAX_DATA`` bytes for DATA.
    """
    last = max(0, len(payload) - 1) // MAX_PAYLOAD * MAX_PAYLOAD if stream == 0 else 0
    parts = [HEADER.pack(MAX_PAYLOAD, PART, 0) + payload[at : at + MAX_PAYLOAD] for at in range(0, last, MAX_PAYLOAD)]
    return b"".join((*parts, HEADER.pack(len(payload) - last, kind, stream), payload[last:]))


def _is_known(kind: int, stream: int) -> bool:
    if stream >= FIRST_CONNECTION:
        return DATA <= kind <= WINDOW or OPEN <= kind <= CLOSE
    return READY <= kind <= STOP and stream <= YIELDED


class FrameReader:
    """Splits a byte stream into frames, and joins the parts of control messages. The input may be split anywhere.

    DATA belongs to a stream, so it is passed on as it arrives, possibly in several pieces.
    """

    def __init__(self, max_control: int = MAX_CONTROL) -> None:
        self._buffer = bytearray()
        self._needed = HEADER.size
        self._data_left = 0
        self._data_stream = 0
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._max_control = max_control

    def feed(self, data: Data) -> Iterator[tuple[int, int, Union[bytes, Data]]]:
        """Yield DATA as it arrives, and other messages when they are complete. Raises ``FrameError``.

        The payload of DATA is a slice of ``data``.
        """
        at = 0
        while at < len(data):
            if self._data_left:
                piece = data[at : at + self._data_left]
                at += len(piece)
                self._data_left -= len(piece)
                yield DATA, self._data_stream, piece
                continue
            more = data[at : at + self._needed - len(self._buffer)]
            at += len(more)
            self._buffer += more
            if len(self._buffer) < self._needed:
                return
            yield from self._process()

    def _process(self) -> Iterator[Frame]:
        """Process a complete header or a complete frame."""
        length, kind, stream = HEADER.unpack_from(self._buffer)
        if self._needed == HEADER.size:
            if length > (MAX_DATA if kind == DATA else MAX_PAYLOAD) or not _is_known(kind, stream):
                raise FrameError("frame of length %d, type %d, stream %d" % (length, kind, stream))
            if length and kind != DATA:
                self._needed += length
                return
        payload = bytes(self._buffer[HEADER.size :])
        self._buffer.clear()
        self._needed = HEADER.size
        if kind == DATA and length:
            self._data_left, self._data_stream = length, stream
        elif kind == PART:
            self._add_part(payload)
        elif stream == 0 and self._parts:
            self._add_part(payload)
            yield kind, 0, self._join_parts()
        else:
            yield kind, stream, payload

    def _add_part(self, piece: bytes) -> None:
        # Each header counts, so that even empty parts reach the limit.
        self._parts_bytes += HEADER.size + len(piece)
        if self._parts_bytes > self._max_control:
            raise FrameError("control message of more than %d bytes" % self._max_control)
        self._parts.append(piece)

    def _join_parts(self) -> bytes:
        message = b"".join(self._parts)
        self._parts, self._parts_bytes = [], 0
        return message


class ProtocolError(Exception):
    """The guest violated the protocol. ``str(error)`` says how."""

"""Connect to the server of an HTTP tool, with or without TLS, and tell the guest how the connection ended."""

import json
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import lru_cache

from toolc.guest.frames import LENGTH
from toolc.model.destinations import format_host
from toolc.runtime.egress.transport import ConnectionRequest, PlainTransport, Transport, reset
from toolc.runtime.http.request import Target


class TlsTransport:
    """A TLS connection to ``host``. The certificate is verified with the system's authorities or ``SSL_CERT_FILE``.

    ``write`` buffers all data, so that the caller does not wait for the handshake.
    """

    failure = ""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self._host = host
        self._socket = _context(os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")).wrap_socket(
            connection, server_hostname=host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        self.fileno = self._socket.fileno
        self.close = self._socket.close
        self._unsent = bytearray()
        self._has_handshake = False
        self.received = 0
        self.wants_write = False

    def read_into(self, room: memoryview) -> int | None:
        """Read received data into ``room``. Raises ``OSError``."""
        if not self._flush():
            return None
        try:
            size = self._socket.recv_into(room)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return None
        except ssl.SSLZeroReturnError:
            return 0
        self.received += size
        return size

    def write(self, data: bytes | memoryview) -> int:
        """Buffer ``data``, and send as much as possible now. Raises ``OSError``."""
        self._unsent += data
        self._flush()
        return len(data)

    def finish(self) -> None:
        """Do nothing, because an HTTP/1.1 server may treat a half-closed connection as closed."""

    def abort(self) -> None:
        """Reset the connection."""
        reset(self._socket)

    def _flush(self) -> bool:
        """Continue the handshake, then send. Return whether the handshake is complete."""
        self.wants_write = False
        try:
            if not self._has_handshake:
                self._socket.do_handshake()
                self._has_handshake = True
            while self._unsent:
                # Copy a small part, because an interrupted TLS write must be repeated with the same data.
                sent = self._socket.send(bytes(self._unsent[:16384]))
                del self._unsent[:sent]
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            self.wants_write = True
        except ssl.SSLCertVerificationError as error:
            raise OSError(f"the certificate of {self._host} is not trusted: {error.verify_message}") from None
        except ssl.SSLError as error:
            if self._has_handshake:
                raise
            reason = (error.reason or str(error)).replace("_", " ").lower()
            raise OSError(f"the TLS handshake with {self._host} failed: {reason}") from None
        return self._has_handshake


class OuterTransport:
    """A transport that changes the data of an inner transport, and delegates everything else."""

    failure = ""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.fileno = inner.fileno
        self.finish = inner.finish
        self.close = inner.close
        self.abort = inner.abort

    @property
    def wants_write(self) -> bool:
        """Whether the inner transport has buffered data to send."""
        return self._inner.wants_write

    @property
    def received(self) -> int:
        """The number of bytes that the inner transport has received."""
        return self._inner.received

    def write(self, data: bytes | memoryview) -> int:
        """Write to the inner transport."""
        return self._inner.write(data)


class FramedTransport(OuterTransport):
    """The data of a server in frames with a length prefix (u32), so that the guest learns how the response ended.

    The last frame has length zero and is followed by JSON: ``{}``, or ``{"reason": "...", "kind": "network"}`` if the
    connection broke. Many servers close without notice, so the guest decides whether the response is complete.
    """

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self._rest = b""
        self._has_ended = False
        self._error: OSError | None = None

    def read_into(self, room: memoryview) -> int | None:
        """Read received data as frames into ``room``. Does not raise."""
        if not self._rest and not self._has_ended:
            # The window may have less room than a frame needs.
            piece = room if len(room) > LENGTH.size else memoryview(bytearray(LENGTH.size + 1))
            size = self._frame(piece)
            if size is None or piece is room:
                return size
            self._rest = bytes(piece[:size]) + self._rest
        return self._write_rest(room)

    def _frame(self, room: memoryview) -> int | None:
        try:
            if self._error is not None:
                raise copy(self._error)  # each raise adds frames to an exception, which keep their data
            size = self._inner.read_into(room[LENGTH.size :])
        except OSError as error:
            self.failure = f"the connection broke: {error.strerror.lower()}" if error.strerror else str(error)
            return self._end(room, {"reason": self.failure, "kind": "network"})
        if size is None:
            return None
        if not size:
            return self._end(room, {})
        LENGTH.pack_into(room, 0, size)
        return LENGTH.size + size

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as possible now. An error is reported by the next read."""
        try:
            return self._inner.write(data)
        except OSError as error:
            self._error = self._error or error
            return len(data)

    def _end(self, room: memoryview, message: dict[str, str]) -> int:
        self._has_ended = True
        self._rest = LENGTH.pack(0) + json.dumps(message).encode()
        return self._write_rest(room)

    def _write_rest(self, room: memoryview) -> int:
        size = min(len(room), len(self._rest))
        room[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def connection_to(
    target: Target, head: bytes, reader: Callable[[Transport], Transport] = lambda inner: inner
) -> ConnectionRequest:
    """Return the connection for a request. ``reader`` wraps its transport."""

    def wrap(connection: socket.socket) -> Transport:
        return reader(TlsTransport(connection, target.host) if target.scheme == "https" else PlainTransport(connection))

    return ConnectionRequest(host=format_host(target.host), port=target.port, head=head, wrap=wrap, is_opaque=False)


@lru_cache(maxsize=4)
def _context(file: str, folder: str) -> ssl.SSLContext:
    """Return the TLS context, created once. The arguments are only cache keys. OpenSSL reads the variables itself."""
    del file, folder
    context = ssl.create_default_context()
    with suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context

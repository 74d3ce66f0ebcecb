"""A server of an HTTP tool, over TLS or plain, and how the guest hears of its end."""

from __future__ import annotations

import json
import os
import socket
import ssl
from contextlib import suppress
from functools import lru_cache

from toolc.guest.frames import LENGTH
from toolc.runtime.egress.transport import PlainTransport, Transport, reset


class TlsTransport:
    """TLS to ``host``, whose certificate is checked with the system's authorities or ``SSL_CERT_FILE``.

    ``write`` takes all that it is given, so that nobody waits for the handshake.
    """

    failure = ""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self._host = host
        self._socket = _context(
            os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")
        ).wrap_socket(connection, server_hostname=host, do_handshake_on_connect=False, suppress_ragged_eofs=False)
        self._unsent = bytearray()
        self._is_agreed = False
        self.received = 0
        self.wants_write = False

    def fileno(self) -> int:
        """The socket's."""
        return self._socket.fileno()

    def read_into(self, room: memoryview) -> int | None:
        """What has come. Raises ``OSError``."""
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
        """Take ``data``, and send what can be sent now. Raises ``OSError``."""
        self._unsent += data
        self._flush()
        return len(data)

    def finish(self) -> None:
        """Nothing: a server that answers HTTP/1.1 may take half a connection for none."""

    def close(self) -> None:
        """Close."""
        self._socket.close()

    def abort(self) -> None:
        """Reset."""
        reset(self._socket)

    def _flush(self) -> bool:
        """Agree with the server, then send; whether they agree by now."""
        self.wants_write = False
        try:
            if not self._is_agreed:
                self._socket.do_handshake()
                self._is_agreed = True
            while self._unsent:
                # A copy of a little: a write that is to be repeated must be repeated as it was.
                sent = self._socket.send(bytes(self._unsent[:16384]))
                del self._unsent[:sent]
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            self.wants_write = True
        except ssl.SSLCertVerificationError as error:
            raise OSError(f"the certificate of {self._host} is not trusted: {error.verify_message}") from None
        except ssl.SSLError as error:
            if self._is_agreed:
                raise
            reason = (error.reason or str(error)).replace("_", " ").lower()
            raise OSError(f"no TLS with {self._host}: {reason}") from None
        return self._is_agreed


class OuterTransport:
    """A transport that changes what another one says, and passes on the rest."""

    failure = ""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    @property
    def wants_write(self) -> bool:
        """As the inner one."""
        return self._inner.wants_write

    @property
    def received(self) -> int:
        """As the inner one: what it says itself is no server's."""
        return self._inner.received

    def fileno(self) -> int:
        """As the inner one."""
        return self._inner.fileno()

    def write(self, data: bytes | memoryview) -> int:
        """As the inner one."""
        return self._inner.write(data)

    def finish(self) -> None:
        """As the inner one."""
        self._inner.finish()

    def close(self) -> None:
        """As the inner one."""
        self._inner.close()

    def abort(self) -> None:
        """As the inner one."""
        self._inner.abort()


class FramedTransport(OuterTransport):
    """What a server says, in pieces behind their length (u32), so that the guest learns how it ended.

    The last piece has no length, and JSON behind it: ``{}``, or ``{"reason": "...", "kind": "network"}`` where the
    connection broke. What had come before is the guest's to judge: many servers end without a word.
    """

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self._rest = b""
        self._has_ended = False
        self._error: OSError | None = None

    def read_into(self, room: memoryview) -> int | None:
        """What has come, framed; never raises."""
        if not self._rest and not self._has_ended:
            # A window may have less left than a piece needs.
            piece = room if len(room) > LENGTH.size else memoryview(bytearray(LENGTH.size + 1))
            size = self._frame(piece)
            if size is None or piece is room:
                return size
            self._rest = bytes(piece[:size]) + self._rest
        said, self._rest = self._rest[: len(room)], self._rest[len(room) :]
        room[: len(said)] = said
        return len(said)

    def _frame(self, room: memoryview) -> int | None:
        try:
            if self._error is not None:
                raise self._error
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
        """Send what can be sent now; an error waits for ``read`` to tell it."""
        try:
            return self._inner.write(data)
        except OSError as error:
            self._error = self._error or error
            return len(data)

    def _end(self, room: memoryview, message: dict[str, str]) -> int:
        self._has_ended = True
        words = LENGTH.pack(0) + json.dumps(message).encode()
        said, self._rest = words[: len(room)], words[len(room) :]
        room[: len(said)] = said
        return len(said)


def transport(connection: socket.socket, scheme: str, host: str) -> Transport:
    """What a connected socket to ``host`` becomes."""
    return TlsTransport(connection, host) if scheme == "https" else PlainTransport(connection)


@lru_cache(maxsize=4)
def _context(file: str, folder: str) -> ssl.SSLContext:
    """The authorities to trust, read once. OpenSSL reads these variables itself; here they tell sets apart."""
    del file, folder
    context = ssl.create_default_context()
    with suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context

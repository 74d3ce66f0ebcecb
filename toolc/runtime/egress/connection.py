"""One connection of a call: the data between guest and server, its flow windows, and how each side closes it."""

import json
import socket
from dataclasses import replace

from toolc.guest import frames
from toolc.guest.flow_control import FlowWindow
from toolc.guest.frames import HEADER, ProtocolError, encode
from toolc.model.destinations import format_destination
from toolc.model.result import ConnectionAttempt
from toolc.runtime.egress.egress_policy import Decision
from toolc.runtime.egress.http_host import HttpHostFilter
from toolc.runtime.egress.tls_sni import ClientHelloFilter
from toolc.runtime.egress.transport import ConnectionRequest, RefusalKind, RefusedError, Transport


class EgressConnection:
    """The state of one stream. ``addresses`` are still to be tried, and ``socket`` is connecting.

    ``transport`` is set once the server is connected.
    """

    def __init__(self, stream: int, request: ConnectionRequest, decision: Decision, now: float) -> None:
        self.stream = stream
        # Requests are listed until the call ends, and a head contains the whole body of a request.
        self.request = replace(request, head=b"")
        self.decision = decision
        self.addresses: list[str] = []
        self.address = ""
        self.socket: socket.socket | None = None
        self.transport: Transport | None = None
        self.started = self.last_active = now
        self.ended: float | None = None
        self.reason = decision.reason
        self.remedy = decision.remedy
        self.allowed = decision.entry is not None
        self.bytes_in = self.bytes_out = 0
        self.close_sent = self.close_received = False
        self._to_server = bytearray(request.head)
        self._head_left = len(request.head)
        # Clients send no server name for addresses or for ``localhost``, so it is not checked for this machine.
        checked = request.is_opaque and not decision.is_local
        self._filters: list[ClientHelloFilter | HttpHostFilter] = [ClientHelloFilter(decision.host)] if checked else []
        if request.is_opaque and decision.entry is not None and not decision.entry.any_host:
            self._filters.append(HttpHostFilter(decision))
        self._guest_window = frames.FIRST_WINDOW
        self._flow = FlowWindow()
        self._guest_ended = self._server_ended = self._finished = False
        self._must_send_opened = False

    @property
    def is_closed(self) -> bool:
        """Whether both sides have finished."""
        return self.close_sent and self.close_received

    @property
    def has_pending(self) -> bool:
        """Whether there is data that the server has not accepted yet."""
        return not self.close_sent and (bool(self._to_server) or (self._guest_ended and not self._finished))

    @property
    def is_delivering(self) -> bool:
        """Whether the guest has sent everything, but the server has not accepted all of it."""
        return self._guest_ended and self.has_pending

    @property
    def wants_read(self) -> bool:
        """Whether to read from the server."""
        return not self._server_ended and self._guest_window > 0

    def waits_for(self, host: str) -> bool:
        """Return whether this connection waits for the addresses of ``host``."""
        pending = self.socket is None and self.transport is None and not self.close_sent
        return pending and self.decision.host == host

    def attempt(self, now: float) -> ConnectionAttempt:
        """Return the connection and its outcome so far."""
        entry = self.decision.entry
        return ConnectionAttempt(
            host=self.decision.host,
            port=self.decision.port,
            allowed=self.allowed,
            address=self.address,
            entry=format_destination(entry) if entry else "",
            reason=self.reason,
            remedy=self.remedy,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            duration_ms=((self.ended or now) - self.started) * 1000,
        )

    def receive(self, payload: bytes) -> None:
        """Accept data from the guest. Raises ``ProtocolError``, and ``RefusedError`` if it names another site."""
        if self.close_received or self._guest_ended or not payload:
            raise ProtocolError("it sent data on a connection after its end, or an empty frame")
        if not self.request.is_opaque:
            raise ProtocolError("it sent data for a request, but only the host writes requests")
        if not self._flow.spend(len(payload)):
            raise ProtocolError("it sent more data on a connection than its window allows")
        if not self.close_sent:
            self._to_server += self._filtered(payload) if self._filters else payload

    def _filtered(self, payload: bytes) -> bytes:
        """Return the data that may be forwarded now. Raises ``RefusedError``."""
        for each in self._filters:
            payload = each.feed(payload)
        self._filters = [each for each in self._filters if not each.is_done]
        return payload

    def finish(self) -> None:
        """Record that the guest sends no more data. Raises ``ProtocolError``."""
        if self.close_received or self._guest_ended:
            raise ProtocolError("it ended a connection twice")
        self._guest_ended = True

    def grant_window(self, payload: bytes) -> None:
        """Handle an acknowledgement of the guest. Raises ``ProtocolError`` if it exceeds the data that was sent."""
        granted = payload.decode("ascii", "replace")
        outstanding = frames.WINDOW_BYTES - self._guest_window
        known = granted.isascii() and granted.isdigit() and len(granted) <= 10
        if self.close_received or not (known and 0 < int(granted) <= outstanding):
            raise ProtocolError("it acknowledged data that was not sent to it")
        self._guest_window += int(granted)

    def opened(self, transport: Transport, out: bytearray) -> None:
        """Record that the server is connected. For a request, the guest is notified only with the response."""
        self.transport, self.socket = transport, None
        self.addresses.clear()
        if self.request.is_opaque:
            out += encode(frames.OPENED, self.stream)
        else:
            self._must_send_opened = True

    def pop_opened(self) -> bytes:
        """Return the delayed OPENED frame, which precedes the server's data. Empty if it was already sent."""
        frame = encode(frames.OPENED, self.stream) if self._must_send_opened else b""
        self._must_send_opened = False
        return frame

    def send(self, out: bytearray, target_window: int) -> None:
        """Send as much to the server as it accepts now, and write acknowledgements to ``out``. Raises ``OSError``.

        ``target_window`` is the size of the flow-control window after the acknowledgements, in bytes.
        """
        transport = self.transport
        if transport is None:
            return
        while self._to_server:
            with memoryview(self._to_server) as view:
                sent = transport.write(view)
            if not sent:
                break
            del self._to_server[:sent]
            self.bytes_out += sent
            of_head = min(sent, self._head_left)
            self._head_left -= of_head
            granted = self._flow.release(sent - of_head, target_window)
            if granted and not self._guest_ended:
                out += encode(frames.WINDOW, self.stream, b"%d" % granted)
        if self._guest_ended and not self._to_server and not self._finished:
            self._finished = True
            transport.finish()

    def read(self, room: memoryview) -> int:
        """Write a frame with received data to ``room``, within the guest's window. Return its length in bytes.

        Return 0 if no data has arrived. ``room`` holds a header and ``frames.MAX_DATA`` bytes. Raises ``OSError``.
        """
        if self.transport is None or not self.wants_read:
            return 0
        size = self.transport.read_into(room[HEADER.size : HEADER.size + min(frames.MAX_DATA, self._guest_window)])
        if size is None:
            return 0
        self._server_ended = not size
        self._guest_window -= size
        self.bytes_in = self.transport.received
        HEADER.pack_into(room, 0, size, frames.DATA if size else frames.END, self.stream)
        return HEADER.size + size

    @property
    def is_done(self) -> bool:
        """Whether all data has been transferred in both directions, or the whole response of a request."""
        return self._server_ended and (self._finished or not self.request.is_opaque)

    def close(self, out: bytearray, now: float, error: RefusedError | None = None) -> None:
        """Close the connection, and send the reason of an error. Closing it again has no effect."""
        if self.socket is not None:
            self.socket.close()
        if self.transport is not None:
            self.reason = self.reason or self.transport.failure
            (self.transport.close if self.is_done else self.transport.abort)()
        self.socket = self.transport = None
        self.addresses.clear()
        self._to_server.clear()
        if self.close_sent:
            return
        self.close_sent = True
        self.ended = now
        message: dict[str, str] = {}
        if error is not None:
            kind: RefusalKind = error.kind
            self.reason, self.remedy = str(error), error.remedy
            self.allowed = self.allowed and kind != "denied"
            message = {"reason": self.reason, "kind": kind}
        out += encode(frames.CLOSE, self.stream, json.dumps(message).encode())

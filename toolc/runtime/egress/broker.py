"""Open the connections that a call may make, and refuse all others.

The broker runs on the thread of its call, which polls it together with the stream of the sandbox, so calls do not
affect each other's brokers. The guest requests a host and a port. The broker checks the allow-list, resolves the
name once, and connects to an address that it has checked. It inspects only the server name at the beginning of TLS and
the heads of HTTP/1 requests. All other data passes unread.
"""

import errno
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Final, TypeAlias

from toolc.guest import frames
from toolc.guest.flow_control import window
from toolc.guest.frames import ProtocolError
from toolc.model.json_schema import parse_json
from toolc.model.plan import LOCALHOST
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.sandbox import Destination
from toolc.runtime.egress.connection import EgressConnection
from toolc.runtime.egress.egress_options import EXPIRY_SECONDS, Egress, Listener
from toolc.runtime.egress.egress_policy import LOOPBACK, Decision, admit, decide
from toolc.runtime.egress.polling import Polling, ResolvedHost, Resolver
from toolc.runtime.egress.transport import ConnectionRequest, RefusalKind, RefusedError

MAX_LISTED: Final = 256
"""The maximum number of connections and of refusals that are listed. Any more are only counted.

The list goes to logs, and a tool can make thousands of attempts.
"""

MAX_CALL_CONNECTIONS: Final = 16 * 1024
"""The number of connections that one call may make.

It is enough for a client that opens a connection for each request until the timeout. Without a limit, a call could
use up the ports of the host.
"""

MAX_REQUESTS: Final = 16
"""The maximum number of concurrent HTTP requests. A guest makes one at a time, and each holds its body in memory."""

MAX_BYTES: Final = 4 * 1024 * 1024 * 1024
"""The number of bytes that one call may send and receive. A tool's downloads are smaller.

Without a limit, a call could use up the traffic of the host.
"""

CONNECT_SECONDS: Final = 15.0
"""The time limit for resolving a name and trying all of its addresses, in seconds.

A resolver may take up to ten seconds.
"""

ADDRESS_SECONDS: Final = 5.0
"""How long one address is tried while others remain, in seconds.

A reachable server answers within a few round trips, and the remaining addresses need time too.
"""

MAX_OUT: Final = 64 * 1024
"""The number of unsent bytes for the guest at which the broker stops reading from servers.

A socket buffers about as much in addition. A higher limit would only use memory.
"""

MAX_UNREAD: Final = 32 * MAX_OUT
"""The number of unsent bytes beyond which a guest that keeps sending requests is ended.

An honest guest reads the responses before it sends more requests.
"""

Write: TypeAlias = Callable[[memoryview], int]
"""Sends as much as fits now, and returns the number of bytes."""


def parse_open_request(payload: bytes) -> ConnectionRequest:
    """Parse an OPEN frame. Raises ``ProtocolError``."""
    try:
        message = parse_json(payload)
    except ValueError:
        message = None
    host, port = (message.get("host"), message.get("port")) if isinstance(message, dict) else (None, None)
    # A port has at most five digits. Attempts that differ only in longer numbers would each be listed.
    if not isinstance(host, str) or not isinstance(port, int) or isinstance(port, bool) or not -1 < port < 10**5:
        raise ProtocolError("it opened a connection without a valid host and port")
    return ConnectionRequest(host=host, port=port)


def connect(address: str, port: int) -> socket.socket:
    """Return a connecting socket, which becomes writable once it is connected or has failed. Raises ``OSError``."""
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    code = connection.connect_ex((address, port))
    if code not in {0, errno.EINPROGRESS}:
        connection.close()
        raise OSError(code, os.strerror(code))
    return connection


def unreachable(decision: Decision, address: str, failure: OSError) -> RefusedError:
    """Return the error for an unreachable server. ``failure`` is the error of ``address``, the last one tried."""
    kind: RefusalKind = "timeout" if isinstance(failure, TimeoutError) else "network"
    at = f" at {address}" if address not in {"", decision.host} else ""
    reason = f"{decision.host}{at}, port {decision.port}: {(failure.strerror or str(failure)).lower()}"
    return RefusedError(reason if decision.is_local else reason + proxy_hint(), kind)


def proxy_hint() -> str:
    """Return a hint for failed connections on a machine that reaches other hosts only through a proxy."""
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    name = next((each for each in names if os.environ.get(each)), None)
    return f" ({name} is set, but toolc connects directly and does not use a proxy)" if name else ""


class ConnectionLog:
    """The log of requested connections, in order. ``requested`` is their number."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._listed: list[EgressConnection] = []
        self.requested = 0
        self._refused = 0

    @property
    def unlisted(self) -> int:
        """The number of requested connections that are not in ``attempts``."""
        return self.requested - len(self._listed)

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the requested connections with their outcomes so far."""
        now = monotonic()
        return tuple(each.attempt(now) for each in self._listed)

    def add(self, connection: EgressConnection) -> None:
        """Add a requested connection. Refusals have their own limit, because users look for them."""
        self.requested += 1
        is_refused = connection.decision.entry is None
        self._refused += is_refused
        if len(self._listed) < MAX_LISTED or (is_refused and self._refused <= MAX_LISTED):
            self._listed.append(connection)

    def reset(self, connections: Iterable[EgressConnection]) -> None:
        """Reset the counts, and list the ``connections`` that are still open again."""
        self._listed = [*connections]
        self.requested, self._refused = len(self._listed), 0

    def notify(self, connection: EgressConnection) -> None:
        """Pass a decision to the listener. Raises the listener's exception."""
        self._listener(connection.attempt(monotonic()))


class Broker:
    """The connections of one call. Poll ``fileno`` and call ``serve``, which writes frames to ``outgoing``."""

    def __init__(
        self, allow: Sequence[Destination], outgoing: bytearray, egress: Egress, write: Write = lambda _: 0
    ) -> None:
        self._allow = allow
        self._out = outgoing
        self._write = write
        self._room = memoryview(bytearray(frames.HEADER.size + frames.MAX_DATA))
        self._log = ConnectionLog(egress.on_attempt)
        self._requests = egress.requests
        self._redactor = egress.redactor
        self._idle_seconds = egress.idle_seconds
        self._polling = Polling()
        self._resolver: Resolver | None = None
        self._resolved: dict[str, ResolvedHost] = {}
        self._connections: dict[int, EgressConnection] = {}
        self._next = frames.FIRST_CONNECTION
        self._bytes = 0
        self._last_check = 0.0

    @property
    def has_room(self) -> bool:
        """Whether the guest accepts more data now. If not, ``fileno`` must not be polled."""
        return len(self._out) < MAX_OUT

    @property
    def has_pending(self) -> bool:
        """Whether data from the tool must still be delivered to a server.

        Requests made by the host do not count, because the program that asked for one has waited for the response.
        """
        return any(each.has_pending and each.request.is_opaque for each in self._connections.values())

    @property
    def unlisted(self) -> int:
        """The number of requested connections that are not in ``attempts``."""
        return self._log.unlisted

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the requested connections in order, with their outcomes so far."""
        return self._log.attempts()

    def fileno(self) -> int:
        """Return the descriptor to poll for reading."""
        return self._polling.fileno()

    def handle_frame(self, kind: int, stream: int, payload: bytes) -> None:
        """Handle a frame from the guest. Raises ``ProtocolError``."""
        if len(self._out) > MAX_UNREAD:
            raise ProtocolError("it keeps sending requests and does not read the responses")
        if kind in {frames.OPEN, frames.REQUEST}:
            self._open(kind, stream, payload)
            return
        connection = self._connections.get(stream)
        if connection is None:
            raise ProtocolError(f"it sent a frame for connection {stream}, which does not exist")
        try:
            match kind:
                case frames.DATA:
                    connection.receive(payload)
                    self._charge(len(payload))
                case frames.END:
                    connection.finish()
                case frames.WINDOW:
                    connection.grant_window(payload)
                case frames.CLOSE if not connection.close_received:
                    connection.close_received = True
                    if not connection.is_delivering:
                        self._close(connection)
                        return
                case _:
                    raise ProtocolError(f"it sent a frame of type {kind} on a connection")
        except RefusedError as error:
            self._close(connection, error)
            return
        connection.last_active = monotonic()
        self._advance(connection)

    def send_first_request(self) -> None:
        """Send the first request of the call before its sandbox requests it. The sandbox must be new."""
        self._open(frames.REQUEST, frames.FIRST_CONNECTION, b"{}")

    def serve(self) -> None:
        """Transfer as much data as possible without waiting. Raises the listener's exception."""
        for connection in self._polling.ready():
            if connection is None:
                self._handle_resolved()
            else:
                connection.last_active = monotonic()
                self._advance(connection)
            if not self.has_room:
                break
        self._expire()

    def reset(self) -> None:
        """Reset the counts for the next call of a session. Open connections stay open and are listed again."""
        self._log.reset(each for each in self._connections.values() if not each.close_sent)
        self._bytes = 0
        self._resolved.clear()

    def close(self) -> None:
        """Close every connection."""
        now = monotonic()
        for connection in self._connections.values():
            connection.close(bytearray(), now)
        if self._resolver:
            self._resolver.close()
        self._polling.close()

    def _open(self, kind: int, stream: int, payload: bytes) -> None:
        if stream < self._next:
            raise ProtocolError(f"it opened connection {stream} twice")
        if len(self._connections) >= frames.MAX_CONNECTIONS:
            raise ProtocolError(f"it opened more than {frames.MAX_CONNECTIONS} concurrent connections")
        self._next = stream + 1
        refusal = None
        try:
            request = self._http_request(payload) if kind == frames.REQUEST else parse_open_request(payload)
        except RefusedError as error:
            request, refusal = ConnectionRequest(host="", port=0), error
        decision = decide(self._allow, request.host, request.port)
        if decision.entry is None:
            # Redact before truncation, because a fragment of a secret would not be recognized.
            decision = decide(self._allow, self._redactor.text(request.host), request.port)
        connection = EgressConnection(stream, request, decision, monotonic())
        self._connections[stream] = connection
        self._log.add(connection)
        if self._log.requested > MAX_CALL_CONNECTIONS:
            refusal = RefusedError(f"a call can open at most {MAX_CALL_CONNECTIONS} connections")
        if refusal is None and decision.entry is None:
            refusal = RefusedError(decision.reason, remedy=decision.remedy)
        if refusal is not None:
            self._close(connection, refusal)
        elif decision.is_literal:
            self._connect_to(connection, (decision.host,))
        elif decision.host == LOCALHOST:
            self._connect_to(connection, LOOPBACK)
        elif decision.host in self._resolved:
            self._connect_to(connection, self._resolved[decision.host].addresses)
        else:
            self._resolve(decision.host)

    def _http_request(self, payload: bytes) -> ConnectionRequest:
        if self._requests is None:
            raise ProtocolError("it sent an HTTP request, but its call makes none")
        if sum(not (each.request.is_opaque or each.close_sent) for each in self._connections.values()) >= MAX_REQUESTS:
            raise ProtocolError(f"it sent more than {MAX_REQUESTS} concurrent HTTP requests")
        return self._requests(payload)

    def _resolve(self, host: str) -> None:
        if self._resolver is None:
            self._resolver = Resolver()
            self._polling.add_resolver(self._resolver)
        waiting = [each for each in self._connections.values() if each.waits_for(host)]
        if len(waiting) == 1:
            self._resolver.request(host)

    def _handle_resolved(self) -> None:
        assert self._resolver is not None
        for result in self._resolver.results():
            waiting = [each for each in self._connections.values() if each.waits_for(result.host)]
            if not result.reason:
                self._resolved[result.host] = result
            for connection in waiting:
                if result.reason:
                    self._close(connection, RefusedError(result.reason + proxy_hint(), "network"))
                else:
                    self._connect_to(connection, result.addresses)

    def _connect_to(self, connection: EgressConnection, addresses: Sequence[str]) -> None:
        admission = admit(connection.decision, self._allow, addresses)
        if not admission.addresses:
            self._close(connection, RefusedError(admission.reason, remedy=admission.remedy))
            return
        connection.addresses = [*admission.addresses]
        self._connect_next(connection, None)

    def _connect_next(self, connection: EgressConnection, failure: OSError | None) -> None:
        """Start to connect to the next address. ``failure`` is the error of the previous one."""
        self._forget(connection)
        while connection.addresses:
            connection.address = connection.addresses.pop(0)
            try:
                connection.socket = connect(connection.address, connection.decision.port)
            except OSError as error:
                failure = error
                continue
            connection.last_active = monotonic()
            self._polling.await_connected(connection)
            return
        assert failure is not None
        self._close(connection, unreachable(connection.decision, connection.address, failure))

    def _advance(self, connection: EgressConnection) -> None:
        """Transfer as much data as possible now. Afterwards, the connection may be closed."""
        try:
            if connection.socket is not None and not self._is_connected(connection):
                return
            connection.send(self._out, window(len(self._connections)))
            self._forward(connection)
        except RefusedError as error:
            self._close(connection, error)
            return
        except OSError as error:
            reason = f"the connection to {connection.decision.host} failed: {error.strerror or error}"
            self._close(connection, RefusedError(reason, "network"))
            return
        if connection.is_done:
            self._close(connection)
        else:
            self._polling.await_open(connection)

    def _is_connected(self, connection: EgressConnection) -> bool:
        connected = connection.socket
        assert connected is not None
        code = connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._connect_next(connection, OSError(code, os.strerror(code)))
            return False
        try:
            peer = connected.getpeername()
        except OSError:
            # Not yet connected. The event came from the guest, not the server.
            return False
        if peer == connected.getsockname():
            # No process listens there, and the kernel chose that port for our own end (RFC 9293, 3.5).
            self._connect_next(connection, OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)))
            return False
        self._polling.forget(connection)
        connection.opened(connection.request.wrap(connected), self._out)
        self._log.notify(connection)
        return True

    def _forward(self, connection: EgressConnection) -> None:
        """Forward one piece of data from the server. To wake the guest only once, forward a response as a whole."""
        is_opaque = connection.request.is_opaque
        while self.has_room and (size := connection.read(self._room)):
            frame = self._room[:size]
            self._out += connection.pop_opened()
            # Data that the sandbox accepts immediately need not be buffered.
            sent = self._write(frame) if is_opaque and not self._out else 0
            self._out += frame[sent:]
            self._charge(size - frames.HEADER.size)
            if is_opaque:
                return

    def _charge(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MAX_BYTES:
            raise RefusedError(f"a call can send and receive at most {MAX_BYTES} bytes")

    def _close(self, connection: EgressConnection, error: RefusedError | None = None) -> None:
        """Close a connection and report ``error``. An error after the end is ignored."""
        if error is not None and connection.close_sent:
            return
        self._forget(connection)
        connection.close(self._out, monotonic(), error)
        if error is not None and self._log.requested <= MAX_CALL_CONNECTIONS:
            self._log.notify(connection)
        if connection.is_closed:
            del self._connections[connection.stream]

    def _forget(self, connection: EgressConnection) -> None:
        self._polling.forget(connection)
        if connection.socket is not None:
            connection.socket.close()
            connection.socket = None

    def _expire(self) -> None:
        """Close connections that exceed a time limit."""
        now = monotonic()
        if now - self._last_check < EXPIRY_SECONDS:
            return
        self._last_check = now
        for connection in [*self._connections.values()]:
            if connection.transport is not None:
                if now - connection.last_active > self._idle_seconds:
                    reason = f"no data was transferred for {self._idle_seconds:g} seconds"
                    self._close(connection, RefusedError(reason, "timeout"))
            elif connection.close_sent:
                continue
            elif now - connection.started > CONNECT_SECONDS:
                connection.addresses.clear()
                self._connect_next(connection, TimeoutError(errno.ETIMEDOUT, "connection timed out"))
            elif connection.addresses and now - connection.last_active > ADDRESS_SECONDS:
                self._connect_next(connection, TimeoutError(errno.ETIMEDOUT, "connection timed out"))

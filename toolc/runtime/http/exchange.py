"""Send a request from the host itself. It passes through the egress broker like the requests of a sandbox.

The broker decides which destinations are allowed, resolves names, connects, verifies certificates, and keeps the log.
This module requests connections from it with frames, as the guest of an HTTP tool does (``toolc.guest.http``), but in
the same process.
"""

from __future__ import annotations

import select
from copy import copy

from toolc.guest import frames
from toolc.model.json_schema import parse_json
from toolc.model.result import ConnectionAttempt
from toolc.runtime.cancellation import Deadline
from toolc.runtime.egress.broker import Broker
from toolc.runtime.egress.egress_options import EXPIRY_SECONDS
from toolc.runtime.egress.transport import ConnectionRequest, RefusedError


class Exchange:
    """One request, and the bytes of its response as the broker delivers them. ``number`` identifies its stream."""

    def __init__(
        self, broker: Broker, received: bytearray, number: int, request: ConnectionRequest, deadline: Deadline
    ) -> None:
        self._broker = broker
        self._received = received
        self._number = number
        self.request = request
        self._deadline = deadline
        self._frames = frames.FrameReader()
        self._data = bytearray()
        self._has_ended = False
        self._error: Exception | None = None
        self._is_connected = False
        self._remedy = ""

    def begin(self) -> None:
        """Ask the broker to send the request."""
        self._received.clear()
        self._broker.handle_frame(frames.REQUEST, self._number, b"")

    def end(self) -> None:
        """Close the connection."""
        self._broker.handle_frame(frames.CLOSE, self._number, b"")

    def notify(self, attempt: ConnectionAttempt) -> None:
        """Record the broker's report that the connection was made, or why it failed."""
        self._is_connected |= not attempt.reason
        self._remedy = attempt.remedy

    def read_into(self, buffer: memoryview) -> int:
        """Read into ``buffer`` and return the size, 0 at the end.

        Raises ``RefusedError``, ``OSError`` and ``InterruptedWaitError``.
        """
        while not self._data and not self._has_ended:
            self._receive()
        if self._error is not None and not self._data:
            raise copy(self._error)  # each raise adds frames to an exception, which keep their data
        size = min(len(buffer), len(self._data))
        buffer[:size] = self._data[:size]
        del self._data[:size]
        return size

    def _receive(self) -> None:
        """Process the frames of the broker. If there are none, wait for them first."""
        if self._received:
            self._deadline.check()
        else:
            self._deadline.wait(self._broker.fileno(), select.POLLIN, EXPIRY_SECONDS)
            self._broker.serve()
        pending = bytes(self._received)
        self._received.clear()
        for kind, _, payload in self._frames.feed(pending):
            if kind == frames.DATA:
                self._data += payload
                self._broker.handle_frame(frames.WINDOW, self._number, b"%d" % len(payload))
            elif kind == frames.END:
                self._has_ended = True
            elif kind == frames.CLOSE:
                self._has_ended = True
                self._error = self._error_of(payload)

    def _error_of(self, payload: bytes) -> Exception | None:
        """Return the error that a CLOSE frame reports. Many servers close abruptly, so it is raised after the data."""
        message = parse_json(payload)
        assert isinstance(message, dict)
        if "reason" not in message:
            return None
        reason, is_denied = str(message["reason"]), message["kind"] == "denied"
        if self._is_connected and not is_denied:
            return ConnectionError(reason)
        return RefusedError(reason, "denied" if is_denied else "network", self._remedy)

"""Tests for ``ConnectionAttempt`` in ``details.network`` and in events."""

from toolc.client.serialization import event_to_json
from toolc.model.events import ToolConnect
from toolc.model.result import ConnectionAttempt

REFUSED = ConnectionAttempt(
    host="other.example.com",
    port=443,
    allowed=False,
    reason="no entry of network.allow covers other.example.com:443",
    remedy="other.example.com:443",
    duration_ms=0.12345,
)
AS_JSON = {
    "host": "other.example.com", "port": 443, "allowed": False, "address": None, "entry": None,
    "reason": "no entry of network.allow covers other.example.com:443", "would_allow": "other.example.com:443",
    "bytes_in": 0, "bytes_out": 0, "duration_ms": 0.123,
}  # fmt: skip


def test_a_connection_attempt_in_json() -> None:
    assert REFUSED.to_json() == AS_JSON


def test_a_connection_event_has_the_call_id() -> None:
    event = ToolConnect(name="fetch", call_id="c1", attempt=REFUSED)
    assert event_to_json(event) == {"event": "connect", "name": "fetch", "call_id": "c1", **AS_JSON}

"""One connection that a call asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from toolc.schema import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A host and a port that a call wanted to reach.

    ``entry`` is the entry of the allow-list that allows it, ``remedy`` the one that would, each as a spec writes
    it and empty where there is none. ``address`` is empty where none was tried. ``bytes_in`` came from the server.
    """

    host: str
    port: int
    allowed: bool
    address: str = ""
    entry: str = ""
    reason: str = ""
    remedy: str = ""
    bytes_in: int = 0
    bytes_out: int = 0
    duration_ms: float = 0.0

    def to_json(self) -> JsonObject:
        """As it stands in ``details.network`` and in an event."""
        return {
            "host": self.host,
            "port": self.port,
            "allowed": self.allowed,
            "address": self.address or None,
            "entry": self.entry or None,
            "reason": self.reason or None,
            "would_allow": self.remedy or None,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "duration_ms": round(self.duration_ms, 3),
        }

"""What an engine is: it says what it can do on this host, and starts sandboxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from toolc.plan import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What an engine is on this host.

    ``reason`` and ``remedy`` are sentences for a user where it is not available, else empty.
    """

    available: bool
    version: str = ""
    reason: str = ""
    remedy: str = ""


class Sandbox(Protocol):
    """One live sandbox: a duplex, non-blocking byte stream to its guest, and its end.

    The stream carries the wire protocol of ``toolc.guest.frames``; the engine does not look into it.
    """

    @property
    def user(self) -> str:
        """Who the tool is inside, for ``details``: ``"1000:1000"``, or ``"0:0 (no capabilities)"``."""

    def fileno(self) -> int:
        """The descriptor to poll for reading and writing."""

    def read(self) -> bytes | None:
        """What has arrived (never more than 256 KiB); ``b""`` at the stream's end, None when nothing has yet.

        Must be called until it returns None before polling again. Never raises for a dead peer.
        """

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now and return how many bytes that was. A dead peer takes everything silently."""

    def out_of_memory(self) -> bool:
        """Whether the kernel killed anything in this sandbox for want of memory, from counters or events.

        Meant for a sandbox that is still alive, or after ``close``.
        """

    def complaint(self) -> str:
        """What the engine or the guest said on its own error stream, at most 4 KiB: the cause when it died."""

    def close(self) -> None:
        """Close the stream, which ends the sandbox, and wait until it is gone; twice is the same as once.

        After half a second the engine's own kill is used. Returns only when no process of it is left.
        """


class Engine(Protocol):
    """A way to make sandboxes. Safe to use from several threads at once."""

    @property
    def name(self) -> str:
        """The word for ``--engine``."""

    def probe(self) -> Probe:
        """Whether this engine works here. Cheap, never raises, and leaves nothing behind."""

    def refusal(self, profile: Profile) -> str | None:
        """Why this host's engine cannot keep what ``profile`` demands, with the remedy; None if it can."""

    def start(self, profile: Profile, arguments: Sequence[str]) -> Sandbox:
        """Start a fresh sandbox in which ``python3 ARGUMENTS...`` runs as process 1.

        Raises ``InfrastructureError`` where it cannot be started; then nothing of it is left.
        """

    def close(self) -> None:
        """Give up whatever the engine holds (connections, threads). Sandboxes are closed by their owners."""

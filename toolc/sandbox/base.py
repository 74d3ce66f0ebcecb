"""What an engine is: it says what it can do on this host, and starts sandboxes."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias, get_args

from toolc.model.plan import LIMITS, LimitName, Profile
from toolc.model.spec.sandbox import MinIsolation, WorkspaceMode

__all__ = [
    "ISOLATION",
    "Capabilities",
    "ContentDigests",
    "Engine",
    "EngineSandbox",
    "EngineStatus",
    "ImageUsed",
    "Leftover",
    "told_limits",
    "unenforced",
]

Level: TypeAlias = Literal["enforced", "approximate", "not"]
"""How a limit is kept: as it says; by something near it; by nothing at all."""

User: TypeAlias = Literal["owner", "nobody", "root"]
"""Who a tool can be for the kernel: the workspace's owner, a user whom nothing belongs to, or root (powerless)."""

ISOLATION: Final[tuple[MinIsolation, ...]] = ("namespace", "gvisor", "vm")
"""The kinds of isolation, weakest first: each is enough for who demands one before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus:
    """What an engine is on this host.

    ``reason`` and ``remedy`` are sentences for a user where it is not available, else empty.
    """

    available: bool
    version: str = ""
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """How well a limit is kept.

    ``reason`` and ``remedy`` say why not better, and what to do, as sentences; ``instead`` what is limited in its
    place (``nothing``, ``each process by itself``).
    """

    level: Level = "enforced"
    reason: str = ""
    instead: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine enforces on this host with one kind of isolation.

    ``weak`` holds the limits that are not enforced as they stand; every other one is. ``users`` are those
    that a tool may be. ``notes`` are differences from other engines, a sentence each.
    """

    isolation: MinIsolation = "namespace"
    weak: Mapping[LimitName, Enforcement] = field(default_factory=dict)
    workspaces: tuple[WorkspaceMode, ...] = get_args(WorkspaceMode)
    users: tuple[User, ...] = get_args(User)
    images: bool = True
    notes: tuple[str, ...] = ()

    def limit(self, name: LimitName) -> Enforcement:
        """How this limit is kept."""
        return self.weak.get(name, Enforcement())


def offer(offered: Sequence[Capabilities], wanted: MinIsolation) -> Capabilities:
    """What a tool gets that demands ``wanted`` of an engine with these capabilities: the weakest that will do."""
    fit = (each for each in offered if ISOLATION.index(each.isolation) >= ISOLATION.index(wanted))
    return next(fit, Capabilities())


def unenforced(capabilities: Capabilities) -> tuple[LimitName, ...]:
    """The limits that are not enforced as they stand, in their order."""
    return tuple(name for name in LIMITS if capabilities.limit(name).level != "enforced")


def limits_refusal(capabilities: Capabilities, accepted: Sequence[str]) -> str | None:
    """Why a profile's limits cannot be kept, with the remedies; None if they can, or the user has ``accepted``."""
    missing = [name for name in unenforced(capabilities) if name not in accepted]
    if not missing:
        return None
    found = [capabilities.limit(name) for name in missing]
    # Several limits mostly have one cause.
    reasons = " ".join(dict.fromkeys(each.reason for each in found))
    remedies = " ".join(dict.fromkeys(each.remedy for each in found))
    return (
        f"it cannot enforce {told_limits(missing)} here. {reasons} {remedies} Or accept in your own configuration "
        f"(~/.config/toolc/config.yaml) what is then limited instead ({told_instead(capabilities, missing)}): "
        f"accept_unenforced: [{', '.join(missing)}]"
    )


def told_instead(capabilities: Capabilities, names: Sequence[LimitName]) -> str:
    """What is limited in the place of each of ``names``, for a user."""
    return "; ".join(f"{name}: {capabilities.limit(name).instead}" for name in names)


def told_limits(names: Sequence[str]) -> str:
    """``names``, of which there is at least one, for a user: ``limits.memory, limits.cpus and limits.pids``."""
    *others, last = (f"limits.{name}" for name in names)
    return f"{', '.join(others)} and {last}" if others else last


NO_PYTHON: Final = r"executable file not found|python3.*(?:no such file|exec format|permission denied)"
"""What runtimes say of a first program that is not there, or cannot be run: a regular expression."""


@dataclass(frozen=True, slots=True)
class ImageUsed:
    """The image that a sandbox was made of: as it was asked for, and the digest by which its engine knows it.

    ``names`` are what its content is called (``toolc.sandbox.images.metadata``), the one to approve it by first.
    """

    name: str
    digest: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentDigests:
    """What sandboxes are made of, named by content.

    ``image`` is None where the profile names none. ``packages`` are all that its requirements come to, each as
    ``name==version@sha256:...``.
    """

    image: ImageUsed | None = None
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Something outside of any sandbox that bears the label of the process it was made for.

    ``kind`` is a word for a user (``container``, ``folder``), ``name`` what it is called there. ``kept`` says why
    it must stay, as a part of a sentence; empty where its owner is proven dead. ``remove`` removes it, and raises
    ``InfrastructureError`` where that cannot be done; what is gone already is fine.
    """

    kind: str
    name: str
    owner: str
    kept: str = ""
    remove: Callable[[], None] = field(repr=False, compare=False)


class EngineSandbox(Protocol):
    """One live sandbox: a duplex, non-blocking byte stream to its guest, and its end.

    The stream carries the wire protocol of ``toolc.guest.frames``; the engine does not look into it.
    """

    @property
    def user(self) -> str:
        """Who the tool is inside, for ``details``: ``"1000:1000"``, or ``"0:0 (no capabilities)"``."""

    @property
    def image(self) -> ImageUsed | None:
        """What it was made of, for ``details``; None where its root is the host's own programs."""

    @property
    def created(self) -> float:
        """When it was made and only to be started, by ``perf_counter``."""

    def fileno(self) -> int:
        """The descriptor to poll for reading and writing, as long as nothing is read."""

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

    def probe(self) -> EngineStatus:
        """Whether this engine works here. Cheap, never raises, and leaves nothing behind."""

    def capabilities(self) -> tuple[Capabilities, ...]:
        """What it enforces on this host, for each kind of isolation that it has, weakest first; empty if absent."""

    def refusal(self, profile: Profile) -> str | None:
        """Why this host's engine cannot keep what ``profile`` demands, with the remedy; None if it can."""

    def overlay_obstacle(self, profile: Profile) -> str | None:
        """Why this engine cannot show the workspace of ``profile`` as an overlay; None if it may be tried."""

    def pins(self, profile: Profile) -> ContentDigests:
        """What sandboxes of ``profile`` are made of, made where it is not there yet.

        Raises ``InfrastructureError``.
        """

    def start(self, profile: Profile, arguments: Sequence[str]) -> EngineSandbox:
        """Start a fresh sandbox in which ``python3 ARGUMENTS...`` runs as process 1.

        Raises ``InfrastructureError`` where it cannot be started; then nothing of it is left.
        """

    def leftovers(self) -> tuple[Leftover, ...]:
        """All that this engine has made for any process, in the order in which it is to be removed.

        What other engines' and this engine's own folders hold is not among it. Raises ``InfrastructureError``.
        """

    def close(self) -> None:
        """Give up whatever the engine holds (connections, threads). Sandboxes are closed by their owners."""


READ_BYTES: Final = 256 * 1024


class SocketStream:
    """A non-blocking duplex stream whose peer may die at any time without an exception.

    Owns the socket from its construction on.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        # Room that stays: to make so much for each read costs more than the read.
        self._room = memoryview(bytearray(READ_BYTES))

    def fileno(self) -> int:
        """The descriptor to poll; -1 once closed."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """What has arrived, at most 256 KiB; ``b""`` at the end, None when nothing has yet."""
        try:
            return bytes(self._room[: self._socket.recv_into(self._room)])
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now and return how many bytes that was; all of them if nobody is there to read."""
        try:
            return self._socket.send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)

    def close(self) -> None:
        """End the stream in both directions, also for processes that share the socket."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

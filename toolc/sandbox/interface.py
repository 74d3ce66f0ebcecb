"""The interfaces that each sandbox engine implements: ``Engine``, ``EngineSandbox``, and their capabilities."""

import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from toolc.dataclass import dataclass, field
from toolc.model.plan import LIMITS, LimitName, Profile
from toolc.model.spec.sandbox import Limits, MinIsolation, WorkspaceMode

Level: TypeAlias = Literal["enforced", "approximate", "not"]
"""How a limit is enforced: exactly, with a similar limit, or not at all."""

User: TypeAlias = Literal["owner", "nobody", "root"]
"""The user that a tool runs as: the owner of the workspace, ``nobody``, or root without capabilities."""

ISOLATION: Final[tuple[MinIsolation, ...]] = ("namespace", "gvisor", "vm")
"""The kinds of isolation, weakest first. Each one satisfies a demand for a weaker one."""

NO_PYTHON: Final = r"executable file not found|python3.*(?:no such file|exec format|permission denied)"
"""A regular expression that matches the runtimes' errors if the first program is missing or not executable."""

READ_BYTES: Final = 256 * 1024
"""The number of bytes to read at once, which is the size of the largest DATA frame."""

_STANDARD: Final = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus:
    """Whether an engine is available on this host. If not, ``reason`` and ``remedy`` are sentences for the user."""

    available: bool
    version: str = ""
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """How well a limit is enforced.

    ``reason`` and ``remedy`` are sentences that say why the limit is not fully enforced, and what to do about it.
    ``instead`` says what is limited in its place (``nothing``, ``each process separately``).
    """

    level: Level = "enforced"
    reason: str = ""
    instead: str = ""
    remedy: str = ""


WORKSPACE: Final = Enforcement(
    level="approximate",
    reason="Neither the size of the file system nor a project quota limits how much a call writes to the workspace.",
    instead="the call is stopped when it has written more, which is checked ten times a second",
    remedy=(
        "Put the workspace (for a transaction, $XDG_STATE_HOME/toolc/scratch) on a file system of at most this size, "
        "or under a project quota of at most this size."
    ),
)
"""How every engine enforces ``limits.workspace``. If the kernel enforces it, the profile does not have the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine enforces on this host with one kind of isolation.

    ``weak`` has the limits that are not fully enforced. All other limits are enforced. ``users`` are the users that a
    tool may run as. ``overlay_obstacle`` says why a workspace cannot be mounted as an overlay, in which case
    transactions use a copy. It is empty if an overlay may be tried. ``notes`` are differences from other engines, one
    sentence each.
    """

    isolation: MinIsolation = "namespace"
    weak: Mapping[LimitName, Enforcement] = field(default_factory=dict)
    workspaces: tuple[WorkspaceMode, ...] = get_args(WorkspaceMode)
    users: tuple[User, ...] = get_args(User)
    images: bool = True
    overlay_obstacle: str = "this engine does not support overlays"
    notes: tuple[str, ...] = ()

    def limit(self, name: LimitName) -> Enforcement:
        """Return how this limit is enforced."""
        return self.weak.get(name, WORKSPACE if name == "workspace" else Enforcement())


def offer(offered: Sequence[Capabilities], required: MinIsolation) -> Capabilities:
    """Return the weakest of the ``offered`` capabilities that satisfies ``required``, or the defaults if none does."""
    fit = (each for each in offered if ISOLATION.index(each.isolation) >= ISOLATION.index(required))
    return next(fit, Capabilities())


def unenforced(capabilities: Capabilities, limits: Limits = _STANDARD) -> tuple[LimitName, ...]:
    """Return which of ``limits`` are not fully enforced, in the order of ``LIMITS``."""
    if not capabilities.weak and limits.workspace_bytes is None:
        return ()
    names = (name for name in LIMITS if name != "workspace" or limits.workspace_bytes is not None)
    return tuple(name for name in names if capabilities.limit(name).level != "enforced")


def unenforced_reason(capabilities: Capabilities, profile: Profile) -> str | None:
    """Return why the limits of ``profile`` cannot be enforced, with the remedies.

    Return None if all limits are enforced or the user accepts the missing ones.
    """
    missing = [name for name in unenforced(capabilities, profile.limits) if name not in profile.accept_unenforced]
    if not missing:
        return None
    found = [capabilities.limit(name) for name in missing]
    # Several limits often have the same cause.
    reasons = " ".join(dict.fromkeys(each.reason for each in found))
    remedies = " ".join(dict.fromkeys(each.remedy for each in found))
    return (
        f"it cannot enforce {format_limits(missing)} here. {reasons} {remedies} To run without full enforcement "
        f"(limited instead: {format_fallbacks(capabilities, missing)}), add this to ~/.config/toolc/config.yaml: "
        f"accept_unenforced: [{', '.join(missing)}]"
    )


def format_fallbacks(capabilities: Capabilities, names: Sequence[LimitName]) -> str:
    """Return a message that says, for each limit in ``names``, what is limited instead."""
    return "; ".join(f"{name}: {capabilities.limit(name).instead}" for name in names)


def format_limits(names: Sequence[str]) -> str:
    """Format at least one limit name for the user: ``limits.memory, limits.cpus and limits.pids``."""
    *others, last = (f"limits.{name}" for name in names)
    return f"{', '.join(others)} and {last}" if others else last


@dataclass(frozen=True, slots=True)
class ImageUsed:
    """The image that a sandbox was created from: its requested name, and the digest by which its engine knows it.

    ``names`` are the names of its content (``toolc.sandbox.images.metadata``), of which the first one approves it.
    ``tree`` is the digest of its files, which is the same on all engines, or ``""`` if it is unknown.
    """

    name: str
    digest: str
    names: tuple[str, ...] = ()
    tree: str = ""


HOST_PROGRAMS: Final = ImageUsed("host:/usr", "")
"""The value in place of an image if the user's configuration has ``host_programs: true``."""


@dataclass(frozen=True, slots=True)
class ContentDigests:
    """The content digests of the image and the packages of a sandbox.

    ``image`` is the base image if the profile does not name an image, or None if the sandbox has no image. ``packages``
    are all packages that the requirements resolve to, each as ``name==version@sha256:...``.
    """

    image: ImageUsed | None = None
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """An object outside of any sandbox that has the label of the process it was created for.

    ``kind`` is a word for the user (``container``, ``folder``), and ``name`` is the name of the object. ``kept`` is a
    clause that says why the object must be kept, or ``""`` if its owner is known to be dead. ``remove`` removes the
    object, and raises ``InfrastructureError`` if that fails. It does nothing if the object no longer exists.
    """

    kind: str
    name: str
    owner: str
    kept: str = ""
    remove: Callable[[], None] = field(repr=False, compare=False)


class EngineSandbox(Protocol):
    """One live sandbox: a non-blocking, bidirectional byte stream to its guest.

    The stream carries the wire protocol of ``toolc.guest.frames``. The engine does not interpret it.
    """

    @property
    def user(self) -> str:
        """The user that the tool runs as, for ``details``: ``"1000:1000"``, or ``"0:0 (no capabilities)"``."""

    @property
    def image(self) -> ImageUsed | None:
        """The image of the sandbox, for ``details``: ``HOST_PROGRAMS`` if it uses those, or None if it has no image."""

    @property
    def created(self) -> float:
        """The time at which the sandbox was created and ready to be started (``time.perf_counter``)."""

    def fileno(self) -> int:
        """Return the descriptor to poll for reading and writing. It may change with each ``read``."""

    def read(self) -> bytes | None:
        """Return the received bytes, at most 256 KiB, ``b""`` at the end of the stream, or None if none have arrived.

        Before you poll again, call this method until it returns None. It does not raise if the peer is dead.
        """

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as fits now, and return the number of bytes sent. If the peer is dead, discard all data."""

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed a process in this sandbox because memory ran out.

        Counters or events of the engine tell this. Call it while the sandbox is alive, or after ``close``.
        """

    def memory_kills(self) -> int:
        """Return how many processes the kernel has killed for lack of memory, or 0 or 1 if the engine cannot count."""

    def error_output(self) -> str:
        """Return the error output of the engine or the guest, at most 4 KiB. It has the cause if the sandbox died."""

    def close(self) -> None:
        """Close the stream, which ends the sandbox, and wait until none of its processes is left.

        If it has not ended after half a second, the engine kills it. Further calls have no effect.
        """


@runtime_checkable
class EngineForkServer(EngineSandbox, Protocol):
    """A sandbox of a profile with ``has_fork_server``.

    The stream carries the frames of ``toolc.guest.forks.fork_supervisor``. Only one thread at a time may use it.
    """

    @property
    def setup(self) -> bytes:
        """The data to send after the guest's bundle, before the guest is ready."""

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended, so that it cannot fork any more processes."""

    def fork(self) -> EngineSandbox:
        """Fork the process of a call, and return its sandbox. Its ``close`` returns when all processes have ended.

        Close the sandbox of the previous call first. Raises ``InfrastructureError``.
        """


class Engine(Protocol):
    """A way to create sandboxes. Its methods are thread-safe. An engine may also be a ``PoolEngine``."""

    @property
    def name(self) -> str:
        """The engine's name in ``--engine``."""

    def probe(self) -> EngineStatus:
        """Return whether this engine works here. This is fast and leaves nothing behind.

        Raises ``InfrastructureError`` only if too many open files prevent the check.
        """

    def capabilities(self) -> tuple[Capabilities, ...]:
        """Return what the engine enforces here for each kind of isolation, weakest first. Empty if unavailable."""

    def unsupported_reason(self, profile: Profile) -> str | None:
        """Return why this engine cannot meet the demands of ``profile`` here, with the remedy, or None if it can."""

    def content_digests(self, profile: Profile) -> ContentDigests:
        """Return the content digests for ``profile``, and create missing images. Raises ``InfrastructureError``."""

    def start(self, profile: Profile, arguments: Sequence[str]) -> EngineSandbox:
        """Start a new sandbox in which ``python3 ARGUMENTS...`` runs as process 1.

        The result is an ``EngineForkServer`` if the profile has one. Raises ``InfrastructureError`` if the sandbox
        cannot be started, and leaves nothing behind.
        """

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return all objects that this engine has created for any process, in the order in which to remove them.

        The runtime folders of owners are not included. Raises ``InfrastructureError``.
        """

    def close(self) -> None:
        """Stop the remaining sandboxes, and release the connections, threads and files of the engine.

        The owners of the sandboxes must still close them. A later start opens the engine again.
        """


@runtime_checkable
class PoolEngine(Engine, Protocol):
    """An engine that can start sandboxes before the calls that they serve are known."""

    @property
    def closings(self) -> int:
        """How often ``close`` was called. Calls that began before the last ``close`` get no sandbox started ahead."""

    def profile_ahead(self, profile: Profile) -> Profile:
        """Return the profile of sandboxes that are started ahead for calls with ``profile``. This is fast.

        If ``mount_workspace`` can mount the workspace later, the workspace of this profile has no ``source`` (see
        ``Mount``).
        """

    def mount_workspace(self, profile: Profile, sandbox: EngineSandbox) -> None:
        """Mount the workspace of ``profile`` in ``sandbox``, which was started with ``profile_ahead`` and has no call.

        The tool sees what it would see in a sandbox started with ``profile``. After an ``InfrastructureError``, the
        sandbox must not be used.
        """

    def is_current(self, profile: Profile, sandbox: EngineSandbox) -> bool:
        """Return whether ``sandbox``, which was started earlier for ``profile``, is as ``start`` would create it now.

        It is not if the image was replaced or removed, or if a daemon was restarted. This is fast.
        """


@runtime_checkable
class DaemonEngine(Engine, Protocol):
    """An engine that asks a daemon, which takes milliseconds to answer."""

    def begin_probe(self) -> None:
        """Send the requests of ``probe`` without waiting for the responses, which ``probe`` then reads."""


class SocketStream:
    """A non-blocking bidirectional stream that owns its socket. If its peer dies, no method raises an exception."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        # The buffer is reused, because allocating one costs more than a read.
        self._room = memoryview(bytearray(READ_BYTES))

    def fileno(self) -> int:
        """Return the descriptor to poll, or -1 once closed."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """Return the bytes that have arrived, at most 256 KiB, ``b""`` at the end, or None if none have arrived."""
        try:
            return bytes(self._room[: self._socket.recv_into(self._room)])
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as fits now, and return the number of bytes sent, which is all of them if the peer is dead."""
        try:
            return self._socket.send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)

    def shut_down(self) -> None:
        """End the stream in both directions, for this process and all others that share the socket."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the stream as in ``shut_down``, and close the socket."""
        self.shut_down()
        self._socket.close()

"""The result of a call: the ``Outcome`` that an engine observed, and the ``ToolResult`` that a caller receives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

from toolc.dataclass import dataclass, field
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.template import as_text

REPLACEMENT: Final = "\ufffd"

Ending: TypeAlias = Literal[
    "exited", "signaled", "timed_out", "out_of_memory", "workspace_limit", "cancelled", "not_started", "answered",
    "refused", "broken", "unreachable",
]  # fmt: skip
"""How a call ended. ``not_started`` means that the tool's program could not be found or run.

A process that serves many calls ends a call with ``answered``, with ``refused`` if it is not the one that was reviewed,
or with ``broken`` if it violated the protocol. A call that did not reach its server ends with ``unreachable``.
"""

MAX_LISTED_FAILURES: Final = 10
"""The maximum number of failures in the message of a ``BatchError``. They usually have the same cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionAttempt:
    """A host and a port to which a call tried to connect.

    ``entry`` is the entry of the allow-list that allows it, and ``remedy`` the entry that would allow it. Both are as
    written in a spec, or empty. ``address`` is empty if no address was tried. ``bytes_in`` is the number of bytes that
    the server sent.
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
        """Return the attempt as an entry of ``details.network`` and of an event."""
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


@dataclass(frozen=True, slots=True)
class Capture:
    """An output stream with a size limit: its start, its end, and its total size.

    ``tail`` is empty if everything fits into ``head``. ``total_bytes`` includes the bytes that were cut out. ``shown``
    is what a terminal would show of the stream, if that differs.
    """

    head: bytes = b""
    tail: bytes = b""
    total_bytes: int = 0
    shown: Capture | None = None

    @property
    def cut_bytes(self) -> int:
        """The number of bytes missing between ``head`` and ``tail``."""
        return self.total_bytes - len(self.head) - len(self.tail)

    @property
    def truncated(self) -> bool:
        """Whether anything was cut out."""
        return self.cut_bytes > 0

    def data(self) -> bytes:
        """Return the bytes that were kept, without a note about the bytes that were cut."""
        return self.head + self.tail

    def text(self, more: str = "") -> str:
        """Return the bytes that were kept, as text as a terminal would show it.

        If bytes were cut, a line in their place says how many, followed by ``more``. Bytes that are not UTF-8 are
        replaced.
        """
        return (self.shown or self).raw_text(more)

    def raw_text(self, more: str = "") -> str:
        """Like ``text``, but with the control sequences of terminals."""
        if not self.truncated:
            return self.data().decode("utf-8", "replace")
        head, tail = self.head.decode("utf-8", "replace"), self.tail.decode("utf-8", "replace")
        line = f"[{self.cut_bytes} bytes cut{f'; {more}' if more else ''}]"
        return f"{head.rstrip(REPLACEMENT)}\n{line}\n{tail.lstrip(REPLACEMENT)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Resource usage of a call. ``cpu_ms`` and ``peak_memory_bytes`` are None if the sandbox could not measure them.

    ``host_ms`` is the part of ``duration_ms`` in which toolc worked, instead of waiting for the tool.
    ``workspace_growth_bytes`` is None for a call that cannot write to a workspace.
    """

    duration_ms: float = 0.0
    host_ms: float = 0.0
    cpu_ms: float | None = None
    peak_memory_bytes: int | None = None
    workspace_growth_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome that an engine observed in a sandbox, before any interpretation.

    ``status`` is the exit status if the ending is ``exited``, or the number of the signal if it is ``signaled``.
    ``reply`` is the reply of a Python call, as JSON from the guest that is not yet trusted. ``reason`` explains
    ``not_started`` and ``broken``, and is the limit for ``workspace_limit``. ``attempts`` are the attempted
    connections, and ``unlisted_attempts`` is the number of further ones. ``about`` describes the progress of an HTTP
    call, for ``details.http``. ``kind`` is that of the error for ``unreachable``. ``processes_ended`` is true if no
    process of the call is left that could still change something, and None if the guest did not report it.
    """

    ending: Ending
    status: int = 0
    stdout: Capture = field(default_factory=Capture)
    stderr: Capture = field(default_factory=Capture)
    reply: Capture | None = None
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    attempts: tuple[ConnectionAttempt, ...] = ()
    unlisted_attempts: int = 0
    about: JsonObject = field(default_factory=dict)
    kind: ErrorKind = "network"
    processes_ended: bool | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its bytes and MIME type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Audio:
    """An audio recording: its bytes and MIME type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Resource:
    """A file that is not text, an image or audio: its bytes, MIME type and name."""

    data: bytes
    mime_type: str
    name: str


Content: TypeAlias = Text | Image | Audio | Resource


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """The reason why a tool failed, with a kind for programs and a message on which a model can act."""

    kind: ErrorKind
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result that a caller receives. ``content`` is for the model, which does not see ``details``.

    ``structured`` is the tool's data in a tuple of length one, or None if there is no data. ``(None,)`` is null.
    ``data`` is the same without the tuple.
    """

    content: tuple[Content, ...]
    structured: tuple[JsonValue] | None = None
    error: ToolFailure | None = None
    details: JsonObject = field(default_factory=dict)

    @classmethod
    def success(cls, data: JsonValue, *, message: str | None = None, details: JsonObject | None = None) -> ToolResult:
        """Return a result with data. A string becomes text content, and any other value is structured data.

        The model reads ``message`` instead of the JSON of the data, and does not see ``details``. A value that is not
        JSON, such as a date, is converted when the call ends. If that is not possible, the call fails with an error of
        kind ``serialization`` that names the place of the value.
        """
        words = _words(data) if message is None else message
        structured = None if isinstance(data, str) and message is None else (data,)
        return cls(content=() if words is None else (Text(words),), structured=structured, details=details or {})

    @classmethod
    def failure(cls, message: str, *, kind: ErrorKind = "execution", details: JsonObject | None = None) -> ToolResult:
        """Return a failed result with a message on which a model can act. Raises ``UsageError`` for an unknown kind."""
        if kind not in get_args(ErrorKind):
            raise UsageError(f"{kind!r} is not a kind of error; use one of: {', '.join(get_args(ErrorKind))}")
        return cls(content=(Text(message),), error=ToolFailure(kind, message), details=details or {})

    @property
    def is_error(self) -> bool:
        """Whether the tool reported a failure."""
        return self.error is not None

    @property
    def text(self) -> str:
        """The text blocks of ``content``, joined by line feeds."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def data(self) -> JsonValue:
        """The tool's data, or None if there is none. ``structured`` distinguishes missing data from null."""
        return self.structured[0] if self.structured else None


def failure(kind: ErrorKind, message: str, details: JsonObject | None = None) -> ToolResult:
    """Return a failed result with only a kind, a message and details."""
    return ToolResult.failure(message, kind=kind, details=details)


class BatchError(InfrastructureError):
    """Some calls of a batch could not be made. The results of the others are kept.

    ``outcomes`` has one entry per call, in call order: its ``ToolResult``, or the exception that was raised.
    """

    def __init__(self, failures: Sequence[str], outcomes: tuple[ToolResult | Exception, ...]) -> None:
        lines = [f"{len(failures)} of {len(outcomes)} calls could not be made:", *failures[:MAX_LISTED_FAILURES]]
        if len(failures) > MAX_LISTED_FAILURES:
            lines.append(f"- and {len(failures) - MAX_LISTED_FAILURES} more")
        super().__init__("\n".join(lines))
        self.outcomes = outcomes


def _words(data: JsonValue) -> str | None:
    try:
        return as_text(data)
    except (TypeError, ValueError, RecursionError):
        return None  # the end of the call converts the data

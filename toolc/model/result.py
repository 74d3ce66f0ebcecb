"""What came of a call: the ``Outcome`` an engine saw, and the ``ToolResult`` a caller gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.template import as_text

__all__ = [
    "REPLACEMENT",
    "Audio",
    "BatchError",
    "Capture",
    "ConnectionAttempt",
    "Content",
    "Ending",
    "Image",
    "Outcome",
    "Resource",
    "Text",
    "ToolFailure",
    "ToolResult",
    "Usage",
    "failure",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionAttempt:
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


@dataclass(frozen=True, slots=True)
class Capture:
    """One output stream under a cap: what came first, what came last, and how much there was.

    ``tail`` is empty while all of it fits in ``head``; ``total_bytes`` counts what was cut out too.
    """

    head: bytes = b""
    tail: bytes = b""
    total_bytes: int = 0

    @property
    def cut_bytes(self) -> int:
        """How many bytes are missing between ``head`` and ``tail``."""
        return self.total_bytes - len(self.head) - len(self.tail)

    @property
    def truncated(self) -> bool:
        """Whether anything was cut out."""
        return self.cut_bytes > 0

    def data(self) -> bytes:
        """All that was kept, as bytes, without a word about what was cut."""
        return self.head + self.tail

    def text(self, more: str = "") -> str:
        """All that was kept, as text (what is not UTF-8 replaced), a line between saying what was cut.

        ``more`` says in that line how to get at the rest.
        """
        if not self.truncated:
            return self.data().decode("utf-8", "replace")
        head, tail = self.head.decode("utf-8", "replace"), self.tail.decode("utf-8", "replace")
        line = f"[{self.cut_bytes} bytes cut{f'; {more}' if more else ''}]"
        return f"{head.rstrip(REPLACEMENT)}\n{line}\n{tail.lstrip(REPLACEMENT)}"


REPLACEMENT: Final = "\ufffd"

Ending: TypeAlias = Literal[
    "exited", "signaled", "timed_out", "out_of_memory", "cancelled", "not_started", "answered", "refused", "broken"
]
"""How a call ended. ``not_started``: the tool's program could not be found or run.

Of a process that serves many calls: it ``answered``; it was ``refused``, being another than was reviewed; it
was ``broken``, and spoke otherwise than it may.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call used. ``cpu_ms`` and ``peak_memory_bytes`` are None where the sandbox could not say."""

    duration_ms: float = 0.0
    cpu_ms: float | None = None
    peak_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened in a sandbox, with no judgement yet.

    ``status`` is the exit status where the ending is ``exited``, the signal's number where it is
    ``signaled``. ``reply`` is what a Python call answered: the guest's JSON, not yet trusted.
    ``reason`` says why where the ending is ``not_started``. ``attempts`` are the connections that were asked
    for; beside them there were ``unlisted_attempts``. ``about`` is how far an HTTP call came, for ``details.http``.
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


@dataclass(frozen=True, slots=True)
class Text:
    """Words for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its bytes and their MIME type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Audio:
    """A recording: its bytes and their MIME type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Resource:
    """A file that is neither text, a picture nor a recording: its bytes, its MIME type, and a name for it."""

    data: bytes
    mime_type: str
    name: str


Content: TypeAlias = Text | Image | Audio | Resource


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why a tool failed: a kind that programs read and words that a model can act on."""

    kind: ErrorKind
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a caller gets. ``content`` goes to the model; ``details`` never does.

    ``structured`` is the tool's data, in a list of one where there is any (None is data too); ``data`` is the
    same without the list.
    """

    content: tuple[Content, ...]
    structured: tuple[JsonValue] | None = None
    error: ToolFailure | None = None
    details: JsonObject = field(default_factory=dict)

    @classmethod
    def success(
        cls, data: JsonValue, *, message: str | None = None, details: JsonObject | None = None
    ) -> ToolResult:
        """A result with data: a text alone is content, anything else is structured.

        ``message`` is what the model reads instead of the data's JSON; ``details`` it never sees. A call that ends
        with what is no JSON in either has an error of kind ``serialization``, which says where it is.
        """
        words = _words(data) if message is None else message
        structured = None if isinstance(data, str) and message is None else (data,)
        return cls(content=(Text(words),), structured=structured, details=details or {})

    @classmethod
    def failure(
        cls, message: str, *, kind: ErrorKind = "execution", details: JsonObject | None = None
    ) -> ToolResult:
        """A result that says nothing but why the tool failed, in words that a model can act on.

        Raises ``UsageError`` for a kind that there is not.
        """
        if kind not in get_args(ErrorKind):
            raise UsageError(f"{kind!r} is no kind of error; use one of: {', '.join(get_args(ErrorKind))}")
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
        """The tool's data; None where it gave none, which ``structured`` tells apart from null."""
        return self.structured[0] if self.structured else None


def _words(data: JsonValue) -> str:
    try:
        return as_text(data)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(data).__name__} that is no JSON"  # told at the end of the call, with its place


def failure(kind: ErrorKind, message: str, details: JsonObject | None = None) -> ToolResult:
    """A result that says nothing but why the tool failed."""
    return ToolResult.failure(message, kind=kind, details=details)


MOST_TOLD: Final = 10
"""How many failures an error about several names."""


class BatchError(InfrastructureError):
    """Some calls of a batch could not be made, and none of the results is lost.

    ``outcomes`` has one entry for each call, in call order: its ``ToolResult``, or what was raised for it.
    """

    def __init__(self, told: Sequence[str], outcomes: tuple[ToolResult | Exception, ...]) -> None:
        shown = [*told[:MOST_TOLD], f"- and {len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else told
        super().__init__("\n".join((f"{len(told)} of {len(outcomes)} calls could not be made:", *shown)))
        self.outcomes = outcomes

"""Events that the embedding program receives while a call runs."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.result import ConnectionAttempt, Content, Text, ToolFailure, ToolResult

Stream: TypeAlias = Literal["stdout", "stderr", "content"]
"""The source of a piece of output. ``content`` comes from the values that a Python tool yields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """The fields that all events have: the name of the tool and the id of the call.

    ``parent_call_id`` is the id of the call that made this one, for example as a step of a composite. It is None
    for a call that the embedding program made.
    """

    name: str
    call_id: str
    parent_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart(CallEvent):
    """A call starts. Its arguments are valid, it was not denied, and its sandbox is being started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdate(CallEvent):
    """Output or progress of a running tool.

    If ``stream`` is set, ``text`` is the next piece of that stream in UTF-8, never cut within a character, or
    ``blocks`` has images and other content that is not text. Each stream is limited to the tool's output limit. If
    ``stream`` is None, the tool reported progress as ``percent`` (0 to 100, or None if unknown), ``message``, and
    optionally ``blocks`` with content to show until then.
    """

    percent: float | None = None
    message: str = ""
    stream: Stream | None = None
    text: str = ""
    blocks: tuple[Content, ...] = ()

    @property
    def content(self) -> tuple[Content, ...]:
        """The output as content blocks. Empty for progress without content."""
        return (Text(self.text), *self.blocks) if self.text else self.blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConnect(CallEvent):
    """A connection of a call was opened, refused or closed, or failed."""

    attempt: ConnectionAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRetry(CallEvent):
    """An attempt failed, and another one follows after ``wait_ms``. Discard the output reported so far.

    ``attempt`` is the number of the attempt that failed, counted from 1.
    """

    attempt: int
    error: ToolFailure
    wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDenied(CallEvent):
    """A call was denied and does not start. Its ``ToolEnd`` follows."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd(CallEvent):
    """A call has ended and its sandbox was removed. This is the last event of every call that has a result."""

    result: ToolResult


Event: TypeAlias = ToolStart | ToolUpdate | ToolConnect | ToolRetry | ToolDenied | ToolEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnd:
    """All calls of a batch have ended. ``results`` has the order of the calls."""

    results: tuple[ToolResult, ...]


BatchEvent: TypeAlias = Event | BatchEnd
"""An item of ``Executor.stream_batch``: an event of one of the calls, or, last, the end of the batch."""

Listener: TypeAlias = Callable[[Event], None]
"""Receives events in order, on a thread of the call. An exception from the function ends the call and reaches the
caller.
"""

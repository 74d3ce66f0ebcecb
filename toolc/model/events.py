"""What happens while a call runs, told to whoever embeds toolc."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolc.model.result import ConnectionAttempt, Content, Text, ToolFailure, ToolResult

__all__ = [
    "BatchEnd",
    "BatchEvent",
    "CallEvent",
    "Event",
    "Listener",
    "Stream",
    "ToolConnect",
    "ToolDenied",
    "ToolEnd",
    "ToolRetry",
    "ToolStart",
    "ToolUpdate",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """What every event says: which tool, and which call of it.

    ``parent_call_id`` is the call that this one was made by, as a step of a composite is; None where a caller
    made it.
    """

    name: str
    call_id: str
    parent_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart(CallEvent):
    """A call may run: its arguments are valid, nobody denies it, and its sandbox is being started."""


Stream: TypeAlias = Literal["stdout", "stderr", "content"]
"""Where a piece of text comes from; ``content`` is what a Python tool yields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdate(CallEvent):
    """What a tool let be known while it runs: a piece of its output, or how far it is.

    Where ``stream`` is set, ``text`` is the next piece of it, in UTF-8 that is never cut within a character, or
    ``blocks`` are: pictures and what else is no text. Of each stream at most as much comes as the tool's output
    limit. Where it is None the tool reported progress: ``percent`` (0 to 100, None where unknown), words, and
    perhaps ``blocks`` to show by now.
    """

    percent: float | None = None
    message: str = ""
    stream: Stream | None = None
    text: str = ""
    blocks: tuple[Content, ...] = ()

    @property
    def content(self) -> tuple[Content, ...]:
        """What there is to show, as content blocks; none for a bare report of progress."""
        return (Text(self.text), *self.blocks) if self.text else self.blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConnect(CallEvent):
    """A call asked for a connection: it was made, refused, failed, or was ended for a reason."""

    attempt: ConnectionAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRetry(CallEvent):
    """An attempt failed and another one follows after ``wait_ms``; the output that was told counts no more.

    ``attempt`` is the number of the one that failed, from 1.
    """

    attempt: int
    error: ToolFailure
    wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDenied(CallEvent):
    """A call that nobody lets run: nothing of it starts. Its ``ToolEnd`` follows."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd(CallEvent):
    """A call is over and its sandbox is gone: the last event of every call that has a result."""

    result: ToolResult


Event: TypeAlias = ToolStart | ToolUpdate | ToolConnect | ToolRetry | ToolDenied | ToolEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEnd:
    """All calls of a batch are over: their results, in the order of the calls."""

    results: tuple[ToolResult, ...]


BatchEvent: TypeAlias = Event | BatchEnd
"""What ``Executor.stream_batch`` tells: an event of one of the calls, and at last the end of all."""

Listener: TypeAlias = Callable[[Event], None]
"""Is told what happens, one event after the other, on the thread of the call, or of a part that runs beside others.

What it raises ends the call and reaches the caller.
"""

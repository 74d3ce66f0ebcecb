"""What happens while a call runs, told to whoever embeds toolc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolc.attempt import Attempt
from toolc.result import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart:
    """A call's arguments are valid and its sandbox is being started."""

    name: str
    call_id: str


Stream: TypeAlias = Literal["stdout", "stderr", "content"]
"""Where a piece of text comes from; ``content`` is what a Python tool yields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdate:
    """What a tool let be known while it runs: a piece of its output, or how far it is.

    Where ``stream`` is set, ``text`` is the next piece of it, in UTF-8 that is never cut within a character;
    of each stream at most as much comes as the tool's output limit. Where it is None the tool reported
    progress: ``percent`` (0 to 100, None where unknown) and words.
    """

    name: str
    call_id: str
    percent: float | None = None
    message: str = ""
    stream: Stream | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd:
    """A call is over and its sandbox is gone: the last event of every call that has a result."""

    name: str
    call_id: str
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConnect:
    """A call asked for a connection: it was made, refused, failed, or was ended for a reason."""

    name: str
    call_id: str
    attempt: Attempt


Event: TypeAlias = ToolStart | ToolUpdate | ToolConnect | ToolEnd

"""What happens while a call runs, told to whoever embeds toolc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from toolc.result import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart:
    """A call's arguments are valid and its sandbox is being started."""

    name: str
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdate:
    """A tool said how far it is: ``percent`` (0 to 100, None where unknown) and words."""

    name: str
    call_id: str
    percent: float | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd:
    """A call is over and its sandbox is gone."""

    name: str
    call_id: str
    result: ToolResult


Event: TypeAlias = ToolStart | ToolUpdate | ToolEnd

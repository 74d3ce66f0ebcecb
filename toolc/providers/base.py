"""What a provider is: a pure lowering of tools to the value of its SDK's ``tools`` argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from toolc.schema import JsonValue
from toolc.spec import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something a provider's definition cannot say: which tool, where in it (a JSON Pointer), and what."""

    tool: str
    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Lowering:
    """Tools in a provider's envelope, and what was lost on the way."""

    tools: list[JsonValue]
    losses: tuple[Loss, ...] = ()


class Provider(Protocol):
    """A target of ``toolc build``."""

    @property
    def name(self) -> str:
        """The word for ``definitions(...)``, and the name of its file under ``providers/``."""

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order."""

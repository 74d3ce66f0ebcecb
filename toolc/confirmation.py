"""What a person is asked before a tool runs that says ``confirm: true``, and what he may answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from toolc.call import BoundCall
from toolc.schema import JsonObject


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run; with ``arguments`` in the place of its own, if they are given. They are validated anew."""

    arguments: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run. ``reason`` is told to the model."""

    reason: str = ""


Confirm: TypeAlias = Callable[[BoundCall], Allow | Deny]
"""Answers for one call, on the thread of that call; whatever is neither ``Allow`` nor ``Deny`` denies it.

What it raises ends the call and reaches the caller.
"""

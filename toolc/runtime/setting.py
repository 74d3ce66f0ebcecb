"""What the caller of a tool decides, and not its spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from toolc.model.call import Ask, Confirm
from toolc.model.lock_file import Lock
from toolc.model.plan import Profile
from toolc.model.spec.tool import ToolSpec
from toolc.policy.policy import Policy
from toolc.runtime.secrets import Reveal, no_secrets
from toolc.runtime.session import Sessions
from toolc.runtime.shelf import Shelf
from toolc.sandbox.selection import EngineSelection

Choose: TypeAlias = Callable[[Profile], EngineSelection]
"""Finds the engine for a profile. Raises ``NoEngineError`` or ``UsageError``."""


def _denies_nothing(_: ToolSpec) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the caller, not the spec, decides: the folder to work in, the engine, a shorter deadline.

    ``accept_unenforced`` names limits that the user can do without. ``ask`` is asked where a spec says
    ``commit: ask``; without it such changes never become real. ``confirm`` is asked where a spec says
    ``confirm: true``; without it such a tool is not called. ``denied`` says why a tool may not be called at all.
    ``sessions`` are the sandboxes that live for several calls, ``shelf`` keeps long results where they are to be
    read on; who makes a setting closes both. With a ``lock`` only what it approves is called,
    and with a ``policy`` only what it allows.
    """

    choose: Choose
    workspace: Path | None = None
    timeout_ms: int | None = None
    accept_unenforced: tuple[str, ...] = ()
    ask: Ask | None = None
    reveal: Reveal = no_secrets
    confirm: Confirm | None = None
    denied: Callable[[ToolSpec], str | None] = _denies_nothing
    sessions: Sessions = field(default_factory=Sessions)
    shelf: Shelf | None = None
    lock: Lock | None = None
    policy: Policy | None = None


def limit_ms(tool: ToolSpec, setting: Setting) -> int:
    """How long one attempt of a call may take: what was reviewed, or less where the caller says so."""
    reviewed = tool.sandbox.limits.timeout_ms
    return reviewed if setting.timeout_ms is None else min(reviewed, setting.timeout_ms)

"""What a call changed in its workspace: told before it reaches the real files, and with the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec

__all__ = [
    "NOBODY_TO_ASK",
    "Action",
    "Allow",
    "Ask",
    "BoundCall",
    "Confirm",
    "Deny",
    "FileChange",
    "Kind",
    "Proposal",
    "ToolCall",
    "changes_to_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as it came: a tool's name, arguments nobody has looked at, and the caller's id for it.

    An executor gives one to a call whose id is empty.
    Models write arguments that are no object, or not even JSON: then it is their text, and the call fails.
    """

    name: str
    arguments: JsonValue
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """A call whose arguments satisfy the tool's schema, defaults filled in."""

    tool: ToolSpec
    arguments: JsonObject
    call_id: str


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

NOBODY_TO_ASK: Final = "the spec says commit: ask, and nobody could be asked"
"""Why changes that nobody was there to decide about were not made."""

Action: TypeAlias = Literal["added", "changed", "deleted"]
Kind: TypeAlias = Literal["file", "directory", "symlink", "special"]
"""What stands at a path. ``special``: a fifo, a socket or a device."""

MOST_LISTED: Final = 200
"""How many changes ``details`` lists; the rest are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One path that is no longer as it was before the call.

    ``path`` is relative to the workspace; bytes that are not UTF-8 are surrogates in it. ``mode`` has the
    permission bits, and like ``size_bytes`` and ``digest`` it is of the new file. ``refused`` says why this
    change may not reach the real files, and is empty where it may.
    """

    path: str
    action: Action
    kind: Kind = "file"
    size_bytes: int = 0
    mode: int = 0
    digest: str | None = None
    refused: str = ""

    @property
    def raw_path(self) -> bytes:
        """The path as the file system has it."""
        return self.path.encode("utf-8", "surrogateescape")

    @property
    def shown_path(self) -> str:
        """The path for people and for JSON: bytes that are not UTF-8 as ``\\xff``."""
        return self.raw_path.decode("utf-8", "backslashreplace")

    def to_json(self) -> JsonObject:
        """The change as ``details.changes`` lists it; what a deleted file was like is not told."""
        value: JsonObject = {"path": self.shown_path, "kind": self.kind}
        if self.action != "deleted":
            value |= {"size_bytes": self.size_bytes, "mode": f"{self.mode:04o}", "digest": self.digest}
        return value | ({"refused": self.refused} if self.refused else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a call would like to do to the real files, for whoever is asked."""

    tool: str
    call_id: str
    workspace: str
    changes: tuple[FileChange, ...]


Ask: TypeAlias = Callable[[Proposal], bool]
"""Decides whether changes become real, where a spec says ``commit: ask``. What it raises ends the call."""


def changes_to_json(changes: tuple[FileChange, ...]) -> JsonObject:
    """``details.changes``: the first ``MOST_LISTED`` by what was done, and how many there are in all."""
    listed: JsonObject = {
        action: [change.to_json() for change in changes[:MOST_LISTED] if change.action == action]
        for action in ("added", "changed", "deleted")
    }
    return listed | {"total": len(changes), "truncated": len(changes) > MOST_LISTED}

"""Calls, decisions about calls, and the changes that a call makes in its workspace.

Changes are proposed before they reach the real files, and are part of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec

NO_APPROVER: Final = "the spec has 'commit: ask', and no user or function could be asked"
"""The reason why changes were not committed if there was no user or function to ask."""

Claims: TypeAlias = Mapping[str, str]
"""What the host knows about the caller of a tool, such as ``{"sub": "user-1"}``, for parameters with ``from``."""

NO_CLAIMS: Final[Claims] = {}

Action: TypeAlias = Literal["added", "changed", "deleted"]
Kind: TypeAlias = Literal["file", "directory", "symlink", "special"]
"""The type of a file. ``special`` is a FIFO, a socket or a device."""

MAX_LISTED_CHANGES: Final = 200
"""The maximum number of changes listed in ``details``. The others are only counted.

Details go to logs, where a build with thousands of files would hide everything else.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as received: the name of a tool, unvalidated arguments, and the caller's id.

    If ``call_id`` is empty, an executor generates an id. Models sometimes write arguments that are not an object, or
    not even JSON. ``arguments`` is then their text.
    """

    name: str
    arguments: JsonValue
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """A call whose arguments match the tool's schema, with defaults filled in.

    ``coerced`` is ``details.coerced``: the arguments that were JSON text, each with its ``pointer`` and its text,
    ``from``. ``question`` is empty, except in what ``Confirm`` receives if an MCP server asks a question during a call.
    Then, ``arguments`` are the default values of the server's form, and the parameters of ``tool`` are its fields.
    """

    tool: ToolSpec
    arguments: JsonObject
    call_id: str
    coerced: tuple[JsonObject, ...] = ()
    question: str = ""

    @property
    def sent(self) -> JsonObject:
        """The arguments without the ones that the host filled in from the caller."""
        filled = {each.name for each in self.tool.caller}
        return {name: each for name, each in self.arguments.items() if name not in filled}


@dataclass(frozen=True, slots=True)
class Allow:
    """Allow a call. If set, ``arguments`` replace the call's arguments and are validated again."""

    arguments: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse a call. The model receives ``reason``."""

    reason: str = ""


Confirm: TypeAlias = Callable[[BoundCall], Allow | Deny]
"""Decides about one call, on the thread of that call. A result other than ``Allow`` or ``Deny`` refuses the call.

An exception from the function ends the call and reaches the caller. The question of an MCP server is declined without
``Allow(arguments=...)``, which are the answer.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A path that a call added, changed or deleted.

    ``path`` is relative to the workspace. Surrogates represent bytes that are not UTF-8. ``mode`` has the permission
    bits. ``mode``, ``size_bytes`` and ``digest`` describe the new file. ``refused`` is the reason why the change may
    not reach the real files, and is empty if it may.
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
        """The path in bytes, as the file system stores it."""
        return self.path.encode("utf-8", "surrogateescape")

    @property
    def display_path(self) -> str:
        r"""The path for display and JSON, with bytes that are not UTF-8 written as ``\xff``."""
        return self.raw_path.decode("utf-8", "backslashreplace")

    def to_json(self) -> JsonObject:
        """Return the change as an entry of ``details.changes``. A deleted file has no size, mode or digest."""
        value: JsonObject = {"path": self.display_path, "kind": self.kind}
        if self.action != "deleted":
            value |= {"size_bytes": self.size_bytes, "mode": f"{self.mode:04o}", "digest": self.digest}
        return value | ({"refused": self.refused} if self.refused else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The changes that a call proposes for the real files, passed to an ``ApproveChanges`` function."""

    tool: str
    call_id: str
    workspace: str
    changes: tuple[FileChange, ...]


ApproveChanges: TypeAlias = Callable[[Proposal], bool]
"""Returns whether to commit changes, for specs with ``commit: ask``. An exception from the function ends the call."""


def changes_to_json(changes: tuple[FileChange, ...], conflicts: tuple[str, ...] = ()) -> JsonObject:
    """Return ``details.changes``: the first ``MAX_LISTED_CHANGES`` changes, grouped by action, and the total number.

    ``conflicts`` are the paths that another process has changed as well.
    """
    listed: JsonObject = {
        action: [change.to_json() for change in changes[:MAX_LISTED_CHANGES] if change.action == action]
        for action in ("added", "changed", "deleted")
    }
    if conflicts:
        listed["conflicts"] = [*conflicts[:MAX_LISTED_CHANGES]]
    return listed | {"total": len(changes), "truncated": len(changes) > MAX_LISTED_CHANGES}

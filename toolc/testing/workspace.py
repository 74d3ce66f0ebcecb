"""A test's workspace: its files before the call, what the call did to them, and what they hold afterwards."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.model.spec.code_backends import File
from toolc.model.spec.tool import Expect

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""The largest file that a test compares."""


def place(files: tuple[File, ...], workspace: Path) -> None:
    """Write a test's files into its workspace. Raises ``UsageError`` for a path that leads out of it."""
    for file in files:
        path = workspace / inside(file.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data(file))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The workspace's files that a call added, changed and deleted, each list sorted."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def snapshot(workspace: Path) -> dict[str, str]:
    """What stands at each path of a workspace, folders apart: a digest of each, to be compared with another."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(workspace):
        for name in sorted(folders + names):
            path = Path(folder) / name
            if path.is_symlink():
                found[path.relative_to(workspace).as_posix()] = f"link to {path.readlink()}"
            elif name in names:
                found[path.relative_to(workspace).as_posix()] = _digest(path)
    return found


def changes(before: Mapping[str, str], after: Mapping[str, str], result: ToolResult) -> Changes:
    """What a call changed, or would have changed where its transaction was not committed."""
    told = result.details.get("changes")
    if isinstance(told, dict) and told.get("committed") is False:
        return Changes(added=_told(told, "added"), changed=_told(told, "changed"), deleted=_told(told, "deleted"))
    return Changes(
        added=tuple(sorted(after.keys() - before.keys())),
        changed=tuple(sorted(path for path in before.keys() & after.keys() if before[path] != after[path])),
        deleted=tuple(sorted(before.keys() - after.keys())),
    )


def contents(expect: Expect, workspace: Path) -> dict[str, str | None]:
    """What the files that a test names hold, None for one that is not there; what is no text is left out."""
    found: dict[str, str | None] = {}
    for name in (*(file.path for file in expect.files), *expect.absent):
        if not os.path.lexists(workspace / inside(name)):
            found[name] = None
        elif obstacle(name, workspace) is None:
            with suppress(UnicodeDecodeError):
                found[name] = (workspace / name).read_bytes().decode("utf-8")
    return found


def obstacle(name: str, workspace: Path) -> str | None:
    """Why the file ``name`` cannot be compared; None where it can. Links are not followed."""
    path = workspace
    for part in inside(name).parts:
        path /= part
        # A link could lead out of the workspace, and what it leads to into our output.
        if path.is_symlink():
            return f"expected a file, and {path.relative_to(workspace)} is a symbolic link"
    if not path.is_file():
        return "expected a file, and there is none"
    size = path.stat().st_size
    return f"has {size} bytes, more than a test compares" if size > MAX_FILE_BYTES else None


def inside(name: str) -> Path:
    """``name`` as a path in the workspace. Raises ``UsageError`` where it leads out of it."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UsageError(f"a test's file {name!r} is outside its workspace; use a path inside it")
    return path


def data(file: File) -> bytes:
    """What a file of a test holds."""
    return base64.b64decode(file.base64) if file.base64 is not None else (file.text or "").encode()


def _told(changes: JsonObject, action: str) -> tuple[str, ...]:
    listed = changes.get(action)
    entries = listed if isinstance(listed, list) else []
    return tuple(
        sorted(str(each["path"]) for each in entries if isinstance(each, dict) and each["kind"] != "directory")
    )


def _digest(path: Path) -> str:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        return "special"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

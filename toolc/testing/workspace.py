"""The workspace of a test: its files before and after the call, and the changes."""

import base64
import hashlib
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.model.spec.code_backends import File
from toolc.model.spec.tool import Expect

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of a file that a test compares, in bytes. A spec cannot contain a longer expected content."""


def write_files(files: tuple[File, ...], workspace: Path) -> None:
    """Write the files of a test into its workspace. Raises ``UsageError`` for a path outside of it."""
    for file in files:
        path = workspace / workspace_path(file.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file_bytes(file))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The files of the workspace that a call added, changed and deleted, sorted."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


def snapshot(workspace: Path) -> dict[str, str]:
    """Return the digest of each file, link and special file of a workspace by path, to compare with a later state."""
    digests: dict[str, str] = {}
    for folder, folders, names in os.walk(workspace):
        for name in sorted(folders + names):
            path = Path(folder) / name
            if path.is_symlink():
                digests[path.relative_to(workspace).as_posix()] = f"link to {path.readlink()}"
            elif name in names:
                digests[path.relative_to(workspace).as_posix()] = _digest(path)
    return digests


def changes(before: Mapping[str, str], after: Mapping[str, str], result: ToolResult) -> Changes:
    """Return the changes of a call, even if its transaction was not committed."""
    listed = result.details.get("changes")
    if isinstance(listed, dict) and listed.get("committed") is False:
        added, changed, deleted = (_paths(listed, action) for action in ("added", "changed", "deleted"))
        return Changes(added=added, changed=changed, deleted=deleted)
    return Changes(
        added=tuple(sorted(after.keys() - before.keys())),
        changed=tuple(sorted(path for path in before.keys() & after.keys() if before[path] != after[path])),
        deleted=tuple(sorted(before.keys() - after.keys())),
    )


def file_texts(expect: Expect, workspace: Path) -> dict[str, str | None]:
    """Return the text of each file that a test names, or None if it does not exist. Other files are omitted."""
    texts: dict[str, str | None] = {}
    for name in (*(file.path for file in expect.files), *expect.absent):
        if not os.path.lexists(workspace / workspace_path(name)):
            texts[name] = None
        elif comparison_obstacle(name, workspace) is None:
            with suppress(UnicodeDecodeError):
                texts[name] = (workspace / name).read_bytes().decode("utf-8")
    return texts


def comparison_obstacle(name: str, workspace: Path) -> str | None:
    """Return why the file ``name`` cannot be compared, or None if it can. Links are not followed."""
    path = workspace
    for part in workspace_path(name).parts:
        path /= part
        # A link could make the output include a file outside the workspace.
        if path.is_symlink():
            return f"expected a file, but {path.relative_to(workspace)} is a symbolic link"
    if not path.is_file():
        return "expected a file, but it does not exist"
    size = path.stat().st_size
    return f"has {size} bytes; a test compares at most {MAX_FILE_BYTES}" if size > MAX_FILE_BYTES else None


def workspace_path(name: str) -> Path:
    """Return ``name`` as a path relative to the workspace. Raises ``UsageError`` if it is outside."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UsageError(f"the file {name!r} of a test is outside its workspace; use a path inside it")
    return path


def file_bytes(file: File) -> bytes:
    """Return the contents of a test's file."""
    return base64.b64decode(file.base64) if file.base64 is not None else (file.text or "").encode()


def _paths(changes: JsonObject, action: str) -> tuple[str, ...]:
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

"""Compare the view of a call with the real files, and decide for each difference whether it may be committed.

Each path has three states: the state that the tool left, the base (its state when the call began), and its present
state. If the tool left the base or the present state, there is nothing to do. Otherwise the change is committed if the
present state is still the base, and is a conflict if another process has changed it. Files that the tool only read are
not compared.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, field, replace
from toolc.model.call import Action, FileChange
from toolc.model.text import render_size
from toolc.runtime.workspace.dir_handle import DirHandle
from toolc.runtime.workspace.transaction.allowed_changes import kind_of, refusal_reason
from toolc.runtime.workspace.transaction.file_state import MAX_BYTES, MIB, FileState, read_state
from toolc.runtime.workspace.transaction.view import CHANGED, MAX_ENTRIES, TooManyChangesError, View

_PARTS: Final = ({"objects", "refs"}, {"commondir"})
"""A folder with ``HEAD`` is a git repository if it also has all names of one of these sets."""

MAX_READ_BYTES: Final = 64 * MIB
"""The maximum size of a deleted file whose content is compared, in bytes.

A larger file is recognized by its inode, size and times, because reading it would take most of the time of a commit.
"""

_RAW: Final = ("utf-8", "surrogateescape")

_Comparison: TypeAlias = tuple[FileChange, FileState | None, bool]
"""A change, the state of the real path, and whether another process has changed it."""


@dataclass(frozen=True, slots=True)
class ConcurrentChange:
    """A path that the call changes and that another process has changed since the call began."""

    path: str
    reason: str = "it was changed by another process while the tool ran"

    @property
    def display_path(self) -> str:
        """The path as text for display."""
        return self.path.encode(*_RAW).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Differences:
    """The changes of a call, sorted by path, and the conflicts among them.

    ``expected`` has the real state of each changed or deleted path, and ``folders`` the identity of each folder that a
    change needs.
    """

    changes: tuple[FileChange, ...] = ()
    conflicts: tuple[ConcurrentChange, ...] = ()
    expected: dict[bytes, FileState] = field(default_factory=dict)
    folders: dict[bytes, str] = field(default_factory=dict)


def find_differences(real: DirHandle, view: View, writes: tuple[str, ...]) -> Differences:
    """Return every change, with the reason if it is refused. Raises ``OSError`` or ``TooManyChangesError``.

    A file with the same content and permissions counts as unchanged, no matter what else was done to it.
    """
    changes: dict[tuple[str, Action], FileChange] = {}
    expected: dict[bytes, FileState] = {}
    folders: dict[bytes, str] = {}
    conflicts: dict[str, ConcurrentChange] = {}
    total = 0
    for path, mine in view.scan():
        for change, now, is_conflict in _changes(real, view, path, mine):
            total += change.size_bytes
            if total > MAX_BYTES or len(changes) >= MAX_ENTRIES:
                raise TooManyChangesError(
                    f"the call changes more than {MAX_ENTRIES} files, or {render_size(MAX_BYTES)}"
                )
            changes[change.path, change.action] = _checked(view, change, writes)
            if now is not None:
                expected[path] = now
            if is_conflict:
                conflicts[change.path] = ConcurrentChange(change.path)
    _refuse_repositories(real, changes)
    for each in (*_conflicts_of_parents(real, view, changes, folders), *_conflicts_of_folders(real, changes)):
        conflicts.setdefault(each.path, each)
    # A deletion comes before the file that replaces it.
    order = sorted(changes, key=lambda key: (key[0].encode(*_RAW), key[1] != "deleted"))
    listed = tuple(changes[key] for key in order)
    return Differences(listed, tuple(conflicts[key] for key in sorted(conflicts)), expected, folders)


def repositories(real: DirHandle, changes: Iterable[FileChange]) -> frozenset[str]:
    """Return the folders above ``changes`` that git would recognize as a repository after the commit."""
    added: dict[str, set[str]] = {}
    folders: set[str] = set()
    for change in changes:
        folder, _, name = change.path.rpartition("/")
        folders.update(parents(change.path))
        # A folder is not a HEAD file, and many folders have that name.
        if change.action != "deleted" and not (change.kind == "directory" and name.casefold() == "head"):
            added.setdefault(folder, set()).add(name.casefold())
    return frozenset(folder for folder in folders if _is_repository(real, folder, added.get(folder, set())))


def _refuse_repositories(real: DirHandle, changes: dict[tuple[str, Action], FileChange]) -> None:
    folders = repositories(real, changes.values())
    for key, change in changes.items():
        if not change.refused and folders and not folders.isdisjoint(parents(change.path)):
            changes[key] = replace(change, refused="it is in a folder that git would treat as a repository")


def _conflicts_of_parents(
    real: DirHandle, view: View, changes: dict[tuple[str, Action], FileChange], folders: dict[bytes, str]
) -> Iterator[ConcurrentChange]:
    """Yield the changes whose folder was removed or replaced. Add the other folders to ``folders``."""
    seen: dict[str, str] = {}
    for change in changes.values():
        for folder in parents(change.path):
            if not folder or (folder, "added") in changes:
                break  # what is above a new folder is checked with that folder
            if folder not in seen:
                seen[folder] = _identity(real, view, folder.encode(*_RAW))
            if not seen[folder]:
                yield ConcurrentChange(change.path, f"its folder {folder} was removed or replaced by another process")
                break
            if (folder, "deleted") not in changes:  # otherwise it is checked itself
                folders[folder.encode(*_RAW)] = seen[folder]


def _identity(real: DirHandle, view: View, folder: bytes) -> str:
    """Return the identity of a real folder, or an empty string if it is not the folder that the call began with."""
    now = _state_if_known(real, folder)
    if now is None or not now.is_folder:
        return ""
    base = view.base(folder, now)
    if base is CHANGED:
        return now.content if view.is_original(folder, now) else ""
    # Without a folder in the base, the tool and another process have both created it.
    return now.content if base is None or not base.is_folder or base.content == now.content else ""


def _conflicts_of_folders(real: DirHandle, changes: dict[tuple[str, Action], FileChange]) -> Iterator[ConcurrentChange]:
    """Yield the folders that the tool deleted although they have entries that it did not delete."""
    for (path, action), change in changes.items():
        if action == "deleted" and change.kind == "directory":
            with suppress(FileNotFoundError):  # then the commit detects it
                for name, _ in real.entries(change.raw_path, MAX_ENTRIES + 1):
                    inner = f"{path}/{name.decode(*_RAW)}"
                    if (inner, "deleted") not in changes:
                        yield ConcurrentChange(path, f"another process added {inner} to it while the tool ran")


def _state_if_known(real: DirHandle, path: bytes) -> FileState | None:
    # A folder that cannot be inspected is checked as a separate change.
    with suppress(OSError):
        return read_state(real, path, 0)
    return None


def parents(path: str) -> Iterator[str]:
    """Yield the folders above ``path``, innermost first. The last one is the workspace, as an empty string."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _is_repository(real: DirHandle, folder: str, added: set[str]) -> bool:
    def has(name: str) -> bool:
        return name.casefold() in added or _state_if_known(real, _raw(folder, name)) is not None

    head = _state_if_known(real, _raw(folder, "HEAD"))
    has_head = "head" in added or (head is not None and not head.is_folder)
    return has_head and any(all(map(has, parts)) for parts in _PARTS)


def _raw(folder: str, name: str) -> bytes:
    return f"{folder}/{name}".lstrip("/").encode(*_RAW)


def _changes(real: DirHandle, view: View, path: bytes, mine: FileState | None) -> Iterator[_Comparison]:
    try:
        yield from _compare(real, view, path, mine)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        reason = "another file system, which the tool did not see, is mounted there"
        yield FileChange(path=path.decode(*_RAW), action="changed", kind="special", refused=reason), None, False


def _compare(real: DirHandle, view: View, path: bytes, mine: FileState | None) -> Iterator[_Comparison]:
    """Yield the changes of one path. If a folder and a file replace each other, there are two."""
    now = read_state(real, path, MAX_READ_BYTES if mine is None else MAX_BYTES)
    base = view.base(path, now)
    if base and now and base.is_known and not now.is_known:
        now = read_state(real, path)
    if _is_left(mine, base) or _is_left(mine, now):
        return
    is_conflict = base != now
    if now is not None and (mine is None or mine.is_folder != now.is_folder):
        yield FileChange(path=path.decode(*_RAW), action="deleted", kind=kind_of(now.kind)), now, is_conflict
    if mine is not None:
        is_replaced = now is not None and mine.is_folder == now.is_folder
        yield _change(view, path, "changed" if is_replaced else "added", mine), now, is_conflict


def _is_left(mine: FileState | None, other: FileState | None) -> bool:
    """Return whether the tool left the state ``other``. Owners do not count, and set-ID bits never leave a sandbox."""
    if mine is None or other is None:
        return mine is other
    if mine.kind != other.kind or (mine.kind != stat.S_IFLNK and (mine.mode ^ other.mode) & 0o777):
        return False
    return mine.is_folder or (mine.content == other.content and mine.is_known)


def _checked(view: View, change: FileChange, writes: tuple[str, ...]) -> FileChange:
    is_new_link = change.kind == "symlink" and change.action != "deleted"
    target = view.root.read_link(change.raw_path) if is_new_link else None
    return replace(change, refused=change.refused or refusal_reason(change, writes, target))


def _change(view: View, path: bytes, action: Action, mine: FileState) -> FileChange:
    kind, size = kind_of(mine.kind), 0
    if kind == "file":
        with view.root.file(path) as descriptor:
            size = os.fstat(descriptor).st_size
        if size > MAX_BYTES:
            raise TooManyChangesError(f"the call writes a file of {size} bytes")
    # A link has no permissions, and set-ID bits never leave a sandbox.
    mode = 0o777 if kind == "symlink" else mine.mode & 0o777
    digest = mine.content if kind == "file" else None
    return FileChange(path=path.decode(*_RAW), action=action, kind=kind, size_bytes=size, mode=mode, digest=digest)

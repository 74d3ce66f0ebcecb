"""Compare the view of a call with the real files, and decide for each difference whether it may be committed."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from toolc.model.call import Action, FileChange
from toolc.model.spec.sandbox import MIB
from toolc.runtime.workspace.dir_handle import DirHandle
from toolc.runtime.workspace.transaction.allowed_changes import kind_of, refusal_reason
from toolc.runtime.workspace.transaction.view import MAX_ENTRIES, TooManyChangesError, View, ViewEntry, check_depth

_PARTS: Final = ({"objects", "refs"}, {"commondir"})
"""What must be next to ``HEAD``: all names of one of these sets."""

MAX_BYTES: Final = 1024 * MIB
"""The total size of a call's new files, in bytes."""

_PIECE: Final = 1 << 20
_RAW: Final = ("utf-8", "surrogateescape")

_Comparison: TypeAlias = tuple[FileChange, bool, os.stat_result | None]
"""A change, whether the real file is as the tool saw it, and the status of the real file."""


def repositories(real: DirHandle, changes: Iterable[FileChange]) -> frozenset[str]:
    """Return the folders above ``changes`` that git would recognize as a repository after the commit."""
    added: dict[str, set[str]] = {}
    folders: set[str] = set()
    for change in changes:
        folder, _, name = change.path.rpartition("/")
        folders.update(_parents(change.path))
        # A folder is not a HEAD file, and many folders have that name.
        if change.action != "deleted" and not (change.kind == "directory" and name.casefold() == "head"):
            added.setdefault(folder, set()).add(name.casefold())
    return frozenset(folder for folder in folders if _is_repository(real, folder, added.get(folder, set())))


@dataclass(frozen=True, slots=True)
class Differences:
    """The changes of a call, sorted by path; ``before`` holds the status of their paths when they were listed."""

    changes: tuple[FileChange, ...] = ()
    before: dict[str, os.stat_result] = field(default_factory=dict)


def find_differences(real: DirHandle, view: View, writes: tuple[str, ...]) -> Differences:
    """Return every change, with the reason if it is refused. Raises ``OSError`` or ``TooManyChangesError``.

    A file with the same content and permissions counts as unchanged, whatever else was done to it.
    """
    changes: dict[tuple[str, Action], FileChange] = {}
    before: dict[str, os.stat_result] = {}
    total = 0
    for entry in view.scan():
        for change, seen, old in _changes(real, view, entry):
            if old is not None:
                before[change.path] = old
            total += change.size_bytes
            if total > MAX_BYTES or len(changes) >= MAX_ENTRIES:
                raise TooManyChangesError(f"the call changes more than {MAX_ENTRIES} files, or {MAX_BYTES // MIB} MiB")
            changes[change.path, change.action] = _checked(view, change, writes, seen=seen)
    folders = repositories(real, changes.values())
    for key, change in changes.items():
        if not change.refused and folders and not folders.isdisjoint(_parents(change.path)):
            changes[key] = replace(change, refused="it is in a folder that git would treat as a repository")
    # A deletion comes before the file that replaces it.
    order = sorted(changes, key=lambda key: (key[0].encode(*_RAW), key[1] != "deleted"))
    return Differences(tuple(changes[key] for key in order), before)


def _parents(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def _is_repository(real: DirHandle, folder: str, added: set[str]) -> bool:
    def has(name: str) -> bool:
        return name.casefold() in added or _mode(real, f"{folder}/{name}".lstrip("/")) is not None

    head = _mode(real, f"{folder}/HEAD".lstrip("/"))
    has_head = "head" in added or (head is not None and not stat.S_ISDIR(head))
    return has_head and any(all(map(has, parts)) for parts in _PARTS)


def _mode(real: DirHandle, path: str) -> int | None:
    # What cannot be inspected is checked as a separate change.
    with suppress(OSError):
        status = real.status_of(path.encode("utf-8", "surrogateescape"))
        return None if status is None else status.st_mode
    return None


def _changes(real: DirHandle, view: View, entry: ViewEntry) -> Iterator[_Comparison]:
    try:
        yield from _compare(real, view, entry)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        reason = "another file system is mounted there, which the tool did not see"
        yield (FileChange(path=entry.path.decode(*_RAW), action="changed", kind="special", refused=reason), True, None)


def _checked(view: View, change: FileChange, writes: tuple[str, ...], *, seen: bool) -> FileChange:
    is_new_link = change.kind == "symlink" and change.action != "deleted"
    target = view.root.read_link(change.raw_path) if is_new_link else None
    reason = change.refused or refusal_reason(change, writes, target)
    if not reason and not seen:
        reason = "it was changed by another process while the tool ran"
    return replace(change, refused=reason) if reason else change


def _compare(real: DirHandle, view: View, entry: ViewEntry) -> Iterator[_Comparison]:
    """Yield the changes that an entry of the view represents."""
    path = entry.path
    old = real.status_of(path)
    seen = view.is_as_seen(path, old, entry)
    if entry.status is None:
        if old is not None:
            yield from _deletions(real, view, path, old)
        return
    new = entry.status
    if stat.S_ISDIR(new.st_mode):
        yield from _compare_folder(real, view, entry, old, seen=seen)
    elif old is None:
        yield _change(view, path, "added", new), seen, None
    elif stat.S_ISDIR(old.st_mode):
        yield from _deletions(real, view, path, old)
        yield _change(view, path, "added", new), True, old
    elif not _is_same(real, view, path, old, new):
        yield _change(view, path, "changed", new), seen, old


def _compare_folder(
    real: DirHandle, view: View, entry: ViewEntry, old: os.stat_result | None, *, seen: bool
) -> Iterator[_Comparison]:
    assert entry.status is not None
    path, new = entry.path, entry.status
    if old is None:
        yield _change(view, path, "added", new), seen, None
        return
    if not stat.S_ISDIR(old.st_mode):
        yield _deleted(path, old), seen, old
        yield _change(view, path, "added", new), True, old
        return
    if old.st_mode & 0o777 != new.st_mode & 0o777:
        yield _change(view, path, "changed", new), seen, old
    if entry.hides_real:
        # Enough to include everything that the view may hide, and one more to detect an excess.
        for name, status in real.entries(path, 2 * MAX_ENTRIES + 1):
            if view.root.status_of(path + b"/" + name) is None:
                yield from _deletions(real, view, path + b"/" + name, status)


def _deletions(real: DirHandle, view: View, top: bytes, status: os.stat_result) -> Iterator[_Comparison]:
    """Yield the deletions of ``top`` and of everything that the real folder has below it."""
    pending = [(top, status)]
    while pending:
        path, old = pending.pop()
        check_depth(path)
        yield _deleted(path, old), view.is_as_seen(path, old, None), old
        if stat.S_ISDIR(old.st_mode):
            pending += [(path + b"/" + name, inner) for name, inner in real.entries(path, MAX_ENTRIES + 1)]


def _deleted(path: bytes, status: os.stat_result) -> FileChange:
    return FileChange(path=path.decode(*_RAW), action="deleted", kind=kind_of(status.st_mode))


def _change(view: View, path: bytes, action: Action, status: os.stat_result) -> FileChange:
    kind = kind_of(status.st_mode)
    is_file = kind == "file"
    if is_file and status.st_size > MAX_BYTES:
        raise TooManyChangesError(f"the call writes a file of {status.st_size} bytes")
    return FileChange(
        path=path.decode(*_RAW),
        action=action,
        kind=kind,
        size_bytes=status.st_size if is_file else 0,
        # A link does not have permissions; set-id bits never leave a sandbox.
        mode=0o777 if kind == "symlink" else status.st_mode & 0o777,
        digest=_digest(view.root, path) if is_file else None,
    )


def _digest(root: DirHandle, path: bytes) -> str:
    digest = hashlib.sha256()
    with root.file(path) as descriptor:
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def _is_same(real: DirHandle, view: View, path: bytes, old: os.stat_result, new: os.stat_result) -> bool:
    if kind_of(old.st_mode) != kind_of(new.st_mode):
        return False
    if stat.S_ISLNK(new.st_mode):
        return real.read_link(path) == view.root.read_link(path)
    if not stat.S_ISREG(new.st_mode):
        # A copy has new fifos and sockets; devices are never copied.
        return old.st_rdev == new.st_rdev
    if (old.st_size, old.st_mode & 0o777) != (new.st_size, new.st_mode & 0o777):
        return False
    try:
        with real.file(path) as before, view.root.file(path) as after:
            while True:
                piece = os.read(before, _PIECE)
                if piece != os.read(after, _PIECE):
                    return False
                if not piece:
                    return True
    except PermissionError:
        return False

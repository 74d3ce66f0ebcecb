"""A copy of a workspace on a node, for a cluster without a shared folder.

The driver copies the workspace and sends the contents that the node lacks, by digest. The call changes the node's copy.
The driver repeats these changes in its own copy, from which an ordinary transaction commits them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, replace
from toolc.model.call import ApproveChanges
from toolc.model.errors import UsageError, raise_shortage
from toolc.model.result import ToolResult
from toolc.model.spec.sandbox import MIB, TransactionSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import render_size
from toolc.runtime.workspace.dir_handle import DirHandle, write_all
from toolc.runtime.workspace.mount import WorkspaceFolder, mount
from toolc.runtime.workspace.scratch import make_copy_folder, make_scratch
from toolc.runtime.workspace.scratch_sweep import discard, remove_tree
from toolc.runtime.workspace.transaction.file_state import FileState
from toolc.runtime.workspace.transaction.transaction import Transaction
from toolc.runtime.workspace.transaction.view import Copy, TooManyChangesError

MAX_BYTES: Final = 64 * MIB
"""The maximum size of a workspace that is sent to a node, and of the changes that are sent back, in bytes.

A larger workspace takes longer to copy than most calls take, so it belongs in a shared folder.
"""

MESSAGE_BYTES: Final = 8 * MIB
"""The size at which the files for a node are sent in another message, in bytes. One file is never divided."""

STORED_BYTES: Final = 1024 * MIB
"""The size of the files on a node above which those that no call needs are removed, in bytes."""

Files: TypeAlias = Mapping[bytes, FileState]
"""The state of each path of a workspace, folders before their contents. The path ``b""`` is the workspace."""


@dataclass(frozen=True, slots=True)
class Change:
    """The state of one path, or None if it does not exist. ``data`` is the content of a file."""

    path: bytes
    state: FileState | None
    data: bytes = b""


class WorkspaceCopy:
    """The workspace of one call that runs on a node, from ``copied``."""

    def __init__(self, transaction: Transaction, view: Copy) -> None:
        self._transaction = transaction
        self._view = view
        root = os.fstat(view.root.descriptor)
        self.files: Files = {
            b"": FileState(stat.S_IFDIR, stat.S_IMODE(root.st_mode), root.st_uid, root.st_gid, "")
        } | view.originals

    def messages(self, digests: Iterable[str]) -> Iterator[tuple[bytes, ...]]:
        """Yield messages for a node that contain the contents with these digests. Raises ``OSError``."""
        paths = {state.content: path for path, state in self.files.items() if stat.S_ISREG(state.kind)}
        message: list[bytes] = []
        for digest in digests:
            message.append(_read(self._view.root, paths[digest], MAX_BYTES))
            if sum(map(len, message)) >= MESSAGE_BYTES:
                yield tuple(message)
                message = []
        if message:
            yield tuple(message)

    def finish(self, result: ToolResult, changes: Iterable[Change], approve: ApproveChanges | None) -> ToolResult:
        """Apply the changes of the node to the copy, and commit or refuse them as on one machine."""
        write_changes(self._view.root, changes, has_owners=False)
        return self._transaction.finish(result, "exited", approve)


@contextmanager
def copied(spec: ToolSpec, call_id: str, folder: WorkspaceFolder) -> Iterator[WorkspaceCopy]:
    """Yield a copy of the workspace.

    Raises ``UsageError`` if the workspace cannot be sent, and ``InfrastructureError``.
    """
    if reason := _obstacle(spec):
        raise UsageError(f"the tool {spec.name} {reason}; pass a folder that all nodes share as shared_workspace=...")
    mode = spec.sandbox.workspace
    mounted = mount(folder, "ro" if mode == "ro" else "overlay")
    if mode == "ro":  # its copy is never committed
        spec = replace(spec, sandbox=replace(spec.sandbox, transaction=TransactionSpec(commit="never")))
    with Transaction(spec, call_id, mounted) as transaction:
        try:
            view, _ = transaction.copy(MAX_BYTES)
        except (OSError, TooManyChangesError) as error:
            raise_shortage(error)
            raise UsageError(
                f"the workspace {mounted.source} cannot be sent to a node: {error}; use a smaller folder, or a folder "
                "that all nodes share, as shared_workspace=..."
            ) from None
        yield WorkspaceCopy(transaction, view)


def _obstacle(spec: ToolSpec) -> str:
    """Return the reason why a tool needs more than a copy of the workspace, or an empty string."""
    if spec.sandbox.workspace == "rw":
        return "writes directly to its workspace (workspace: rw), which cannot be sent to a node"
    if spec.sandbox.lifetime != "call":
        return f"keeps its workspace between calls (lifetime: {spec.sandbox.lifetime}), so it cannot be sent to a node"
    return ""


class NodeCopies:
    """The copies of workspaces on a node, and the contents of files by digest. Safe to use from several threads."""

    def __init__(self) -> None:
        self._scratch = make_scratch("")
        self._folder = make_copy_folder(self._scratch)
        self._contents = self._folder / "contents"
        self._contents.mkdir()
        self._calls: dict[str, Files] = {}

    def expect(self, key: str, files: Files) -> list[str]:
        """Begin a call. Return the digests of the contents that are missing here."""
        self._calls[key] = files
        needed = {each for call in [*self._calls.values()] for each in _digests(call)}
        stored = {path.name: path for path in self._contents.iterdir()}
        if sum(path.stat().st_size for path in stored.values()) > STORED_BYTES:
            for name in stored.keys() - needed:
                stored.pop(name).unlink(missing_ok=True)
        return sorted(_digests(files) - stored.keys())

    def store(self, contents: Iterable[bytes]) -> None:
        """Store contents by their digests."""
        for data in contents:
            name = f"sha256:{sha256(data).hexdigest()}"
            draft = self._folder / os.urandom(8).hex()
            draft.write_bytes(data)
            draft.rename(self._contents / name)

    def folder(self, key: str) -> str:
        """Return the path of the copy for a call."""
        return str(self._folder / key)

    def contains(self, folder: str) -> bool:
        """Return whether a folder is a copy of a driver's workspace."""
        return Path(folder).parent == self._folder

    def make(self, key: str) -> None:
        """Make the copy for a call from the stored contents. Raises ``OSError``."""
        files = self._calls[key]
        Path(self.folder(key)).mkdir(mode=0o700)
        with DirHandle.open(self.folder(key)) as root:
            write_changes(root, (self._change(path, state) for path, state in files.items()), has_owners=True)

    def _change(self, path: bytes, state: FileState) -> Change:
        is_file = stat.S_ISREG(state.kind)
        return Change(path, state, (self._contents / state.content).read_bytes() if is_file else b"")

    def changes(self, key: str) -> tuple[Change, ...]:
        """Return the changes that a call made in its copy. Raises ``UsageError`` if they exceed ``MAX_BYTES``."""
        files, changed, size = self._calls[key], [], 0
        with DirHandle.open(self.folder(key)) as root:
            try:
                # Without recorded times, all files are compared by their content.
                for path, state in Copy(root, {path: files[path] for path in files if path}).scan():
                    if _is_same(state, files.get(path)):
                        continue
                    data = _read(root, path, MAX_BYTES + 1) if state and stat.S_ISREG(state.kind) else b""
                    size += len(data)
                    if size > MAX_BYTES:
                        raise TooManyChangesError(f"the call changes more than {render_size(MAX_BYTES)}")
                    changed.append(Change(path, state, data))
            except TooManyChangesError as error:
                raise UsageError(f"the changes cannot be sent back, so the workspace is unchanged: {error}") from None
        return tuple(changed)

    def end(self, key: str) -> None:
        """Remove the copy of a call."""
        if self._calls.pop(key, None) is not None:
            with suppress(FileNotFoundError):
                remove_tree(Path(self.folder(key)))

    def close(self) -> None:
        """Remove everything."""
        discard(self._scratch)


def write_changes(root: DirHandle, changes: Iterable[Change], *, has_owners: bool) -> None:
    """Apply changes to a folder without following links. As root, ``has_owners`` also sets the owners.

    Raises ``OSError``.
    """
    ordered = sorted(changes, key=lambda change: change.path)
    for change in reversed(ordered):  # the contents of a folder first
        status = root.status_of(change.path)
        if status is None or (stat.S_ISDIR(status.st_mode) and change.state and change.state.is_folder):
            continue
        with root.parent(change.path) as (folder, name):
            (os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink)(name, dir_fd=folder)
    for change in ordered:
        if change.state and change.path and root.status_of(change.path) is None:
            with root.parent(change.path) as (folder, name):
                _create(folder, name, change.state, change.data)
    for change in reversed(ordered):  # a folder whose mode forbids writing comes after its contents
        if change.state:
            _set_metadata(root, change.path, change.state, has_owners=has_owners and os.geteuid() == 0)


def _create(folder: int, name: bytes, state: FileState, data: bytes) -> None:
    if state.is_folder:
        os.mkdir(name, 0o700, dir_fd=folder)
    elif stat.S_ISLNK(state.kind):
        os.symlink(os.fsencode(state.content), name, dir_fd=folder)
    else:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            write_all(file, data)
        finally:
            os.close(file)


def _set_metadata(root: DirHandle, path: bytes, state: FileState, *, has_owners: bool) -> None:
    with root.parent(path) as (folder, name):
        at, where = (name, folder) if path else (b".", root.descriptor)
        if has_owners:
            os.chown(at, state.uid, state.gid, dir_fd=where, follow_symlinks=False)
        if not stat.S_ISLNK(state.kind):
            os.chmod(at, state.mode & 0o1777, dir_fd=where)


def _digests(files: Files) -> set[str]:
    return {state.content for state in files.values() if stat.S_ISREG(state.kind)}


def _is_same(state: FileState | None, before: FileState | None) -> bool:
    """Return whether the kind, mode and content of a path are unchanged.

    Entries of a folder count as separate paths.
    """
    if state is None or before is None:
        return state is before
    has_content = not state.is_folder
    return (state.kind, state.mode, state.content * has_content) == (
        before.kind, before.mode, before.content * has_content,
    )  # fmt: skip


def _read(root: DirHandle, path: bytes, size: int) -> bytes:
    """Return the content of a file, at most ``size`` bytes. Raises ``OSError``."""
    with root.file(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
        return file.read(size)

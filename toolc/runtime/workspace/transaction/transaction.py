"""A workspace of mode ``transaction``. The call works on a view, and its changes are committed or refused afterwards.

``Transaction.start`` gives the sandbox a view, which is an overlay over the real folder, or a full copy if the engine
or the file system does not support overlays. When the sandbox has exited, ``finish`` compares the view with the real
files (see ``diff``), and the spec's ``commit`` decides. Either all changes are committed or none, because half of a
tool's changes may not work without the other half. One refused change is enough to commit none, and so is one path that
both the tool and another process have changed. The view is removed with the transaction.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, Self

from toolc.model.call import NO_APPROVER, ApproveChanges, Proposal, changes_to_json
from toolc.model.errors import InfrastructureError, UsageError, raise_shortage
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount, Profile
from toolc.model.result import Ending, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.sandbox import TransactionSpec
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.workspace.dir_handle import DirHandle, join_path
from toolc.runtime.workspace.result_folder import FolderError, RealFolder, ResultFolder, read_beneath
from toolc.runtime.workspace.scratch import make_copy_folder, make_scratch, remove_stale
from toolc.runtime.workspace.scratch_sweep import discard
from toolc.runtime.workspace.transaction.baseline import ChangeClock, record
from toolc.runtime.workspace.transaction.commit import ConflictError, RollbackFailedError, commit
from toolc.runtime.workspace.transaction.diff import ConcurrentChange, Differences, find_differences
from toolc.runtime.workspace.transaction.file_state import MAX_BYTES
from toolc.runtime.workspace.transaction.view import Copy, Overlay, TooManyChangesError, View, copy_tree
from toolc.sandbox.interface import Engine, EngineSandbox, offer

LOCAL: Final = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "bcachefs", "zfs"})
"""File systems whose timestamps come from this kernel. The commit of an overlay relies on that."""

MAX_NAMED: Final = 5
"""The maximum number of refused changes that are listed for the model. ``details.changes`` lists more."""


def final_view(view: View) -> ResultFolder:
    """Return the folder as the tool saw it at the end. Raises ``OSError`` or ``TooManyChangesError``."""
    return _Overlaid(view) if isinstance(view, Overlay) else RealFolder(view.root)


class Transaction:
    """The view of one call. Use it as a context manager, or close it. Do not share it between threads."""

    def __init__(self, tool: ToolSpec, call_id: str, mount: Mount) -> None:
        """Open the workspace and create the scratch folder.

        Raises ``UsageError`` if the workspace no longer exists, and ``InfrastructureError`` if the scratch folder
        cannot be created or the workspace contains changes of a killed call.
        """
        assert tool.sandbox.transaction is not None
        self._tool = tool.name
        self._spec: TransactionSpec = tool.sandbox.transaction
        self._call_id = call_id
        self._mount = mount
        self._view: View | None = None
        self._note = ""
        self._scratch = make_scratch(mount.source)
        try:
            self._real = DirHandle.open(mount.source)
        except OSError as error:
            discard(self._scratch)
            raise_shortage(error)
            raise UsageError(f"the workspace {mount.source} cannot be used: {error.strerror}") from None
        if mount.inode and (self._real.status.st_dev, self._real.status.st_ino) != (mount.device, mount.inode):
            self.close()
            raise UsageError(f"the workspace {mount.source} was replaced by another folder; start the call again")

    def close(self) -> None:
        """Remove the view, and the views of owners that have exited."""
        if self._view is not None:
            self._view.root.close()
        self._real.close()
        discard(self._scratch)
        remove_stale()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, engine: Engine, profile: Profile, arguments: Sequence[str]) -> tuple[EngineSandbox, Profile]:
        """Start a sandbox with a view as its workspace. Return it and its profile. Raises ``InfrastructureError``."""
        overlay = replace(
            self._mount, scratch=str(self._scratch), pinned=f"/proc/{os.getpid()}/fd/{self._real.descriptor}"
        )
        file_system = _file_system(self._real.descriptor)
        obstacle = f"its file system ({file_system}) does not support one"
        if file_system in LOCAL:
            obstacle = offer(engine.capabilities(), profile.min_isolation).overlay_obstacle
        if not obstacle:
            # Files are recorded while the sandbox starts, because the tool runs only after both.
            with ThreadPoolExecutor(1) as other_thread:
                baseline = other_thread.submit(lambda: record(self._real, ChangeClock.now()))
                try:
                    sandbox = engine.start(replace(profile, workspace=overlay), arguments)
                except InfrastructureError as error:
                    # Only trying shows whether the kernel, daemon and policies allow an overlay. A copy always works.
                    obstacle = str(error)
                else:
                    with contextlib.ExitStack() as undo:
                        undo.callback(sandbox.close)
                        upper = undo.enter_context(DirHandle.open(str(self._scratch / "upper")))
                        self._view = Overlay(upper, self._real, baseline.result())
                        undo.pop_all()
                    return sandbox, replace(profile, workspace=overlay)
        self._note = obstacle
        profile = replace(profile, workspace=self._make_copy(obstacle))
        return engine.start(profile, arguments), profile

    def final_folder(self) -> ResultFolder:
        """Return the workspace as the tool left it. Call it after the sandbox has exited and before ``finish``.

        Raises ``FolderError``.
        """
        assert self._view is not None
        try:
            return final_view(self._view)
        except (OSError, TooManyChangesError) as error:
            raise_shortage(error)
            raise FolderError("file", f"the workspace cannot be read: {error}") from None

    def finish(self, result: ToolResult, ending: Ending, approve: ApproveChanges | None) -> ToolResult:
        """Commit or refuse the changes, and report them in the result. The sandbox must have exited."""
        if self._view is None:
            return result
        differences = Differences()
        try:
            differences = find_differences(self._real, self._view, self._spec.writes)
            discarded = self._decide(differences, result, ending, approve)
        except TooManyChangesError as error:
            discarded = _Discarded("file", str(error))
        except OSError as error:
            raise_shortage(error)
            discarded = _Discarded("file", f"the changes cannot be read: {error.strerror}")
        conflicts = tuple(each.display_path for each in discarded.conflicts) if discarded else ()
        details: JsonObject = changes_to_json(differences.changes, conflicts) | {
            "committed": discarded is None,
            "view": "overlay" if isinstance(self._view, Overlay) else "copy",
        }
        if discarded is not None:
            details["reason"] = discarded.reason
        if self._note:
            details["view_note"] = self._note
        result = replace(result, details=result.details | {"changes": details})
        if discarded is None or discarded.kind is None:
            return result
        return _with_note(result, discarded.kind, discarded.reason)

    def _decide(
        self, differences: Differences, result: ToolResult, ending: Ending, approve: ApproveChanges | None
    ) -> "_Discarded | None":
        """Commit the changes and return None, or return why they are not committed."""
        changes = differences.changes
        if not changes:
            return _Discarded(None, "nothing was changed")
        if self._spec.commit == "never":
            return _Discarded(None, "the spec says commit: never")
        if ending == "cancelled":
            return _Discarded(None, "the call was cancelled")
        if ending == "workspace_limit":
            return _Discarded("denied", "the call wrote more than it is allowed to")
        if self._spec.commit != "always" and result.is_error:
            return _Discarded("denied", f"the tool failed, and the spec says commit: {self._spec.commit}")
        if refused := [(change.display_path, change.refused) for change in changes if change.refused]:
            return _Discarded("denied", f"these changes are not allowed:{_named(refused)}")
        if differences.conflicts:
            return _conflicting(differences.conflicts)
        if self._spec.commit == "ask":
            if approve is None:
                return _Discarded("denied", NO_APPROVER)
            proposal = Proposal(tool=self._tool, call_id=self._call_id, workspace=self._mount.source, changes=changes)
            if not approve(proposal):
                return _Discarded("denied", "the changes were not approved")
        return self._commit(differences)

    def _commit(self, differences: Differences) -> "_Discarded | None":
        assert self._view is not None
        try:
            commit(self._real, self._view.root, differences, self._mount, self._scratch)
        except RollbackFailedError as error:
            raise InfrastructureError(
                f"the workspace {self._mount.source} has only a part of the call's changes because another process "
                f"changed the same files: {error}; restore what you need from that folder, then remove it"
            ) from error
        except ConflictError as error:
            return _conflicting(error.conflicts)
        except TimeoutError:
            return _Discarded("file", "another call is still writing its changes to it; call the tool again later")
        except OSError as error:
            raise_shortage(error)
            return _Discarded("file", f"the changes cannot be written: {error.strerror}")
        return None

    def copy(self, max_bytes: int) -> tuple[Copy, Path]:
        """Make a full copy, which is the view of the call. Return it and its folder, whose parent is private.

        Raises ``OSError`` and ``TooManyChangesError``.
        """
        folder = make_copy_folder(self._scratch) / "workspace"
        folder.mkdir(mode=0o700)
        with contextlib.ExitStack() as undo:
            target = undo.enter_context(DirHandle.open(str(folder)))
            self._view = view = copy_tree(self._real, target, max_bytes)
            undo.pop_all()
        return view, folder

    def _make_copy(self, obstacle: str) -> Mount:
        """Return the mount of a full copy. Raises ``InfrastructureError`` if it cannot be created."""
        try:
            view, folder = self.copy(MAX_BYTES)
        except (OSError, TooManyChangesError) as error:
            raise_shortage(error)
            raise InfrastructureError(
                f"the workspace {self._mount.source} cannot be used in a transaction, because neither an overlay "
                f"({obstacle}) nor a copy ({error}) is possible; use a smaller folder, or set workspace: rw in the spec"
            ) from error
        return replace(
            self._mount,
            source=str(folder),
            mode="rw",
            device=view.root.status.st_dev,
            inode=view.root.status.st_ino,
            scratch=str(folder.parent),
        )


class _Overlaid:
    """Both layers of an overlay as one folder, as the kernel presented them."""

    def __init__(self, overlay: Overlay) -> None:
        self._upper = overlay.root
        self._real = overlay.real
        self._changed = {entry.path: entry for entry in overlay.entries()}

    def status_of(self, path: bytes) -> os.stat_result | None:
        """Implement ``ResultFolder.status_of``."""
        entry = self._changed.get(path)
        if entry is not None:
            return entry.status
        return self._real.status_of(path) if self._shows_real(path) else None

    def entries(self, path: bytes, max_entries: int) -> list[tuple[bytes, os.stat_result]]:
        """Implement ``ResultFolder.entries``."""
        entry = self._changed.get(path)
        entries: dict[bytes, os.stat_result | None] = {}
        if (entry is None or not entry.hides_real) and self._shows_real(path):
            status = self._real.status_of(path)
            if status is not None and stat.S_ISDIR(status.st_mode):
                entries |= self._real.entries(path, max_entries)
        if entry is not None or not path:
            names = (name for name, _ in self._upper.entries(path, max_entries))
            entries |= {name: self._changed[join_path(path, name)].status for name in names}
        visible = [(name, status) for name, status in sorted(entries.items()) if status is not None]
        return visible[:max_entries]

    def read(self, path: bytes, max_bytes: int) -> bytes:
        """Implement ``ResultFolder.read``."""
        entry = self._changed.get(path)
        if entry is None and not self._shows_real(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return read_beneath(self._real if entry is None else self._upper, path, max_bytes)

    def _shows_real(self, path: bytes) -> bool:
        """Return whether the real layer is visible at ``path``, and not hidden by a folder above it."""
        while path:
            path = path.rpartition(b"/")[0]
            entry = self._changed.get(path)
            if entry is not None and (
                entry.hides_real or entry.status is None or not stat.S_ISDIR(entry.status.st_mode)
            ):
                return False
        return True


class _Discarded(NamedTuple):
    """Why changes are not committed. ``kind`` is None if that is not an error."""

    kind: ErrorKind | None
    reason: str
    conflicts: tuple[ConcurrentChange, ...] = ()


def _conflicting(conflicts: tuple[ConcurrentChange, ...]) -> _Discarded:
    named = _named([(each.display_path, each.reason) for each in conflicts])
    reason = f"another process changed the same files; call the tool again:{named}"
    return _Discarded("conflict", reason, conflicts)


def _named(refused: list[tuple[str, str]]) -> str:
    named = "".join(f"\n- {path}: {reason}" for path, reason in refused[:MAX_NAMED])
    return named + (f"\n- and {len(refused) - MAX_NAMED} more" if len(refused) > MAX_NAMED else "")


def _with_note(result: ToolResult, kind: ErrorKind, reason: str) -> ToolResult:
    """Add a note that the workspace is unchanged, and return the result as an error, even if the tool succeeded."""
    note = f"the workspace is unchanged: {reason}"
    return replace(result, content=(*result.content, Text(note)), error=result.error or ToolFailure(kind, note))


def _file_system(descriptor: int) -> str:
    """Return the file system type of a descriptor, by its mount in proc_pid_mountinfo(5)."""
    try:
        info = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
        number = next(line.split()[1] for line in info.splitlines() if line.startswith("mnt_id:"))
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        line = next(each for each in mounts.splitlines() if each.split(" ", 1)[0] == number)
    except (OSError, StopIteration):
        return "unknown"
    return line.partition(" - ")[2].split(" ", 1)[0]

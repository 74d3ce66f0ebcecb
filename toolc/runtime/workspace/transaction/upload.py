"""Write a file that a client sent to a workspace, as a transaction that changes one file."""

import stat
from pathlib import Path

from toolc.dataclass import replace
from toolc.model.call import FileChange
from toolc.model.errors import UsageError, raise_shortage
from toolc.model.plan import Mount
from toolc.runtime.workspace.busy import require_free
from toolc.runtime.workspace.dir_handle import DirHandle
from toolc.runtime.workspace.scratch import make_scratch
from toolc.runtime.workspace.scratch_sweep import discard
from toolc.runtime.workspace.transaction.commit import ConflictError, RollbackFailedError, commit
from toolc.runtime.workspace.transaction.diff import Differences, parents, repositories
from toolc.runtime.workspace.transaction.file_state import read_state


class ExistingFileError(UsageError):
    """There is a file at the path, and the client did not say that it may be replaced."""


def write_upload(mount: Mount, path: str, content: bytes, *, replaces: bool) -> bool:
    """Write ``content`` to ``path`` in the workspace, in a folder that exists. Return whether the file is new.

    A path with ``..`` or a symbolic link is refused. Raises ``ExistingFileError`` if there is such a file
    and ``replaces`` is false, ``UsageError`` for another reason to choose another path, and ``InfrastructureError``.
    """
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise UsageError(f"{path!r} is not a path of a file in the workspace; write e.g. data/prices.csv")
    require_free(mount)
    scratch = make_scratch(mount.source)
    try:
        with DirHandle.open(mount.source) as real:
            return _write(real, mount, scratch, path, content, replaces=replaces)
    except (ConflictError, RollbackFailedError) as error:
        raise UsageError(f"{path} cannot be written, because another process changed it too: {error}") from None
    except OSError as error:
        raise_shortage(error)
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        discard(scratch)


def _write(real: DirHandle, mount: Mount, scratch: Path, path: str, content: bytes, *, replaces: bool) -> bool:
    folders: dict[bytes, str] = {}
    for folder in filter(None, parents(path)):
        state = read_state(real, folder.encode())
        if state is None or not state.is_folder:
            raise UsageError(f"{folder} is not a folder of the workspace; choose another folder")
        folders[folder.encode()] = state.content
    now = read_state(real, path.encode())
    if now is not None and now.kind != stat.S_IFREG:
        raise UsageError(f"{path} exists and is not a file; choose another name")
    if now is not None and not replaces:
        raise ExistingFileError(path)
    change = FileChange(path=path, action="added", size_bytes=len(content), mode=0o644)
    if now is not None:
        change = replace(change, action="changed", mode=now.mode)
    if repositories(real, [change]):
        raise UsageError(f"{path} is in a folder that git would treat as a repository; choose another folder")
    sent = scratch / "sent"
    (sent / path).parent.mkdir(parents=True)
    (sent / path).write_bytes(content)
    with DirHandle.open(str(sent)) as view:
        expected = {path.encode(): now} if now else {}
        commit(real, view, Differences(changes=(change,), expected=expected, folders=folders), mount, scratch)
    return now is None

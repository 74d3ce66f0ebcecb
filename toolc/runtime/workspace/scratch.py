"""Create the private folders on disk for transaction views and long session results.

They are removed when the process that created them ends. They are not stored with the other runtime files, which are
often in memory, because a view may be as large as the data that a tool writes.
"""

import functools
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.runtime.workspace.mount import copies_location, scratch_location
from toolc.runtime.workspace.scratch_sweep import COPY, roll_back_all, sweep
from toolc.sandbox.host import janitor
from toolc.sandbox.host.owner import Owner

_NUMBERS: Final = itertools.count(1)


def make_scratch(workspace: str) -> Path:
    """Return a new empty folder for a transaction in ``workspace`` (an empty string for none).

    ``scratch_sweep.discard`` removes it. Other users cannot enter it, because a view may show files of a private
    home directory. An engine that sets up its sandboxes as a separate user grants access to that user. Raises
    ``InfrastructureError``, for example if the workspace contains partly committed changes of a killed call.
    """
    directory = _base() / Owner.current().label()
    for entry in _stale_folders(directory):
        for each in roll_back_all(entry):
            if each.workspace == workspace:
                raise InfrastructureError(each.message)
    scratch = directory / str(next(_NUMBERS))
    try:
        directory.mkdir(mode=0o711, exist_ok=True)
        directory.chmod(0o711)  # regardless of the umask
        scratch.mkdir(mode=0o700)
    except OSError as error:
        raise InfrastructureError(_unusable(error)) from error
    return scratch


def make_copy_folder(scratch: Path) -> Path:
    """Return a new empty folder for the copy of a workspace, which ``discard`` removes together with ``scratch``.

    Its name is random, so that no other user can have created it before. Raises ``OSError``.
    """
    folder = copies_location() / os.urandom(8).hex()
    (scratch / COPY).symlink_to(folder)
    folder.mkdir(mode=0o700)
    return folder


def remove_stale() -> None:
    """Remove the folders of owners that had exited before the first transaction of this process.

    Call it after a sandbox was started. The start ends the sandboxes of those owners, and their folders must not be
    removed earlier.
    """
    for entry in _stale_folders(_base() / Owner.current().label()):
        sweep(entry)


def directories() -> Iterator[tuple[Owner, Path]]:
    """Yield the folder of every owner of this user, with its scratch folders. Raises ``InfrastructureError``."""
    for entry in sorted(_base().iterdir()):
        owner = Owner.parse(entry.name)
        if owner is not None:
            yield owner, entry


@functools.cache
def _stale_folders(directory: Path) -> tuple[Path, ...]:
    """Register this process's folder for removal, once. Return the folders of owners that have exited."""
    janitor.register("scratch", str(directory))
    return tuple(entry for owner, entry in directories() if entry != directory and owner.is_stale())


def _base() -> Path:
    """Return the folder, and create it if necessary. Raises ``InfrastructureError`` if others may write to it."""
    base = scratch_location()
    try:
        base.mkdir(mode=0o755, parents=True, exist_ok=True)
        status = base.lstat()
    except OSError as error:
        raise InfrastructureError(_unusable(error)) from error
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise InfrastructureError(
            f"{base} must be a folder that only this user can write to; remove it, or set XDG_STATE_HOME"
        )
    return base


def _unusable(error: OSError) -> str:
    return (
        f"the private folder for the files of tools cannot be created: {error.filename}: {error.strerror}; "
        "set XDG_STATE_HOME to a writable folder"
    )

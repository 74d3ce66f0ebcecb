"""Where a transaction keeps its view of a workspace, and a session long results: on disk, private, and gone with
the process that made it.

Not with the other runtime files: those are often in memory, and a view may be as large as what a tool writes.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.runtime.workspace import scratch_sweep
from toolc.sandbox.host import janitor
from toolc.sandbox.host.owner import Owner

_NUMBERS: Final = itertools.count(1)


def make_scratch(workspace: str) -> Path:
    """A new empty folder, which ``scratch_sweep.discard`` removes, for a transaction in ``workspace`` (or none).

    Raises ``InfrastructureError``, also where the workspace has a part of a killed call's changes in it.

    Nobody else may pass through it: what a view shows may stand in a private home. An engine whose sandboxes
    are set up by a user of their own lets that one in.
    """
    directory = _base() / Owner.current().label()
    for entry in _ready(directory):
        for each in scratch_sweep.roll_back(entry):
            if each.workspace == workspace:
                raise InfrastructureError(each.told)
    scratch = directory / str(next(_NUMBERS))
    try:
        directory.mkdir(mode=0o711, exist_ok=True)
        directory.chmod(0o711)  # whatever the umask says
        scratch.mkdir(mode=0o700)
    except OSError as error:
        raise InfrastructureError(_unusable(error)) from error
    return scratch


def remove_dead() -> None:
    """Remove what was left by owners that were dead before this process's first transaction.

    To be called once that has started a sandbox, which has ended theirs: what they use must not be gone before.
    """
    for entry in _ready(_base() / Owner.current().label()):
        scratch_sweep.sweep(entry)


def directories() -> Iterator[tuple[Owner, Path]]:
    """The folders of all owners of this user, each with its scratch folders. Raises ``InfrastructureError``."""
    for entry in sorted(_base().iterdir()):
        owner = Owner.parse(entry.name)
        if owner is not None:
            yield owner, entry


@functools.cache
def _ready(directory: Path) -> tuple[Path, ...]:
    """Once per process: its own folder is sure to be removed. Returns those of owners that are dead."""
    janitor.register_folders(scratch_sweep.command(directory))
    return tuple(entry for owner, entry in directories() if entry != directory and owner.is_dead())


def _base() -> Path:
    """``$XDG_STATE_HOME/toolc/scratch``; by default ``/var/lib/toolc/scratch`` for root, below the home else."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        state = Path("/var/lib") if os.geteuid() == 0 else Path("~/.local/state").expanduser()
    base = state / "toolc" / "scratch"
    try:
        base.mkdir(mode=0o755, parents=True, exist_ok=True)
        found = base.lstat()
    except OSError as error:
        raise InfrastructureError(_unusable(error)) from error
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise InfrastructureError(
            f"{base} is not a folder that only this user can write; remove it, or set XDG_STATE_HOME"
        )
    return base


def _unusable(error: OSError) -> str:
    return (
        f"a private folder is needed for what a tool writes, and {error.filename} cannot be made: "
        f"{error.strerror}; set XDG_STATE_HOME to a folder that you can write"
    )

"""Removing what the store has made, where no call uses it: out of reach first, and looked at once more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from toolc.engines import store
from toolc.model.errors import InfrastructureError


def remove(kind: str, key: str, folder: Path, is_wanted: Callable[[Path], bool] = lambda _: False) -> None:
    """Remove what ``store.make`` has made under this name; what is gone already is fine.

    ``is_wanted`` is asked of the folder once it is out of reach. Raises ``InfrastructureError`` where a call uses
    it, or it cannot be removed; then it is where it was.
    """
    with store.locked(kind, key), store.scratch() as work:
        aside = work / folder.name
        _refuse_used(folder)
        try:
            folder.rename(aside)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InfrastructureError(f"cannot remove {folder}: {error.strerror or error}") from error
        try:
            # Who began meanwhile has mounted it by now, or will be told that it is gone.
            _refuse_used(folder)
            if is_wanted(aside):
                raise InfrastructureError("a call has just begun to use it")
        except InfrastructureError:
            aside.rename(folder)
            raise


def _refuse_used(folder: Path) -> None:
    mark = os.fsencode(f"/{folder.name}/")
    for process in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            lines = process.read_bytes().splitlines()
        except OSError:
            continue  # it has ended
        # proc_pid_mountinfo(5): the fourth field is the folder of its file system that a mount shows.
        if any(mark in line.split(b" ")[3] + b"/" for line in lines):
            raise InfrastructureError(f"a call of process {process.parent.name} runs in it; try again later")

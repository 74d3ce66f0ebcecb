"""The last build, which is reused as a whole: if the specs and the output folder are unchanged, nothing is written.

Like make, toolc compares the metadata of the files in the folder: inode numbers, sizes and times. These include the
change time, which programs cannot set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from toolc.compiler.cache.answers import Inputs
from toolc.compiler.cache.file import INVALID_CACHE
from toolc.dataclass import dataclass
from toolc.model.diagnostics import Diagnostics

if TYPE_CHECKING:
    from toolc.compiler.pipeline.compile import Compilation


@dataclass(frozen=True, slots=True)
class UnchangedBuild:
    """The last build, with its folder, the numbers of its tools and their losses, and every finding."""

    out: str
    tools: int
    losses: int
    diagnostics: Diagnostics


def unchanged_build(inputs: Inputs) -> UnchangedBuild | None:
    """Return the last build, or None if the specs or its folder changed."""
    answer = inputs.answer()
    if answer is None:
        return None
    try:
        out, losses, state = answer.more
        if state != _state(out):
            return None
        return UnchangedBuild(out, answer.count, losses, answer.diagnostics)
    except INVALID_CACHE:
        return None


def store_build(inputs: Inputs, compilation: Compilation, out: str, losses: int) -> None:
    """Store the build that was just written into the folder ``out``."""
    try:
        inputs.store(compilation, [out, losses, _state(out)])
    except OSError:
        return


def _state(out: str) -> list[list[object]]:
    """Return the metadata of a folder and the files in it. Raises ``OSError`` on failure."""
    state: list[list[object]] = [["", Path(out).stat().st_ino]]
    for folder, folders, names in os.walk(out):
        folders.sort()
        for name in sorted(folders + names):
            status = (Path(folder) / name).lstat()
            is_file = name in names
            times = [status.st_size, status.st_mtime_ns, status.st_ctime_ns] if is_file else [status.st_mode]
            state.append([os.path.relpath(f"{folder}/{name}", out), status.st_ino, *times])
    return state

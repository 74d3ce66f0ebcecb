"""The cache of ``toolc build``: a build whose inputs and output folder are unchanged writes nothing.

Like make, the cache compares the metadata of the files in the folder: inode numbers, sizes and times, including the
change time, which programs cannot set. If anything in the folder differs, it is built again. From an unchanged
folder, a build reuses the texts of the tools whose files did not change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolc.compiler.cache.file import INVALID_CACHE, CachedFile, diagnostics_from_json, load, save, to_json
from toolc.compiler.cache.validity import CacheKey, cache_key_for
from toolc.compiler.project.settings import Settings
from toolc.model.diagnostics import Diagnostics

if TYPE_CHECKING:
    from toolc.compiler.build_output import RenderedTool

_ANSWER_PARTS: Final = 2
"""The number of values in the answer: the result of the build, and the state of its folder."""

Row: TypeAlias = tuple[str, int, list[int], str]
"""A tool in the folder: its name, its number of losses, the sizes of its texts, and their digest."""


@dataclass(frozen=True, slots=True)
class PreviousBuild:
    """A build that is still valid: its folder, its counts, and every finding."""

    out: str
    tools: int
    providers: int
    losses: int
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOutput:
    """A build to write into the folder ``out``; it has no tools if there is an error.

    ``names`` and ``tools`` are sorted by name, and ``toolsets`` are those of the registry. ``answer`` has the
    digests of all inputs, or None if the build cannot be cached; ``details`` has the results of single files. If
    ``is_written`` is true, the folder already has this content.
    """

    out: str
    names: Sequence[str]
    tools: Sequence[RenderedTool]
    toolsets: Mapping[str, Sequence[str]]
    diagnostics: Diagnostics
    answer: Mapping[str, object] | None
    details: Sequence[str]
    is_written: bool

    @property
    def losses(self) -> int:
        """The number of details that providers cannot express."""
        return sum(tool.losses for tool in self.tools)

    @property
    def rows(self) -> list[Row]:
        """The values that the cache stores for each tool."""
        named = zip(self.names, self.tools, strict=True)
        return [(name, tool.losses, [*map(len, tool.texts)], tool.digest) for name, tool in named]


@dataclass(frozen=True, slots=True)
class BuildCache:
    """The last build of one command line; ``out`` is the value of its option ``--out``.

    ``answer`` is the result of the last build with the digests of its inputs. ``folder`` has the path and state of
    the output folder, and the toolsets. Both are None if there was no build.
    """

    key: CacheKey
    settings: Settings
    out: str | None
    answer: Any
    folder: Any
    cached: CachedFile

    @classmethod
    def load(cls, paths: Sequence[Path], settings: Settings, out: str | None) -> BuildCache:
        """Return the cache of ``toolc build`` with these arguments."""
        key = cache_key_for(["build", out], paths, settings)
        cached = load(key.file)
        known = cached.answer
        answer, folder = known if isinstance(known, list) and len(known) == _ANSWER_PARTS else (None, None)
        return cls(key, settings, out, answer, folder, cached)

    def previous(self) -> PreviousBuild | None:
        """Return the last build if the specs and the folder are unchanged, else None."""
        try:
            if not self.key.is_fresh(self.answer) or not self.is_folder_unchanged():
                return None
            known = self.answer
            diagnostics = diagnostics_from_json(known["findings"], known["sources"])
            return PreviousBuild(known["out"], known["tools"], known["providers"], known["losses"], diagnostics)
        except INVALID_CACHE:
            return None

    def save(self, output: BuildOutput, providers: int) -> None:
        """Store a build that was just written for ``providers`` providers."""
        if self.key.file is None:
            return
        try:
            state = self.folder[1] if output.is_written else _state(output.out)
        except OSError:
            return
        rows = output.rows
        counts = {"out": output.out, "tools": len(rows), "providers": providers, "losses": output.losses}
        answer = {**output.answer, **counts} if output.answer else None
        folder = [output.out, state, output.toolsets]
        save(self.key.file, [answer, folder], [to_json(rows), *output.details])

    def is_folder_unchanged(self) -> bool:
        """Return whether the folder is unchanged since the last build. Raises one of ``INVALID_CACHE``."""
        out, state, _ = self.folder
        return bool(state == _state(out))

    def has_written(self, output: BuildOutput, rows: Sequence[Row]) -> bool:
        """Return whether the unchanged folder of the last build has the content of ``output``."""
        try:
            out, _, toolsets = self.folder
            is_same = output.rows == rows and output.out == out and json.loads(to_json(output.toolsets)) == toolsets
            return is_same and self.is_folder_unchanged()
        except INVALID_CACHE:
            return False


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

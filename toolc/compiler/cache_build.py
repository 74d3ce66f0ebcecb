"""What ``toolc build`` wrote, so that a build of what has not changed writes nothing.

The folder is judged by what the system says of its files, as make does: their numbers, sizes and times, of which
nobody can set the time of the last change. One that holds anything more or less is built anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolc.compiler.cache import NOT_OURS, keep_lines, kept_lines
from toolc.compiler.cache_answers import Question
from toolc.compiler.cache_json import diagnostics_from_json
from toolc.compiler.settings import Settings
from toolc.diagnostics import Diagnostics

if TYPE_CHECKING:
    from toolc.compiler.compile import Compilation


@dataclass(frozen=True, slots=True)
class LastBuild:
    """A build that would be made again: the folder it is in, its counts, and every finding."""

    out: str
    tools: int
    providers: int
    losses: int
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True)
class BuildCache:
    """Knows the last build of one command line, and whether it is still what one would write."""

    question: Question

    @classmethod
    def of(cls, paths: Sequence[Path], settings: Settings, out: str | None) -> BuildCache:
        """The cache of ``toolc build`` with these arguments."""
        return cls(Question.ask(["build", out], paths, settings))

    def recall(self) -> LastBuild | None:
        """The last build, if specs and folder are as they were."""
        try:
            found = self.question.known(kept_lines(self.question.place)[0])
            if found is None or found["state"] != _state(found["out"]):
                return None
            diagnostics = diagnostics_from_json(found["findings"], found["sources"])
            return LastBuild(found["out"], found["tools"], found["providers"], found["losses"], diagnostics)
        except NOT_OURS:
            return None

    def facts(self, compilation: Compilation) -> dict[str, object] | None:
        """What a build depends on. To be asked before it writes, which changes the folder above its own."""
        return self.question.facts(compilation)

    def remember(self, facts: dict[str, object] | None, out: str, tools: int, providers: int, losses: int) -> None:
        """Keep what was just written into ``out``."""
        if self.question.place is None or facts is None:
            return
        try:
            state = _state(out)
        except OSError:
            return
        more = {"out": out, "tools": tools, "providers": providers, "losses": losses, "state": state}
        keep_lines(self.question.place, [json.dumps(facts | more)])


def _state(out: str) -> list[list[object]]:
    """What the system says of the files in a folder, and of the folder itself. Raises ``OSError``."""
    state: list[list[object]] = [["", Path(out).stat().st_ino]]
    for folder, folders, names in os.walk(out):
        folders.sort()
        for name in sorted(folders + names):
            found = (Path(folder) / name).lstat()
            is_file = name in names
            times = [found.st_size, found.st_mtime_ns, found.st_ctime_ns] if is_file else [found.st_mode]
            state.append([os.path.relpath(f"{folder}/{name}", out), found.st_ino, *times])
    return state

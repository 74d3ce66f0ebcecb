"""What ``toolc build`` wrote, so that a build of what has not changed writes nothing, and of one edit little.

The folder is judged by what the system says of its files, as make does: their numbers, sizes and times, of which
nobody can set the time of the last change. One that holds anything more or less is built anew. From one that is as
it was left come the texts of the tools whose files have not changed: the cache says where each stands.
"""

from __future__ import annotations

import json
import os
from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolc.compiler.cache import answer_of, keep, read_kept
from toolc.compiler.cache_answers import Question
from toolc.compiler.cache_file import Kept
from toolc.compiler.cache_json import NOT_OURS, diagnostics_from_json
from toolc.compiler.settings import Settings
from toolc.diagnostics import Diagnostics

if TYPE_CHECKING:
    from toolc.compiler.cache_edits import Edited
    from toolc.compiler.finished import Finished, Form


_ABOUT_ALL: Final = 2
"""How many parts the first line has: what a build depends on, and the folder that it is in."""

_Row: TypeAlias = tuple[str, int, list[int], str]
"""A tool's name, how many details of it providers cannot say, the size of each of its texts and a digest of all."""


@dataclass(frozen=True, slots=True)
class LastBuild:
    """A build that would be made again: the folder it is in, its counts, and every finding."""

    out: str
    tools: int
    providers: int
    losses: int
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A build to be written into ``out``: its tools as ``Layout.join`` takes them, none where there is an error.

    There is a row for each tool, in order; ``toolsets`` are those of the registry; ``answer`` is what the build
    depends on, None where that cannot be known, and ``lines`` what came of each file. Where ``is_there`` the folder
    holds that build already, and there is nothing to write.
    """

    out: str
    tools: Sequence[Finished]
    rows: Sequence[_Row]
    toolsets: Mapping[str, Sequence[str]]
    diagnostics: Diagnostics
    answer: Mapping[str, object] | None
    lines: Sequence[str]
    is_there: bool = False

    @property
    def losses(self) -> int:
        """How many details providers cannot say."""
        return sum(losses for _, losses, _, _ in self.rows)


@dataclass(frozen=True, slots=True)
class BuildCache:
    """Knows the last build of one command line, whether it is still what one would write, and how to make the next.

    ``out`` is the folder that the command line names. ``answer`` is what the last build depends on; ``folder`` says
    where it is, what the system says of its files, and which toolsets are in it. Of the other lines of the file
    the first tells how long each text of each tool is, and the others what came of each spec file.
    """

    question: Question
    settings: Settings
    out: str | None
    answer: Any
    folder: Any
    kept: Kept

    @classmethod
    def of(cls, paths: Sequence[Path], settings: Settings, out: str | None) -> BuildCache:
        """The cache of ``toolc build`` with these arguments."""
        question = Question.ask(["build", out], paths, settings)
        kept = read_kept(question.place)
        known = answer_of(kept)
        answer, folder = known if isinstance(known, list) and len(known) == _ABOUT_ALL else (None, None)
        return cls(question, settings, out, answer, folder, kept)

    def recall(self) -> LastBuild | None:
        """The last build, if specs and folder are as they were."""
        try:
            if not self.question.is_answered(self.answer) or not self._is_as_left():
                return None
            found = self.answer
            diagnostics = diagnostics_from_json(found["findings"], found["sources"])
            return LastBuild(found["out"], found["tools"], found["providers"], found["losses"], diagnostics)
        except NOT_OURS:
            return None

    def make(self, form: Form) -> Made:
        """The build that ``compile_specs`` would make, of whose tools only those that changed are compiled.

        To be asked for before it is written, which changes the folder above its own. Raises ``UsageError``.
        """
        from toolc.compiler.cache_edits import find_edited  # a build that is known needs no compiler
        from toolc.compiler.cache_pieces import KeptPieces, known_lines
        from toolc.compiler.compile import compile_specs

        first, *lines = self.kept.others() or [""]
        rows = _rows(first)
        edited = find_edited(self.question, self.answer, lines, self.settings) if rows else None
        if edited and (made := self._edit(edited, rows, form)):
            return made
        last = dict(zip([name for name, *_ in rows], self._texts(rows, form), strict=False))
        pieces = KeptPieces(known_lines(lines), self.question, form, last)
        compilation = compile_specs(self.question.paths, self.settings, pieces.gather, pieces.together)
        if compilation.diagnostics.has_errors:
            return _nothing(compilation.diagnostics)
        others = [tool for tool in compilation.tools if tool.name not in pieces.finished]
        named = zip([tool.name for tool in others], form.finish(others, compilation.tools), strict=True)
        finished = {**pieces.finished, **dict(named)}
        tools = [finished[tool.name] for tool in compilation.tools]
        facts = self.question.facts(compilation) if pieces.is_of_contents else None
        return Made(
            out=self.out or (os.path.relpath(compilation.out) if compilation.out else "build"),
            tools=tools,
            rows=[_row(tool.name, each) for tool, each in zip(compilation.tools, tools, strict=True)],
            toolsets=compilation.toolsets,
            diagnostics=compilation.diagnostics,
            answer=facts and facts | pieces.facts,
            lines=pieces.lines,
        )

    def remember(self, made: Made, providers: int) -> None:
        """Keep what was just written."""
        if self.question.place is None:
            return
        try:
            state = self.folder[1] if made.is_there else _state(made.out)
        except OSError:
            return
        counts = {"out": made.out, "tools": len(made.rows), "providers": providers, "losses": made.losses}
        answer = {**made.answer, **counts} if made.answer else None
        lines = [json.dumps(made.rows), *made.lines]
        keep(self.question.place, [answer, [made.out, state, made.toolsets]], lines)

    def _is_as_left(self) -> bool:
        """Whether the folder of the last build is as it was left; raises any error where there is none."""
        out, state, _ = self.folder
        return bool(state == _state(out))

    def _texts(self, rows: Sequence[_Row], form: Form) -> list[Finished]:
        """What stands in the folder of the last build for each row, if it is as it was left; else nothing."""
        from toolc.compiler.finished import Finished  # as above

        try:
            if not self._is_as_left():
                return []
            out, _, toolsets = self.folder
            texts = form.layout(toolsets).cut(Path(out), [sizes for _, _, sizes, _ in rows])
            if not self._is_as_left():  # another build took its place meanwhile
                return []
            return [
                Finished(each, losses, digest) for each, (_, losses, _, digest) in zip(texts, rows, strict=True)
            ]
        except NOT_OURS:
            return []

    def _edit(self, edited: Edited, rows: Sequence[_Row], form: Form) -> Made | None:
        """The last build with the edited files' tools in the place of those that these files had."""
        if edited.diagnostics.has_errors:
            return _nothing(edited.diagnostics)
        specs = sorted((tool.spec for piece in edited.pieces for tool in piece.tools), key=lambda spec: spec.name)
        if any(map(form.is_joint, specs)):
            return None
        new = dict(zip([spec.name for spec in specs], form.finish(specs, specs), strict=True))
        made = [_row(name, each) for name, each in new.items()]
        is_there = made == sorted(row for row in rows if row[0] in edited.gone) and self._is_as_left()
        kept = [] if is_there else self._kept(rows, edited.gone, [*new], form)
        if kept is None:
            return None
        return Made(
            out=edited.answer["out"],
            tools=() if is_there else [each for _, each in sorted([*kept, *new.items()], key=itemgetter(0))],
            rows=sorted([*(row for row in rows if row[0] not in edited.gone), *made], key=itemgetter(0)),
            toolsets=self.folder[2],  # an edit that could change them is none of ``find_edited``
            diagnostics=edited.diagnostics,
            answer=edited.answer,
            lines=edited.lines,
            is_there=is_there,
        )

    def _kept(
        self, rows: Sequence[_Row], gone: Collection[str], new: Sequence[str], form: Form
    ) -> list[tuple[str, Finished]] | None:
        """The tools that are not gone, those between which nothing changes together under the first one's name.

        ``new`` are the names of those that come, in order. None where the folder is not as it was left.
        """
        grouped = groupby(rows, lambda row: (row[0] in gone, row[0] if row[0] in gone else bisect(new, row[0])))
        runs = [[*run] for _, run in grouped]
        texts = self._texts([_run(run) for run in runs], form)
        if not texts:
            return None
        named = [(run[0][0], text) for run, text in zip(runs, texts, strict=True)]
        return [(name, text) for name, text in named if name not in gone]


def _rows(line: str) -> list[_Row]:
    """Those of the last build; none where none is known."""
    try:
        return [
            (str(name), int(losses), list(sizes), str(digest)) for name, losses, sizes, digest in json.loads(line)
        ]
    except NOT_OURS:
        return []


def _nothing(diagnostics: Diagnostics) -> Made:
    return Made(out="", tools=(), rows=(), toolsets={}, diagnostics=diagnostics, answer=None, lines=())


def _row(name: str, tool: Finished) -> _Row:
    return name, tool.losses, [*map(len, tool.texts)], tool.digest


def _run(rows: Sequence[_Row]) -> _Row:
    """Tools that stand one after the other as if they were one: there are commas between their texts."""
    columns = zip(*(sizes for _, _, sizes, _ in rows), strict=True)
    sizes = [sum(column) + max(0, sum(map(bool, column)) - 1) for column in columns]
    return "", sum(losses for _, losses, _, _ in rows), sizes, ""


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

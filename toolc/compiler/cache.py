"""What ``toolc check`` found, kept in the user's cache folder until anything changes that it depends on.

One file is for one command line in one folder with one toolc. Its first line is an answer (``cache_answers``),
which is what the compiler would find as long as nothing has changed. Where something has, the other lines say
what came of the files that have not (``cache_pieces``). Whatever is wrong with the file or its folder means that
nothing is known. It holds JSON that only its owner could have written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolc.compiler import cache_file
from toolc.compiler.cache_answers import Question
from toolc.compiler.cache_file import Kept
from toolc.compiler.cache_json import NOT_OURS, diagnostics_from_json
from toolc.compiler.settings import Settings
from toolc.diagnostics import Diagnostics

if TYPE_CHECKING:
    from toolc.compiler.compile_file import FileCompiler, Piece
    from toolc.compiler.find import Found


@dataclass(frozen=True, slots=True)
class Checked:
    """What checking specs came to: how many tools could be read, and every finding."""

    count: int
    diagnostics: Diagnostics


def check_specs(paths: Sequence[Path], settings: Settings) -> Checked:
    """What ``compile_specs`` finds, compiling only what has changed. Raises ``UsageError`` as it does."""
    question = Question.ask(["check"], paths, settings)
    kept = read_kept(question.place)
    answer = answer_of(kept)
    if known := _recall(question, answer):
        return known
    if len(question.contents) == 1:
        return _check_one(question, settings)
    return _check_several(question, answer, kept.others(), settings)


def _check_one(question: Question, settings: Settings) -> Checked:
    """What is found in a file that is compiled alone: what is kept of it is the answer."""
    from toolc.compiler.compile import compile_specs  # an answer that is known needs no compiler

    looked_at: list[str] = []

    def gather(files: Sequence[Found], compiler: FileCompiler) -> list[Piece]:
        looked_at.extend(str(found.path) for found in files)
        return [compiler.compile(found, question.contents.get(str(found.path))) for found in files]

    compilation = compile_specs(question.paths, settings, gather)
    if question.place:
        facts = question.facts(compilation) if question.contents.keys() >= {*looked_at} else None
        keep(question.place, facts, ())
    return Checked(len(compilation.tools), compilation.diagnostics)


def _check_several(question: Question, answer: Any, lines: Sequence[str], settings: Settings) -> Checked:
    """What is found in several files, of which those that have not changed are not compiled."""
    from toolc.compiler.cache_edits import find_edited  # as above
    from toolc.compiler.cache_pieces import KeptPieces, known_lines
    from toolc.compiler.compile import compile_specs

    if question.place and (edited := find_edited(question, answer, lines, settings)):
        keep(question.place, edited.answer, edited.lines)
        return Checked(edited.answer["count"], edited.diagnostics)
    pieces = KeptPieces(known_lines(lines), question)
    compilation = compile_specs(question.paths, settings, pieces.gather, pieces.together)
    if question.place:
        facts = question.facts(compilation) if pieces.is_of_contents else None
        keep(question.place, facts and facts | pieces.facts, pieces.lines)
    return Checked(len(compilation.tools), compilation.diagnostics)


def read_kept(place: Path | None) -> Kept:
    """What the file holds; nothing where there is none to trust."""
    try:
        return cache_file.read(place) if place else Kept()
    except (OSError, UnicodeError):
        return Kept()


def answer_of(kept: Kept) -> Any:
    """The answer that the file holds, None where there is none."""
    try:
        return json.loads(kept.first)
    except NOT_OURS:
        return None


def keep(place: Path, answer: object, lines: Sequence[str]) -> None:
    """Write the file anew; ``answer`` is None where it could not be trusted."""
    with suppress(OSError, UnicodeError):  # a cache that cannot be written is one that stays empty
        cache_file.write(place, json.dumps(answer), lines)


def _recall(question: Question, answer: Any) -> Checked | None:
    try:
        if not question.is_answered(answer):
            return None
        return Checked(answer["count"], diagnostics_from_json(answer["findings"], answer["sources"]))
    except NOT_OURS:
        return None

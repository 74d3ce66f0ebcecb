"""A few files edited since the last run, with nothing in them that other files have a part in.

Then all that was found in the other files still holds, and what is new is found in the edited ones alone. It is
what people do all day, and takes little longer than to see that nothing has changed. Whatever else has changed
(a tool's name or description, what another one calls, a project file), this says nothing about.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolc.compiler.cache_answers import Question, asked_of, is_elsewhere_unchanged
from toolc.compiler.cache_json import NOT_OURS, diagnostics_from_json, findings_to_json, sources_to_json
from toolc.compiler.cache_lines import outline, to_line
from toolc.compiler.cache_pieces import TOGETHER, key_of, known_lines
from toolc.compiler.compile import reported
from toolc.compiler.compile_file import FileCompiler, Piece
from toolc.compiler.find import Found
from toolc.compiler.find_project import Projects
from toolc.compiler.settings import Settings
from toolc.diagnostics import Diagnostics

_FEW: Final = 20
"""How many edited files are compiled one by one; where there are more, a run like the first is as quick."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What is found now: the answer to keep, with the lines to keep beside it, and the edited files' pieces."""

    answer: dict[str, Any]
    lines: list[str]
    diagnostics: Diagnostics
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class _Changes:
    """``edited`` says of each file that has changed what was known of it; ``kept`` are lines that still hold."""

    edited: dict[str, Any]
    kept: dict[str, str]


def find_edited(question: Question, answer: str, lines: Sequence[str], settings: Settings) -> Edited | None:
    """What a run would find, if all that has changed since ``answer`` was given is the text of a few files.

    None where more has changed, or ``answer`` and ``lines`` are none of ours.
    """
    try:
        return _find_edited(question, json.loads(answer), known_lines(lines), settings) if answer else None
    except NOT_OURS:
        return None


def _find_edited(question: Question, found: Any, known: dict[str, str], settings: Settings) -> Edited | None:
    if question.specs is None or len(question.paths) != 1:
        return None
    changes = _changes(question, found, known)
    if changes is None or not is_elsewhere_unchanged(found):
        return None
    compiler = FileCompiler(Projects(Diagnostics()), settings)
    pieces = tuple(_compiled(name, question, compiler) for name in changes.edited)
    if not all(_is_alone(piece, changes.edited[str(piece.found.path)], found) for piece in pieces):
        return None
    # Looked at again, for a project file may have changed before it was read.
    if question.has_just_changed(Path(folder) for folder, _ in found["projects"]) or not is_elsewhere_unchanged(
        found
    ):
        return None
    return _merged(question, found, changes, pieces, compiler)


def _changes(question: Question, found: Any, known: dict[str, str]) -> _Changes | None:
    """What has changed; None where files came or went, or many have changed."""
    left = {key: line for key, line in known.items() if key != TOGETHER}
    kept: dict[str, str] = {}
    new: list[str] = []
    for name, data in question.contents.items():
        key = _key(question, name, found)
        if key in left:
            kept[key] = left.pop(key)
        elif found["unkept"].get(name) != hashlib.sha256(data).hexdigest():
            new.append(name)
    if not 0 < len(new) <= _FEW or len(new) != len(left):
        return None
    was = {line["path"]: line for line in map(json.loads, left.values())}
    return _Changes({name: was[_shown(name)] for name in new}, kept)


def _key(question: Question, name: str, found: Any) -> str:
    is_named = name == str(question.paths[0])
    return key_of(_shown(name), question.contents[name], found["context"], is_named=is_named)


def _shown(name: str) -> str:
    return name.replace(os.sep, "/")


def _compiled(name: str, question: Question, compiler: FileCompiler) -> Piece:
    (path,) = question.paths
    found = Found(path=Path(name), shown=_shown(name), folder=None if name == str(path) else path)
    compiler.projects.of_file(found.path)
    diagnostics = Diagnostics()
    return compiler.compile_document(
        found, compiler.parse(found, question.contents[name], diagnostics), diagnostics
    )


def _is_alone(piece: Piece, was: Any, found: Any) -> bool:
    """Whether no other file has a part in what is wrong with this one, or was before, nor this one in another."""
    shown = piece.found.shown
    names = {name for tool in piece.tools for name in (tool.spec.name, *tool.spec.aliases)}
    paths = {each.span.path for each in piece.diagnostics.sorted()} | {each["span"][0] for each in was["findings"]}
    return (
        piece.source is not None
        and was["parsed"]
        and _compared([outline(tool) for tool in piece.tools]) == _compared(was["tools"])
        and bool(to_line(piece))
        and names.isdisjoint(found["called"])
        and paths <= {shown}
        and shown not in found["involved"]
    )


def _compared(outlines: Any) -> Any:
    """What is compared of tools with others; where a tool ends is not, save where it has no better place."""
    tools = json.loads(json.dumps(outlines))
    for each in tools:
        _, name, description, _ = each["spans"]
        if name and description:
            each["spans"][0] = None
    return tools


def _merged(
    question: Question, found: Any, changes: _Changes, pieces: tuple[Piece, ...], compiler: FileCompiler
) -> Edited:
    """The answer with what is found in the edited files in the place of what was."""
    shown = {piece.found.shown for piece in pieces}
    findings = [each for each in found["findings"] if each["span"][0] not in shown]
    diagnostics = diagnostics_from_json(
        findings, {path: found["sources"][path] for path in found["sources"].keys() - shown}
    )
    for piece in pieces:
        diagnostics.extend(reported(piece, compiler))
    logs = [each for piece in pieces for each in asked_of(piece.folder)]
    answer = found | {
        "specs": question.specs,
        "asked": found["asked"] + [each for each in logs if each not in found["asked"]],
        "findings": findings_to_json(diagnostics),
        "sources": sources_to_json(diagnostics),
    }
    lines = [f"{key} {line}" for key, line in changes.kept.items()]
    lines += [f"{_key(question, str(piece.found.path), found)} {to_line(piece)}" for piece in pieces]
    return Edited(answer, lines, diagnostics, pieces)

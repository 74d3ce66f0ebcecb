"""A few files edited since the last run, with nothing in them that other files have a part in.

Then all that was found in the other files still holds, and what is new is found in the edited ones alone. It is
what people do all day, and takes little longer than to see that nothing has changed. Whatever else has changed
(a name that other tools call, a description that is like another one's, a project file), this says nothing about.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolc.compiler import codes
from toolc.compiler.cache_answers import Question, asked_of, is_elsewhere_unchanged
from toolc.compiler.cache_compared import leaves_comparisons
from toolc.compiler.cache_json import NOT_OURS, diagnostics_from_json, findings_to_json, sources_to_json
from toolc.compiler.cache_lines import kept_of, outline, to_line
from toolc.compiler.cache_pieces import CONTEXT, TOGETHER, key_of, known_lines, to_keep
from toolc.compiler.codes import DANGLING
from toolc.compiler.compile import reported
from toolc.compiler.compile_file import FileCompiler, Piece
from toolc.compiler.find import Found
from toolc.compiler.find_project import Projects
from toolc.compiler.settings import Settings
from toolc.diagnostics import Diagnostics

_COMPARED: Final = frozenset({codes.DUPLICATE_NAME.number, codes.SIMILAR_DESCRIPTION.number})
"""Numbers of what is found where tools are compared."""

_FEW: Final = 20
"""How many edited files are compiled one by one; where there are more, a run like the first is as quick."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What is found now: the answer to keep, with the lines to keep beside it, and the edited files' pieces.

    ``gone`` are the names of the tools that these files had before.
    """

    answer: dict[str, Any]
    lines: list[str]
    diagnostics: Diagnostics
    pieces: tuple[Piece, ...]
    gone: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Changes:
    """What is known of files that have changed (``edited``), by how findings call the file, and of the others.

    ``names`` are the files that have changed; ``kept`` has all else that is known, by its key, and ``shown`` says
    how findings call the file of a key.
    """

    names: list[str]
    edited: dict[str, str]
    kept: dict[str, str]
    shown: dict[str, str]


def find_edited(question: Question, answer: Any, lines: Sequence[str], settings: Settings) -> Edited | None:
    """What a run would find, if all that has changed since ``answer`` was given is the text of a few files.

    None where more has changed, or ``answer`` and ``lines`` are none of ours.
    """
    try:
        return _find_edited(question, answer, known_lines(lines), settings) if answer else None
    except NOT_OURS:
        return None


def _find_edited(question: Question, found: Any, known: dict[str, str], settings: Settings) -> Edited | None:
    if question.specs is None or len(question.paths) != 1:
        return None
    changes = _changes(question, found, known)
    if changes is None or not is_elsewhere_unchanged(found):
        return None
    compiler = FileCompiler(Projects(Diagnostics()), settings)
    pieces = tuple(_compiled(name, question, compiler) for name in changes.names)
    was = {shown: kept_of(line) for shown, line in changes.edited.items()}
    if not all(_is_alone(piece, was[piece.found.shown], found) for piece in pieces):
        return None
    if not all(_is_where_it_was(piece, was[piece.found.shown], found) for piece in pieces):
        unkept = {_shown(name): line for name, (_, line) in found["unkept"].items()}
        kept = {changes.shown[key]: line for key, line in changes.kept.items() if key in changes.shown}
        after = {piece.found.shown: to_line(piece) for piece in pieces}
        told = {number for number, _ in found["together"]}
        if not leaves_comparisons(unkept | kept, changes.edited, after, told):
            return None
    # Looked at again, for a project file may have changed before it was read.
    if question.has_just_changed(Path(folder) for folder, _ in found["projects"]) or not is_elsewhere_unchanged(
        found
    ):
        return None
    return _merged(question, found, changes, pieces, was, compiler)


def _changes(question: Question, found: Any, known: dict[str, str]) -> _Changes | None:
    """What has changed; None where files came or went, or many have changed."""
    keys = {_key(question, name): name for name in question.contents}
    left = known.keys() - keys.keys() - {CONTEXT, TOGETHER}
    new = [
        name
        for key, name in keys.items()
        if key not in known and (name not in found["unkept"] or found["unkept"][name][0] != question.digests[name])
    ]
    if not 0 < len(new) <= _FEW or len(new) != len(left):
        return None
    was = {kept_of(known[key])["path"]: known.pop(key) for key in left}
    known.pop(TOGETHER, None)
    edited = {_shown(name): was[_shown(name)] for name in new}
    return _Changes(new, edited, known, {key: _shown(name) for key, name in keys.items()})


def _key(question: Question, name: str) -> str:
    is_named = name == str(question.paths[0])
    return key_of(_shown(name), question.digests[name], is_named=is_named)


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
    """Whether no other file has a part in what is wrong with this one, or was before, nor this one in another.

    Save for what is found where tools are compared.
    """
    shown = piece.found.shown
    now = {name for tool in piece.tools for name in (tool.spec.name, *tool.spec.aliases)}
    before = {name for tool in was["tools"] for name in (tool["name"], *tool["aliases"])}
    paths = {each.span.path for each in piece.diagnostics.sorted()} | {each["span"][0] for each in was["findings"]}
    return (
        piece.source is not None
        and was["parsed"]
        and bool(to_line(piece))
        and (now | before).isdisjoint(found["called"])
        and (now == before or _may_change(now ^ before, found))
        and paths <= {shown}
        and not any(path == shown and number not in _COMPARED for number, path in found["together"])
    )


def _may_change(names: set[str], found: Any) -> bool:
    """Whether no list of tools names one of these, and nobody was told of names that there are."""
    return names.isdisjoint(found["listed"]) and all(number != DANGLING.number for number, _ in found["together"])


def _is_where_it_was(piece: Piece, was: Any, found: Any) -> bool:
    """Whether nothing that is compared has changed or moved, and nothing was found there."""
    return _compared([outline(tool) for tool in piece.tools]) == _compared(was["tools"]) and not any(
        path == piece.found.shown for _, path in found["together"]
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
    question: Question,
    found: Any,
    changes: _Changes,
    pieces: tuple[Piece, ...],
    before: dict[str, Any],
    compiler: FileCompiler,
) -> Edited:
    """The answer with what is found in the edited files in the place of what was found ``before``."""
    shown = {piece.found.shown for piece in pieces}
    findings = [each for each in found["findings"] if each["span"][0] not in shown]
    diagnostics = diagnostics_from_json(
        findings, {path: found["sources"][path] for path in found["sources"].keys() - shown}
    )
    for piece in pieces:
        diagnostics.extend(reported(piece, compiler))
    logs = [each for piece in pieces for each in asked_of(piece.folder)]
    was = [tool for each in before.values() for tool in each["tools"]]
    now = [tool for piece in pieces for tool in piece.tools]
    answer = found | {
        "specs": question.specs,
        "count": found["count"] + sum(not tool.damaged for tool in now) - sum(not tool["damaged"] for tool in was),
        "together": [[number, path] for number, path in found["together"] if path not in shown],
        "asked": found["asked"] + [each for each in logs if each not in found["asked"]],
        "findings": findings_to_json(diagnostics),
        "sources": sources_to_json(diagnostics),
    }
    lines = [to_keep(key, line) for key, line in changes.kept.items()]
    lines += [to_keep(_key(question, str(piece.found.path)), to_line(piece)) for piece in pieces]
    return Edited(answer, lines, diagnostics, pieces, frozenset(tool["name"] for tool in was))

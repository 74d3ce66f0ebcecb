"""Verify the chains of an audit log, and compare them with an earlier checkpoint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.errors import UsageError
from toolc.model.text import count_noun
from toolc.telemetry.audit_chain import (
    Line,
    Running,
    Seal,
    chain_files,
    chain_folders,
    is_line_of,
    is_torn_line,
    running_calls,
)

MAX_PROBLEMS: Final = 20
"""The maximum number of problems of a chain that are listed. The rest are counted."""

MAC_CHARACTERS: Final = 32
"""How many characters of a MAC are in a checkpoint. They are 128 bits, which cannot be guessed."""

_POSITION: Final = re.compile(rf"([0-9]{{1,9}}):([0-9]{{1,12}}):([0-9a-f]{{{MAC_CHARACTERS}}})")


@dataclass(frozen=True, slots=True)
class Position:
    """A line that a chain had, and the start of its MAC.

    A checkpoint has the last line of each chain. It is needed to detect lines that are removed from the end later.
    """

    chain: str
    number: int
    mac: str


def parse_checkpoint(text: str) -> list[Position]:
    """Parse a printed checkpoint. Raises ``UsageError``."""
    matches = [_POSITION.fullmatch(each) for each in text.strip().split(",")]
    if not all(matches):
        raise UsageError(f"{text!r:.60} is not a checkpoint; pass the text after 'checkpoint:', such as 0:42:1f…")
    return [Position(match[1], int(match[2]), match[3]) for match in matches if match]


@dataclass(slots=True)
class ChainReport:
    """The findings about a chain. ``problems`` are changes of its lines. ``unfinished`` calls have no line yet."""

    name: str
    first: int = 0
    last: int = 0
    mac: str = ""
    files: int = 0
    problems: list[str] = field(default_factory=list)
    unfinished: list[Running] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verify(log: Path, key: bytes, known: Sequence[Position] = ()) -> list[ChainReport]:
    """Return a report for each chain, including removed ones. ``known`` has the lines of checkpoints."""
    folders = {each.name: each for each in chain_folders(log)}
    reports = [_verified(folder, Seal(key, name), known) for name, folder in folders.items()]
    earlier = map(str, range(max(map(int, folders), default=0)))
    missing = [name for name in dict.fromkeys([*(each.chain for each in known), *earlier]) if name not in folders]
    problem = "the chain was removed: a checkpoint names it, or a later chain exists"
    return reports + [ChainReport(name, problems=[problem]) for name in missing]


def checkpoint_of(reports: list[ChainReport]) -> str:
    """Return the checkpoint of the lines in these reports."""
    return ",".join(f"{each.name}:{each.last}:{each.mac[:MAC_CHARACTERS]}" for each in reports if each.last)


def _verified(folder: Path, seal: Seal, positions: Sequence[Position]) -> ChainReport:
    known = [each for each in positions if each.chain == folder.name]
    files = chain_files(folder)
    report = ChainReport(folder.name, files=len(files))
    running = list(running_calls(folder, seal))
    last: Line | None = None
    seen = dict[int, str]()
    for path in files:
        *lines, torn = path.read_bytes().split(b"\n")
        for place, data in enumerate(lines, 1):
            where = f"{path.name}, line {place}"
            line = seal.read(data)
            if line is None:
                report.problems.append(f"{where}: the line was changed, or was not written by toolc with this key")
                continue
            _check_order(report, where, last, line, known)
            if any(each.number == line.number for each in known):
                seen[line.number] = line.mac
            last = line
        if torn:
            _check_torn(report, path.name, torn, (last.number if last else 0) + 1, running, is_last=path == files[-1])
    if last:
        report.last, report.mac = last.number, last.mac
    report.unfinished = [each for each in running_calls(folder, seal) if not (last and is_line_of(last, each))]
    for each in known:
        _check_known(report, each.number, each.mac, seen.get(each.number))
    if more := report.problems[MAX_PROBLEMS:]:
        report.problems[MAX_PROBLEMS:] = [f"and {count_noun(len(more), 'more problem')}"]
    return report


def _check_order(report: ChainReport, where: str, last: Line | None, line: Line, known: Sequence[Position]) -> None:
    """Check that ``line`` follows the previous line."""
    if last is None:
        report.first = line.number
        follows_moved = any(line.number == each.number + 1 and line.previous.startswith(each.mac) for each in known)
        if line.number != 1 and not follows_moved:
            report.problems.append(
                f"{where}: the chain begins with number {line.number}. If you moved older files away, pass the "
                "checkpoint that was printed then. Otherwise, lines were removed"
            )
    elif line.previous != last.mac:
        gap = line.number - last.number - 1
        what = f"it follows a gap of {count_noun(gap, 'line')}" if gap > 0 else "it does not follow the line before"
        report.problems.append(f"{where}: {what}")


def _check_torn(
    report: ChainReport, name: str, torn: bytes, number: int, running: list[Running], *, is_last: bool
) -> None:
    """Distinguish a line that a killed process left incomplete from a line that was cut."""
    if is_last and is_torn_line(torn, number, running):
        report.notes.append(
            f"{name}: the last line is not complete, because toolc ended while it wrote the line of a running call; "
            "this is not a change, and the next call writes it again"
        )
    else:
        report.problems.append(f"{name}: the last line was cut: no running call explains it, so it was complete before")


def _check_known(report: ChainReport, number: int, mac: str, seen: str | None) -> None:
    """Check the line of a checkpoint. ``seen`` is the MAC of the line with this number."""
    if report.last < number:
        report.problems.append(
            f"the checkpoint has number {number}, but the chain ends with {report.last}, so lines were removed"
        )
    elif seen is None and report.first != number + 1:
        report.problems.append(f"number {number}, the line in the checkpoint, is missing")
    elif seen is not None and not seen.startswith(mac):
        report.problems.append(f"number {number} is not the line in the checkpoint: the chain was replaced")

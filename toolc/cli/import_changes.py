"""Apply the files of an import to a folder: show the changes, write them, and report conflicts with edits."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, ParamSpec, TypeVar

import click

from toolc.cli.common import FINDINGS, note
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.text import count_noun, printable, shorten

if TYPE_CHECKING:
    from toolc.importers.changes import FileChange
    from toolc.importers.record import Record
    from toolc.importers.tool_names import ToolNames

P = ParamSpec("P")
T = TypeVar("T")

_SHOWN: Final = 20
"""The maximum number of parts left out, and of findings, that are listed."""


class LeftOutPart(NamedTuple):
    """A part of the source that is left out, with the reason and its place in the source."""

    name: str
    reason: str
    place: str


def import_options(command: Callable[P, T]) -> Callable[P, T]:
    """Add the options of repeated imports: ``force``, ``keep``, ``dry_run`` and ``check``."""
    for name, text in (
        ("--check", "Write nothing; exit with 1 if the source has changed."),
        ("--dry-run", "Print the changes and write nothing."),
        ("--keep", "If a file and the source both changed, keep the file."),
        ("--force", "If a file and the source both changed, take the source."),
    ):
        command = click.option(name, is_flag=True, help=text)(command)
    return command


def name_options(command: Callable[P, T]) -> Callable[P, T]:
    """Add the options that change the names of tools: ``prefix`` and ``rename``."""
    command = click.option("--rename", multiple=True, metavar="OLD=NEW", help="Another name for a tool.")(command)
    return click.option("--prefix", default="", metavar="TEXT", help="A prefix for the name of each tool.")(command)


def renamed(options: Mapping[str, object]) -> dict[str, str]:
    """Return the new names of ``--rename``, by old name. Raises ``UsageError``."""
    return dict(map(_pair, texts(options.get("rename"))))


def _pair(text: str) -> tuple[str, str]:
    old, _, new = text.rpartition("=")  # an old name can be a path with '='
    if not old or not new:
        raise UsageError(f"--rename {text!r} is not OLD=NEW")
    return old, new


def texts(value: object) -> tuple[str, ...]:
    """Return the values of an option that can be repeated, or a list in a record."""
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def name_choice(options: Mapping[str, object], record: Record | None) -> JsonObject:
    """Return ``prefix`` and ``rename`` from the command line. If one is missing, use that of the last import."""
    last = record.options if record else {}
    chosen = {key: options[key] or last.get(key) for key in ("prefix", "rename")}
    found: JsonObject = {"prefix": str(chosen["prefix"])} if chosen["prefix"] else {}
    return found | ({"rename": [*texts(chosen["rename"])]} if chosen["rename"] else {})


def tool_names(choice: JsonObject) -> ToolNames:
    """Return the names of tools for the options of an import. Raises ``UsageError``."""
    from toolc.importers.tool_names import ToolNames  # lazy: start-up time

    return ToolNames(prefix=str(choice.get("prefix", "")), renamed=renamed(choice))


def checked(folder: Path, files: dict[str, str], beside: Path | None = None) -> Mapping[str, str]:
    """Remove specs with errors and print the findings about the others. Return the reason for each removal, by file."""
    from toolc.importers.checked_files import remove_invalid  # lazy: start-up time

    invalid = remove_invalid(files, beside)
    report_findings(folder, invalid.findings)
    return invalid.removed


def apply_import(
    folder: Path, name: str, old: Record | None, new: Record, options: Mapping[str, object]
) -> list[FileChange]:
    """Write the files of ``new`` into a folder, merged with edits since ``old``, and return the changes.

    With ``--check`` or ``--dry-run``, nothing is written, and the command ends. Raises ``UsageError``.
    """
    from toolc.importers.changes import changes, write  # lazy: help does not need it

    base = old.files if old else {}
    found = changes(folder, base, new.files, is_forced=bool(options["force"]))
    if options["keep"]:
        found = [replace(each, conflicts=()) for each in found]
    if options["check"]:
        changed = sorted(each for each in {*base, *new.files} if base.get(each) != new.files.get(each))
        for file in changed:
            print(f"{folder / file}: the source has changed")
        raise click.exceptions.Exit(FINDINGS if changed else 0)
    if options["dry_run"]:
        sys.stdout.write("".join(each.diff() for each in found if each.before != each.after))
        report_conflicts(found)
        raise click.exceptions.Exit(0)
    unresolved = {each.path.name for each in found if each.conflicts}
    # The next import reports a conflict again, until a person has decided.
    files = {**new.files, **{each: base[each] for each in unresolved if each in base}}
    write(folder, found, name, replace(new, files=files))
    return found


def report_findings(folder: Path, findings: Sequence[str]) -> None:
    """Print findings about texts for models in generated specs, because these texts come from the source."""
    for text in findings[:_SHOWN]:
        note(f"{folder}/{text}")
    if (more := len(findings) - _SHOWN) > 0:
        note(f"{more} more findings about texts for models; see: toolc check {folder}")


def report_left_out(left_out: Sequence[LeftOutPart]) -> None:
    """Print the first parts that are left out and, if there are more, how many have each reason."""
    for each in left_out[:_SHOWN]:
        # The source, which may be hostile, chooses the name.
        note(f"left out {printable(shorten(each.name, 100))}: {each.reason} ({each.place})")
    if (more := len(left_out) - _SHOWN) > 0:
        note(f"left out {more} more. The reasons of all:")
        counts = Counter(re.sub(r"'[^']*'", "'...'", each.reason) for each in left_out)
        for reason, count in counts.most_common(_SHOWN):
            print(f"  {count:5,}  {reason}", file=sys.stderr)


def conclude(folder: Path, noun: str, count: int, left_out: int, found: list[FileChange]) -> None:
    """Print how many parts were imported and left out, and how many files changed, and report conflicts."""
    kinds = {"written": 0, "changed": 0, "deleted": 0}
    for change in found:
        if change.before != change.after:
            kinds["deleted" if change.after is None else "written" if change.before is None else "changed"] += 1
    counts = ", ".join(f"{each} {kind}" for kind, each in kinds.items() if each) or "nothing has changed"
    print(f"{folder}: {count_noun(count, noun)} imported{f', {left_out} left out' if left_out else ''} ({counts})")
    report_conflicts(found)


def report_conflicts(found: list[FileChange]) -> None:
    """Print each key that both the source and the user changed. If there are any, exit with status 1."""
    conflicts = [(each.path, conflict) for each in found for conflict in each.conflicts]
    for path, conflict in conflicts:
        print(f"{path}: {conflict}", file=sys.stderr)
    if conflicts:
        note("edit these files, keep them with --keep, or take the source with --force")
        raise click.exceptions.Exit(FINDINGS)

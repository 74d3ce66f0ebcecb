"""Apply what an import generated to a folder: show the changes, write them, and report conflicts with edits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from toolc.cli.common import FINDINGS, note

if TYPE_CHECKING:
    from toolc.importers.changes import FileChange
    from toolc.importers.record import Record

P = ParamSpec("P")
T = TypeVar("T")


def import_options(command: Callable[P, T]) -> Callable[P, T]:
    """Add the options of all imports that read a source again: ``force``, ``keep``, ``dry_run`` and ``check``."""
    for name, text in (
        ("--check", "Write nothing; exit with 1 if the source has changed."),
        ("--dry-run", "Print the changes and write nothing."),
        ("--keep", "If a file and the source both changed, keep the file."),
        ("--force", "If a file and the source both changed, take the source."),
    ):
        command = click.option(name, is_flag=True, help=text)(command)
    return command


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


def report_conflicts(found: list[FileChange]) -> None:
    """Print each key that both the source and a person changed, and exit with 1 if there are any."""
    conflicts = [(each.path, conflict) for each in found for conflict in each.conflicts]
    for path, conflict in conflicts:
        print(f"{path}: {conflict}", file=sys.stderr)
    if conflicts:
        note("edit these files; or take the source with --force, or the files with --keep")
        raise click.exceptions.Exit(FINDINGS)

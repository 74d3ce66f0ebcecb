"""``toolc gc``: what calls have left on this host, removed where whoever made it is proven to be over."""

from __future__ import annotations

import json
from dataclasses import dataclass

import click

from toolc.cli.common import note
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.reporters.text import escape_for_terminal
from toolc.sandbox.base import Leftover

COULD_NOT = 3
"""The exit code where something could not be removed, or nobody could look."""


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(dry_run: bool, as_json: bool) -> None:
    """Remove what processes that were killed have left behind.

    Normally there is nothing to do: a call removes what it made, and where its process was killed a helper does, or
    the next call. After a power cut this command finds what is left: containers, volumes, control groups and
    folders. What belongs to a process that is alive, or cannot be seen from here, is kept, and it says why.
    """
    from toolc.runtime.execution.leftovers import survey  # start-up time

    found = survey()
    outcomes = [_kept(left) if dry_run or left.kept else _remove(left) for left in found.leftovers]
    if as_json:
        report = {"leftovers": [outcome.to_json() for outcome in outcomes], "unseen": [*found.unseen]}
        click.echo(json.dumps(report, indent=2))
    else:
        for outcome in outcomes:
            click.echo(outcome.line())
        if not outcomes and not found.unseen:
            note("nothing is left behind")
        for sentence in found.unseen:
            note(f"could not look everywhere: {sentence}")
    if found.unseen or any(outcome.failed for outcome in outcomes):
        raise click.exceptions.Exit(COULD_NOT)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a leftover; ``reason`` says why it stays; empty where it was only not to be removed."""

    left: Leftover
    removed: bool = False
    failed: bool = False
    reason: str = ""

    def line(self) -> str:
        word = "removed" if self.removed else "kept" if self.reason else "would remove"
        reason = f"  ({self.reason})" if self.reason else ""
        return escape_for_terminal(f"{word}  {self.left.kind}  {self.left.name}{reason}")

    def to_json(self) -> JsonObject:
        left = self.left
        about: JsonObject = {"kind": left.kind, "name": left.name, "owner": left.owner}
        return about | {"removed": self.removed, "reason": self.reason}


def _kept(left: Leftover) -> _Outcome:
    return _Outcome(left, reason=left.kept)


def _remove(left: Leftover) -> _Outcome:
    try:
        left.remove()
    except InfrastructureError as error:
        return _Outcome(left, failed=True, reason=str(error))
    return _Outcome(left, removed=True)

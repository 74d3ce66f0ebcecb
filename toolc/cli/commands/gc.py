"""``toolc gc``: remove the leftovers of calls from this host, if the process that made them has exited."""

from __future__ import annotations

import json

import click

from toolc.cli.common import note
from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.reporters.text import escape_for_terminal
from toolc.sandbox.interface import Leftover

COULD_NOT = 3
"""The exit code if something could not be removed or inspected."""


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Print what gc would try to remove, without removing it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(dry_run: bool, as_json: bool) -> None:
    """Remove what killed processes left on this host: containers, volumes, control groups and folders.

    Normally there is nothing to remove. Each call cleans up after itself, and if its process is killed, a helper
    process or the next call does it. Use this command after a power failure. Anything that belongs to a running
    process, or to a process that is not visible from here, is kept, and the output gives the reason.
    """
    from toolc.runtime.execution.leftovers import survey  # start-up time

    state = survey()
    outcomes = [_Outcome(each, reason=each.kept) if dry_run or each.kept else _remove(each) for each in state.leftovers]
    if as_json:
        report = {"leftovers": [outcome.to_json() for outcome in outcomes], "unseen": [*state.unchecked]}
        click.echo(json.dumps(report, indent=2))
    else:
        for outcome in outcomes:
            click.echo(outcome.line())
        if not outcomes and not state.unchecked:
            note("nothing to remove")
        for reason in state.unchecked:
            note(f"some places could not be inspected: {reason}")
    if state.unchecked or any(outcome.failed for outcome in outcomes):
        raise click.exceptions.Exit(COULD_NOT)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome for a leftover. ``reason`` says why it is kept, and is empty if it is removed."""

    leftover: Leftover
    removed: bool = False
    failed: bool = False
    reason: str = ""

    def line(self) -> str:
        word = "removed" if self.removed else "kept" if self.reason else "would remove"
        reason = f"  ({self.reason})" if self.reason else ""
        return escape_for_terminal(f"{word}  {self.leftover.kind}  {self.leftover.name}{reason}")

    def to_json(self) -> JsonObject:
        leftover = self.leftover
        fields: JsonObject = {"kind": leftover.kind, "name": leftover.name, "owner": leftover.owner}
        return fields | {"removed": self.removed, "reason": self.reason}


def _remove(leftover: Leftover) -> _Outcome:
    try:
        leftover.remove()
    except InfrastructureError as error:
        return _Outcome(leftover, failed=True, reason=str(error))
    return _Outcome(leftover, removed=True)

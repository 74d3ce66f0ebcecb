"""``toolc check``: all that ``build`` does but write; with ``--fix`` it mends the specs themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import FINDINGS, central_policy, format_option, named, note, policy_option, print_findings
from toolc.compiler.pipeline.gc_pause import gc_paused
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.compiler.project.settings import Settings
    from toolc.policy.policy import Policy


select_option = click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    help="Report these warnings and no others, also those that are off: TC204, or TC2 for all that start so.",
)
"""``--select``: may be given several times, and take several codes with commas between them."""

ignore_option = click.option(
    "--ignore", multiple=True, metavar="CODES", help="Do not report these warnings; an error is always reported."
)
"""``--ignore``: as ``--select``."""


def chosen(select: tuple[str, ...], ignore: tuple[str, ...], policy: Policy | None = None) -> Settings:
    """What the two options say, and ``policy``. Raises ``click.ClickException`` for a code that does not exist."""
    from toolc.compiler.project.settings import Settings  # start-up time

    return Settings(
        select=_codes("--select", select, turns_off=False),
        ignore=_codes("--ignore", ignore, turns_off=True),
        policies=(policy,) if policy else (),
    )


def _codes(option: str, values: tuple[str, ...], *, turns_off: bool) -> tuple[str, ...]:
    from toolc.compiler.project.settings import complaint  # start-up time

    found = tuple(code for value in values for code in value.replace(",", " ").split())
    for code in found:
        if wrong := complaint(code, turns_off=turns_off):
            raise click.ClickException(f"{option}: {wrong.message}; {wrong.hint}")
    return found


@click.command("check")
@click.argument("paths", nargs=-1, required=True, callback=named, metavar="PATHS...")
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
@click.option("--fix", is_flag=True, help="Mend what can be mended without changing what a spec means.")
@click.option("--unsafe-fixes", is_flag=True, help="As --fix, and mend also what changes it; read the difference.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, and write nothing.")
@policy_option
@select_option
@ignore_option
@format_option
@gc_paused()
def command(  # noqa: PLR0913  one parameter per option
    paths: tuple[str, ...],
    *,
    strict: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    policy_file: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format_name: str,
) -> None:
    """Report everything that is wrong with spec files, and folders of them.

    Reads text only and never runs what it reads: safe on a stranger's pull request.
    """
    from toolc.compiler.cache.check_cache import check_specs  # start-up time

    places, settings = [Path(path) for path in paths], chosen(select, ignore, central_policy(policy_file))
    if diff:
        _print_diff(places, settings, unsafe=unsafe_fixes)
        return
    fixed = _fix(places, settings, unsafe=unsafe_fixes) if fix or unsafe_fixes else 0
    checked = check_specs(places, settings)
    print_findings(checked.diagnostics, sys.stdout, format_name)
    left = checked.diagnostics.total
    if fix or unsafe_fixes:
        note(f"fixed {fixed} of {fixed + left}")
    if checked.diagnostics.has_errors or (strict and left):
        raise click.exceptions.Exit(FINDINGS)
    if format_name == "text":
        count = checked.count
        print(f"{count} tool{'s' * (count != 1)}: no errors")


def _fix(places: list[Path], settings: Settings, *, unsafe: bool) -> int:
    """Mend the files and tell what may mean something else now; how many findings that were."""
    from toolc.compiler.fixes.apply import apply_fixes  # only where somebody asks for it

    fixed = 0
    for mended in apply_fixes(places, settings, unsafe=unsafe):
        mended.write()
        for change in mended.changes:
            note(change)
        fixed += mended.count
    return fixed


def _print_diff(places: list[Path], settings: Settings, *, unsafe: bool) -> None:
    """Print what would change, and leave with ``FINDINGS`` if anything would."""
    from toolc.compiler.fixes.apply import apply_fixes  # only where somebody asks for it

    changes = [*apply_fixes(places, settings, unsafe=unsafe)]
    for mended in changes:
        # A program gets the diff as it is; a terminal's cursor must not be moved by what a file holds.
        sys.stdout.write(escape_for_terminal(mended.diff()) if sys.stdout.isatty() else mended.diff())
    note(f"would fix {sum(mended.count for mended in changes)}")
    if changes:
        raise click.exceptions.Exit(FINDINGS)

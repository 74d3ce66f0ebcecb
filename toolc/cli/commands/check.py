"""``toolc check``: report errors and warnings in specs, and fix them with ``--fix``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import (
    FINDINGS,
    base_option,
    central_policy,
    findings_format,
    nearest_lock,
    note,
    note_any_base,
    policy_option,
    print_findings,
)
from toolc.compiler.pipeline.gc_pause import gc_paused
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.text import count_noun
from toolc.reporters.text import escape_for_terminal

if TYPE_CHECKING:
    from toolc.compiler.cache.answers import Answer
    from toolc.compiler.project.settings import Settings
    from toolc.model.spec.policy import Policy


select_option = click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    help="Report only these warnings, even if they are off: TC204, or TC2 for every code with this prefix.",
)
"""``--select``. May be repeated, and takes several codes separated by commas."""

ignore_option = click.option(
    "--ignore", multiple=True, metavar="CODES", help="Do not report these warnings. Errors are always reported."
)
"""``--ignore``. Takes the same values as ``--select``."""


def lint_settings(select: tuple[str, ...], ignore: tuple[str, ...], policy: Policy | None = None) -> Settings:
    """Return the settings of ``--select``, ``--ignore`` and ``policy``. Raises ``ClickException`` for unknown codes."""
    from toolc.compiler.project.settings import Settings  # start-up time

    return Settings(
        select=_codes("--select", select, turns_off=False),
        ignore=_codes("--ignore", ignore, turns_off=True),
        policies=(policy,) if policy else (),
    )


def _codes(option: str, values: tuple[str, ...], *, turns_off: bool) -> tuple[str, ...]:
    from toolc.compiler.project.settings import invalid_code  # start-up time

    codes = tuple(code for value in values for code in value.replace(",", " ").split())
    for code in codes:
        if wrong := invalid_code(code, turns_off=turns_off):
            raise click.ClickException(f"{option}: {wrong.message}; {wrong.hint}")
    return codes


@click.command("check")
@click.argument("paths", nargs=-1, metavar="PATHS...")
@click.option("--mcp", "answer", metavar="FILE", help="Check an MCP server's answer to tools/list instead of specs.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--fix", is_flag=True, help="Apply fixes that do not change the meaning of a spec.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that change the meaning. Review the diff.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, without writing it.")
@base_option
@policy_option
@select_option
@ignore_option
@findings_format
@gc_paused()
def command(  # noqa: PLR0913  one parameter per option
    paths: tuple[str, ...],
    *,
    strict: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    base: str | None,
    policy_file: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format_name: str,
    answer: str | None,
) -> None:
    """Report errors and warnings in spec files and folders.

    The command reads specs and never runs them, so it is safe for pull requests from untrusted authors. With --base,
    the settings of a pull request cannot hide its findings.
    """
    if bool(paths) == (answer is not None):
        raise click.UsageError("pass PATHS of specs, or --mcp FILE without PATHS")
    places, settings = [Path(path) for path in paths], lint_settings(select, ignore, central_policy(policy_file))
    if answer is not None:
        if fix or unsafe_fixes or diff or base or policy_file:
            raise UsageError("--mcp cannot be used with --fix, --unsafe-fixes, --diff, --base or --policy")
        _finish(_check_answer(Path(answer), settings), format_name, strict=strict)
        return
    if base is not None and (diff or fix or unsafe_fixes):
        raise UsageError("--base cannot be used with --fix, --unsafe-fixes or --diff")
    if diff:
        _print_diff(places, settings, unsafe=unsafe_fixes)
        return
    fixed = _fix(places, settings, unsafe=unsafe_fixes) if fix or unsafe_fixes else 0
    checked = _check(places, settings, base)
    left = checked.diagnostics.total
    if fix or unsafe_fixes:
        note(f"fixed {fixed} of {fixed + left} findings")
    _note_any_base()
    _finish(checked, format_name, strict=strict)


def _finish(checked: Answer, format_name: str, *, strict: bool) -> None:
    """Print the findings, and exit with status ``FINDINGS`` if there are errors, or warnings with ``strict``."""
    print_findings(checked.diagnostics, sys.stdout, format_name)
    if checked.diagnostics.has_errors or (strict and checked.diagnostics.total):
        raise click.exceptions.Exit(FINDINGS)
    if format_name == "text":
        print(f"{count_noun(checked.count, 'tool')}: no errors")


def _check_answer(path: Path, settings: Settings) -> Answer:
    """Return the findings about an MCP server's answer, without those that the settings turn off."""
    from toolc.compiler.cache.answers import Answer  # start-up time, as below
    from toolc.compiler.mcp_definitions import check_answer
    from toolc.compiler.project.settings import apply

    diagnostics = Diagnostics()
    count = check_answer(path, diagnostics)
    return Answer(count, apply(diagnostics, lambda _: (settings,)))


def _check(places: Sequence[Path], settings: Settings, base: str | None) -> Answer:
    """Return the findings. With ``base``, its settings apply in addition, and the cache is not used."""
    from toolc.compiler.cache.answers import Answer, check_specs  # start-up time

    if base is None:
        return check_specs(places, settings)
    from toolc.compiler.pipeline.processes import compile_many
    from toolc.review.settings_source import baseline_of

    compilation = compile_many(places, settings, baseline_of(base, places))
    return Answer(len(compilation.tools), compilation.diagnostics)


def _note_any_base() -> None:
    """Print a note, which does not change the exit code, if the nearest lock file allows any base image."""
    path = nearest_lock()
    if path is None:
        return
    from toolc.model.lock_file import Lock, LockError  # start-up time

    with contextlib.suppress(LockError):  # the commands that need the file report this
        note_any_base(Lock.read(path))


def _fix(places: list[Path], settings: Settings, *, unsafe: bool) -> int:
    """Fix the files, print the changes that may alter the meaning, and return the number of fixed findings."""
    from toolc.compiler.fixes.apply import apply_fixes  # start-up time

    fixed = 0
    for file in apply_fixes(places, settings, unsafe=unsafe):
        file.write()
        for change in file.changes:
            note(change)
        fixed += file.count
    return fixed


def _print_diff(places: list[Path], settings: Settings, *, unsafe: bool) -> None:
    """Print the fixes as a diff, and exit with status ``FINDINGS`` if there are any."""
    from toolc.compiler.fixes.apply import apply_fixes  # start-up time

    changes = [*apply_fixes(places, settings, unsafe=unsafe)]
    for file in changes:
        # On a terminal, escape characters of a file that could move the cursor.
        sys.stdout.write(escape_for_terminal(file.diff()) if sys.stdout.isatty() else file.diff())
    note(f"would fix {sum(file.count for file in changes)}")
    if changes:
        raise click.exceptions.Exit(FINDINGS)

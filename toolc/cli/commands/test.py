"""``toolc test``: run the tests in specs, each call in a new sandbox and workspace."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import click

from toolc.cli.call_options import CallOptions, call_options
from toolc.cli.common import FINDINGS, builtin_option, format_options, named, note, refuse_both
from toolc.cli.inputs import builtin_targets, compile_or_exit
from toolc.model.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolc.cli.output.live import Progress
    from toolc.testing.cases import CaseSet, Tested
    from toolc.testing.runner import ExecutorFactory


@click.command("test")
@click.argument("targets", nargs=-1, callback=named, metavar="TARGETS...")
@builtin_option
@click.option("--tool", "names", multiple=True, metavar="PATTERN", help="Test only tools with these names: word_*.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Test only tools with this tag.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 64),  # each test is a sandbox, and more slow each other down
    metavar="N",
    help="Number of parallel tests.  [default: one per processor]",
)
@format_options(("text", "json", "junit"), "Output format. Formats other than text are the only output on stdout.")
@click.option("--update", is_flag=True, help="Write the results of failed tests into the specs.")
@call_options
def command(  # noqa: PLR0913, PLR0917  one parameter per option
    targets: tuple[str, ...],
    builtin: str | None,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    jobs: int | None,
    format_name: str,
    update: bool,
    options: CallOptions,
) -> None:
    """Run the tests in specs or of the tools of --builtin, each call in a new sandbox and workspace.

    TARGETS are spec files, folders of specs, or a registry.json; SPEC#NAME selects one tool. Tests receive only the
    secrets of --secrets.
    """
    from toolc.testing.cases import CaseFilter, find_cases  # start-up time

    refuse_both(targets, builtin, "TARGETS")
    if builtin is not None:
        if update:
            raise UsageError("--update changes specs and cannot change built-in tools")
        targets = builtin_targets(builtin)
    compile_for_tests = partial(compile_or_exit, to=sys.stderr, code=FINDINGS)
    cases = find_cases(targets, CaseFilter(names=names, tags=tags), compile_for_tests)
    if update and not all(case.located for case in cases.cases):
        raise UsageError("--update changes specs and cannot change a registry; pass the specs it was built from")
    tested = _run(cases, _maker(options), jobs or os.cpu_count() or 1, format_name)
    _report(tested, cases, format_name)
    if update:
        from toolc.testing.updates import update as update_specs  # start-up time

        tested = update_specs(tested, note)
    _exit_with_worst(tested)


class ProgressBar:
    """The number of finished tests, drawn below other output. Without a terminal nothing is drawn."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        from threading import Lock  # start-up time

        self._progress = progress
        self._total = total
        self._finished = self._failed = 0
        self._lock = Lock()

    def note(self, tested: Tested) -> None:
        """Count a finished test. May be called from any thread."""
        with self._lock:
            self._finished += 1
            self._failed += tested.verdict != "passed"
            self._draw()

    def write(self, text: str) -> None:
        """Print a line above the bar."""
        with self._lock:
            if self._progress:
                self._progress.clear()
            print(text, flush=True)
            self._draw()

    def close(self) -> None:
        """Remove the bar."""
        with self._lock:
            if self._progress:
                self._progress.clear()
            self._progress = None

    def _draw(self) -> None:
        if self._progress:
            failed = f", {self._failed} failed" if self._failed else ""
            self._progress.report(100 * self._finished / self._total, f"{self._finished} of {self._total}{failed}")
            self._progress.draw()


def _maker(options: CallOptions) -> ExecutorFactory:
    from toolc.model.call import Allow  # start-up time

    # No prompts: the workspace is temporary, and the author of the test requests the call.
    make = partial(
        options.executors(only_given_secrets=True), pool=None, approve_changes=lambda _: True, confirm=lambda _: Allow()
    )
    return lambda case, workspace: make(case.registry, workspace=workspace)


def _run(cases: CaseSet, make: ExecutorFactory, jobs: int, format_name: str) -> list[Tested]:
    """Run the tests and print each result in order; on a terminal, show a progress bar."""
    from toolc.cli.output.live import Progress
    from toolc.testing.reports import as_line  # start-up time
    from toolc.testing.runner import run_cases

    progress = Progress() if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else None
    tested: list[Tested] = []
    bar = ProgressBar(progress, len(cases.cases))
    with closing(bar), closing(run_cases(cases.cases, make, min(jobs, len(cases.cases)), bar.note)) as running:
        for each in running:
            tested.append(each)
            if format_name == "text":
                bar.write(as_line(each))
    return tested


def _report(tested: Sequence[Tested], cases: CaseSet, format_name: str) -> None:
    from toolc.testing import reports  # start-up time

    match format_name:
        case "json":
            print(reports.as_json(tested, cases.untested))
        case "junit":
            print(reports.as_junit(tested, cases.untested))
        case _:
            print(reports.as_summary(tested, cases.untested))


def _exit_with_worst(tested: Sequence[Tested]) -> None:
    """Exit with the status of the worst result: no sandbox, a test that could not run, a failure; or return."""
    errors = [each.error for each in tested if each.error is not None]
    if any(isinstance(error, InfrastructureError) for error in errors):
        raise click.exceptions.Exit(InfrastructureError.exit_code)
    if errors:
        raise click.exceptions.Exit(UsageError.exit_code)
    if any(each.problems for each in tested):
        raise click.exceptions.Exit(FINDINGS)

"""``toolc test``: run the tests in specs. Each call has a new sandbox and workspace."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

import click

from toolc.cli.call_options import CallOptions, call_options
from toolc.cli.common import FINDINGS, builtin_option, format_options, note, refuse_both
from toolc.cli.targets import builtin_targets, compile_or_exit
from toolc.model.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolc.testing.cases import CaseSet, Tested
    from toolc.testing.runner import ExecutorFactory


@click.command("test")
@click.argument("targets", nargs=-1, metavar="TARGETS...")
@builtin_option
@click.option("--tool", "names", multiple=True, metavar="PATTERN", help="Test only tools with names like word_*.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Test only tools with this tag.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 64),  # each test has a sandbox, and more of them would slow each other down
    metavar="N",
    help="The number of parallel tests.  [default: one per processor]",
)
@format_options(("text", "json", "junit"), "The format of results. With any format but text, stdout has nothing else.")
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
    """Run the tests of TARGETS or of the tools of --builtin. Each call has a new sandbox and workspace.

    TARGETS are spec files, folders of specs, or a registry.json. SPEC#NAME selects one tool. Tests receive no secrets
    except those of --secrets.
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
        raise UsageError("--update changes specs and cannot change a registry; pass the specs from which it was built")
    tested = _run(cases, _maker(options), jobs or os.cpu_count() or 1, format_name)
    _report(tested, cases, format_name)
    if update:
        from toolc.testing.updates import update as update_specs  # start-up time

        tested = update_specs(tested, note)
    _exit_with_worst(tested)


def _maker(options: CallOptions) -> ExecutorFactory:
    from toolc.client.executor import Executor  # start-up time
    from toolc.model.call import Allow

    # No prompts: the workspace is temporary, and the author of the test requests the call.
    make = partial(
        options.bound_to(Executor, only_given_secrets=True),
        pool=None,
        approve_changes=lambda _: True,
        confirm=lambda _: Allow(),
    )
    return lambda case, workspace: make(case.registry, workspace=workspace)


def _run(cases: CaseSet, make: ExecutorFactory, jobs: int, format_name: str) -> list[Tested]:
    """Run the tests and print each result in order. On a terminal, show how many tests have run."""
    from toolc.cli.output.live import Progress
    from toolc.testing.reports import as_line  # start-up time
    from toolc.testing.runner import run_cases

    progress = Progress() if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else None
    tested: list[Tested] = []
    total = len(cases.cases)
    with ExitStack() as stack:
        if progress:
            stack.callback(progress.clear)
        for each in stack.enter_context(closing(run_cases(cases.cases, make, min(jobs, total)))):
            tested.append(each)
            if progress:
                progress.clear()
            if format_name == "text":
                print(as_line(each), flush=True)
            if progress:
                failed = sum(one.verdict != "passed" for one in tested)
                counted = f"{len(tested)} of {total}" + (f", {failed} failed" if failed else "")
                progress.report(100 * len(tested) / total, counted)
                progress.draw()
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
    """If a test did not pass, exit with the status of the worst result: no sandbox, not run, or failed."""
    errors = [each.error for each in tested if each.error is not None]
    if any(isinstance(error, InfrastructureError) for error in errors):
        raise click.exceptions.Exit(InfrastructureError.exit_code)
    if errors:
        raise click.exceptions.Exit(UsageError.exit_code)
    if any(each.problems for each in tested):
        raise click.exceptions.Exit(FINDINGS)

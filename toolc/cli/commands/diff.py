"""``toolc diff``: compare two states of the specs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import FINDINGS, format_options, note, policy_option, print_findings, wants_color
from toolc.compiler.pipeline.gc_pause import gc_paused
from toolc.model.text import count_noun

if TYPE_CHECKING:
    from toolc.model.diagnostics import Diagnostics
    from toolc.model.spec.policy import Policy
    from toolc.review.compare import Difference
    from toolc.review.model.state import State
    from toolc.review.settings_source import SettingsSource
    from toolc.review.sources.reviewed_files import ReviewedFiles

FORMATS: Final = ("text", "markdown", "json", "sarif", "github")


@click.command("diff")
@click.argument("base")
@click.argument("head", required=False)
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="PATH",
    help="The specs in a commit or the working tree. May be repeated.  [default: the current folder]",
)
@format_options(FORMATS, "Output format.")
@click.option("--summary", "only_summary", is_flag=True, help="Print a summary of about ten lines.")
@click.option("--fail-on", metavar="GRADES", help="Exit with status 1 for these changes, such as breaking,risk:high.")
@click.option("--accepted", metavar="FILE", help="The file of accepted changes.  [default: toolc.accepted.yaml]")
@policy_option
@gc_paused()
def command(  # noqa: PLR0913  one parameter per option
    base: str,
    head: str | None,
    *,
    paths: tuple[str, ...],
    format_name: str,
    only_summary: bool,
    fail_on: str | None,
    accepted: str | None,
    policy_file: str | None,
) -> None:
    """Compare two states of the specs: BASE, and HEAD or the working tree.

    A state is a commit (main, v1.2, HEAD~1), a folder of specs, or a registry.json. If a name is both a commit and a
    folder, write the folder as ./specs. Commits are read from Git without a checkout.

    The accepted changes and the settings come from BASE, unless review.accept_from in the project file of BASE allows
    those of HEAD.
    """
    from toolc.review.accepted import fails, parse_fail_on
    from toolc.review.compare import compare  # start-up time
    from toolc.review.settings_source import (
        CentralPolicy,
        read_central_policy,
        settings_source,
        source_for,
        with_source,
    )
    from toolc.review.sources.checkout import checkout_changes
    from toolc.review.sources.reviewed_files import reviewed_files
    from toolc.review.sources.states import two_states

    failing = parse_fail_on(fail_on or "")
    places = [Path(path) for path in paths or (".",)]
    with reviewed_files(base, head) as files:
        is_first_adoption = files.is_first_adoption(places)

        def head_decides(base_state: State) -> bool:
            return settings_source(base_state, is_first_adoption=is_first_adoption).side == "head"

        with two_states(base, head, places, head_decides) as (old, new):
            _refuse_broken(old, new, format_name)
            central = CentralPolicy()
            if policy_file is not None:
                central = read_central_policy(policy_file, files, head_decides=head_decides(old))
            for policy in central.required:
                _refuse_disallowed(new, policy, format_name)
            found = compare(old, new, central.all)
            source = source_for(settings_source(old, is_first_adoption=is_first_adoption), found)
            more = [*central.changes, *checkout_changes(files, old, places)]
            found = with_source(found, source, more)
            if source.side == "head":
                note(f"the accepted changes and settings of the head apply: {source.reason}")
            difference = _without_accepted(found, accepted, files, source)
            report = _report(difference, format_name, only_summary=only_summary)
            if not report and (only_summary or format_name == "text"):
                report = "no other differences\n" if any(found.changes) else "no differences\n"
            sys.stdout.write(report)
    if fails(difference, failing):
        raise click.exceptions.Exit(FINDINGS)


def _refuse_broken(old: State, new: State, format_name: str) -> None:
    """Report errors in the base, and exit if the head has errors."""
    unread = [each for each in old.diagnostics.sorted() if each.is_error and not each.code.number.startswith("TC9")]
    if unread:
        note(f"{old.label} has {count_noun(len(unread), 'error')} in its specs; tools that cannot be read count as new")
    if new.diagnostics.has_errors:
        _print_errors(new.diagnostics, format_name)
        raise click.exceptions.Exit(FINDINGS)


def _refuse_disallowed(new: State, policy: Policy, format_name: str) -> None:
    """Exit if a tool that changed violates the central policy."""
    from toolc.review.project_changes import policy_violations  # start-up time

    violations = policy_violations(new, policy)
    if violations.has_errors:
        _print_errors(violations, format_name)
        raise click.exceptions.Exit(FINDINGS)


def _print_errors(diagnostics: Diagnostics, format_name: str) -> None:
    """Print errors in the specs instead of the report. Formats for programs are those of ``toolc check``."""
    if format_name in ("text", "markdown"):
        print_findings(diagnostics, sys.stderr)
    else:
        print_findings(diagnostics, sys.stdout, format_name)


def _without_accepted(
    difference: Difference, accepted: str | None, files: ReviewedFiles, source: SettingsSource
) -> Difference:
    """Return the difference without accepted changes. For files in the reviewed repository, the base decides."""
    import datetime  # start-up time

    from toolc.compiler.project.files import ACCEPTED
    from toolc.model.errors import UsageError
    from toolc.review.accepted import read, remaining, with_new_acceptances
    from toolc.review.settings_source import NO_EFFECT

    path = Path(accepted or ACCEPTED)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    if files.is_outside(path):
        acceptances = read(path) if accepted is not None or path.exists() else ()
    else:
        in_base, in_head = (
            read(place, str(path)) if place else () for place in (files.of_base(path), files.of_head(path))
        )
        if accepted is not None and files.of_base(path) is files.of_head(path) is None:
            raise UsageError(f"--accepted {accepted}: neither the base nor the head has this file; check the path")
        no_effect = NO_EFFECT if source.side == "base" else None
        difference = with_new_acceptances(difference, in_base, in_head, today, no_effect)
        acceptances = in_base if no_effect else in_head
    kept = remaining(difference, acceptances, today)
    for message in kept.notes:
        note(message)
    if kept.count:
        note(f"{count_noun(kept.count, 'change')} accepted in {path}")
    return kept.difference


def _report(difference: Difference, format_name: str, *, only_summary: bool) -> str:
    """Return the report. Import only the modules that its format needs."""
    if only_summary:
        from toolc.review.summary import summary

        return "".join(f"{line}\n" for line in summary(difference))
    if format_name == "text":
        from toolc.review.reports import diff_text

        return diff_text.report(difference, color=wants_color(sys.stdout))
    if format_name == "markdown":
        from toolc.review.reports import markdown

        return markdown.report(difference)
    from toolc.review.reports import machine

    if format_name == "json":
        return machine.json_report(difference)
    return machine.findings_report(difference, format_name)

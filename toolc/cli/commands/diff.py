"""``toolc diff``: compare two states of the specs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import FINDINGS, central_policy, named, note, policy_option, print_findings, wants_color

if TYPE_CHECKING:
    from toolc.policy.policy import Policy
    from toolc.review.compare import Difference
    from toolc.review.model.state import State


ACCEPTED: Final = "toolc.accepted.yaml"
"""The default file of accepted changes, in the current folder."""

FORMATS: Final = ("text", "markdown", "json", "sarif", "github")


@click.command("diff")
@click.argument("base")
@click.argument("head", required=False)
@click.option(
    "--path",
    "paths",
    multiple=True,
    callback=named,
    metavar="PATH",
    help="The specs in a commit or the working tree. May be repeated.  [default: the current folder]",
)
@click.option(
    "--format", "format_name", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format."
)
@click.option("--summary", "only_summary", is_flag=True, help="Print a summary of about ten lines.")
@click.option("--fail-on", metavar="GRADES", help="Exit with status 1 for these changes, as in breaking,risk:high.")
@click.option("--accepted", metavar="FILE", help="The file of accepted changes.  [default: toolc.accepted.yaml]")
@policy_option
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
    folder, write ./specs for the folder. Commits are read from Git without a checkout.
    """
    from toolc.review.accepted import fails, parse_fail_on
    from toolc.review.compare import compare  # start-up time
    from toolc.review.sources.states import two_states

    failing = parse_fail_on(fail_on or "")
    policy = central_policy(policy_file)
    places = [Path(path) for path in paths or (".",)]
    with two_states(base, head, places) as (old, new):
        _refuse_broken(old, new)
        if policy is not None:
            _refuse_disallowed(new, policy)
        difference = _without_accepted(compare(old, new, (policy,) if policy else ()), accepted, base)
        sys.stdout.write(_report(difference, format_name, only_summary=only_summary))
    if fails(difference, failing):
        raise click.exceptions.Exit(FINDINGS)


def _refuse_broken(old: State, new: State) -> None:
    """Report errors in the base; exit if the head has errors."""
    unread = [each for each in old.diagnostics.sorted() if each.is_error and not each.code.number.startswith("TC9")]
    if count := len(unread):
        note(f"{old.label} has {count} error{'s' * (count > 1)} in its specs; tools that cannot be read count as new")
    if new.diagnostics.has_errors:
        print_findings(new.diagnostics, sys.stderr)
        raise click.exceptions.Exit(FINDINGS)


def _refuse_disallowed(new: State, policy: Policy) -> None:
    """Exit if a tool that changed violates the central policy."""
    from toolc.review.project_changes import policy_violations  # start-up time

    violations = policy_violations(new, policy)
    if violations.has_errors:
        print_findings(violations, sys.stderr)
        raise click.exceptions.Exit(FINDINGS)


def _without_accepted(difference: Difference, accepted: str | None, base: str) -> Difference:
    path = Path(accepted if accepted is not None else ACCEPTED)
    if accepted is None and not path.exists():
        return difference
    import datetime  # start-up time

    from toolc.review.accepted import read, read_at_base, remaining, with_new_acceptances

    acceptances, base_text = read(path), read_at_base(path, base)
    if base_text is not None:
        difference = with_new_acceptances(difference, acceptances, base_text)
    kept = remaining(difference, acceptances, datetime.datetime.now(tz=datetime.UTC).date())
    for message in kept.notes:
        note(message)
    if kept.count:
        note(f"{kept.count} change{'s' * (kept.count > 1)} accepted in {path}")
    return kept.difference


def _report(difference: Difference, format_name: str, *, only_summary: bool) -> str:
    """Return the report; only the modules of its format are imported."""
    if only_summary:
        from toolc.review.summary import summary

        return "".join(f"{line}\n" for line in summary(difference))
    if format_name == "text":
        from toolc.review.reports import text

        return text.report(difference, color=wants_color(sys.stdout))
    if format_name == "markdown":
        from toolc.review.reports import markdown

        return markdown.report(difference)
    from toolc.review.reports import machine

    if format_name == "json":
        return machine.json_report(difference)
    return machine.findings_report(difference, format_name)

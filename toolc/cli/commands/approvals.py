"""``toolc approvals``: which approvers have approved a pull request on GitHub."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from toolc.cli.common import named, note

_API: Final = "https://api.github.com"


@click.command("approvals")
@click.argument("base")
@click.argument("head", default="HEAD")
@click.option("--pull", "number", type=click.IntRange(min=1), required=True, help="The number of the pull request.")
@click.option(
    "--repository",
    envvar="GITHUB_REPOSITORY",
    required=True,
    metavar="OWNER/NAME",
    help="The repository of the pull request.  [default: GITHUB_REPOSITORY]",
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    callback=named,
    metavar="PATH",
    help="The specs. May be repeated.  [default: the current folder]",
)
def command(base: str, head: str, number: int, repository: str, paths: tuple[str, ...]) -> None:
    """Print the users whose approval of a pull request on GitHub counts, one per line, for toolc diff --approved-by.

    BASE and HEAD are commits; HEAD (default: HEAD) is the head of the pull request, or its merge into BASE. An approval
    counts if its author is one of the review.approvers in BASE's project file, approved exactly this head, and neither
    opened the pull request nor authored, committed or pushed a commit in it. Without approvers, no request is sent.

    GH_TOKEN or GITHUB_TOKEN is a token that may read the pull request; GITHUB_API_URL is the address of GitHub's API.
    """
    from toolc.review.approvals import approvals, commits_of  # start-up time
    from toolc.review.sources.github import GitHub

    approvers = _approvers(base, head, [Path(path) for path in paths or (".",)])
    if not approvers:
        note("no approvals to check: the base sets no review.approvers, or its other review settings decide")
        return
    token = os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN") or ""
    github = GitHub(os.environ.get("GITHUB_API_URL") or _API, token)
    found = approvals(github, repository, number, commits_of(head), approvers)
    for message in found.notes:
        note(message)
    print("".join(f"{login}\n" for login in found.logins), end="")


def _approvers(base: str, head: str, places: Sequence[Path]) -> tuple[str, ...]:
    """Return the approvers of the base that could let the head decide; none if another setting decides."""
    from toolc.review.settings_source import settings_source
    from toolc.review.sources.reviewed_files import reviewed_files
    from toolc.review.sources.states import state_of

    with reviewed_files(base, head) as files, state_of(base, places) as state:
        return settings_source(state, (), is_first_adoption=files.is_first_adoption(places)).approvers

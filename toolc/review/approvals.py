"""Who has approved exactly the head commit of a pull request without having contributed to it.

An approval does not count if its author opened the pull request, or authored, committed or pushed a commit in it.
Where that cannot be decided, no approval counts: all authors, committers and pushers must have accounts that GitHub
knows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.model.errors import UsageError
from toolc.review.sources.github import Account, Commit, GitHub, GitHubError, PullRequest, Push, Review
from toolc.review.sources.repository import Repository

_OPINIONS: Final = frozenset({"APPROVED", "CHANGES_REQUESTED", "DISMISSED"})
"""The states of reviews that replace an earlier review of the same user; a comment does not."""

_CO_AUTHOR: Final = re.compile(r"^[ \t]*co-authored-by[ \t]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_EMAIL: Final = re.compile(r"<([^<>\s]+)>\s*$")
_NO_REPLY: Final = re.compile(r"(?:([0-9]{1,18})\+)?([a-z0-9_-]+(?:\[bot\])?)@users\.noreply\.github\.com")


@dataclass(frozen=True, slots=True)
class Approvals:
    """The logins whose approval counts, and notes that say why other approvals do not."""

    logins: tuple[str, ...]
    notes: tuple[str, ...]


def commits_of(head: str) -> tuple[str, ...]:
    """Return the hashes of a commit of the current folder and of the commit that it merges.

    One of them is the head of the pull request: GitHub's merge commit has it as its second parent. Raises
    ``UsageError`` if ``head`` is not a commit.
    """
    repository = Repository.of(Path())
    found = [repository.commit_hash(name) for name in (head, f"{head}^2")] if repository else []
    commits = tuple(each for each in found if each)
    if not commits:
        raise UsageError(
            f"{head} is not a commit of the repository in the current folder; check out the pull request first"
        )
    return commits


def approvals(
    github: GitHub, repository: str, number: int, commits: Collection[str], approvers: Collection[str]
) -> Approvals:
    """Return which of ``approvers`` have approved the head of a pull request. The head must be one of ``commits``.

    Logins are compared without regard to case. Raises ``GitHubError`` if GitHub does not answer, if the pull request
    has another head now, or if not all of its commits are known.
    """
    names = {each.lower() for each in approvers}
    if not names:
        return Approvals((), ())
    pull = github.pull_request(repository, number)
    head = pull.head
    if head not in commits:
        raise GitHubError(
            f"the head of pull request {number} is {head[:12]}, which is not reviewed here "
            f"({', '.join(each[:12] for each in commits)}): the job of that commit decides; the checkout needs "
            "'fetch-depth: 2'"
        )
    latest = [each for each in _latest(github.reviews(repository, number)) if each[0].login.lower() in names]
    approved = [account for account, review in latest if review.state == "APPROVED" and review.commit == head]
    notes = [f"{account.login} {_opinion(review, head)}" for account, review in latest if account not in approved]
    if not approved:
        missing = "" if notes else f"none of the approvers has reviewed pull request {number}"
        return Approvals((), tuple(notes or [missing]))
    people = _contributors(github, repository, number, pull)
    accounts = [each for each in people if isinstance(each, Account)]
    logins, numbers = {each.login.lower() for each in accounts}, {each.number for each in accounts}
    contributed = [each for each in approved if each.login.lower() in logins or each.number in numbers]
    notes += [f"{each.login} contributed to the pull request, so their approval does not count" for each in contributed]
    counted = [each.login for each in approved if each not in contributed]
    unknown = [each for each in people if isinstance(each, str)]
    if counted and unknown:
        notes += [f"no approval counts: {each}" for each in unknown]
        counted = []
    return Approvals(tuple(sorted(counted, key=str.lower)), tuple(notes))


def _latest(reviews: Sequence[Review]) -> list[tuple[Account, Review]]:
    """Return the last review of each user, apart from comments."""
    found: dict[int, tuple[Account, Review]] = {}
    for each in sorted(reviews, key=lambda review: (review.submitted, review.number)):
        if each.author and each.state.upper() in _OPINIONS:
            found[each.author.number] = (each.author, each)
    return [*found.values()]


def _opinion(review: Review, head: str) -> str:
    if review.state == "APPROVED":
        return f"approved {(review.commit or 'a commit that no longer exists')[:12]}, not {head[:12]}"
    return "requested changes" if review.state == "CHANGES_REQUESTED" else "has a dismissed review"


def _contributors(github: GitHub, repository: str, number: int, pull: PullRequest) -> list[Account | str]:
    """Return the accounts that contributed to a pull request, and messages about those that are not known."""
    commits = github.commits(repository, number)
    identities = {each.identity for each in commits}
    if len(identities) != pull.commits or pull.head not in identities:
        raise GitHubError(
            f"GitHub lists {len(identities)} of the {pull.commits} commits of pull request {number} (at most 250): "
            "split it into smaller pull requests"
        )
    if pull.head_repository is None:
        raise GitHubError(f"the repository of pull request {number}'s branch was deleted: who pushed it is not known")
    pushes = github.pushes(pull.head_repository, pull.head_branch)
    opener = pull.author or "the account that opened the pull request was deleted"
    return [*dict.fromkeys([opener, *_authors(commits), *_pushers(pushes, identities, pull)])]


def _authors(commits: Sequence[Commit]) -> Iterator[Account | str]:
    """Yield the account of each author, co-author and committer, or a message where there is none."""
    by_email = {each.author_email.lower(): each.author for each in commits if each.author}
    for each in commits:
        name = f"commit {each.identity[:12]}"
        yield each.author or f"the author of {name} ({each.author_email}) is not linked to a GitHub account"
        yield each.committer or f"the committer of {name} ({each.committer_email}) is not linked to a GitHub account"
        for trailer in _CO_AUTHOR.findall(each.message):
            email = match[1].lower() if (match := _EMAIL.search(trailer)) else ""
            if login := _NO_REPLY.fullmatch(email):
                yield Account(login[2], int(login[1] or 0))
            else:
                yield by_email.get(email) or f"the account of a co-author of {name} is not known:{trailer.rstrip()}"


def _pushers(pushes: Sequence[Push], commits: Collection[str], pull: PullRequest) -> Iterator[Account | str]:
    """Yield who pushed a commit of the pull request, or pushed to its branch since it was opened.

    A commit that was pushed before and replaced by a forced push is not in the pull request, but its content can be.
    """
    relevant = [each for each in pushes if each.after in commits or each.time >= pull.created]
    if not any(each.after == pull.head for each in relevant):
        yield f"GitHub does not list who pushed {pull.head[:12]} to {pull.head_branch}"
    for each in relevant:
        yield each.actor or f"the account that pushed {each.after[:12]} is not known"

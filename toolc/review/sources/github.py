"""Read a pull request from GitHub's REST API: its commits, pushes and reviews.

Every response that is missing, incomplete or in another form is an error, because an approval must not be assumed.
Sources: https://docs.github.com/en/rest/pulls (pulls, reviews, commits) and
https://docs.github.com/en/rest/repos/repos#list-repository-activities (pushes).
"""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from typing import IO, Final, TypeVar
from urllib.parse import quote, urlsplit

from toolc.model.errors import ToolcError
from toolc.model.json_schema import JsonValue

T = TypeVar("T")

_TIMEOUT_SECONDS: Final = 30.0
_MAX_BYTES: Final = 16 * 2**20
"""The maximum size of one response in bytes."""

_PAGE_SIZE: Final = 100
"""The largest ``per_page`` of these lists."""

_MAX_PAGES: Final = 100

_API_VERSION: Final = "2022-11-28"

_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_-]+/(?!\.{1,2}$)[A-Za-z0-9_.-]+")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NEXT: Final = re.compile(r'<([^<>]*)>\s*;[^,]*\brel="?next"?')
_LOCAL_HOSTS: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class GitHubError(ToolcError):
    """GitHub's response is an error, incomplete, or not in the documented form."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account: its login, which may change, and its number, which does not."""

    login: str
    number: int


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request. ``head_repository`` is None if the fork was deleted."""

    author: Account | None
    head: str
    head_branch: str
    head_repository: str | None
    created: str
    commits: int


@dataclass(frozen=True, slots=True)
class Review:
    """A review. ``state`` is APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED or PENDING; ``commit`` was reviewed."""

    author: Account | None
    number: int
    state: str
    commit: str | None
    submitted: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. An account is None where GitHub knows no account with the email address."""

    identity: str
    message: str
    author: Account | None
    author_email: str
    committer: Account | None
    committer_email: str


@dataclass(frozen=True, slots=True)
class Push:
    """A change of a branch: ``after`` is its commit since then."""

    actor: Account | None
    after: str
    time: str


class GitHub:
    """The REST API at ``url``, such as ``https://api.github.com``, for the owner of ``token``."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS):
            raise GitHubError(f"{url!r} is not the https address of GitHub's API; check GITHUB_API_URL")
        if not re.fullmatch(r"[!-~]+", token):
            raise GitHubError(
                "set GH_TOKEN to a token for GitHub's API; in a workflow, write GH_TOKEN: ${{ github.token }}"
            )
        self._url = url.rstrip("/")
        self._origin = (parts.scheme, parts.netloc)
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def pull_request(self, repository: str, number: int) -> PullRequest:
        """Return the pull request ``number`` of ``repository`` (``owner/name``). Raises ``GitHubError``."""
        value, _ = self._get(f"{self._repository(repository)}/pulls/{number}")
        response = _ResponseObject(value, f"pull request {number}")
        head = response.object("head")
        fork = head.optional("repo")
        return PullRequest(
            author=response.account("user"),
            head=head.commit("sha"),
            head_branch=head.text("ref"),
            head_repository=fork.text("full_name") if fork else None,
            created=response.text("created_at"),
            commits=response.number("commits"),
        )

    def reviews(self, repository: str, number: int) -> tuple[Review, ...]:
        """Return all reviews of a pull request. Raises ``GitHubError``."""
        return tuple(
            Review(
                author=each.account("user"),
                number=each.number("id"),
                state=each.text("state").upper(),
                commit=each.text("commit_id") if each.has("commit_id") else None,
                submitted=each.text("submitted_at") if each.has("submitted_at") else "",
            )
            for each in self._list(f"{self._repository(repository)}/pulls/{number}/reviews", "a review")
        )

    def commits(self, repository: str, number: int) -> tuple[Commit, ...]:
        """Return the commits of a pull request, of which GitHub lists at most 250. Raises ``GitHubError``."""
        return tuple(
            Commit(
                identity=each.commit("sha"),
                message=each.object("commit").text("message"),
                author=each.account("author"),
                author_email=each.object("commit").email("author"),
                committer=each.account("committer"),
                committer_email=each.object("commit").email("committer"),
            )
            for each in self._list(f"{self._repository(repository)}/pulls/{number}/commits", "a commit")
        )

    def pushes(self, repository: str, branch: str) -> tuple[Push, ...]:
        """Return the pushes to a branch and the merges in it. Raises ``GitHubError``."""
        ref = quote(f"refs/heads/{branch}", safe="")
        return tuple(
            Push(actor=each.account("actor"), after=each.text("after"), time=each.text("timestamp"))
            for each in self._list(f"{self._repository(repository)}/activity?ref={ref}", "an activity")
            if each.text("ref") == f"refs/heads/{branch}"
        )

    def _repository(self, name: str) -> str:
        if not _REPOSITORY.fullmatch(name):
            raise GitHubError(f"{name!r} is not the name of a repository; write it like OWNER/NAME")
        return f"{self._url}/repos/{name}"

    def _list(self, url: str, what: str) -> Iterator[_ResponseObject]:
        next_url: str | None = f"{url}{'&' if '?' in url else '?'}per_page={_PAGE_SIZE}"
        for _ in range(_MAX_PAGES):
            if next_url is None:
                return
            found, links = self._get(next_url)
            if not isinstance(found, list):
                raise GitHubError(f"GitHub's response for {url} is not a list; check GITHUB_API_URL")
            yield from (_ResponseObject(each, what) for each in found)
            match = _NEXT.search(links)
            next_url = match[1] if match else None
        raise GitHubError(f"GitHub's response for {url} has more than {_MAX_PAGES} pages, the most that toolc reads")

    def _get(self, url: str) -> tuple[JsonValue, str]:
        """Return the JSON at ``url`` and the header ``Link``."""
        if urlsplit(url)[:2] != self._origin:
            # The token is for this server only.
            raise GitHubError(f"GitHub's response refers to another server, {url}; check GITHUB_API_URL")
        request = urllib.request.Request(  # noqa: S310  the scheme was checked
            url,
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self._token}",
                "User-Agent": "toolc",
                "X-GitHub-Api-Version": _API_VERSION,
            },
        )
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                data = response.read(_MAX_BYTES + 1)
                links = ", ".join(response.headers.get_all("Link", []))
        except urllib.error.HTTPError as error:
            with error:
                raise GitHubError(f"GitHub returned status {error.code} for {url}: {_reason(error)}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise GitHubError(
                f"GitHub did not respond to {url}: {reason}; check GITHUB_API_URL, or try again"
            ) from None
        if len(data) > _MAX_BYTES:
            raise GitHubError(f"GitHub's response for {url} has more than {_MAX_BYTES >> 20} MiB")
        try:
            value: JsonValue = json.loads(data)
        except (ValueError, RecursionError):
            raise GitHubError(f"GitHub's response for {url} is not JSON; check GITHUB_API_URL") from None
        return value, links


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Do not follow redirects: urllib would send the token to the other server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Return None, so that the redirect is an error."""


def _reason(error: urllib.error.HTTPError) -> str:
    headers = error.headers
    limited = headers.get("X-RateLimit-Remaining") == "0" or headers.get("Retry-After") is not None
    if error.code in {403, 429} and limited:
        return f"the rate limit of the token is used up; run the job again {_when(headers)}"
    match error.code:
        case 401:
            return "the token is not valid; in a workflow, write GH_TOKEN: ${{ github.token }}"
        case 403 | 404:
            return (
                "the token may not read this, or it does not exist; the job needs the permissions "
                "'contents: read' and 'pull-requests: read'"
            )
        case code if 300 <= code < 400:
            return "the repository was renamed or moved; use its new name"
        case code if code >= 500:
            return "the server failed; run the job again"
    return str(error.reason)


def _when(headers: Message) -> str:
    if (wait := headers.get("Retry-After", "")).isdecimal():
        return f"in {int(wait)} seconds"
    if (reset := headers.get("X-RateLimit-Reset", "")).isdecimal() and len(reset) < 12:
        return time.strftime("after %Y-%m-%d %H:%M:%S UTC", time.gmtime(int(reset)))
    return "later"


class _ResponseObject:
    """A JSON object of a response. Its methods raise ``GitHubError`` for a value of another type."""

    def __init__(self, value: JsonValue, what: str) -> None:
        self._what = what
        if not isinstance(value, dict):
            raise GitHubError(f"GitHub's response for {what} is not an object; check GITHUB_API_URL")
        self._value = value

    def has(self, key: str) -> bool:
        """Return whether there is a value other than null."""
        return self._value.get(key) is not None

    def text(self, key: str) -> str:
        return self._of_type(key, str)

    def number(self, key: str) -> int:
        return self._of_type(key, int)

    def commit(self, key: str) -> str:
        value = self.text(key)
        if not _COMMIT.fullmatch(value):
            raise GitHubError(f"in GitHub's response, {key!r} of {self._what} is not a commit hash")
        return value

    def object(self, key: str) -> _ResponseObject:
        return _ResponseObject(self._value.get(key), f"{key!r} of {self._what}")

    def optional(self, key: str) -> _ResponseObject | None:
        return self.object(key) if self.has(key) else None

    def email(self, key: str) -> str:
        person = self.optional(key)
        return person.text("email") if person and person.has("email") else ""

    def account(self, key: str) -> Account | None:
        """Return an account; None for null and for the empty object, which GitHub uses for unknown accounts."""
        found = self._value.get(key)
        if found is None or found == {}:
            return None
        account = self.object(key)
        return Account(account.text("login"), account.number("id"))

    def _of_type(self, key: str, kind: type[T]) -> T:
        value = self._value.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise GitHubError(f"in GitHub's response, {key!r} of {self._what} is missing or has the wrong type")
        return value

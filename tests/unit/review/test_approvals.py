"""Whose approval of a pull request counts, with answers of GitHub's REST API from a local server."""

import json
from collections.abc import Iterator

import pytest
from github_api import BRANCH, FIRST, FORK, HEAD, REPOSITORY, GitHubApi, Json, commit, push, review, user

from toolc.review.approvals import Approvals, approvals
from toolc.review.sources.github import GitHub, GitHubError

PULL = f"/repos/{REPOSITORY}/pulls/5"


@pytest.fixture
def api() -> Iterator[GitHubApi]:
    with GitHubApi(reviews=[review("bob")]) as server:
        yield server


def ask(api: GitHubApi, *approvers: str, head: str = HEAD, token: str = "t0ken") -> Approvals:
    return approvals(GitHub(api.url, token), REPOSITORY, 5, (head, "d" * 40), approvers or ("bob", "carol"))


def refusal(api: GitHubApi, *approvers: str) -> str:
    """Return why no approval counts."""
    found = ask(api, *approvers)
    assert found.logins == ()
    return "\n".join(found.notes)


def failure(api: GitHubApi, **options: str) -> str:
    with pytest.raises(GitHubError) as raised:
        ask(api, **options)
    assert "t0ken" not in str(raised.value)
    return str(raised.value)


def test_an_approver_approved_the_head(api: GitHubApi) -> None:
    assert ask(api) == Approvals(("bob",), ())
    assert all(headers["authorization"] == "Bearer t0ken" for _, headers in api.requests)
    assert all(headers["accept"] == "application/vnd.github+json" for _, headers in api.requests)
    assert all(headers["x-github-api-version"] == "2022-11-28" for _, headers in api.requests)


def test_without_approvers_nothing_is_requested(api: GitHubApi) -> None:
    assert approvals(GitHub(api.url, "t"), REPOSITORY, 5, (HEAD,), ()) == Approvals((), ())
    assert api.requests == []


def test_logins_have_no_case(api: GitHubApi) -> None:
    api.reviews = [review("Bob")]
    assert ask(api, "bOB").logins == ("Bob",)


@pytest.mark.parametrize(
    ("reviews", "note"),
    [
        ([], "none of the approvers has reviewed pull request 5"),
        ([review("dave")], "none of the approvers"),
        ([review("bob", commit=FIRST)], f"bob approved {FIRST[:12]}, not {HEAD[:12]}"),
        ([review("bob", commit=None)], "bob approved a commit th"),
        ([review("bob", "COMMENTED")], "none of the approvers"),
        ([review("bob", "PENDING")], "none of the approvers"),
        ([review("bob", "DISMISSED")], "bob has a dismissed review"),
        ([review("bob"), review("bob", "CHANGES_REQUESTED", day=11)], "bob requested changes"),
        ([review("bob"), review("Bob", "CHANGES_REQUESTED", day=11)], "Bob requested changes"),
        ([review("bob", "CHANGES_REQUESTED", day=11), review("bob")], "bob requested changes"),
        ([review("bob"), review("bob", "CHANGES_REQUESTED", FIRST, number=90)], "bob requested changes"),
        ([review("bob"), review("bob", "DISMISSED", day=11)], "bob has a dismissed review"),
        ([review("bob"), review("bob", commit=FIRST, day=11)], "bob approved aaaaaaaaaaaa"),
        ([review("bob", number=99), review("bob", "DISMISSED", day=11, number=1)], "bob has a dismissed review"),
    ],
)
def test_reviews_that_do_not_approve_the_head_do_not_count(api: GitHubApi, reviews: list[Json], note: str) -> None:
    api.reviews = reviews
    assert note in refusal(api)


@pytest.mark.parametrize(
    "reviews",
    [
        [review("bob"), review("bob", "COMMENTED", day=11)],
        [review("bob", "CHANGES_REQUESTED", FIRST, day=8), review("bob")],
        [review("bob", "DISMISSED", FIRST, day=8), review("bob")],
        [review("bob"), review("dave", "CHANGES_REQUESTED", day=11)],
        [review("bob"), review("carol", "CHANGES_REQUESTED", day=11)],
    ],
)
def test_reviews_that_leave_an_approval_valid(api: GitHubApi, reviews: list[Json]) -> None:
    api.reviews = reviews
    assert ask(api).logins == ("bob",)


def test_a_review_of_a_deleted_account_does_not_count(api: GitHubApi) -> None:
    api.reviews = [review("bob") | {"user": None}]
    assert "none of the approvers" in refusal(api)


@pytest.mark.parametrize(
    ("change", "reviewer"),
    [
        ({"commits": [commit(author="dave", committer="dave")], "pushes": [push("dave")]}, "ann"),
        ({"opener": user("dave"), "pushes": [push("dave")]}, "ann"),
        ({"commits": [commit(FIRST, "Bob"), commit()]}, "bob"),
        ({"commits": [commit(FIRST, "ann", "bob"), commit()]}, "bob"),
        ({"pushes": [push("bob")]}, "bob"),
        ({"pushes": [push("ann"), push("bob", FIRST)], "commits": [commit(FIRST), commit()]}, "bob"),
        ({"pushes": [push("ann"), push("bob", FIRST, "branch_creation")], "commits": [commit(FIRST), commit()]}, "bob"),
        # A commit that a forced push replaced after the pull request was opened.
        ({"pushes": [push("ann", kind="force_push", day=11), push("bob", "e" * 40, day=10)]}, "bob"),
        ({"commits": [commit(message="x\n\nCo-authored-by: B <2+bob@users.noreply.github.com>")]}, "bob"),
        ({"commits": [commit(message="x\n\nco-authored-by:B <BOB@users.noreply.github.com>\n")]}, "bob"),
        # The login was changed since then: the number counts.
        ({"commits": [commit(message="x\n\nCo-Authored-By: B <2+old-name@users.noreply.github.com>")]}, "bob"),
    ],
)
def test_an_approver_who_contributed_does_not_count(api: GitHubApi, change: Json, reviewer: str) -> None:
    vars(api).update(change)
    api.reviews = [review(reviewer)]
    assert f"{reviewer} contributed to the pull request, so their approval does not count" in refusal(api, reviewer)


def test_another_approver_counts_if_one_contributed(api: GitHubApi) -> None:
    api.commits = [commit(FIRST, "bob"), commit()]
    api.reviews = [review("bob"), review("carol")]
    assert ask(api) == Approvals(("carol",), ("bob contributed to the pull request, so their approval does not count",))


def test_pushes_of_earlier_pull_requests_and_other_branches_do_not_matter(api: GitHubApi) -> None:
    api.pushes = [push("ann"), push("bob", "e" * 40, day=1), push("bob", branch="other")]
    assert ask(api).logins == ("bob",)


def test_a_co_author_with_the_address_of_an_author_is_known(api: GitHubApi) -> None:
    api.commits = [commit(message="x\n\nCo-authored-by: A <Ann@example.com>")]
    assert ask(api).logins == ("bob",)


def test_pushes_to_another_branch_do_not_show_who_pushed_the_head(api: GitHubApi) -> None:
    body = json.dumps([push("ann", branch="other")]).encode()
    api.failures[f"/repos/{FORK}/activity"] = (200, {}, body)
    assert "GitHub does not list who pushed" in refusal(api)


def test_commits_made_in_the_browser_belong_to_their_author(api: GitHubApi) -> None:
    api.commits = [commit(committer="web-flow")]
    assert ask(api).logins == ("bob",)
    api.commits = [commit(FIRST, "bob", "web-flow"), commit()]
    assert "bob contributed" in refusal(api)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"commits": [commit(author=None)]}, "the author of commit bbbbbbbbbbbb (nora@example.com) is not linked to"),
        ({"commits": [commit() | {"author": {}}]}, "the author of commit bbbbbbbbbbbb"),
        ({"commits": [commit(committer=None)]}, "the committer of commit bbbbbbbbbbbb (nora@example.com)"),
        ({"commits": [commit(message="x\n\nCo-authored-by: N <n@example.com>")]}, "is not known: N <n@example.com>"),
        ({"commits": [commit(message="x\n\nCo-authored-by: nora")]}, "is not known: nora"),
        ({"commits": [commit(message="x\n\nCo-authored-by: N <ann@users.noreply.evil.example>")]}, "is not known"),
        ({"pushes": []}, f"GitHub does not list who pushed {HEAD[:12]}"),
        ({"pushes": [push("ann", "e" * 40, day=10)]}, "GitHub does not list who pushed"),
        ({"pushes": [push("ann") | {"actor": None}]}, "the account that pushed bbbbbbbbbbbb is not known"),
        ({"opener": None}, "the account that opened the pull request was deleted"),
    ],
)
def test_no_approval_counts_where_someone_is_not_known(api: GitHubApi, change: Json, note: str) -> None:
    vars(api).update(change)
    assert note in refusal(api)


def test_all_pages_are_read(api: GitHubApi) -> None:
    api.page_size = 2
    api.reviews = [review("bob"), *(review("dave", "COMMENTED") for _ in range(5))]
    assert ask(api).logins == ("bob",)
    api.reviews = [*api.reviews, review("bob", "CHANGES_REQUESTED", day=12)]
    assert "bob requested changes" in refusal(api)
    api.reviews = [review("bob")]
    api.commits = [*(commit(f"{n:040x}") for n in range(6)), commit("f" * 40, "bob"), commit()]
    assert "bob contributed" in refusal(api)


def test_a_head_other_than_that_of_the_job_is_an_error(api: GitHubApi) -> None:
    assert (
        "the head of pull request 5 is bbbbbbbbbbbb, which is not reviewed here (aaaaaaaaaaaa, dddddddddddd)"
        in failure(api, head=FIRST)
    )


def test_a_pull_request_with_commits_that_github_does_not_list(api: GitHubApi) -> None:
    api.count = 251
    assert "GitHub lists 1 of the 251 commits" in failure(api)
    api.count, api.commits = None, [commit(FIRST)]
    assert "GitHub lists 1 of the 1 commits" in failure(api)


def test_a_pull_request_of_a_deleted_fork_is_an_error(api: GitHubApi) -> None:
    api.fork = None
    assert "the repository of pull request 5's branch was deleted" in failure(api)


@pytest.mark.parametrize("path", [PULL, f"{PULL}/reviews", f"{PULL}/commits", f"/repos/{FORK}/activity"])
@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (401, {}, ": the token is not valid"),
        (403, {}, ": the token may not read this, or it does not exist; the job needs the permissions"),
        (404, {}, ": the token may not read this"),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795500000"}, "run the job again after 2026-11-24"),
        (429, {"Retry-After": "60"}, "the rate limit of the token is used up; run the job again in 60 seconds"),
        (500, {}, ": the server failed; run the job again"),
        (502, {}, ": the server failed; run the job again"),
        (301, {"Location": "http://127.0.0.1:1/other"}, ": the repository was renamed or moved"),
        (200, {}, "is not JSON"),
    ],
)
def test_every_failed_request_is_an_error(
    api: GitHubApi, path: str, status: int, headers: dict[str, str], message: str
) -> None:
    api.failures[path] = (status, headers, b"<html>")
    found = failure(api)
    assert message in found
    assert status == 200 or f"GitHub returned status {status} for {api.url}{path}" in found


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (PULL, b"[]", "GitHub's response for pull request 5 is not an object"),
        (PULL, b"{}", "GitHub's response for 'head' of pull request 5 is not an object"),
        (PULL, b'{"head": {"sha": 3, "ref": "x"}}', "'sha' of 'head' of pull request 5 is missing or has the wrong"),
        (PULL, b'{"head": {"sha": "main", "ref": "x"}}', "is not a commit hash"),
        (f"{PULL}/reviews", b"{}", "is not a list"),
        (f"{PULL}/reviews", b"[3]", "GitHub's response for a review is not an object"),
        (f"{PULL}/reviews", b'[{"user": {"login": "bob"}}]', "'id' of 'user' of a review"),
        (f"{PULL}/reviews", b'[{"user": {"login": "bob", "id": true}}]', "'id' of 'user' of a review"),
        (f"{PULL}/commits", b"[{}]", "'sha' of a commit"),
    ],
)
def test_responses_of_another_shape_are_errors(api: GitHubApi, path: str, body: bytes, message: str) -> None:
    api.failures[path] = (200, {}, body)
    assert message in failure(api)


def test_the_token_is_sent_to_no_other_server(api: GitHubApi) -> None:
    with GitHubApi() as other:
        link = f'<{other.url}{PULL}/reviews?page=2>; rel="next"'
        api.failures[f"{PULL}/reviews"] = (200, {"Link": link}, b"[]")
        assert "refers to another server" in failure(api)
        api.failures[f"{PULL}/reviews"] = (302, {"Location": f"{other.url}/x"}, b"")
        assert "status 302" in failure(api)
        assert other.requests == []


def test_a_list_of_more_than_100_pages_is_an_error(api: GitHubApi) -> None:
    link = f'<{api.url}{PULL}/reviews>; rel="next"'
    api.failures[f"{PULL}/reviews"] = (200, {"Link": link}, b"[]")
    assert "has more than 100 pages" in failure(api)


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "ä"])
def test_a_missing_token_is_an_error(api: GitHubApi, token: str) -> None:
    assert "set GH_TOKEN to a token for GitHub's API" in failure(api, token=token)


@pytest.mark.parametrize("url", ["http://api.github.com", "file:///etc/passwd", "", "api.github.com"])
def test_the_address_must_be_https(url: str) -> None:
    with pytest.raises(GitHubError, match="is not the https address"):
        GitHub(url, "t")


@pytest.mark.parametrize("name", ["tools", "a/b/c", "../x", "a/..", "a/b?c", ""])
def test_the_name_of_the_repository_is_checked(api: GitHubApi, name: str) -> None:
    with pytest.raises(GitHubError, match="is not the name of a repository"):
        approvals(GitHub(api.url, "t"), name, 5, (HEAD,), ("bob",))


def test_a_server_that_does_not_respond_is_an_error() -> None:
    with GitHubApi() as api:
        url = api.url
    with pytest.raises(GitHubError, match=r"GitHub did not respond to .*: .*refused"):
        approvals(GitHub(url, "t"), REPOSITORY, 5, (HEAD,), ("bob",))


def test_the_name_of_a_branch_is_quoted(api: GitHubApi) -> None:
    ask(api)
    ref = f"refs/heads/{BRANCH}".replace("/", "%2F")
    assert f"/repos/{FORK}/activity?ref={ref}&per_page=100" in [path for path, _ in api.requests]

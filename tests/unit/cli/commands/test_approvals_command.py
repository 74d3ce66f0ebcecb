"""``toolc approvals`` in a repository, with answers of GitHub's REST API from a local server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from github_api import REPOSITORY, GitHubApi, commit, push, review
from repositories import Repository

from toolc.cli.main import main

SPEC = """\
toolc: 1
name: hello
label: Say hello
description: Say hello to the whole world. Use it to see that tools work, and for nothing else.
backend: {shell: {argv: [echo, hello]}}
"""
WIDER = SPEC + 'sandbox: {network: {allow: ["api.example.com:443"]}}\n'
APPROVERS = "review: {approvers: [bob, carol]}\n"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(["approvals", *arguments])
    assert isinstance(raised.value.code, int)
    return raised.value.code


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Create the merge of a branch that allows a host; the base names approvers."""
    repository = Repository.make(tmp_path / "r")
    monkeypatch.chdir(repository.top)
    repository.commit({"specs/hello.yaml": SPEC, "specs/toolc.yaml": APPROVERS})
    repository.git("switch", "--quiet", "--create", "wider")
    repository.commit({"specs/hello.yaml": WIDER})
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "wider")
    return repository


@pytest.fixture
def api(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHubApi]:
    head = repository.git("rev-parse", "wider")
    with GitHubApi(reviews=[review("bob", commit=head)], commits=[commit(head)], pushes=[push("ann", head)]) as server:
        server.head = head
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_REPOSITORY", REPOSITORY)
        monkeypatch.setenv("GH_TOKEN", "t0ken")
        yield server


@pytest.mark.parametrize(("base", "head"), [("HEAD^1", "HEAD"), ("main^1", "wider"), ("HEAD^1", None)])
def test_approvers_of_the_head_are_printed(
    api: GitHubApi, base: str, head: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(base, *([head] if head else []), "--path", "specs", "--pull", "5") == 0
    assert capsys.readouterr() == ("bob\n", "")


def test_an_approval_of_another_commit_is_not_printed(api: GitHubApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.reviews = [review("bob")]
    assert run("HEAD^1", "--path", "specs", "--pull", "5") == 0
    assert capsys.readouterr() == ("", f"toolc: bob approved bbbbbbbbbbbb, not {api.head[:12]}\n")


def test_the_approvers_are_those_of_the_base(
    api: GitHubApi, repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    head = repository.commit({"specs/toolc.yaml": "review: {approvers: [dave]}\n"})
    api.head, api.commits, api.pushes = head, [commit(head)], [push("ann", head)]
    api.reviews = [review("dave", commit=head)]
    assert run("HEAD~1", "--path", "specs", "--pull", "5") == 0
    assert capsys.readouterr() == ("", "toolc: none of the approvers has reviewed pull request 5\n")


@pytest.mark.parametrize("settings", ["review: {accept_from: head}\n", "lint: {ignore: [TC404]}\n"])
def test_github_receives_no_request_without_approvers(
    api: GitHubApi, repository: Repository, settings: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = repository.commit({"specs/toolc.yaml": settings})
    repository.commit({"specs/toolc.yaml": APPROVERS, "specs/hello.yaml": SPEC})
    assert run(base, "--path", "specs", "--pull", "5") == 0
    assert capsys.readouterr().out == ""
    assert api.requests == []


def test_failures_are_errors(
    api: GitHubApi, repository: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("HEAD^1", "HEAD", "--path", "specs", "--pull")
    assert run(*command, "6") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        f"toolc: GitHub returned status 404 for {api.url}/repos/{REPOSITORY}/pulls/6: the token may not "
    )
    monkeypatch.delenv("GH_TOKEN")
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    assert run(*command, "5") == 2
    assert "set GH_TOKEN to a token for GitHub's API" in capsys.readouterr().err
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    assert run(*command, "5") == 0
    assert capsys.readouterr().out == "bob\n"
    api.head = "f" * 40
    assert run(*command, "5") == 2
    assert "the job of that commit decides; the checkout needs 'fetch-depth: 2'" in capsys.readouterr().err
    assert run("HEAD^1", "specs", "--pull", "5") == 2
    assert "specs is not a commit of the repository in the current folder" in capsys.readouterr().err


def test_a_pull_request_and_a_repository_are_required(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert run("HEAD^1", "--pull", "5") == 2
    assert "--repository" in capsys.readouterr().err
    assert run("HEAD^1", "--repository", REPOSITORY) == 2
    assert "--pull" in capsys.readouterr().err

"""What a transaction may change: patterns, what is protected whatever they say, and links."""

from __future__ import annotations

import pytest

from toolc.model.call import FileChange
from toolc.runtime.workspace.transaction.allowed_changes import leads_outside, matches, refusal


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a", True),
        ("src/**", "src/a/b/c.py", True),
        ("src/**", "src", True),
        ("src/**", "src2/a", False),
        ("src/**", "other/src/a", False),
        ("**", "anything/at all", True),
        ("**/*.py", "a.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("**/*.py", "a.pyc", False),
        ("*.py", "a/b.py", False),
        ("*", ".hidden", True),
        ("a?c/[xy]", "abc/y", True),
        ("a?c/[xy]", "abc/z", False),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("out.txt", "OUT.TXT", False),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert matches(pattern, path) == fits


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit", ".git", "vendor/lib/.git/config", ".GIT/config", ".git./x", ".git /x",
        "git~1/config", ".g\u200cit/config", ".g\u034fit/config", ".git\ufe0f",
        "\U000e0100.git", ".v\u017fcode/x", "GIT~2/config", "GITHUB~1/x", "VSCODE~1/x", "GITLAB~1.YML", "jenkin~1",
        ".git::$INDEX_ALLOCATION/config", ".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml",
        "Jenkinsfile",
        ".gitmodules", ".gitattributes", ".vscode/tasks.json", "sub/.idea/x.xml", ".envrc", ".mcp.json",
        ".claude/settings.json", ".cursor/rules", ".husky/pre-push", ".pre-commit-config.yaml", ".bashrc", ".npmrc",
        ".devcontainer/devcontainer.json", "toolc.yaml", "toolc.lock", ".ssh/authorized_keys",
    ],
)  # fmt: skip
@pytest.mark.parametrize("action", ["added", "changed", "deleted"])
def test_what_others_act_on_is_protected_whether_it_exists_or_not(path: str, action: str) -> None:
    assert action in {"added", "changed", "deleted"}
    change = FileChange(path=path, action="added" if action == "added" else "deleted")
    assert "is protected: programs outside of the sandbox act on it" in refusal(change, ("**", path), None)


@pytest.mark.parametrize("target", [b".git/hooks", b"sub/.GIT", b".github", b"./.git"])
def test_no_link_leads_to_what_is_protected(target: bytes) -> None:
    change = FileChange(path="docs", action="added", kind="symlink")
    assert refusal(change, (), target) == "it is a symbolic link to what is protected"
    assert refusal(change, (), b"src/git") == ""


@pytest.mark.parametrize(
    "path",
    ["Makefile", "package.json", "notes~", "a:b", "readme~1.txt", "src/git/x", ".gitignore", ".env", "docs/.github.md"],
)
def test_ordinary_files_are_not_protected(path: str) -> None:
    assert refusal(FileChange(path=path, action="added"), (), None) == ""


def test_what_writes_does_not_list_is_refused() -> None:
    assert refusal(FileChange(path="a", action="added"), ("src/**",), None) == "the spec's writes do not list it"
    assert refusal(FileChange(path="src/a", action="deleted"), ("src/**",), None) == ""
    assert refusal(FileChange(path="a", action="deleted"), (), None) == ""


def test_a_new_folder_comes_with_what_may_be_in_it() -> None:
    for folder, reason in (("src", ""), ("src/out", ""), ("other", "the spec's writes do not list it")):
        change = FileChange(path=folder, action="added", kind="directory")
        assert refusal(change, ("src/out/*.txt",), None) == reason


def test_fifos_sockets_and_devices_never_reach_the_real_files() -> None:
    special = FileChange(path="pipe", action="added", kind="special")
    assert refusal(special, (), None) == "it is a fifo, a socket or a device"
    assert refusal(FileChange(path="pipe", action="deleted", kind="special"), (), None) == ""


@pytest.mark.parametrize(
    ("link", "target", "outside"),
    [
        (b"l", b"a", False),
        (b"l", b"a/b/c", False),
        (b"l", b"./a", False),
        (b"d/l", b"../a", False),
        (b"d/e/l", b"../../a", False),
        (b"l", b"/etc/passwd", True),
        (b"l", b"..", True),
        (b"l", b"../a", True),
        (b"d/l", b"../../a", True),
        (b"l", b"a/../../b", True),
        # Whoever made `a/b` a link to `.` would be outside after two of these.
        (b"l", b"a/b/../../..", True),
        (b"l", b"a/..", True),
    ],
)
def test_links_stay_inside(link: bytes, target: bytes, outside: bool) -> None:
    assert leads_outside(link, target) == outside

import pytest

from toolc.model.call import Action, FileChange
from toolc.runtime.workspace.transaction.allowed_changes import leads_outside, matches, refusal_reason


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("src/**", ["src/a", "src/a/b/c.py", "src"], ["src2/a", "other/src/a"]), ("**", ["anything/at all"], []),
        ("**/*.py", ["a.py", "a/b/c.py"], ["a.pyc"]), ("*.py", [], ["a/b.py"]), ("*", [".hidden"], []),
        ("a?c/[xy]", ["abc/y"], ["abc/z"]), ("a/**/z", ["a/z", "a/b/c/z"], []), ("out.txt", [], ["OUT.TXT"]),
    ],
)  # fmt: skip
def test_patterns_match_paths(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [path for path in matching + others if matches(pattern, path)] == matching


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
def test_a_protected_path_may_not_be_changed(path: str, action: Action) -> None:
    change = FileChange(path=path, action=action)
    assert "is protected, because programs outside of the sandbox act on it" in refusal_reason(
        change, ("**", path), None
    )


@pytest.mark.parametrize("target", [b".git/hooks", b"sub/.GIT", b".github", b"./.git"])
def test_a_link_to_a_protected_path_is_refused(target: bytes) -> None:
    change = FileChange(path="docs", action="added", kind="symlink")
    assert refusal_reason(change, (), target) == "it is a symbolic link to a protected path"
    assert refusal_reason(change, (), b"src/git") == ""


@pytest.mark.parametrize(
    "path",
    ["Makefile", "package.json", "notes~", "a:b", "readme~1.txt", "src/git/x", ".gitignore", ".env", "docs/.github.md"],
)
def test_ordinary_files_are_not_protected(path: str) -> None:
    assert refusal_reason(FileChange(path=path, action="added"), (), None) == ""


def test_a_path_that_no_pattern_matches_is_refused() -> None:
    assert (
        refusal_reason(FileChange(path="a", action="added"), ("src/**",), None)
        == "no pattern of 'writes' in the spec matches it"
    )
    assert refusal_reason(FileChange(path="src/a", action="deleted"), ("src/**",), None) == ""
    assert refusal_reason(FileChange(path="a", action="deleted"), (), None) == ""


def test_a_new_folder_is_allowed_if_a_pattern_matches_below_it() -> None:
    for folder, is_allowed in (("src", True), ("src/out", True), ("src/out/a", False), ("other", False), ("a/b", True)):
        change = FileChange(path=folder, action="added", kind="directory")
        reason = "" if is_allowed else "no pattern of 'writes' in the spec matches it"
        assert refusal_reason(change, ("src/out/*.txt", "a/**/z"), None) == reason


def test_fifos_sockets_and_devices_are_refused() -> None:
    special = FileChange(path="pipe", action="added", kind="special")
    assert refusal_reason(special, (), None) == "it is a fifo, a socket or a device"
    assert refusal_reason(FileChange(path="pipe", action="deleted", kind="special"), (), None) == ""


@pytest.mark.parametrize(
    ("link", "inside", "outside"),
    [
        # If `a/b` is a link to `.`, two levels up from it are outside.
        (b"l", [b"a", b"a/b/c", b"./a"], [b"/etc/passwd", b"..", b"../a", b"a/../../b", b"a/b/../../..", b"a/.."]),
        (b"d/l", [b"../a"], [b"../../a"]),
        (b"d/e/l", [b"../../a"], []),
    ],
)
def test_a_link_may_only_lead_inside_the_workspace(link: bytes, inside: list[bytes], outside: list[bytes]) -> None:
    assert [target for target in inside + outside if leads_outside(link, target)] == outside

"""States: commits of real repositories, folders, registries, and the working tree."""

from pathlib import Path

import pytest
from reviews.repositories import Repository
from reviews.reviewing import PLAIN, change_lines

from toolc.client.build import build
from toolc.model.errors import UsageError
from toolc.review.compare import compare
from toolc.review.sources.states import state_of, two_states

OTHER = PLAIN.replace("echo", "cat")
CODE = PLAIN.replace('  shell:\n    argv: [echo, --, "{{ name }}"]', "  python: {file: lib/look.py}")
CHANGED = ["RSK07 high: the effect of a call changed: backend.shell.command.argv.elements"]


def lines(base: str, head: str | None = None, *paths: str) -> list[str]:
    """Return one line per change between two states, with the line of the spec on both sides."""
    places = [Path(path) for path in paths or (".",)]
    with state_of(base, places) as old, state_of(head, places) as new:
        return [line for tool in compare(old, new).tools for line in change_lines(tool.changes)]


def diff_lines(base: str, head: str | None = None, *paths: str) -> list[str]:
    """Return the same as ``lines``, as ``toolc diff`` does."""
    with two_states(base, head, [Path(path) for path in paths or (".",)]) as (old, new):
        assert not new.diagnostics.has_errors
        return [line for tool in compare(old, new).tools for line in change_lines(tool.changes)]


def test_a_commit_is_compared_with_the_working_tree(repository: Repository) -> None:
    repository.commit({"specs/a.yaml": PLAIN})
    assert lines("HEAD") == []
    repository.write({"specs/a.yaml": OTHER})
    assert lines("HEAD") == CHANGED
    assert lines("main", None, "specs") == CHANGED


def test_two_commits_ignore_the_working_tree(repository: Repository) -> None:
    first = repository.commit({"a.yaml": PLAIN})
    repository.commit({"a.yaml": OTHER})
    repository.write({"a.yaml": "not: [a spec"})
    assert lines(first, "HEAD") == CHANGED
    assert lines("HEAD~1", "main") == CHANGED
    assert lines("main", first) == CHANGED


def test_lines_have_repository_paths(repository: Repository) -> None:
    repository.commit({"specs/a.yaml": PLAIN})
    repository.commit({"specs/a.yaml": "# moved\n" + OTHER})
    with state_of("HEAD~1", [Path()]) as old, state_of("HEAD", [Path()]) as new:
        (change,) = compare(old, new).tools[0].changes
    assert (str(change.old), str(change.new)) == ("specs/a.yaml:9:5", "specs/a.yaml:10:5")


def test_changes_of_files_next_to_a_spec_are_reported(repository: Repository) -> None:
    repository.commit({"specs/a.yaml": CODE, "specs/lib/look.py": "def look(name):\n    return name\n"})
    repository.commit({"specs/lib/look.py": "def look(name):\n    return open(name).read()\n"})
    assert lines("HEAD~1", "HEAD") == ["RSK07 high: the program lib/look.py changed"]


def test_a_project_file_in_a_parent_folder_applies(repository: Repository) -> None:
    project = "defaults: {sandbox: {network: {allow: [evil.example.com:443]}}}\n"
    repository.commit({"toolc.yaml": "vars: {}\n", "team/specs/a.yaml": PLAIN})
    repository.commit({"toolc.yaml": project})
    assert lines("HEAD~1", "HEAD", "team/specs") == ["RSK01 high: a call may now reach evil.example.com:443"]


def test_a_subfolder_can_be_compared(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = PLAIN.replace("name: look", "name: other").replace("Look a thing up", "Put one down")
    repository.commit({"one/a.yaml": PLAIN, "two/b.yaml": renamed})
    repository.commit({"one/a.yaml": OTHER, "two/b.yaml": renamed.replace("echo", "cat")})
    monkeypatch.chdir(repository.top / "one")
    assert lines("HEAD~1", "HEAD") == CHANGED


def test_a_worktree_can_be_compared(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit({"a.yaml": PLAIN})
    repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    monkeypatch.chdir(tmp_path / "tree")
    Path("a.yaml").write_text(OTHER, encoding="utf-8")
    assert lines("main") == CHANGED


def test_a_base_may_have_no_specs(repository: Repository) -> None:
    repository.commit({"README": "none yet\n"})
    repository.commit({"specs/a.yaml": PLAIN})
    assert lines("HEAD~1", "HEAD") == ["CON312 compatible: the tool was added"]
    assert lines("HEAD~1", "HEAD", "specs") == ["CON312 compatible: the tool was added"]
    assert lines("HEAD", "HEAD~1") == ["CON301 breaking: the tool was removed, so calls fail"]


def test_base_with_errors(repository: Repository) -> None:
    other = PLAIN.replace("name: look", "name: other").replace("Look a thing up", "Put one down")
    repository.commit({"a.yaml": PLAIN, "b.yaml": other.replace("backend:", "backend: []\nbeckend:")})
    repository.commit({"a.yaml": OTHER, "b.yaml": other})
    with state_of("HEAD~1", [Path()]) as old:
        assert old.diagnostics.has_errors
        assert [*old.tools] == ["look"]
    assert lines("HEAD~1", "HEAD") == [*CHANGED, "CON312 compatible: the tool was added"]


def test_links_submodules_and_filters(repository: Repository, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("def look(name):\n    return 1\n", encoding="utf-8")
    sub = Repository.make(tmp_path / "sub")
    sub.commit({"a.yaml": PLAIN.replace("name: look", "name: inner")})
    repository.git("submodule", "--quiet", "add", str(sub.top), "vendored")
    repository.write(
        {"a.yaml": PLAIN, ".gitattributes": "*.yaml filter=bad\n", "c.yaml": CODE.replace("look\n", "far\n", 1)}
    )
    (repository.top / "lib").mkdir()
    (repository.top / "lib/look.py").symlink_to(secret)
    marker = tmp_path / "ran"
    repository.commit({})
    repository.git("config", "filter.bad.smudge", f"touch {marker}; cat")
    repository.git("config", "core.fsmonitor", f"touch {marker}")
    with state_of("HEAD", [Path()]) as state:
        assert [*state.tools] == ["look"]
        assert "leads outside the spec's folder" in " ".join(each.message for each in state.diagnostics.sorted())
    assert not marker.exists()


def test_folder_replaced_by_a_link(repository: Repository) -> None:
    wider = f"{PLAIN}sandbox: {{network: {{allow: [evil.example.com:443]}}}}\n"
    repository.commit({"specs/a.yaml": PLAIN})
    (repository.top / "specs/a.yaml").unlink()
    (repository.top / "specs").rmdir()
    (repository.top / "specs").symlink_to("real")
    repository.commit({"real/a.yaml": wider})
    expected = ["RSK01 high: a call may now reach evil.example.com:443"]
    assert diff_lines("HEAD~1", "HEAD", "specs") == expected
    assert diff_lines("HEAD~1", None, "specs") == expected
    assert diff_lines("HEAD~1", "HEAD", "specs/../specs/a.yaml") == expected
    assert diff_lines("HEAD", None, "specs") == []


def test_an_unchanged_broken_spec_of_the_head_is_reported(repository: Repository) -> None:
    repository.commit({"a.yaml": PLAIN, "b.yaml": PLAIN.replace("name: look", "name: b") + "nonsense: 1\n"})
    repository.write({"a.yaml": OTHER})
    with two_states("HEAD", None, [Path()]) as (_, new):
        found = [(str(each.span), each.code.number) for each in new.diagnostics.sorted() if each.is_error]
    assert found == [("b.yaml:10:1", "TC101")]


@pytest.mark.parametrize("changed", [PLAIN, PLAIN.replace("name: look", "name: other\naliases: [look]")])
def test_a_name_of_an_unchanged_spec_is_taken(repository: Repository, changed: str) -> None:
    repository.commit({"a.yaml": PLAIN})
    repository.write({"b.yaml": changed})
    with two_states("HEAD", None, [Path()]) as (_, new):
        assert [each.code.number for each in new.diagnostics.sorted() if each.is_error] == ["TC203"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("../elsewhere", "HEAD: specs is a link that points outside the repository"),
        ("specs", "HEAD: specs is part of a loop of symbolic links"),
    ],
)
def test_dangling_link_in_a_commit(repository: Repository, target: str, part: str) -> None:
    (repository.top / "specs").symlink_to(target)
    repository.commit({})
    with pytest.raises(UsageError) as raised:
        diff_lines("HEAD", "HEAD", "specs")
    assert str(raised.value) == part


def test_a_link_loop_in_the_working_tree_is_reported(repository: Repository) -> None:
    repository.commit({"specs/a.yaml": PLAIN})
    (repository.top / "loop").symlink_to("loop")
    for path in ("loop", "loop/specs"):
        with pytest.raises(UsageError, match=f"^{path} is part of a loop of symbolic links$"):
            diff_lines("HEAD", None, path)


def test_sha256_repositories_are_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "repository"
    top.mkdir()
    repository = Repository(top)
    repository.git("init", "--quiet", "--object-format=sha256")
    monkeypatch.chdir(top)
    repository.commit({"a.yaml": PLAIN})
    repository.write({"a.yaml": OTHER})
    assert diff_lines("HEAD") == CHANGED


def test_spec_in_git_lfs(repository: Repository) -> None:
    repository.commit({"a.yaml": PLAIN})
    repository.commit({"a.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"})
    with pytest.raises(UsageError, match=r"HEAD: a\.yaml is stored in Git LFS and not in the commit"):
        diff_lines("HEAD~1", "HEAD")


def test_a_manipulated_tree_writes_only_its_specs(repository: Repository, tmp_path: Path) -> None:
    blob = repository.git("hash-object", "-w", "--stdin", stdin=PLAIN.encode())
    entry = b"100644 ..\0" + bytes.fromhex(blob)
    inner = repository.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=entry)
    good = repository.git("mktree", stdin=f"100644 blob {blob}\ta.yaml\n040000 tree {inner}\tup\n".encode())
    commit = repository.git("commit-tree", good, "-m", "bad")
    with state_of(commit, [Path()]) as state:
        assert [*state.tools] == ["look"]
    assert [each.name for each in tmp_path.iterdir()] == ["repository"]


def test_a_large_file_next_to_a_spec_is_reported(repository: Repository) -> None:
    repository.commit({"a.yaml": CODE, "lib/look.py": "#" * (5 << 20)})
    with state_of("HEAD", [Path()]) as state:
        assert [each.message for each in state.diagnostics.sorted()] == ["lib/look.py is larger than 4MiB"]


def test_missing_commits_of_shallow_clones_are_reported(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repository.commit({"a.yaml": PLAIN})
    repository.commit({"a.yaml": OTHER})
    repository.git("clone", "--quiet", "--depth=1", f"file://{repository.top}", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    with pytest.raises(UsageError, match=r"fetch it first: .*this clone is shallow: git fetch --unshallow"):
        lines(first)
    with pytest.raises(UsageError, match=r"does not go back that far; this clone is shallow: git fetch --unshallow$"):
        lines("HEAD~1")


def test_partial_clone(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = repository.commit({"a.yaml": PLAIN})
    repository.commit({"a.yaml": OTHER})
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
    for name in ("clone", "lonely"):
        repository.git("clone", "--quiet", "--filter=blob:none", f"file://{repository.top}", str(tmp_path / name))
    monkeypatch.chdir(tmp_path / "clone")
    assert lines(first) == CHANGED
    repository.top.rename(tmp_path / "gone")
    monkeypatch.chdir(tmp_path / "lonely")
    with pytest.raises(UsageError, match="does not appear to be a git repository"):
        lines(first)


def test_folder_and_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("old", PLAIN), ("new", OTHER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(text, encoding="utf-8")
    build(tmp_path / "old", tmp_path / "built")
    monkeypatch.chdir(tmp_path)
    assert lines("old", "new") == CHANGED
    assert lines("built/registry.json", "new") == CHANGED
    assert lines("built/registry.json", "old") == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("nowhere", "neither a commit in this repository nor an existing file or folder; fetch it first: "),
        ("origin/main", "fetch it first: git fetch origin main"),
        ("--all", "'--all' is neither a commit"),
        ("main..specs", "existing file or folder; write two names: toolc diff BASE HEAD"),
        ("HEAD~99", "existing file or folder; the history of this clone does not go back that far"),
        ("main:specs", "existing file or folder; name the commit, and the specs in it with --path"),
        ("specs", "'specs' is both a commit and a path; write ./specs for the path, or refs/heads/specs"),
    ],
)  # fmt: skip
def test_unknown_or_ambiguous_states_are_reported(repository: Repository, name: str, part: str) -> None:
    repository.commit({"specs/a.yaml": PLAIN})
    repository.git("branch", "specs")
    with pytest.raises(UsageError) as raised:
        lines(name)
    assert part in str(raised.value)
    assert lines("./specs", "refs/heads/specs") == []


def test_a_repository_without_commits_is_reported(repository: Repository) -> None:
    with pytest.raises(UsageError, match=r"existing file or folder; nothing is committed yet$"):
        lines("HEAD")


def test_bare_repositories_and_git_dir_are_reported(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a.yaml": PLAIN})
    repository.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    monkeypatch.chdir(tmp_path / "bare")
    with pytest.raises(UsageError, match=r"go to one of its working trees, or create one: git worktree add FOLDER$"):
        lines("HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="Git cannot read the repository that GIT_DIR names: not a git repository"):
        lines("HEAD")


def test_a_folder_outside_of_a_repository_and_a_missing_git_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    message = "'main' is neither a file nor a folder, and the current folder is not in a Git repository"
    with pytest.raises(UsageError, match=message):
        lines("main")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="Git is not installed"):
        lines("main")


def test_project_file_of_a_commit_has_its_repository_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository.make(tmp_path / "a" / "b")
    repository.commit({"specs/a.yaml": PLAIN, "toolc.yaml": "vars: {}\n"})
    repository.commit({"toolc.yaml": "defaults: {sandbox: {workspace: ro}}\n"})
    monkeypatch.chdir(repository.top / "specs")
    with two_states("HEAD~1", "HEAD", [Path()]) as (old, new):
        (tool,) = compare(old, new).tools
    assert [(str(each.new), each.cause) for each in tool.changes] == [("toolc.yaml:1:33", "toolc.yaml")]


def test_a_shallow_clone_without_the_merge_base_is_an_error(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a.yaml": PLAIN})
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit({"a.yaml": OTHER})
    repository.git("checkout", "--quiet", "main")
    repository.commit({"b.yaml": PLAIN.replace("look", "see")})
    clone = tmp_path / "clone"
    url = f"file://{repository.top}"
    repository.git("clone", "--quiet", "--depth=1", "--no-single-branch", "--branch=topic", url, str(clone))
    monkeypatch.chdir(clone)
    message = "lacks the merge base of origin/main and HEAD; fetch it with git fetch --unshallow"
    with pytest.raises(UsageError, match=message):
        diff_lines("origin/main")
    with pytest.raises(UsageError, match="fetch-depth: 0"):
        diff_lines("origin/main", "origin/topic")
    Repository(clone).git("fetch", "--quiet", "--unshallow")
    assert diff_lines("origin/main")

"""Transactions on real engines, for every owner and in every configuration."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.configurations import CONFIGURATIONS, USER, Configuration, available
from workspaces.transaction_cases import call, changes_of, paths, tool, tree

from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.sandbox.docker import base_image, image_builder
from toolc.sandbox.interface import Engine

BEFORE = {
    "a": "a\n", "b": "b\n", "d": "folder", "d/sub": "folder", "d/sub/y": "y\n", "d/x": "x\n",
    "moved": "m\n", "same": "s\n",
}  # fmt: skip

SCRIPT = """
cat a; echo more >> a; rm b; echo c > c; mv moved moved2; touch same; ln -s d/only link
rm -r d; mkdir d; echo o > d/only; mkdir -p e/deep; echo f > e/deep/f; chmod 750 c; ln a hard
"""

AFTER = {
    "a": "a\nmore\n", "c": "c\n", "d": "folder", "d/only": "o\n", "e": "folder", "e/deep": "folder",
    "e/deep/f": "f\n", "hard": "a\nmore\n", "link": "-> d/only", "moved2": "m\n", "same": "s\n",
}  # fmt: skip


@pytest.fixture(params=CONFIGURATIONS)
def configuration(request: pytest.FixtureRequest) -> Configuration:
    return available(request.param)


OWNERS = [
    (name, owner) for name, each in CONFIGURATIONS.items() for owner in ((each.uid,) if each.uid else (0, USER, 4321))
]
"""An ordinary user may write only to their own workspace."""


@pytest.fixture
def workspace() -> Iterator[Path]:
    # Not tmp_path, which an ordinary user may not enter.
    with tempfile.TemporaryDirectory(prefix="toolc-views-") as folder:
        Path(folder).chmod(0o755)
        work = Path(folder) / "work"
        for name, text in BEFORE.items():
            if text == "folder":
                (work / name).mkdir(parents=True)
            else:
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text)
        yield work


def give(folder: Path, uid: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)


def answer(
    configuration: Configuration, workspace: Path, script: str, *, host_programs: bool = False, **about: object
) -> JsonObject:
    """Return the result of a call as JSON, because it may have run in another process."""
    spec = tool(script, min_isolation=configuration.min_isolation, **about)  # type: ignore[arg-type]

    def work(engine: Engine) -> JsonValue:
        result = call(engine, spec, workspace, host_programs=host_programs)
        return {
            "text": result.text,
            "is_error": result.is_error,
            "paths": {action: [*listed] for action, listed in paths(result).items()},
            "changes": changes_of(result),
        }

    found = configuration.run(work)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("name", "owner"), OWNERS)
def test_changes_are_committed_and_keep_their_owner(workspace: Path, name: str, owner: int) -> None:
    configuration = available(name)
    give(workspace, owner)
    found = answer(configuration, workspace, SCRIPT)
    assert (found["text"], found["is_error"]) == ("a\n", False)
    assert tree(workspace) == AFTER
    assert found["paths"] == {
        "added": ["c", "d/only", "e", "e/deep", "e/deep/f", "hard", "link", "moved2"],
        "changed": ["a"],
        "deleted": ["b", "d/sub", "d/sub/y", "d/x", "moved"],
    }
    assert {path.lstat().st_uid for path in (workspace, *workspace.rglob("*"))} == {owner}
    assert (workspace / "c").stat().st_mode & 0o7777 == 0o750
    assert found["changes"]["view"] == ("copy" if configuration.min_isolation == "gvisor" else "overlay")  # type: ignore[index,call-overload]


def test_discarded_changes_leave_no_trace(configuration: Configuration, workspace: Path) -> None:
    give(workspace, USER)
    stamps = {path: path.lstat().st_ctime_ns for path in (workspace, *workspace.rglob("*"))}
    assert not answer(configuration, workspace, SCRIPT, commit="never")["is_error"]
    assert answer(configuration, workspace, "rm -rf /workspace/* && mkdir .git && echo x > .git/config")["is_error"]
    assert {path: path.lstat().st_ctime_ns for path in (workspace, *workspace.rglob("*"))} == stamps


def test_special_files_and_set_id_bits_are_not_committed(configuration: Configuration, workspace: Path) -> None:
    give(workspace, USER)
    found = answer(
        configuration, workspace, "mkfifo pipe; echo x > x; chmod 6755 x || chmod 755 x; mknod n c 0 0 || true"
    )
    if configuration.min_isolation == "gvisor":
        # Pipes exist only in the kernel of gVisor.
        assert tree(workspace) == BEFORE | {"x": "x\n"}
        assert (workspace / "x").stat().st_mode & 0o7777 == 0o755
    else:
        assert "- pipe: it is a fifo, a socket or a device" in str(found["text"])
        assert tree(workspace) == BEFORE


@pytest.mark.parametrize("name", ["co:lon, com,ma", "quo'te\" back\\slash", "line\nfeed", "ü €"])
def test_a_workspace_may_have_any_name(configuration: Configuration, workspace: Path, name: str) -> None:
    odd = workspace.with_name(name)
    workspace.rename(odd)
    give(odd, USER)
    found = answer(configuration, odd, "echo new > a; printf x > 'in:ner, \\'; rm b")
    assert not found["is_error"], found["text"]
    assert ((odd / "a").read_text(), (odd / "in:ner, \\").read_text(), (odd / "b").exists()) == ("new\n", "x", False)


def test_a_file_that_changes_while_the_tool_runs_is_a_conflict(configuration: Configuration, workspace: Path) -> None:
    give(workspace, USER)

    def work(engine: Engine) -> JsonValue:
        def interfere(event: Event) -> None:
            if isinstance(event, ToolUpdate):
                (workspace / "a").write_text("theirs\n")

        spec = tool("echo mine > a; echo x > c; echo changed", min_isolation=configuration.min_isolation)
        return call(engine, spec, workspace, on_event=interfere).text

    assert "- a: it was changed by another process while the tool ran" in str(configuration.run(work))
    assert tree(workspace) == BEFORE | {"a": "theirs\n"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "owner"), [row for row in OWNERS if row[0] != "docker+gvisor"])
def test_git_works_and_its_files_are_unchanged(workspace: Path, name: str, owner: int) -> None:
    """The oci engine uses the git of the host."""
    configuration = available(name)
    image = None
    if name == "docker":
        base = base_image.build_base(None, print)
        image = image_builder.build_image("shell-tools", base=base, on_progress=print).tag
    git = ["git", "-C", str(workspace), "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "safe.directory=*"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    give(workspace, owner)
    # The user ran git with more rights than the rest of the folder has.
    os.chown(workspace / ".git", 4321, 4321)
    found = answer(
        configuration,
        workspace,
        "touch a; git status --short; git log --format=%s; echo new > a; git diff --stat",
        image=image,
        host_programs=image is None,
    )
    assert not found["is_error"], found["text"]
    assert found["text"] == "first\n a | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"
    assert found["paths"] == {"added": [], "changed": ["a"], "deleted": []}

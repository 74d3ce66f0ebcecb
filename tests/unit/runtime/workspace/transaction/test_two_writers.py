"""Two writers in one workspace: a tool in a transaction, and another process that writes to the real files."""

import os
import random
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from workspaces.edited_workspace import BEFORE, workspace
from workspaces.real_views import VIEWS, Engines
from workspaces.transaction_cases import call, changes_of, tool, tree

from toolc.model.call import Proposal
from toolc.model.result import ToolResult
from toolc.runtime.workspace.dir_handle import RENAME_EXCHANGE
from toolc.runtime.workspace.dir_handle import rename as real_rename
from toolc.runtime.workspace.transaction import baseline, commit

__all__ = ["workspace"]

Act = Callable[[Path], object]


def write(name: str, text: str) -> Act:
    return lambda top: (top / name).write_text(text)


def chmod(name: str, mode: int) -> Act:
    return lambda top: (top / name).chmod(mode)


def unlink(name: str) -> Act:
    return lambda top: (top / name).unlink()


def touch(name: str) -> Act:
    return lambda top: os.utime(top / name, (1, 1))


def remove(name: str) -> Act:
    return lambda top: shutil.rmtree(top / name)


def replace(name: str) -> Act:
    """Return an act that replaces a folder by an equal one."""

    def act(top: Path) -> None:
        shutil.copytree(top / name, top / "aside")
        shutil.rmtree(top / name)
        (top / "aside").rename(top / name)

    return act


def move(name: str, new: str) -> Act:
    return lambda top: (top / name).rename(top / new)


def edit_unnoticed(name: str, text: str) -> Act:
    """Return an act that changes a file in place and keeps its size and its time of modification."""

    def act(top: Path) -> None:
        path = top / name
        status = path.stat()
        assert len(text) == status.st_size
        with path.open("r+") as file:
            file.write(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    return act


def both(*acts: Act) -> Act:
    return lambda top: [act(top) for act in acts]


def make(name: str) -> Act:
    return lambda top: (top / name).mkdir()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


COMMITTED = {
    "another file is written": (write("a", "mine"), write("b", "theirs"), {"a": "mine", "b": "theirs"}),
    "another file is added to the folder": (write("d/new", "mine"), write("d/n", "n"), {"d/new": "mine", "d/n": "n"}),
    "another file is removed": (write("a", "mine"), unlink("b"), {"a": "mine"}),
    "another folder is removed": (write("a", "mine"), remove("d"), {"a": "mine"}),
    "the tool moves a file, another is added": (move("a", "c"), write("n", "n"), {"c": "a\n", "n": "n"}),
    "the tool only touches a file": (touch("a"), write("a", "theirs"), {"a": "theirs"}),
    "the tool only touches a folder": (touch("d"), chmod("d", 0o700), {"d": "folder"}),
    "the tool writes the old content": (write("a", "a\n"), write("a", "theirs"), {"a": "theirs"}),
    "the other touches the file": (write("a", "mine"), touch("a"), {"a": "mine"}),
    "the other writes the old content": (write("a", "mine"), write("a", "a\n"), {"a": "mine"}),
    "the other changes and restores the mode": (
        write("a", "mine"), both(chmod("a", 0o600), chmod("a", 0o644)), {"a": "mine"},
    ),
    "the other replaces the file by an equal one": (
        write("a", "mine"), both(write("n", "a\n"), move("n", "a")), {"a": "mine"},
    ),
    "both write the same": (write("a", "same"), write("a", "same"), {"a": "same"}),
    "both add the same": (write("c", "same"), write("c", "same"), {"c": "same"}),
    "both make the same folder": (both(make("e"), write("e/x", "x")), make("e"), {"e": "folder", "e/x": "x"}),
    "both remove a file": (unlink("a"), unlink("a"), {}),
    "both remove a folder": (remove("d"), remove("d"), {}),
    "both remove, the tool writes more": (both(unlink("a"), write("b", "mine")), unlink("a"), {"b": "mine"}),
    "the mode of the folder changes": (write("d/x", "mine"), chmod("d", 0o700), {"d": "folder", "d/x": "mine"}),
    "a file is added to a folder whose mode the tool changes": (
        chmod("d", 0o700), write("d/n", "n"), {"d": "folder", "d/n": "n"},
    ),
    "the tool makes a removed folder again": (
        both(remove("d"), make("d"), write("d/new", "mine")), write("d/n", "n"), {"d/new": "mine", "d/n": "n"},
    ),
}  # fmt: skip
"""The acts of the tool and of the other, which do not conflict, and what is then in the workspace."""


@VIEWS
@pytest.mark.parametrize("case", COMMITTED)
def test_changes_that_do_not_touch_each_other_are_both_kept(workspace: Path, engine: Engines, case: str) -> None:
    mine, theirs, after = COMMITTED[case]
    result = call(engine(both(mine, lambda _: theirs(workspace))), tool(), workspace)
    assert not result.is_error, result.text
    found = tree(workspace)
    for name in {*BEFORE, *found} - {*after}:
        # What neither names is as before, or was removed with what both name.
        assert found.get(name) in {BEFORE.get(name), None}, name
    assert {name: found.get(name) for name in after} == after


CONFLICTS = {
    "written": (write("a", "mine"), write("a", "theirs"), ["a"]),
    "written with the same size and time": (write("a", "m\n"), edit_unnoticed("a", "t\n"), ["a"]),
    "removed by the tool, written with the same size and time": (unlink("a"), edit_unnoticed("a", "t\n"), ["a"]),
    "moved by the tool": (move("a", "c"), write("a", "theirs"), ["a"]),
    "moved by the tool to a new file": (move("a", "c"), write("c", "theirs"), ["c"]),
    "moved by the other": (write("a", "mine"), move("a", "c"), ["a"]),
    "mode": (write("a", "mine"), chmod("a", 0o600), ["a"]),
    "set-user-id bit": (write("a", "mine"), chmod("a", 0o4644), ["a"]),
    "mode by the tool": (chmod("a", 0o600), write("a", "theirs"), ["a"]),
    "mode by both": (chmod("a", 0o600), chmod("a", 0o640), ["a"]),
    "mode of a folder by both": (chmod("d", 0o700), chmod("d", 0o750), ["d"]),
    "removed by the other": (write("a", "mine"), unlink("a"), ["a"]),
    "added by both": (write("c", "mine"), write("c", "theirs"), ["c"]),
    "added by both with another mode": (
        write("c", "same"), both(write("c", "same"), chmod("c", 0o600)), ["c"],
    ),
    "a folder in the place of a file": (write("a", "mine"), both(unlink("a"), make("a")), ["a"]),
    "a link in the place of a file": (
        write("a", "mine"), both(unlink("a"), lambda top: (top / "a").symlink_to("b")), ["a"],
    ),
    "the folder is removed": (write("d/new", "mine"), remove("d"), ["d/new"]),
    "the folder is removed and made again": (write("d/new", "mine"), both(remove("d"), make("d")), ["d/new"]),
    "the folder is replaced by an equal one": (write("d/new", "mine"), replace("d"), ["d/new"]),
    "the folder is moved away": (write("d/new", "mine"), move("d", "away"), ["d/new"]),
    "the folder is replaced by a link to it": (
        write("d/new", "mine"), both(move("d", "away"), lambda top: (top / "d").symlink_to("away")), ["d/new"],
    ),
    "a folder further up is replaced": (write("d/sub/new", "mine"), replace("d"), ["d/sub/new"]),
    "added to a folder that the tool removed": (remove("d/sub"), write("d/sub/n", "n"), ["d/sub"]),
    "written in a folder that the tool removed": (remove("d/sub"), write("d/sub/y", "theirs"), ["d/sub/y"]),
    "mode of a folder that the tool removed": (remove("d/sub"), chmod("d/sub", 0o700), ["d/sub"]),
    "a folder in the place of a new link": (lambda top: (top / "link").symlink_to("b"), make("link"), ["link"]),
    "one of many": (both(write("a", "mine"), write("b", "mine"), make("e")), write("b", "theirs"), ["b"]),
}  # fmt: skip
"""The acts of the tool and of the other, and the paths in conflict."""


@VIEWS
@pytest.mark.parametrize("case", CONFLICTS)
def test_a_change_of_the_same_path_is_a_conflict(workspace: Path, engine: Engines, case: str) -> None:
    mine, theirs, conflicts = CONFLICTS[case]
    seen: list[object] = []

    def act(view: Path) -> None:
        mine(view)
        theirs(workspace)
        seen.extend([tree(workspace), {path: path.lstat() for path in workspace.rglob("*")}])

    result = call(engine(act), tool(), workspace)
    assert result.error is not None
    assert (result.error.kind, changes_of(result)["conflicts"]) == ("conflict", conflicts)
    assert result.error.message.startswith("the workspace is unchanged: another process changed the same files")
    assert all(f"\n- {path}: " in result.error.message for path in conflicts)
    assert [tree(workspace), {path: path.lstat() for path in workspace.rglob("*")}] == seen


@VIEWS
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_new_owner_is_a_conflict(workspace: Path, engine: Engines) -> None:
    act = both(write("a", "mine"), lambda _: os.chown(workspace / "a", 1234, -1))
    result = call(engine(act), tool(), workspace)
    assert changes_of(result)["conflicts"] == ["a"]


@VIEWS
def test_the_mode_that_another_process_sets_is_kept(workspace: Path, engine: Engines) -> None:
    """Of folders and files that the tool has touched, and of those that it has not."""

    def act(view: Path) -> None:
        (view / "d" / "x").write_text("mine")
        (view / "a").touch()
        for name, bits in {"a": 0o600, "b": 0o640, "d": 0o2750, "d/sub": 0o700}.items():
            (workspace / name).chmod(bits)

    assert not call(engine(act), tool(), workspace).is_error
    assert [mode(workspace / name) for name in ("a", "b", "d", "d/sub", "d/x")] == [0o600, 0o640, 0o2750, 0o700, 0o644]


@VIEWS
def test_a_conflict_during_the_approval_is_one_too(workspace: Path, engine: Engines) -> None:
    def approve(_: Proposal) -> bool:
        edit_unnoticed("a", "t\n")(workspace)
        replace("d")(workspace)
        return True

    acts = both(write("a", "m\n"), write("d/new", "mine"))
    result = call(engine(acts), tool(commit="ask"), workspace, approve)
    assert result.error is not None
    assert (result.error.kind, changes_of(result)["conflicts"]) == ("conflict", ["a", "d/new"])
    assert tree(workspace) == BEFORE | {"a": "t\n"}


def during_commit(theirs: Act, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Let ``theirs`` happen when the commit moves its first file. Return a list that then has the files afterwards."""

    def rename(*arguments: object) -> None:
        if not seen:
            theirs(workspace)
            seen.append(tree(workspace))
        real_rename(*arguments)  # type: ignore[arg-type]

    seen: list[dict[str, str]] = []
    monkeypatch.setattr(commit, "rename", rename)
    return seen


@pytest.mark.parametrize("theirs", [edit_unnoticed("a", "t\n"), chmod("a", 0o600), replace("d"), write("d/sub/n", "n")])
@VIEWS
def test_a_change_during_the_commit_is_never_lost(
    workspace: Path, engine: Engines, theirs: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It happens after the last check, before the first file is moved."""
    seen = during_commit(theirs, workspace, monkeypatch)
    acts = both(write("a", "m\n"), write("d/new", "mine"), remove("d/sub"))
    result = call(engine(acts), tool(), workspace)
    assert result.error is not None
    assert result.error.kind == "conflict"
    assert tree(workspace) == seen[0]


@pytest.mark.parametrize("theirs", [chmod("d", 0o700), both(chmod("d", 0o700), write("a", "t\n"))])
@VIEWS
def test_the_same_mode_that_another_process_sets_during_the_commit_is_kept(
    workspace: Path, engine: Engines, theirs: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if another change is a conflict, and the commit is rolled back."""
    seen = during_commit(theirs, workspace, monkeypatch)
    result = call(engine(both(write("a", "m\n"), chmod("d", 0o700))), tool(), workspace)
    is_conflict = seen[0]["a"] == "t\n"
    assert changes_of(result).get("conflicts", []) == (["a"] if is_conflict else [])
    assert ((workspace / "a").read_text(), mode(workspace / "d")) == ("t\n" if is_conflict else "m\n", 0o700)


@VIEWS
def test_a_process_that_writes_to_the_open_old_file_during_the_commit_is_not_lost(
    workspace: Path, engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(from_folder: int, old: bytes, to_folder: int, new: bytes, flags: int) -> None:
        real_rename(from_folder, old, to_folder, new, flags)
        if flags == RENAME_EXCHANGE:
            os.pwrite(opened, b"t", 0)

    monkeypatch.setattr(commit, "rename", rename)
    opened = os.open(workspace / "a", os.O_RDWR)
    try:
        result = call(engine(write("a", "m\n")), tool(), workspace)
    finally:
        os.close(opened)
    assert changes_of(result)["conflicts"] == ["a"]
    assert tree(workspace) == BEFORE | {"a": "t\n"}


@VIEWS
def test_the_staging_folder_is_never_in_the_workspace(
    workspace: Path, engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(*arguments: object) -> None:
        names.update(path.name for path in workspace.iterdir())
        real_rename(*arguments)  # type: ignore[arg-type]

    names: set[str] = set()
    monkeypatch.setattr(commit, "rename", rename)
    assert not call(engine(both(write("a", "m"), write("c", "m"), unlink("b"))), tool(), workspace).is_error
    assert names
    assert names <= {"a", "b", "c", "d"}


@VIEWS
def test_a_large_workspace_is_not_recorded_and_its_changes_are_noticed(
    workspace: Path, engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their ctime shows them, also a ``touch``."""
    monkeypatch.setattr(baseline, "MAX_ENTRIES", 4)
    monkeypatch.setattr(baseline, "MAX_FILE_BYTES", 0)
    for name in ("a", "d/sub/y"):
        acts = [write(name, "m\n"), edit_unnoticed(name, "t\n")]
        result = call(engine(lambda view, acts=acts: (acts[0](view), acts[1](workspace))), tool(), workspace)  # type: ignore[misc]
        assert changes_of(result)["conflicts"] == [name]
    result = call(engine(both(write("d/x", "m\n"), lambda _: write("d/n", "n")(workspace))), tool(), workspace)
    assert not result.is_error


@VIEWS
def test_a_replaced_folder_of_a_large_workspace_is_noticed(
    workspace: Path, engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(_: Path) -> None:
        shutil.copytree(workspace / "d", workspace / "new")
        shutil.rmtree(workspace / "d")
        (workspace / "new").rename(workspace / "d")

    monkeypatch.setattr(baseline, "MAX_ENTRIES", 0)
    for act in (write("d/n", "m\n"), lambda view: (view / "d/n").symlink_to("a"), lambda view: (view / "d/n").mkdir()):
        result = call(engine(both(act, replace)), tool(), workspace)
        assert changes_of(result)["conflicts"] == ["d/n"]
    assert not (workspace / "d/n").exists()


@VIEWS
def test_of_two_concurrent_calls_that_change_a_file_one_commits(workspace: Path, engine: Engines) -> None:
    ready = threading.Barrier(2, timeout=120)
    kinds: list[str] = []

    def one(name: str) -> ToolResult:
        def act(view: Path) -> None:
            (view / "a").write_text(name)
            (view / f"{name}.txt").write_text(name)
            ready.wait()

        return call(engine(act), tool(), workspace)

    for turn in range(5):
        names = [f"{turn}.{number}" for number in range(2)]
        with ThreadPoolExecutor(2) as pool:
            kinds += [result.error.kind if result.error else "" for result in pool.map(one, names)]
        found = tree(workspace)
        assert [name for name in names if f"{name}.txt" in found] == [found["a"]]
    assert sorted(kinds) == [""] * 5 + ["conflict"] * 5


@VIEWS
def test_no_update_of_concurrent_callers_is_lost(workspace: Path, engine: Engines) -> None:
    """Each caller adds a line to a file that all share, and calls again after a conflict."""

    def one(name: str) -> None:
        def act(view: Path) -> None:
            path = view / random.Random(name).choice(["a", "b"])
            path.write_text(f"{path.read_text()}{name}\n")

        while (result := call(engine(act), tool(), workspace)).is_error:
            assert result.error is not None
            assert result.error.kind == "conflict", result.text

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, [f"line {number}" for number in range(8)]))
    lines = [line for name in "ab" for line in (workspace / name).read_text().splitlines()]
    assert sorted(lines) == ["a", "b", *(f"line {number}" for number in range(8))]

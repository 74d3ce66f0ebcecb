"""A commit that is killed is undone by whoever finds its plan, and what others have done since stays theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from edited_workspace import AFTER, BEFORE, edit, workspace
from paths import SUPPORT
from transaction_cases import call, doing, tool, tree

from toolc.model.errors import InfrastructureError
from toolc.runtime.execution import leftovers
from toolc.runtime.workspace import scratch, scratch_sweep
from toolc.runtime.workspace.transaction import commit, journal, recovery
from toolc.runtime.workspace.transaction.journal import PLAN, STAGING, CommitPlan
from toolc.sandbox.host import owner

__all__ = ["workspace"]


@pytest.mark.slow
@pytest.mark.timeout(600)  # a process for each step
@pytest.mark.parametrize("way", ["commit", "recovery", "steps"])
def test_whoever_is_killed_at_whichever_step_leaves_the_old_state_or_the_new(tmp_path: Path, way: str) -> None:
    program = [sys.executable, str(SUPPORT / "killed_commits.py"), str(tmp_path), way]
    done = subprocess.run(program, env=os.environ | {"PYTHONPATH": str(SUPPORT)}, capture_output=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    old, new = rows[0]["before"], rows[-1]["after"]
    assert new["a"] == ["new\n", "0o100644"]
    for row in rows:
        assert row["after"] in (old, new), row
        assert row["left"] == [], row
    # Half of them was neither, before the recovery.
    assert sum(row["middle"] not in (old, new) for row in rows) > len(rows) // 3
    assert sum(row["after"] == new for row in rows) < len(rows) // 2


class Dies(BaseException):
    """A commit that stops in the middle and is not rolled back, as if by SIGKILL."""


@pytest.fixture
def cut_short(workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Path]:
    """Have a commit of ``edit`` end before its last step, and say where its scratch folder is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(scratch, "_ready", lambda *_: ())

    def cut() -> Path:
        def die(*_: object) -> None:
            raise Dies

        with monkeypatch.context() as patch:
            patch.setattr(commit, "forget_plan", die)
            patch.setattr(commit, "roll_back", die)
            patch.setattr("toolc.runtime.workspace.transaction.transaction.discard", lambda _: None)
            with pytest.raises(Dies):
                call(doing(edit), tool(), workspace)
        (found,) = scratch._base().glob("*/*")
        return found

    return cut


def staging(workspace: Path) -> Path:
    (found,) = workspace.glob(".toolc-*")
    return found


def test_a_whole_commit_that_nobody_could_be_told_of_is_undone(workspace: Path, cut_short: Callable[[], Path]) -> None:
    left = cut_short()
    assert {**tree(workspace), **AFTER} == tree(workspace)
    assert scratch_sweep.discard(left) is None
    assert tree(workspace) == BEFORE
    assert not left.exists()


def write_in(path: Path) -> None:
    path.write_text("theirs\n")


def put_another(path: Path) -> None:
    path.with_name("another").write_text("theirs\n")
    path.with_name("another").rename(path)


@pytest.mark.parametrize("change", [write_in, put_another])
def test_a_file_that_was_changed_since_is_left_and_the_old_one_is_named(
    workspace: Path, cut_short: Callable[[], Path], change: Callable[[Path], None]
) -> None:
    left = cut_short()
    change(workspace / "a")
    unfinished = scratch_sweep.discard(left)
    kept = staging(workspace)
    (old,) = [path for path in kept.iterdir() if path.is_file() and path.read_text() == "a\n"]
    assert unfinished is not None
    assert unfinished.told == (
        f"a call was killed while its changes were made in {workspace}, and some could not be undone, for somebody "
        f"else has changed the same files since: a (the old one is {old.name}); take what you need from "
        f"{kept}, and remove that folder"
    )
    found = {path: text for path, text in tree(workspace).items() if not path.startswith(".toolc-")}
    assert found == BEFORE | {"a": "theirs\n"}
    # It says so until somebody has seen to it, and does nothing more.
    assert scratch_sweep.discard(left) == unfinished
    assert (workspace / "a").read_text() == "theirs\n"
    shutil.rmtree(kept)
    assert scratch_sweep.discard(left) is None
    assert tree(workspace) == BEFORE | {"a": "theirs\n"}
    assert not left.exists()


@pytest.mark.parametrize(
    ("change", "named", "after"),
    [
        (lambda top: (top / "c").write_text("theirs\n"), "c;", {"c": "theirs\n"}),
        (lambda top: (top / "e" / "new").write_text("theirs\n"), "e;", {"e": "folder", "e/new": "theirs\n"}),
        (lambda top: (top / "b").write_text("theirs\n"), "b (the old one is old.1);", {"b": "theirs\n"}),
        (
            lambda top: (top / "d" / "sub").write_text("theirs\n"),
            "d/sub (the old one is old.3), d/sub/y (the old one is old.4);",
            {"d/sub": "theirs\n"},
        ),
    ],
    ids=["written in what was added", "added to a new folder", "in a deleted file's place", "in a folder's place"],
)
def test_whatever_they_did_there_stays(
    workspace: Path, cut_short: Callable[[], Path], change: Callable[[Path], object], named: str, after: dict[str, str]
) -> None:
    left = cut_short()
    change(workspace)
    unfinished = scratch_sweep.discard(left)
    assert unfinished is not None
    assert f"somebody else has changed the same files since: {named}" in unfinished.told
    found = {path: text for path, text in tree(workspace).items() if not path.startswith(".toolc-")}
    assert found == {path: text for path, text in BEFORE.items() if not path.startswith(tuple(after))} | after


def test_what_they_removed_or_moved_since_is_no_conflict(workspace: Path, cut_short: Callable[[], Path]) -> None:
    left = cut_short()
    (workspace / "c").unlink()
    (workspace / "a").rename(workspace / "elsewhere")
    assert scratch_sweep.discard(left) is None
    assert tree(workspace) == BEFORE | {"elsewhere": "new\n"}


def test_the_next_call_in_that_workspace_is_refused_and_others_are_not(
    workspace: Path, cut_short: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left = cut_short()
    (workspace / "a").write_text("theirs\n")
    dead = scratch._base() / "dead"
    left.parent.rename(dead)
    assert scratch_sweep.sweep(dead).unfinished
    monkeypatch.setattr(scratch, "_ready", lambda *_: (dead,))
    with pytest.raises(InfrastructureError, match="a call was killed while its changes were made in"):
        call(doing(edit), tool(), workspace)
    other = tmp_path / "other"
    other.mkdir()
    assert not call(doing(lambda view: (view / "x").touch()), tool(), other).is_error
    shutil.rmtree(staging(workspace))
    assert not call(doing(lambda view: (view / "x").touch()), tool(), workspace).is_error
    assert not dead.exists()


def test_the_garbage_collector_names_what_could_not_be_undone(
    workspace: Path, cut_short: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(owner, "_base", lambda: tmp_path / "run")
    monkeypatch.setenv("TOOLC_STORE", str(tmp_path / "store"))
    monkeypatch.setattr("toolc.runtime.execution.leftovers.ENGINES", ())
    left = cut_short()
    (workspace / "a").write_text("theirs\n")
    dead = owner.Owner(machine="", boot=owner.Owner.current().boot, pidns=owner.Owner.current().pidns, pid=0, start=0)
    monkeypatch.setattr(owner.Owner, "reason_kept", lambda _: "")
    left.parent.rename(scratch._base() / dead.label())
    (found,) = leftovers.survey().leftovers
    assert found.kept == ""
    with pytest.raises(InfrastructureError, match=r"a \(the old one is new.0\); take what you need from"):
        found.remove()
    shutil.rmtree(staging(workspace))
    found.remove()
    assert leftovers.survey().leftovers == ()


def test_a_workspace_that_is_not_there_now_is_waited_for(workspace: Path, cut_short: Callable[[], Path]) -> None:
    left = cut_short()
    away = workspace.rename(workspace.with_name("away"))
    workspace.mkdir()
    unfinished = scratch_sweep.discard(left)
    assert unfinished is not None
    assert unfinished.told == (
        f"a call was killed while its changes were made in {workspace}, and that folder is not there now, so they "
        f"cannot be undone; put it back, or remove {left}"
    )
    workspace.rmdir()
    away.rename(workspace)
    assert scratch_sweep.discard(left) is None
    assert tree(workspace) == BEFORE


def test_a_folder_that_was_put_in_the_staging_folders_place_is_not_read(
    workspace: Path, cut_short: Callable[[], Path]
) -> None:
    """Whoever owns the workspace can do so; what he puts there reaches no other path."""
    left = cut_short()
    kept = staging(workspace)
    kept.rename(workspace / "aside")
    kept.mkdir()
    (kept / "new.0").symlink_to("/etc/passwd")
    assert scratch_sweep.discard(left) is None
    assert (workspace / "a").read_text() == "new\n"


def test_two_who_recover_at_once_do_it_once(workspace: Path, cut_short: Callable[[], Path]) -> None:
    """The janitor and the next process find the same."""
    left = cut_short()
    ready = threading.Barrier(4)
    told: list[object] = []

    def one() -> None:
        ready.wait()
        told.append(scratch_sweep.discard(left))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [None] * 4
    assert tree(workspace) == BEFORE


def test_nobody_recovers_while_the_owners_last_thread_is_at_it(
    workspace: Path, cut_short: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = cut_short()
    monkeypatch.setattr(journal, "LOCK_SECONDS", 0.1)
    with journal.locked(left):
        unfinished = scratch_sweep.discard(left)
    assert unfinished is not None
    assert unfinished.told == (
        "a commit cannot be rolled back: another process is at it, and does not get done; try again, or see to it "
        f"and remove {left}"
    )
    assert scratch_sweep.discard(left) is None
    assert tree(workspace) == BEFORE


def test_a_living_call_in_the_same_workspace_never_gets_over_what_is_undone(
    workspace: Path, cut_short: Callable[[], Path]
) -> None:
    """It has seen the half that was then undone."""
    left: list[Path] = []

    def act(view: Path) -> None:
        assert (view / "a").read_text() == "new\n"
        (view / "a").write_text("from new\n")
        assert scratch_sweep.discard(left[0]) is None

    left.append(cut_short())
    result = call(doing(act), tool(), workspace)
    assert "- a: it was changed by somebody else while the tool ran" in result.text
    assert tree(workspace) == BEFORE


def test_a_call_that_committed_in_between_is_not_undone_with_the_dead_one(
    workspace: Path, cut_short: Callable[[], Path]
) -> None:
    left = cut_short()
    assert not call(doing(lambda view: (view / "a").write_text("second\n")), tool(), workspace).is_error
    unfinished = scratch_sweep.discard(left)
    assert unfinished is not None
    assert "since: a (the old one is new.0);" in unfinished.told
    assert (workspace / "a").read_text() == "second\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_owners_and_permissions_are_the_old_ones_again(workspace: Path, cut_short: Callable[[], Path]) -> None:
    for path in (workspace, *workspace.rglob("*")):
        os.chown(path, 1234, 4321)
    os.chown(workspace / "b", 77, 78)
    (workspace / "b").chmod(0o640)
    left = cut_short()
    assert (workspace / "c").stat().st_uid == 1234
    assert scratch_sweep.discard(left) is None
    found = {path: (path.stat().st_uid, path.stat().st_gid) for path in workspace.rglob("*")}
    assert {*found.values()} == {(1234, 4321), (77, 78)}
    assert (workspace / "b").stat().st_mode & 0o7777 == 0o640


def test_a_journal_that_a_tool_has_written_is_none(tmp_path: Path) -> None:
    """A removal that was cut short has moved the tool's folder up."""
    victim = tmp_path / "work" / ".toolc-1"
    victim.mkdir(parents=True)
    (victim / "new.0").write_text("theirs")
    forged = tmp_path / "owner" / "1.1"
    forged.mkdir(parents=True)
    inode = victim.parent.stat().st_ino
    (forged / STAGING).write_text(json.dumps({"workspace": f"{tmp_path}/work", "inode": inode, "name": ".toolc-1"}))
    assert scratch_sweep.sweep(tmp_path / "owner").found
    assert not scratch_sweep.sweep(tmp_path / "owner").found
    assert tree(tmp_path / "work") == {".toolc-1": "folder", ".toolc-1/new.0": "theirs"}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"staging": 1, "moves": [{"path": 1}], "modes": []}'])
def test_a_plan_of_another_release_is_kept(workspace: Path, cut_short: Callable[[], Path], content: str) -> None:
    left = cut_short()
    (left / PLAN).write_text(content)
    unfinished = scratch_sweep.discard(left)
    assert unfinished is not None
    assert "another release of toolc has written its journal" in unfinished.told
    assert staging(workspace).is_dir()


def test_the_plan_is_on_disk_before_the_first_step_and_the_steps_before_it_goes(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that after a power cut there is a plan wherever there is a step."""
    events: list[str] = []

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append("sync scratch" if path.parent.parent == scratch._base() else f"sync {path.name[:7]}")

    for module in (commit, recovery):
        really = module.rename

        def rename(*arguments: object, really: Callable[..., None] = really) -> None:
            events.append("rename")
            really(*arguments)

        monkeypatch.setattr(module, "rename", rename)
    monkeypatch.setattr(os, "fsync", fsync)
    call(doing(lambda view: (view / "a").write_text("new\n")), tool(), workspace)
    assert events == [
        "sync draft.j", "sync scratch",  # where it stages
        "sync new.0", "sync .toolc-",  # what it stages
        "sync draft.j", "sync scratch",  # the plan
        "rename",
        "sync .toolc-", "sync scratch",  # the plan is gone
    ]  # fmt: skip


def test_names_that_are_no_text_come_back(workspace: Path, tmp_path: Path) -> None:
    path = b"\xff\n".decode("utf-8", "surrogateescape")
    plan = CommitPlan(1, (journal.RenameStep(path, "old.0"),), (journal.ChmodStep(path, 1, 2, 3),))
    plan.write(tmp_path)
    assert CommitPlan.read(tmp_path) == plan


def test_what_is_told_of_names_does_nothing_on_a_terminal_and_is_short() -> None:
    found = [recovery.Conflict(f"\x1b[2J{number}", f"new.{number}") for number in range(7)]
    assert recovery.told(found[:1]) == "\ufffd[2J0 (the old one is new.0)"
    assert recovery.told(found).endswith("\ufffd[2J4 (the old one is new.4), and 2 more")

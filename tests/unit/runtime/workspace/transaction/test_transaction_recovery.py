import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from project.paths import SUPPORT
from workspaces.edited_workspace import AFTER, BEFORE, edit, workspace
from workspaces.transaction_cases import call, doing, tool, tree

from toolc.model.errors import InfrastructureError
from toolc.runtime.execution import leftovers
from toolc.runtime.workspace import scratch, scratch_sweep
from toolc.runtime.workspace.transaction import commit, journal, recovery
from toolc.runtime.workspace.transaction.journal import PLAN, STAGED, STAGING, CommitPlan
from toolc.sandbox.host import owner

__all__ = ["workspace"]


def killed_commits(folder: Path, way: str) -> list[dict[str, Any]]:
    program = [sys.executable, str(SUPPORT / "workspaces/killed_commits.py"), str(folder), way]
    done = subprocess.run(program, env=os.environ | {"PYTHONPATH": str(SUPPORT)}, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.integrations
@pytest.mark.slow
@pytest.mark.timeout(600)  # a process for each step
def test_a_writer_after_a_kill_at_any_step_loses_nothing(tmp_path: Path) -> None:
    rows = killed_commits(tmp_path, "writer")
    old, new = (
        rows[0]["before"],
        {key: value for key, value in rows[-1]["after"].items() if key not in rows[-1]["kept"]},
    )
    for row in rows:
        after, kept = row["after"], row["kept"]
        assert {name: after.get(name) for name in kept} == kept, row
        others = {name: value for name, value in after.items() if name not in kept}
        assert others in ({name: value for name, value in old.items() if name not in kept}, new), row
        assert row["left"] == [], row
        # If the commit had replaced the file that the writer has changed, the old one is named and kept.
        assert "a\n" in row.get("old", ["a\n"]), row
    assert sum("old" in row for row in rows) > len(rows) // 6


@pytest.mark.integrations
@pytest.mark.slow
@pytest.mark.timeout(600)  # a process for each step
@pytest.mark.parametrize("way", ["commit", "recovery", "steps"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_state(tmp_path: Path, way: str) -> None:
    rows = killed_commits(tmp_path, way)
    old, new = rows[0]["before"], rows[-1]["after"]
    assert new["a"] == ["new\n", "0o100644"]
    for row in rows:
        assert row["after"] in (old, new), row
        assert row["left"] == [], row
    # Many of the states were neither, before the recovery.
    assert sum(row["middle"] not in (old, new) for row in rows) > len(rows) // 6
    assert sum(row["after"] == new for row in rows) < len(rows) // 2


Interrupt = Callable[[], Path]


class Dies(BaseException):
    """A commit that stops in the middle and is not rolled back, as if by SIGKILL."""


@pytest.fixture
def interrupted(workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Interrupt:
    """Return a function that interrupts a commit of ``edit`` before its last step and returns its scratch folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(scratch, "_stale_folders", lambda *_: ())

    def cut() -> Path:
        def die(*_: object) -> None:
            raise Dies

        with monkeypatch.context() as patch:
            patch.setattr(commit, "remove_plan", die)
            patch.setattr(commit, "roll_back", die)
            patch.setattr("toolc.runtime.workspace.transaction.transaction.discard", lambda _: None)
            with pytest.raises(Dies):
                call(doing(edit), tool(), workspace)
        (found,) = scratch._base().glob("*/*")
        return found

    return cut


def discard(scratch_folder: Path) -> recovery.Unfinished:
    unfinished = scratch_sweep.discard(scratch_folder)
    assert unfinished is not None
    return unfinished


def test_a_complete_commit_that_was_not_reported_is_rolled_back(workspace: Path, interrupted: Interrupt) -> None:
    scratch_folder = interrupted()
    assert {**tree(workspace), **AFTER} == tree(workspace)
    assert scratch_sweep.discard(scratch_folder) is None
    assert tree(workspace) == BEFORE
    assert not scratch_folder.exists()


def write_file(path: Path) -> None:
    path.write_text("theirs\n")


def replace_file(path: Path) -> None:
    path.with_name("another").write_text("theirs\n")
    path.with_name("another").rename(path)


@pytest.mark.parametrize("change", [write_file, replace_file])
def test_a_file_changed_since_is_kept_and_the_old_file_is_named(
    workspace: Path, interrupted: Interrupt, change: Callable[[Path], None]
) -> None:
    scratch_folder = interrupted()
    change(workspace / "a")
    unfinished = discard(scratch_folder)
    kept = scratch_folder / STAGED
    (old,) = [path for path in kept.iterdir() if path.is_file() and path.read_text() == "a\n"]
    assert unfinished.message == (
        f"a call was killed while it wrote its changes to {workspace}, and some cannot be undone because another "
        f"process has changed the same files since: a (the old file is {old.name}); restore what you need from {kept}, "
        "then remove that folder"
    )
    assert tree(workspace) == BEFORE | {"a": "theirs\n"}
    # The message is repeated until the user has resolved the conflict.
    assert scratch_sweep.discard(scratch_folder) == unfinished
    assert (workspace / "a").read_text() == "theirs\n"
    shutil.rmtree(kept)
    assert scratch_sweep.discard(scratch_folder) is None
    assert tree(workspace) == BEFORE | {"a": "theirs\n"}
    assert not scratch_folder.exists()


@pytest.mark.parametrize(
    ("change", "conflict", "after"),
    [
        (lambda top: (top / "c").write_text("theirs\n"), "c;", {"c": "theirs\n"}),
        (lambda top: (top / "e" / "new").write_text("theirs\n"), "e;", {"e": "folder", "e/new": "theirs\n"}),
        (lambda top: (top / "b").write_text("theirs\n"), "b (the old file is old.1);", {"b": "theirs\n"}),
        (
            lambda top: (top / "d" / "sub").write_text("theirs\n"),
            "d/sub (the old file is old.3), d/sub/y (the old file is old.4);",
            {"d/sub": "theirs\n"},
        ),
    ],
    ids=["added file changed", "file added to a new folder", "deleted file replaced", "folder replaced"],
)
def test_changes_since_the_commit_are_kept(
    workspace: Path, interrupted: Interrupt, change: Callable[[Path], object], conflict: str, after: dict[str, str]
) -> None:
    scratch_folder = interrupted()
    change(workspace)
    unfinished = discard(scratch_folder)
    assert f"another process has changed the same files since: {conflict}" in unfinished.message
    assert tree(workspace) == {path: text for path, text in BEFORE.items() if not path.startswith(tuple(after))} | after


def test_files_removed_or_moved_since_are_not_a_conflict(workspace: Path, interrupted: Interrupt) -> None:
    scratch_folder = interrupted()
    (workspace / "c").unlink()
    (workspace / "a").rename(workspace / "elsewhere")
    assert scratch_sweep.discard(scratch_folder) is None
    assert tree(workspace) == BEFORE | {"elsewhere": "new\n"}


def test_calls_in_a_workspace_with_conflicts_are_refused(
    workspace: Path, interrupted: Interrupt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scratch_folder = interrupted()
    (workspace / "a").write_text("theirs\n")
    dead = scratch._base() / "dead"
    scratch_folder.parent.rename(dead)
    assert scratch_sweep.sweep(dead).unfinished
    monkeypatch.setattr(scratch, "_stale_folders", lambda *_: (dead,))
    with pytest.raises(InfrastructureError, match="a call was killed while it wrote its changes to"):
        call(doing(edit), tool(), workspace)
    other = tmp_path / "other"
    other.mkdir()
    assert not call(doing(lambda view: (view / "x").touch()), tool(), other).is_error
    shutil.rmtree(dead / scratch_folder.name / STAGED)
    assert not call(doing(lambda view: (view / "x").touch()), tool(), workspace).is_error
    assert not dead.exists()


def test_leftovers_report_conflicts(
    workspace: Path, interrupted: Interrupt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(owner, "_base", lambda: tmp_path / "run")
    monkeypatch.setenv("TOOLC_STORE", str(tmp_path / "store"))
    monkeypatch.setattr("toolc.runtime.execution.leftovers.ENGINES", ())
    scratch_folder = interrupted()
    (workspace / "a").write_text("theirs\n")
    dead = owner.Owner(machine="", boot=owner.Owner.current().boot, pidns=owner.Owner.current().pidns, pid=0, start=0)
    monkeypatch.setattr(owner.Owner, "reason_kept", lambda _: "")
    moved = scratch_folder.parent.rename(scratch._base() / dead.label())
    (found,) = leftovers.survey().leftovers
    assert found.kept == ""
    with pytest.raises(InfrastructureError, match=r"a \(the old file is new.0\); restore what you need from"):
        found.remove()
    shutil.rmtree(moved / scratch_folder.name / STAGED)
    found.remove()
    assert leftovers.survey().leftovers == ()


def test_a_missing_workspace_is_reported_until_it_is_back(workspace: Path, interrupted: Interrupt) -> None:
    scratch_folder = interrupted()
    away = workspace.rename(workspace.with_name("away"))
    workspace.mkdir()
    unfinished = discard(scratch_folder)
    assert unfinished.message == (
        f"a call was killed while it wrote its changes to {workspace}, and they cannot be undone because that folder "
        f"was moved or removed; move it back, or remove {scratch_folder}"
    )
    workspace.rmdir()
    away.rename(workspace)
    assert scratch_sweep.discard(scratch_folder) is None
    assert tree(workspace) == BEFORE


def test_a_replaced_staging_folder_is_not_read(workspace: Path, interrupted: Interrupt) -> None:
    scratch_folder = interrupted()
    kept = scratch_folder / STAGED
    kept.rename(scratch_folder.parent / "aside")
    kept.mkdir()
    (kept / "new.0").symlink_to("/etc/passwd")
    assert scratch_sweep.discard(scratch_folder) is None
    assert (workspace / "a").read_text() == "new\n"


def test_concurrent_recoveries_roll_back_once(workspace: Path, interrupted: Interrupt) -> None:
    scratch_folder = interrupted()
    ready = threading.Barrier(4)

    def one(_: int) -> object:
        ready.wait()
        return scratch_sweep.discard(scratch_folder)

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(one, range(4))] == [None] * 4
    assert tree(workspace) == BEFORE


def test_a_locked_journal_is_not_recovered(
    workspace: Path, interrupted: Interrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch_folder = interrupted()
    monkeypatch.setattr(journal, "LOCK_SECONDS", 0.1)
    with journal.locked_journal(scratch_folder):
        unfinished = discard(scratch_folder)
    assert unfinished.message == (
        "a commit cannot be rolled back: another process still holds the lock; try again, or check the files and "
        f"remove {scratch_folder}"
    )
    assert scratch_sweep.discard(scratch_folder) is None
    assert tree(workspace) == BEFORE


def test_a_rollback_is_a_conflict_for_a_running_call(workspace: Path, interrupted: Interrupt) -> None:
    scratch_folder: list[Path] = []

    def act(view: Path) -> None:
        assert (view / "a").read_text() == "new\n"
        (view / "a").write_text("from new\n")
        assert scratch_sweep.discard(scratch_folder[0]) is None

    scratch_folder.append(interrupted())
    result = call(doing(act), tool(), workspace)
    assert "- a: it was changed by another process while the tool ran" in result.text
    assert tree(workspace) == BEFORE


def test_a_later_commit_is_not_rolled_back(workspace: Path, interrupted: Interrupt) -> None:
    scratch_folder = interrupted()
    assert not call(doing(lambda view: (view / "a").write_text("second\n")), tool(), workspace).is_error
    unfinished = discard(scratch_folder)
    assert "since: a (the old file is new.0);" in unfinished.message
    assert (workspace / "a").read_text() == "second\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_owners_and_permissions_are_restored(workspace: Path, interrupted: Interrupt) -> None:
    for path in (workspace, *workspace.rglob("*")):
        os.chown(path, 1234, 4321)
    os.chown(workspace / "b", 77, 78)
    (workspace / "b").chmod(0o640)
    scratch_folder = interrupted()
    assert (workspace / "c").stat().st_uid == 1234
    assert scratch_sweep.discard(scratch_folder) is None
    found = {path: (path.stat().st_uid, path.stat().st_gid) for path in workspace.rglob("*")}
    assert {*found.values()} == {(1234, 4321), (77, 78)}
    assert (workspace / "b").stat().st_mode & 0o7777 == 0o640


def test_a_journal_written_by_a_tool_is_ignored(tmp_path: Path) -> None:
    """An interrupted removal may have moved a folder of the tool up."""
    victim = tmp_path / "work" / ".toolc-1"
    victim.mkdir(parents=True)
    (victim / "new.0").write_text("theirs")
    forged = tmp_path / "owner" / "1.1"
    forged.mkdir(parents=True)
    inode = victim.parent.stat().st_ino
    journal_of_tool = {"workspace": f"{tmp_path}/work", "inode": inode, "path": str(victim)}
    (forged / STAGING).write_text(json.dumps(journal_of_tool))
    assert scratch_sweep.sweep(tmp_path / "owner").removed
    assert not scratch_sweep.sweep(tmp_path / "owner").removed
    assert tree(tmp_path / "work") == {".toolc-1": "folder", ".toolc-1/new.0": "theirs"}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"staging": 1, "moves": [{"path": 1}], "modes": []}'])
def test_a_plan_of_another_release_is_not_removed(workspace: Path, interrupted: Interrupt, content: str) -> None:
    scratch_folder = interrupted()
    (scratch_folder / PLAN).write_text(content)
    unfinished = discard(scratch_folder)
    assert "another release of toolc has written its journal" in unfinished.message
    assert (scratch_folder / STAGED).is_dir()


def test_the_plan_is_synced_before_the_first_step_and_the_steps_before_its_removal(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut, a plan exists for every step."""
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
        "sync draft.j", "sync scratch",  # the journal
        "sync new.0", "sync staged",  # the staged files
        "sync draft.j", "sync scratch",  # the plan
        "rename",
        "sync staged", "sync scratch",  # the plan is removed
    ]  # fmt: skip


def test_a_path_that_is_not_utf8_is_restored(tmp_path: Path) -> None:
    path = b"\xff\n".decode("utf-8", "surrogateescape")
    plan = CommitPlan(1, (journal.RenameStep(path, "old.0"),), (journal.ChmodStep(path, 1, 2, 3),))
    plan.write(tmp_path)
    assert CommitPlan.read(tmp_path) == plan


def test_messages_about_conflicts_are_short_and_printable() -> None:
    found = [recovery.Conflict(f"\x1b[2J{number}", f"new.{number}") for number in range(7)]
    assert recovery.format_conflicts(found[:1]) == "\ufffd[2J0 (the old file is new.0)"
    assert recovery.format_conflicts(found).endswith("\ufffd[2J4 (the old file is new.4), and 2 more")

import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from project.paths import SUPPORT
from workspaces.edited_workspace import AFTER, BEFORE, edit, scratches, workspace
from workspaces.transaction_cases import call, changes_of, doing, tool, tree

from toolc.model.errors import InfrastructureError
from toolc.runtime.workspace import scratch_sweep
from toolc.runtime.workspace.dir_handle import RENAME_EXCHANGE
from toolc.runtime.workspace.dir_handle import rename as real_rename
from toolc.runtime.workspace.transaction import commit
from toolc.runtime.workspace.transaction.journal import PLAN, STAGED, CommitPlan, StagingArea

__all__ = ["workspace"]


def test_a_file_that_changes_during_the_commit_is_restored(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(from_folder: int, old: bytes, to_folder: int, new: bytes, flags: int) -> None:
        # Another process saves the file, as editors do, between its check and the exchange.
        if flags == RENAME_EXCHANGE and not saved:
            saved.append(new)
            (workspace / "saved").write_text("theirs\n")
            (workspace / "saved").rename(workspace / "a")
        real_rename(from_folder, old, to_folder, new, flags)

    saved: list[bytes] = []
    monkeypatch.setattr(commit, "rename", rename)
    result = call(doing(edit), tool(), workspace)
    assert "- a: it was changed by another process while the tool ran" in result.text
    assert tree(workspace) == BEFORE | {"a": "theirs\n"}


@pytest.mark.parametrize("step", range(9))
def test_an_error_at_any_step_is_rolled_back(workspace: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    steps = iter(range(100))

    def rename(*arguments: object) -> None:
        if next(steps) == step:
            raise OSError(28, "No space left on device")
        real_rename(*arguments)  # type: ignore[arg-type]

    modes = {path: (workspace / path).lstat().st_mode for path in BEFORE}
    monkeypatch.setattr(commit, "rename", rename)
    result = call(doing(edit), tool(), workspace)
    if changes_of(result)["committed"]:
        assert next(steps) <= step
    else:
        assert "the changes cannot be written: No space left on device" in result.text
        assert tree(workspace) == BEFORE
        assert {path: (workspace / path).lstat().st_mode for path in BEFORE} == modes


def test_a_full_disk_while_staging_changes_nothing(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(commit, "copy_content", full)
    assert "the changes cannot be written" in call(doing(edit), tool(), workspace).text
    assert tree(workspace) == BEFORE


def test_a_changed_file_keeps_its_access_control_list(workspace: Path) -> None:
    # acl(5) in the form of the kernel: version, then tag, rights and id of owner, user 77, group, mask and others.
    entries = [(1, 6, -1), (2, 6, 77), (4, 4, -1), (16, 6, -1), (32, 4, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *each) for each in entries)
    try:
        os.setxattr(workspace / "a", "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("this file system has no access control lists")
    call(doing(lambda view: (view / "a").write_text("new\n")), tool(), workspace)
    assert (workspace / "a").read_text() == "new\n"
    assert os.getxattr(workspace / "a", "system.posix_acl_access") == acl


def test_a_replaced_staging_folder_is_not_used(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mkdir(path: str | Path, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        real_mkdir(path, mode, dir_fd=dir_fd)
        if commit.PREFIX in str(path):
            Path(path).rename(workspace.parent / "aside")
            real_mkdir(path)
            (Path(path) / "new.0").symlink_to("/etc/passwd")

    real_mkdir = os.mkdir
    monkeypatch.setattr(commit, "_can_stage", lambda folder, _: folder == workspace.parent)
    monkeypatch.setattr(os, "mkdir", mkdir)
    result = call(doing(lambda view: (view / "a").write_text("new\n")), tool(), workspace)
    assert "was changed by another process while the tool ran" in result.text
    assert (workspace / "a").read_text() == "a\n"


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
from workspaces.transaction_cases import call, doing, tool
from workspaces.edited_workspace import edit
from toolc.runtime.workspace.transaction import commit
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
commit.{function} = die
call(doing(edit), tool(), Path({workspace!r}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("function", ["_stage", "_set_mode", "remove_plan", "remove_staging"])
def test_the_janitor_rolls_back_a_killed_commit(workspace: Path, function: str) -> None:
    """``test_transaction_recovery`` tests all of its steps."""
    program = KILLED.format(path=[str(SUPPORT)], function=function, workspace=str(workspace))
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        assert process.wait(60) == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while _leftovers(workspace, process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _leftovers(workspace, process.pid) == []
    assert tree(workspace) == (AFTER if function == "remove_staging" else BEFORE)


def _leftovers(workspace: Path, pid: int) -> list[str]:
    from toolc.runtime.workspace.scratch import _base

    staged = [path.name for path in workspace.glob(".toolc*")]
    return staged + [owner.name for owner in _base().iterdir() if f".{pid}." in owner.name]


def test_a_sweep_does_not_change_a_folder_that_replaced_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("theirs")
    scratch = tmp_path / "owner" / "1"
    (scratch / STAGED).mkdir(parents=True)
    (scratch / STAGED / "old.0").write_text("old")
    StagingArea(str(tmp_path / "work"), 1, str(scratch / STAGED)).write(scratch)
    CommitPlan((scratch / STAGED).stat().st_ino, (), ()).write(scratch)
    (unfinished,) = scratch_sweep.sweep(tmp_path / "owner").unfinished
    assert "that folder was moved or removed" in unfinished.message
    assert tree(tmp_path / "work") == {"a": "theirs"}
    assert (scratch / STAGED / "old.0").read_text() == "old"


def test_other_files_in_the_staging_folder_are_kept(tmp_path: Path) -> None:
    staged, scratch = tmp_path / ".toolc-1", tmp_path / "owner" / "1"
    staged.mkdir()
    for name in ("new.0", "theirs"):
        (staged / name).touch()
    scratch.mkdir(parents=True)
    StagingArea(str(tmp_path / "work"), 1, str(staged)).write(scratch)
    assert scratch_sweep.discard(scratch) is None
    assert tree(staged) == {"theirs": ""}


def test_a_new_folder_inherits_the_set_group_id_bit(workspace: Path) -> None:
    (workspace / "d").chmod(0o2755)
    assert not call(doing(lambda view: (view / "d/new/deep").mkdir(parents=True)), tool(), workspace).is_error
    modes = {name: (workspace / name).stat().st_mode & 0o7777 for name in ("d", "d/new", "d/new/deep")}
    assert modes == {"d": 0o2755, "d/new": 0o2755, "d/new/deep": 0o2755}


def test_a_failed_rollback_names_the_old_files(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        (workspace / "b").write_text("theirs\n")
        (workspace / "a").write_text("theirs\n")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(commit, "_set_mode", fail)
    with pytest.raises(InfrastructureError) as raised:
        call(doing(edit), tool(), workspace)
    (mine,) = [each for each in scratches() if (each / PLAN).exists()]
    staging = mine / STAGED
    assert str(raised.value) == (
        f"the workspace {workspace} has only a part of the call's changes because another process changed the same "
        f"files: a (the old file is new.0), b (the old file is old.1), in {staging}; restore what you need from that "
        "folder, then remove it"
    )
    assert sorted(path.read_text() for path in staging.iterdir() if path.name in {"new.0", "old.1"}) == ["a\n", "b\n"]
    shutil.rmtree(staging)
    scratch_sweep.discard(mine)

import errno
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from workspaces.edited_workspace import AFTER, edit, workspace
from workspaces.transaction_cases import call, changes_of, doing, tool, tree

from toolc.runtime.workspace.transaction import lock
from toolc.runtime.workspace.transaction.lock import locked_workspace

__all__ = ["workspace"]


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of this user's locks."""
    monkeypatch.setattr(lock, "shared_directory", lambda: tmp_path)
    return tmp_path / "locks"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    opened = os.open(folder, os.O_RDONLY)
    try:
        with locked_workspace(opened):
            yield
    finally:
        os.close(opened)


def name_of(folder: Path) -> str:
    return f"{folder.stat().st_dev:x}-{folder.stat().st_ino:x}"


def test_a_lock_of_the_folder_does_not_delay_a_commit(workspace: Path) -> None:
    """A tool that may only read the workspace can open and lock it."""
    opened = os.open(workspace, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        assert changes_of(call(doing(edit), tool(), workspace))["committed"]
    finally:
        os.close(opened)
    assert tree(workspace) == AFTER


def test_the_lock_is_in_the_runtime_folder(workspace: Path, locks: Path) -> None:
    with locked(workspace):
        (file,) = locks.iterdir()
        assert (file.name, file.stat().st_mode & 0o777) == (name_of(workspace), 0o600)
    assert [*locks.iterdir()] == []


def test_commits_in_the_same_workspace_wait_for_each_other(workspace: Path) -> None:
    before = tree(workspace)
    with ThreadPoolExecutor(1) as pool:
        with locked(workspace):
            another = pool.submit(call, doing(edit), tool(), workspace)
            time.sleep(0.5)
            assert tree(workspace) == before
        assert changes_of(another.result())["committed"]
    assert tree(workspace) == AFTER


def test_many_threads_hold_the_lock_one_after_the_other(workspace: Path) -> None:
    """The file is removed and created again between them."""
    holders: list[int] = []
    most = 0

    def hold(number: int) -> None:
        nonlocal most
        for _ in range(10):
            with locked(workspace):
                holders.append(number)
                most = max(most, len(holders))
                time.sleep(0.0005)
                holders.remove(number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(hold, range(4)))
    assert most == 1


def test_a_lock_that_is_held_too_long_is_an_error(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.1)
    with locked(workspace), pytest.raises(TimeoutError) as raised, locked(workspace):
        pass
    assert raised.value.errno == errno.ETIMEDOUT
    with locked(workspace):
        result = call(doing(edit), tool(), workspace)
    assert result.text.endswith(
        "the workspace is unchanged: another call is still writing its changes to it; call the tool again later"
    )
    with locked(workspace):
        pass


def test_a_killed_holder_does_not_keep_the_lock(workspace: Path, locks: Path) -> None:
    program = (
        "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); os.kill(os.getpid(), 9)"
    )
    locks.mkdir()
    file = locks / name_of(workspace)
    file.touch()
    subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    with locked(workspace):
        assert [*locks.iterdir()] == [file]


def test_a_process_that_was_forked_during_a_commit_does_not_keep_the_lock(
    workspace: Path, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.2)
    file = locks / name_of(workspace)
    end, write = os.pipe()
    with locked(workspace):
        (locks / "kept").hardlink_to(file)
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(end, 1)
            os._exit(0)
    (locks / "kept").rename(file)
    try:
        with locked(workspace):
            pass
    finally:
        os.close(write)
        os.close(end)
        os.waitpid(child, 0)


def test_without_a_runtime_folder_a_commit_needs_no_lock(workspace: Path, locks: Path) -> None:
    locks.touch()
    assert changes_of(call(doing(edit), tool(), workspace))["committed"]

import errno
import fcntl
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from edited_workspace import AFTER, edit, workspace
from transaction_cases import call, changes_of, doing, tool, tree

from toolc.model.result import ToolResult
from toolc.runtime.workspace.transaction import lock
from toolc.runtime.workspace.transaction.lock import locked_workspace

__all__ = ["workspace"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")

STRANGER = 4321


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ``/run/lock`` is in a test."""
    (tmp_path / "run-lock").mkdir()
    (tmp_path / "run-lock").chmod(0o1777)
    folder = tmp_path / "run-lock" / "toolc"
    monkeypatch.setattr(lock, "SHARED", (folder, tmp_path / "tmp-lock"))
    monkeypatch.setattr(lock, "shared_directory", lambda: tmp_path)
    return folder


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


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_lock_of_the_folder_does_not_delay_a_commit(workspace: Path) -> None:
    """A tool that may only read the workspace can open and lock it."""
    opened = os.open(workspace, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        assert changes_of(call(doing(edit), tool(), workspace))["committed"]
    finally:
        os.close(opened)
    assert tree(workspace) == AFTER


def test_the_lock_of_a_private_folder_is_in_the_runtime_folder(workspace: Path, shared: Path, tmp_path: Path) -> None:
    with locked(workspace):
        (file,) = (tmp_path / "locks").iterdir()
        assert (file.name, file.stat().st_mode & 0o777) == (name_of(workspace), 0o600)
    assert (names(tmp_path / "locks"), names(shared)) == ([], [])


@pytest.mark.parametrize(("mode", "file_mode"), [(0o775, 0o640), (0o777, 0o644), (0o1777, 0o644)])
def test_the_lock_of_a_folder_that_others_may_write_is_shared_with_them(
    workspace: Path, shared: Path, mode: int, file_mode: int
) -> None:
    workspace.chmod(mode)
    with locked(workspace):
        (file,) = shared.iterdir()
        assert (file.name, file.stat().st_mode & 0o777) == (name_of(workspace), file_mode)
        assert file.stat().st_gid == workspace.stat().st_gid
    assert names(shared) == []
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


@needs_root
def test_the_lock_of_a_folder_of_another_user_is_shared(workspace: Path, shared: Path) -> None:
    os.chown(workspace, STRANGER, STRANGER)
    with locked(workspace):
        assert names(shared) == [name_of(workspace)]


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_commits_in_the_same_workspace_wait_for_each_other(workspace: Path, mode: int) -> None:
    workspace.chmod(mode)
    before = tree(workspace)
    results: list[ToolResult] = []
    another = threading.Thread(target=lambda: results.append(call(doing(edit), tool(), workspace)))
    with locked(workspace):
        another.start()
        another.join(0.5)
        assert tree(workspace) == before
    another.join()
    assert changes_of(results[0])["committed"]
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

    threads = [threading.Thread(target=hold, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_lock_that_is_held_too_long_is_an_error(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.1)
    with locked(workspace), pytest.raises(TimeoutError) as raised, locked(workspace):
        pass
    assert raised.value.errno == errno.ETIMEDOUT
    with locked(workspace):
        result = call(doing(edit), tool(), workspace)
    assert result.text.endswith(
        "the workspace is unchanged: another call still writes its changes to it; call the tool again later"
    )
    with locked(workspace):
        pass


def test_a_killed_holder_does_not_keep_the_lock(workspace: Path) -> None:
    program = (
        "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); os.kill(os.getpid(), 9)"
    )
    with locked(workspace):
        (file,) = (workspace.parent / "locks").iterdir()
    file.touch()
    subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    with locked(workspace):
        assert names(file.parent) == [file.name]


def test_a_process_that_was_forked_during_a_commit_does_not_keep_the_lock(
    workspace: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.2)
    workspace.chmod(0o777)
    file = shared / name_of(workspace)
    end, write = os.pipe()
    with locked(workspace):
        # The file stays, as that of another user does.
        (shared / "kept").hardlink_to(file)
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(end, 1)
            os._exit(0)
    (shared / "kept").rename(file)
    try:
        with locked(workspace):
            pass
    finally:
        os.close(write)
        os.close(end)
        os.waitpid(child, 0)


def test_without_run_lock_the_other_folder_is_used(workspace: Path, shared: Path, tmp_path: Path) -> None:
    workspace.chmod(0o777)
    shared.parent.rmdir()
    with locked(workspace):
        assert names(tmp_path / "tmp-lock") == [name_of(workspace)]


@pytest.mark.parametrize("obstacle", ["file", "link", "dangling link", "closed folder"])
def test_a_shared_folder_that_is_none_is_not_used(workspace: Path, shared: Path, tmp_path: Path, obstacle: str) -> None:
    workspace.chmod(0o777)
    elsewhere = tmp_path / "elsewhere"
    if obstacle == "file":
        shared.touch()
    elif obstacle == "closed folder":
        shared.mkdir(mode=0o755)
    else:
        shared.symlink_to(elsewhere)
        if obstacle == "link":
            elsewhere.mkdir()
            elsewhere.chmod(0o1777)
    with locked(workspace):
        assert names(tmp_path / "tmp-lock") == [name_of(workspace)]
    assert names(elsewhere) == []


@pytest.mark.parametrize("kind", ["link", "fifo", "hard link"])
def test_a_file_of_another_kind_is_not_used(workspace: Path, shared: Path, tmp_path: Path, kind: str) -> None:
    workspace.chmod(0o777)
    with locked(workspace):
        pass
    victim, file = tmp_path / "victim", shared / name_of(workspace)
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "link":
        file.symlink_to(victim)
    else:
        victim.touch()
        file.hardlink_to(victim)
    with locked(workspace):
        assert names(shared) == [file.name, f"{file.name}.1"]
    assert names(shared) == [file.name]
    assert victim.exists() == (kind == "hard link")


@needs_root
def test_users_who_may_not_write_to_the_workspace_cannot_make_it_wait(workspace: Path, shared: Path) -> None:
    workspace.chmod(0o775)
    with locked(workspace):
        pass
    for name in (name_of(workspace), *(f"{name_of(workspace)}.{number}" for number in range(1, 6))):
        (shared / name).touch()
        os.chown(shared / name, STRANGER, STRANGER)
    held = [os.open(path, os.O_RDONLY) for path in shared.iterdir()]
    for each in held:
        fcntl.flock(each, fcntl.LOCK_EX)
    started = time.monotonic()
    assert changes_of(call(doing(edit), tool(), workspace))["committed"]
    assert time.monotonic() - started < 20
    for each in held:
        os.close(each)


@needs_root
@pytest.mark.parametrize(
    ("owner", "group", "mode", "is_used"),
    [
        (0, 0, 0o775, True), (STRANGER, 0, 0o775, True), (STRANGER, STRANGER, 0o775, False),
        (STRANGER, STRANGER, 0o777, True), (1234, 1234, 0o775, True), (STRANGER, 0, 0o755, False),
    ],
    ids=["of root", "of a member of the group", "of a stranger", "of anyone where anyone may write", "of the owner",
         "of the group where it may not write"],
)  # fmt: skip
def test_a_file_is_used_if_its_owner_may_write_to_the_workspace(
    workspace: Path, shared: Path, owner: int, group: int, mode: int, is_used: bool
) -> None:
    os.chown(workspace, 1234, 0)
    workspace.chmod(mode)
    with locked(workspace):
        pass
    file = shared / name_of(workspace)
    file.touch()
    os.chown(file, owner, group)
    with locked(workspace), closing(file.open()) as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = False
        except BlockingIOError:
            found = True
    assert found is is_used


AS_USER = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from toolc.runtime.workspace.transaction import lock
lock.SHARED = (Path(sys.argv[2]),)
os.setgroups([4000]); os.setgid(1000); os.setuid(1000)
folder = os.open(sys.argv[3], os.O_RDONLY)
with lock.locked_workspace(folder):
    for file in Path(sys.argv[2]).iterdir():
        print(file.name, oct(file.stat().st_mode), file.stat().st_gid, flush=True)
    sys.stdin.read()
"""


@needs_root
@pytest.mark.parametrize(("owner", "expected"), [(1000, "0o100600 1000"), (1234, "")])
def test_a_user_outside_of_the_group_creates_no_lock_for_others(owner: int, expected: str) -> None:
    """The owner of the folder, and a user whom an access control list allows to write to it."""
    with tempfile.TemporaryDirectory() as top:
        shared, folder = Path(top) / "toolc", Path(top) / "work"
        folder.mkdir()
        os.chown(folder, owner, 4001)
        folder.chmod(0o775)
        Path(top).chmod(0o1777)
        found = subprocess.run(
            [sys.executable, "-c", AS_USER, str(Path(lock.__file__).parents[4]), str(shared), str(folder)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert found.stdout == (f"{name_of(folder)} {expected}\n" if expected else "")
        assert names(shared) == []


@needs_root
def test_root_and_a_member_of_the_group_use_the_same_file(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not tmp_path, which an ordinary user may not enter.
    with tempfile.TemporaryDirectory() as top:
        shared, folder = Path(top) / "toolc", Path(top) / "work"
        folder.mkdir()
        os.chown(folder, 1234, 4000)
        folder.chmod(0o2775)
        Path(top).chmod(0o1777)
        monkeypatch.setattr(lock, "SHARED", (shared,))
        source = str(Path(lock.__file__).parents[4])
        with subprocess.Popen(
            [sys.executable, "-c", AS_USER, source, str(shared), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdin
            assert process.stdout
            assert process.stdout.readline() == f"{name_of(folder)} 0o100640 4000\n"
            entered = threading.Event()

            def enter() -> None:
                with locked(folder):
                    entered.set()

            thread = threading.Thread(target=enter)
            thread.start()
            assert not entered.wait(0.3)
            process.stdin.close()
            thread.join(30)
            assert entered.is_set()
        assert stat.S_IMODE(shared.stat().st_mode) == 0o1777

"""The store: artifacts appear complete or not at all, even if processes are killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host import store, store_sweep
from toolc.sandbox.host.owner import Owner


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "store"))
    return tmp_path / "store"


def left(place: Path) -> list[str]:
    """Return the scratch folders."""
    scratch = place / "scratch"
    return [entry.name for entry in scratch.iterdir()] if scratch.is_dir() else []


def test_an_artifact_is_created_once(place: Path) -> None:
    made: list[Path] = []

    def fill(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("content", encoding="utf-8")

    first = store.make("kind", "sha256:key", fill)
    assert first == place / "kind/sha256-key"
    assert store.make("kind", "sha256:key", fill) == first == store.find("kind", "sha256:key")
    assert (first / "file").read_text(encoding="utf-8") == "content"
    assert (len(made), left(place)) == (1, [])
    assert first.stat().st_mode & 0o777 == 0o755, "a tool is another user, and must be able to read it"


def test_a_failure_leaves_nothing_and_can_be_retried(place: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise InfrastructureError("no network")

    for _ in range(2):
        with pytest.raises(InfrastructureError, match="no network"):
            store.make("kind", "key", fail)
    assert (store.find("kind", "key"), left(place)) == (None, [])


@pytest.mark.usefixtures("place")
def test_concurrent_calls_create_one() -> None:
    made: list[int] = []

    def fill(_folder: Path) -> None:
        made.append(1)
        time.sleep(0.1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: store.make("kind", "key", fill), range(4)))
    assert made == [1]


MAKER = """
import subprocess, sys, time
from toolc.sandbox.host import store
def fill(folder):
    child = subprocess.Popen(["sleep", "1000"], cwd=folder, start_new_session=True)
    named = subprocess.Popen(["sleep", "1001"], env={"TMPDIR": str(folder)}, cwd="/", start_new_session=True)
    print(child.pid, named.pid, flush=True)
    while True:
        time.sleep(0.1)  # not one long wait: a signal that arrives just before a wait does not end it
store.make("kind", "key", fill)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_process_leaves_nothing(place: Path, how: signal.Signals) -> None:
    maker = subprocess.Popen([sys.executable, "-c", MAKER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert maker.stdout is not None
    with maker:
        workers = [int(pid) for pid in maker.stdout.readline().split()]
        maker.send_signal(how)
    assert len(workers) == 2
    deadline = time.monotonic() + 60
    while left(place) or any(map(is_alive, workers)):
        assert time.monotonic() < deadline, (left(place), [is_alive(pid) for pid in workers])
        time.sleep(0.02)
    assert store.make("kind", "key", lambda _folder: None).is_dir()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@contextlib.contextmanager
def running_before_children() -> Iterator[None]:
    """Let children run only while this process waits: on the same processor and, if permitted, at lower priority."""
    processors, policy, priority = os.sched_getaffinity(0), os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        yield
    finally:
        os.sched_setscheduler(0, policy, priority)
        os.sched_setaffinity(0, processors)


def test_a_process_that_has_just_started_is_killed(tmp_path: Path) -> None:
    """Its environment is empty for a moment, which lasts while other processes run."""
    with running_before_children():
        for number in range(10):
            folder = tmp_path / str(number)
            folder.mkdir()
            with subprocess.Popen(["sleep", "200"], env={"TMPDIR": str(folder)}, cwd="/") as process:
                store_sweep.remove(folder)
                assert process.wait(100) == -signal.SIGKILL


def test_a_process_that_starts_during_the_sweep_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "200"], cwd=tmp_path)

    def kill(pid: int, number: int) -> None:
        if len(processes) == 1:
            processes.append(start())
        os_kill(pid, number)

    processes, os_kill = [start()], os.kill
    monkeypatch.setattr(os, "kill", kill)
    store_sweep.remove(tmp_path)
    assert [process.wait(100) for process in processes] == [-signal.SIGKILL] * 2


def test_a_folder_elsewhere_is_removed_with_the_scratch_folder_that_records_it(tmp_path: Path) -> None:
    scratch, outside = tmp_path / "scratch", tmp_path / "outside"
    for folder in (scratch, outside / "made"):
        folder.mkdir(parents=True)
    (scratch / store_sweep.OUTSIDE).symlink_to(outside)
    store_sweep.remove(scratch)
    assert not [*tmp_path.iterdir()]


def test_scratch_folders_of_dead_owners_are_removed(place: Path) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "from toolc.sandbox.host.owner import Owner; print(Owner.current().label())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    place.joinpath("scratch").mkdir(parents=True)
    (place / "scratch" / f"{dead.stdout.strip()}-1").mkdir()
    (place / "scratch" / "something else").mkdir()
    own = f"{Owner.current().label()}-999999999"  # the store counts its own from 1
    (place / "scratch" / own).mkdir()
    assert [path.name for path in store.leftovers()] == [f"{dead.stdout.strip()}-1"]
    store.make("kind", "key", lambda _folder: None)
    assert sorted(left(place)) == sorted(["something else", own])


@pytest.mark.usefixtures("place")
def test_notes_are_stored() -> None:
    assert store.read_note("kind", "a/b:1") is None
    store.write_note("kind", "a/b:1", {"x": 1})
    store.write_note("kind", "a/b:1", {"x": 2})
    assert store.read_note("kind", "a/b:1") == {"x": 2}


def test_a_damaged_note_is_ignored(place: Path) -> None:
    (place / "kind").mkdir(parents=True)
    (place / "kind/a.json").write_text("{", encoding="utf-8")
    assert store.read_note("kind", "a") is None


def test_a_store_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "file/store"))
    with pytest.raises(InfrastructureError) as caught:
        store.make("kind", "key", lambda _folder: None)
    assert str(caught.value) == (
        f"cannot write {tmp_path}/file/store: Not a directory; free disk space and make it writable for this user, "
        "or set TOOLC_STORE to another folder"
    )


def test_a_user_without_a_home_directory_must_choose_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME", store.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name in ("getuid", "geteuid"):
        monkeypatch.setattr(os, name, lambda: 54321)
    with pytest.raises(InfrastructureError, match="no home directory; set TOOLC_STORE to a folder of this user"):
        store.directory()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_store_of_another_user_is_refused(place: Path) -> None:
    place.mkdir()
    os.chown(place, 1234, 1234)
    with pytest.raises(InfrastructureError, match="belongs to another user; set TOOLC_STORE to a folder of this user"):
        store.find("kind", "key")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
def test_a_link_of_another_user_is_not_followed(place: Path, tmp_path: Path) -> None:
    """It could lead to any folder of this user, whose mode would be changed."""
    (tmp_path / "mine").mkdir(mode=0o700)
    place.symlink_to("mine")
    os.chown(place, 1234, 1234, follow_symlinks=False)
    with pytest.raises(InfrastructureError, match="belongs to another user"):
        store.find("kind", "key")
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    os.chown(place, 0, 0, follow_symlinks=False)
    assert store.directory() == tmp_path / "mine"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775])
def test_a_store_that_others_can_write_is_refused(place: Path, mode: int) -> None:
    """They could have added images or packages."""
    place.mkdir()
    place.chmod(mode)
    with pytest.raises(
        InfrastructureError, match=f"^other users can write to {place}; check its content and run chmod 711"
    ):
        store.find("kind", "key")


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_a_new_store_is_private_with_any_umask(place: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        assert store.directory().stat().st_mode & 0o777 == 0o711
    finally:
        os.umask(old)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_reported_and_leaves_nothing(place: Path) -> None:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=711", "tmpfs", str(place)], check=True)

    def write(folder: Path) -> None:
        (folder / "file").write_bytes(bytes(200_000))

    try:
        with pytest.raises(InfrastructureError, match=r"No space left on device; free disk space"):
            store.make("kind", "key", write)
        assert (store.find("kind", "key"), left(place)) == (None, [])
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_lock_timeout_names_the_holder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder may be stopped, or hang."""
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.1)
    with (
        store.locked("build", "toolc/a:1"),
        pytest.raises(InfrastructureError) as raised,
        store.locked("build", "toolc/a:1"),
    ):
        pass
    assert str(raised.value) == (
        f"another process ({os.getpid()}) has held the lock of the build toolc/a:1 for 0 seconds; wait until it ends, "
        "or end it, and try again"
    )
    with store.locked("build", "toolc/a:1"):
        pass

"""How much a call adds to its workspace: what counts, and what other programs change in the meantime."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolc.model.plan import Mount
from toolc.runtime.workspace import growth
from toolc.runtime.workspace.growth import FILE_BYTES, WorkspaceGrowth, _Used

MIB = 1024 * 1024


@dataclass
class Disk:
    """A file system whose fill level a test sets."""

    bytes: int = 10 * MIB
    files: int = 100


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(growth, "_used", lambda _: _Used(disk.bytes, disk.files))
    return disk


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "old").write_bytes(b"x" * MIB)
    time.sleep(0.03)
    return tmp_path


def begin(folder: Path, limit: int = MIB) -> WorkspaceGrowth:
    status = folder.stat()
    mount = Mount(source=str(folder), mode="rw", owner=status.st_uid, group=status.st_gid)
    begun = WorkspaceGrowth.begin(mount, limit)
    assert begun is not None
    begun.next_check = begun.next_scan = 0.0
    return begun


def write(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(b"x" * size)
        file.flush()
        os.fsync(file.fileno())


def test_created_files_count_even_if_another_program_frees_space(disk: Disk, workspace: Path) -> None:
    with begin(workspace) as call:
        write(workspace / "new", 2 * MIB)
        disk.bytes -= 5 * MIB
        assert 2 * MIB <= call.bytes() < 3 * MIB
        assert call.is_exceeded()


def test_what_other_programs_write_elsewhere_does_not_count(disk: Disk, workspace: Path) -> None:
    with begin(workspace) as call:
        disk.bytes += 100 * MIB
        assert not call.is_exceeded()
        assert call.bytes() < MIB


def test_a_file_that_existed_counts_by_the_growth_of_the_disk(disk: Disk, workspace: Path) -> None:
    with begin(workspace) as call:
        write(workspace / "old", 3 * MIB)
        assert call.bytes() < MIB
        disk.bytes += 2 * MIB
        assert call.bytes() == 2 * MIB
        assert call.is_exceeded()


def test_a_sparse_file_counts_by_its_blocks(workspace: Path) -> None:
    with begin(workspace) as call:
        with (workspace / "sparse").open("wb") as file:
            file.truncate(1 << 33)
        assert not call.is_exceeded()


def test_a_file_with_several_names_counts_once(disk: Disk, workspace: Path) -> None:
    with begin(workspace) as call:
        write(workspace / "a" / "b", 2 * MIB)
        for number in range(5):
            (workspace / f"{number}").hardlink_to(workspace / "a" / "b")
        disk.bytes += 100 * MIB
        assert 2 * MIB <= call.bytes() < 3 * MIB


def test_empty_files_count(disk: Disk, workspace: Path) -> None:
    with begin(workspace) as call:
        for number in range(100):
            (workspace / f"{number}").touch()
        assert 100 * FILE_BYTES <= call.bytes() <= 102 * FILE_BYTES
        disk.files += 1000
        assert call._file_system() == 1000 * FILE_BYTES


def test_a_deleted_file_counts_while_a_process_of_the_sandbox_has_it_open(
    disk: Disk, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin(workspace) as call:
        call.pid_namespace = 7
        monkeypatch.setattr(growth, "open_deleted_bytes", {7: 3 * MIB}.__getitem__)
        disk.bytes += 3 * MIB
        assert call.is_exceeded()
        assert call.bytes() >= 3 * MIB


HIDES = """
import ctypes, mmap, os, sys, threading
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.truncate(descriptor, 1 << 20)
os.unlink(sys.argv[1])
if sys.argv[2] == "only mapped":
    mapping = mmap.mmap(descriptor, 1 << 20)
    mapping[:] = b"x" * (1 << 20)
    mapping.madvise(mmap.MADV_DONTNEED)
    os.close(descriptor)
    ctypes.CDLL(None).close(descriptor + 1)  # mmap keeps a copy
else:
    os.write(descriptor, b"x" * (1 << 20))
    os.fsync(descriptor)

def report():
    print(flush=True)
    sys.stdin.read()

if sys.argv[2] == "first thread exited":
    threading.Thread(target=report).start()
    ctypes.CDLL(None).pthread_exit(None)
report()
"""


@pytest.mark.parametrize("how", ["open", "only mapped", "first thread exited"])
def test_deleted_files_that_a_process_still_uses_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """For a process whose folder ``workspace`` is on this file system."""
    with subprocess.Popen(
        [sys.executable, "-c", HIDES, str(tmp_path / "gone"), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        (tmp_path / "task" / "root" / "workspace").mkdir(parents=True)
        for name in ("fd", "maps"):
            # The last thread is the one that still runs.
            thread = max(Path(f"/proc/{process.pid}/task").iterdir())
            (tmp_path / "task" / name).symlink_to(thread / name)
        opened, mapped = growth._open_deleted(tmp_path / "task"), growth._mapped_deleted(tmp_path / "task")
        process.stdin.close()
    assert sum(opened.values()) + sum(mapped.values()) >= MIB
    assert growth.open_deleted_bytes(0) == 0


def test_a_workspace_that_cannot_be_inspected_in_time_counts_by_the_disk(
    disk: Disk, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "added", lambda *_: None)
    with begin(workspace) as call:
        disk.bytes += MIB
        assert call.is_exceeded()


def test_links_are_not_followed(disk: Disk, workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    with begin(workspace) as call:
        write(outside / "large", 3 * MIB)
        (workspace / "link").symlink_to(outside)
        disk.bytes += 3 * MIB
        assert not call.is_exceeded()


def test_a_call_that_cannot_write_is_not_measured(workspace: Path) -> None:
    assert WorkspaceGrowth.begin(Mount(source=str(workspace), mode="ro", owner=0, group=0), 0) is None
    assert WorkspaceGrowth.begin(None, 0) is None


def test_a_file_system_of_at_most_the_limit_bounds_a_workspace(tmp_path: Path) -> None:
    size = os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize
    assert growth.is_bounded(str(tmp_path), size)
    assert not growth.is_bounded(str(tmp_path), size - 1)
    assert not growth.is_bounded(str(tmp_path / "missing"), size)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_file_system_mounted_in_a_workspace_is_not_bounded_by_that_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "with space").mkdir()
    size = os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize
    program = (
        "import sys; from toolc.runtime.workspace.growth import is_bounded\n"
        "print(is_bounded(sys.argv[1], int(sys.argv[2])), is_bounded(sys.argv[3], int(sys.argv[2])))"
    )
    found = subprocess.run(
        [
            "unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs "$1" && shift && exec "$@"',
            "sh", tmp_path / "with space", sys.executable, "-c", program, tmp_path, str(size), tmp_path / "with space",
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout == "False True\n"

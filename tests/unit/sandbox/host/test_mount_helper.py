"""The mount helper: it mounts a folder at ``/workspace`` in the mount namespace of another process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount
from toolc.sandbox.host import mounts
from toolc.sandbox.host.mount_helper import MountHelper

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter a mount namespace")

SANDBOX = """\
mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir workspace old && {place} && pivot_root . old && echo ready && read line
"""
PLACE = "mount -t tmpfs -o ro tmpfs workspace"


class Sandbox:
    """A process in a mount namespace of its own."""

    def __init__(self, folder: Path, place: str = PLACE) -> None:
        argv = ["unshare", "--mount", "sh", "-c", SANDBOX.format(place=place), "sh", str(folder)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"
        self.pidfd = os.pidfd_open(self.process.pid)
        self.root = Path(f"/proc/{self.process.pid}/root")

    def mounts(self) -> list[list[str]]:
        """Return the fields of mountinfo of what is mounted at /workspace."""
        lines = Path(f"/proc/{self.process.pid}/mountinfo").read_text(encoding="utf-8").splitlines()
        return [line.split() for line in lines if line.split()[4] == "/workspace"]

    def close(self) -> None:
        os.close(self.pidfd)
        self.process.communicate(b"\n")


@pytest.fixture
def helper() -> Iterator[MountHelper]:
    made = MountHelper()
    yield made
    made.close()


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    (tmp_path / "root").mkdir()
    made = Sandbox(tmp_path / "root")
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    (made / "file").write_text("text", encoding="utf-8")
    return made


def workspace(folder: Path, mode: str = "rw") -> Mount:
    status = folder.stat()
    return Mount(
        source=str(folder), mode="ro" if mode == "ro" else "rw", owner=0, group=0, device=status.st_dev,
        inode=status.st_ino,
    )  # fmt: skip


def mounted(helper: MountHelper, sandbox: Sandbox, mount: Mount, flags: int = 0) -> None:
    helper.prepare(sandbox.pidfd)
    helper.mount(sandbox.pidfd, mount, flags, None, recursive=True)


def test_a_folder_replaces_what_is_mounted_in_the_sandbox_only(
    helper: MountHelper, sandbox: Sandbox, folder: Path
) -> None:
    helper.prepare(sandbox.pidfd)
    assert sandbox.mounts() == []
    mounted(helper, sandbox, workspace(folder))
    assert (sandbox.root / "workspace/file").read_text(encoding="utf-8") == "text"
    assert len(sandbox.mounts()) == 1
    assert str(folder) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


@pytest.mark.parametrize(("mode", "expected"), [("rw", {"rw"}), ("ro", {"ro"})])
def test_it_has_the_mode_and_flags(
    helper: MountHelper, sandbox: Sandbox, folder: Path, mode: str, expected: set[str]
) -> None:
    mounted(helper, sandbox, workspace(folder, mode), mounts.MOUNT_ATTR_NOSUID | mounts.MOUNT_ATTR_NODEV)
    (found,) = sandbox.mounts()
    assert {*found[5].split(",")} >= expected | {"nosuid", "nodev"}


@pytest.fixture
def shared(folder: Path) -> Iterator[Path]:
    """A folder whose mounts appear in every copy of its mount, as is usual for the root of a host."""
    (folder / "below").mkdir()
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "--make-shared", folder], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "--recursive", folder], check=True)


def test_what_is_mounted_on_the_host_later_does_not_appear_in_the_sandbox(
    helper: MountHelper, sandbox: Sandbox, shared: Path
) -> None:
    mounted(helper, sandbox, workspace(shared))
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", shared / "below"], check=True)
    (shared / "below/later").touch()
    assert (sandbox.root / "workspace/below").is_dir()
    assert not (sandbox.root / "workspace/below/later").exists()


def test_a_folder_that_was_replaced_is_not_mounted(folder: Path) -> None:
    mount = workspace(folder)
    folder.rename(folder.with_name("other"))
    folder.mkdir()
    with pytest.raises(OSError, match="replaced"):
        mounts.open_workspace(mount, 0, recursive=True)


def test_a_link_is_not_followed(helper: MountHelper, tmp_path: Path, folder: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "target").mkdir()
    sandbox = Sandbox(tmp_path / "root", "mkdir target && rmdir workspace && ln -s target workspace")
    try:
        with pytest.raises(InfrastructureError, match="openat2"):
            helper.prepare(sandbox.pidfd)
        with pytest.raises(InfrastructureError, match="openat2"):
            mounted(helper, sandbox, workspace(folder))
        assert not (sandbox.root / "target/file").exists()
    finally:
        sandbox.close()


def test_nothing_is_mounted_in_the_namespace_of_the_host(helper: MountHelper, folder: Path) -> None:
    own = os.pidfd_open(os.getpid())
    try:
        with pytest.raises(InfrastructureError, match="not in a sandbox"):
            helper.prepare(own)
    finally:
        os.close(own)
    assert helper.has_failed


def test_a_sandbox_that_has_ended_says_nothing_about_others(helper: MountHelper, sandbox: Sandbox) -> None:
    sandbox.process.kill()
    sandbox.process.wait()
    with pytest.raises(InfrastructureError):
        helper.prepare(sandbox.pidfd)
    assert not helper.has_failed


def test_a_helper_that_was_killed_is_replaced(helper: MountHelper, sandbox: Sandbox, folder: Path) -> None:
    helper.prepare(sandbox.pidfd)
    os.kill(helper._pid, signal.SIGKILL)
    os.waitid(os.P_PID, helper._pid, os.WEXITED | os.WNOWAIT)
    mounted(helper, sandbox, workspace(folder))
    assert (sandbox.root / "workspace/file").exists()


def test_it_ends_with_close(helper: MountHelper, sandbox: Sandbox) -> None:
    helper.prepare(sandbox.pidfd)
    pid = helper._pid
    assert Path(f"/proc/{pid}/cmdline").read_bytes().count(b"mount_helper_process.py") == 1
    helper.close()
    assert not Path(f"/proc/{pid}").exists()


PARENT = """\
import os, sys
from toolc.model.errors import InfrastructureError
from toolc.sandbox.host.mount_helper import MountHelper
helper = MountHelper()
try:
    helper.prepare(os.pidfd_open(os.getpid()))
except InfrastructureError:
    pass
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print(helper._pid, flush=True)
os._exit(0)
"""


def test_it_ends_with_its_parent_although_a_forked_child_lives() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        helper = Path(f"/proc/{pid}")
        deadline = time.monotonic() + 60
        while helper.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        assert not helper.exists()

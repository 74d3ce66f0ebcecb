"""Owners of sandboxes, and when an owner is known to be dead."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host.owner import Owner, dead_directories


def owner_of(pid: int) -> Owner:
    start = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    return dataclasses.replace(Owner.current(), pid=pid, start=start)


def dead_owner() -> Owner:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        return owner_of(process.pid)


@pytest.fixture(autouse=True)
def _temporary_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolc.sandbox.host.owner._base", lambda: tmp_path)


def test_this_process_is_alive() -> None:
    owner = Owner.current()
    assert owner == Owner.current()
    assert owner.pid == os.getpid()
    assert not owner.is_stale()
    assert Owner.parse(owner.label()) == owner


@given(
    machine=st.text(alphabet="0123456789abcdef", max_size=16),
    boot=st.text(alphabet="0123456789abcdef", min_size=1, max_size=16),
    numbers=st.tuples(*[st.integers(min_value=0, max_value=2**62)] * 3),
)
def test_labels_are_parsed(machine: str, boot: str, numbers: tuple[int, int, int]) -> None:
    pidns, pid, start = numbers
    owner = Owner(machine=machine, boot=boot, pidns=pidns, pid=pid, start=start)
    assert Owner.parse(owner.label()) == owner


@given(st.text())
def test_parse_accepts_only_labels(text: str) -> None:
    owner = Owner.parse(text)
    assert owner is None or owner.label() == text


@pytest.mark.parametrize("text", ["", "a.b.c.d.e", "a.b.1.2", "a.b.1.2.3.4", "a.b.1.2.-3", "a.b.01.2.3", "a.b.1.2.³"])
def test_invalid_labels_are_rejected(text: str) -> None:
    assert Owner.parse(text) is None


def test_a_process_that_exited_is_stale() -> None:
    assert dead_owner().is_stale()


def test_a_zombie_is_stale() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = owner_of(process.pid)
        assert not owner.is_stale()
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert owner.is_stale()


def test_a_reused_pid_is_stale() -> None:
    owner = Owner.current()
    assert dataclasses.replace(owner, start=owner.start - 1).is_stale()


def test_another_boot_of_this_machine_is_stale() -> None:
    owner = dataclasses.replace(Owner.current(), machine="m", boot="before")
    here = Owner.current()
    assert not owner.is_stale()
    assert dataclasses.replace(owner, machine=here.machine).is_stale() is bool(here.machine)


@pytest.mark.parametrize(
    "foreign", [{"pidns": 1}, {"machine": "other", "boot": "other"}, {"machine": "", "boot": "other"}]
)
def test_owners_on_other_machines_are_not_stale(foreign: dict[str, str]) -> None:
    assert not dataclasses.replace(dead_owner(), **foreign).is_stale()  # type: ignore[arg-type]


def test_a_forked_child_is_another_owner() -> None:
    parent = Owner.current().label()
    program = (
        "import os; from toolc.sandbox.host.owner import Owner; os.fork() or os._exit(0); print(Owner.current().pid)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() not in parent


def test_the_directory_is_private_and_created_once() -> None:
    directory = Owner.current().directory()
    assert directory.name == Owner.current().label()
    assert directory.stat().st_mode & 0o7777 == 0o700
    (directory / "kept").touch()
    assert (Owner.current().directory() / "kept").exists()


def test_a_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / Owner.current().label()).mkdir()
    (tmp_path / Owner.current().label()).chmod(0o777)
    with pytest.raises(InfrastructureError, match="must be a folder that only this user can write"):
        Owner.current().directory()


def test_a_link_instead_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / Owner.current().label()).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InfrastructureError, match="must be a folder"):
        Owner.current().directory()


def test_only_dead_owners_directories_are_listed(tmp_path: Path) -> None:
    dead = dead_owner()
    for name in (dead.label(), Owner.current().label(), "something-else"):
        (tmp_path / name).mkdir()
    assert list(dead_directories()) == [(dead, tmp_path / dead.label())]

"""Leftovers of dead owners are found and removed, and only those."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from engines.docker_cases import client, containers, engine
from engines.oci_cases import needs_oci
from test_docker_sweep import created, dead_owner

from toolc.model.json_schema import JsonValue
from toolc.model.result import Outcome
from toolc.runtime.execution import leftovers
from toolc.runtime.workspace import scratch
from toolc.sandbox.docker import sweep
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.container import remove_container
from toolc.sandbox.docker.daemon import OWNER_LABEL
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host import cgroups, janitor, owner, store
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.interface import Leftover
from toolc.sandbox.oci import sweep as oci_sweep
from toolc.sandbox.oci.engine import OciEngine
from toolc.testing.fake_engine import FakeEngine

__all__ = ["client", "dead_owner", "engine"]

FOREIGN = Owner(machine="f" * 16, boot="0" * 16, pidns=1, pid=1, start=1).label()


def of(label: str, found: tuple[Leftover, ...]) -> list[Leftover]:
    return [left for left in found if left.owner == label]


@pytest.fixture
def owners(dead_owner: str) -> tuple[str, str, str]:
    """Return the labels of a dead process, of this process, and of another machine's."""
    return dead_owner, Owner.current().label(), FOREIGN


ELSEWHERE = "it belongs to another machine, or to one without /etc/machine-id"
REASONS = ["", f"its process {os.getpid()} is alive", ELSEWHERE]


def test_containers_and_volumes_are_found_and_removed(
    client: Client, engine: DockerEngine, owners: tuple[str, str, str]
) -> None:
    made = [created(client, engine, label) for label in owners]
    create_volume(client, owners[0])
    try:
        found = engine.leftovers()
        dead, volume = of(owners[0], found)
        assert (dead.kind, dead.name, dead.kept) == ("container", made[0][:12], "")
        assert (volume.kind, volume.kept) == ("volume", "")
        for label, container, reason in zip(owners, made, REASONS, strict=True):
            assert [left.kept for left in of(label, found) if left.name == container[:12]] == [reason]
        for left in (dead, volume, dead, volume):
            left.remove()
        assert of(owners[0], engine.leftovers()) == []
        assert set(made) & set(map(str, containers(client))) == {*made[1:]}
    finally:
        for container in made:
            remove_container(client, container)


def test_a_container_that_is_slow_to_stop_is_removed_before_its_volume(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        ApiError("tried to kill container, but did not receive an exit event", 500),
        ApiError("removal is already in progress", 409),
        ApiError("no such container", 404),
    ]

    def call(_: Client, method: str, path: str, *, timeout: float) -> JsonValue:
        if method == "DELETE":
            raise answers.pop(0)
        return {"Volumes": []} if path.startswith("/volumes") else [{"Id": "c" * 64, "Labels": {OWNER_LABEL: FOREIGN}}]

    monkeypatch.setattr(Client, "call", call)
    (container,) = sweep.leftovers(Client("/nowhere"))
    container.remove()
    assert answers == []


def create_volume(client: Client, owner: str) -> str:
    name = f"toolc-test-lost-{os.urandom(4).hex()}"
    client.call("POST", "/volumes/create", {"Name": name, "Labels": {OWNER_LABEL: owner}}, timeout=60)
    return name


def test_the_janitor_removes_volumes_without_a_container(client: Client, dead_owner: str) -> None:
    name = create_volume(client, dead_owner)
    sweep.sweep_owner(client.socket_path, client.version_prefix, dead_owner)
    assert not sweep.sweep_owner(client.socket_path, client.version_prefix, dead_owner)
    with pytest.raises(ApiError, match="no such volume"):
        client.call("GET", f"/volumes/{name}", timeout=60)


def test_a_starting_janitor_removes_empty_folders_of_dead_owners(dead_owner: str) -> None:
    folder, full = (owner._base() / f"{dead_owner}{number}" for number in ("", "0"))
    folder.mkdir()
    (full / "oci-1").mkdir(parents=True)
    try:
        janitor._remove_empty_directories()
        assert not folder.exists()
        assert full.exists()
    finally:
        shutil.rmtree(full, ignore_errors=True)


@needs_oci
def test_control_groups_and_their_processes_are_found_and_removed(owners: tuple[str, str, str]) -> None:
    parent = cgroups.own_groups()["memory"].parent
    groups = [parent / f"toolc-{label}-1" for label in owners]
    for group in groups:
        group.mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            (groups[0] / "cgroup.procs").write_text(str(process.pid))
            found = OciEngine().leftovers()
            for label, reason in zip(owners, REASONS, strict=True):
                assert [left.kept for left in of(label, found)] == [reason]
            of(owners[0], found)[0].remove()
            assert process.wait(60) < 0
            assert [group.exists() for group in groups] == [False, True, True]
        finally:
            process.kill()
            for group in groups:
                oci_sweep.sweep_until_gone(group.name, 5)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Replace the user's folders with temporary ones."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TOOLC_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(owner, "_base", lambda: tmp_path / "run")
    monkeypatch.setattr("toolc.runtime.execution.leftovers.ENGINES", ())
    return tmp_path


def test_folders_are_found_and_removed(places: Path, owners: tuple[str, str, str]) -> None:
    for label in owners:
        stored = store.directory() / "scratch" / f"{label}-1"
        for folder in (places / "run" / label, scratch._base() / label / "1", stored):
            (folder / "deep").mkdir(parents=True)
    (places / "run" / "not an owner's").mkdir()
    found = leftovers.survey()
    assert found.unchecked == ()
    for label, reason in zip(owners, REASONS, strict=True):
        assert [(left.kind, left.kept) for left in of(label, found.leftovers)] == [("folder", reason)] * 3
    for left in of(owners[0], found.leftovers):
        left.remove()
    remaining = leftovers.survey().leftovers
    assert {left.owner for left in remaining} == {*owners[1:]}
    assert len(remaining) == 6
    assert (places / "run" / "not an owner's").exists()


def test_an_unreadable_folder_hides_nothing_else(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (places / "store").mkdir(mode=0o711)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    (places / "run" / FOREIGN).mkdir(parents=True)
    found = leftovers.survey()
    assert len(found.leftovers) == 1
    assert len(found.unchecked) == 1
    assert "/proc/none" in found.unchecked[0]


def test_the_fake_engine_leaves_nothing() -> None:
    assert FakeEngine(lambda _: Outcome(ending="exited")).leftovers() == ()


def test_gc_keeps_the_callers_own_sandbox(client: Client, engine: DockerEngine) -> None:
    left = created(client, engine, Owner.current().label())
    try:
        done = subprocess.run(
            [sys.executable, "-m", "toolc", "gc"], capture_output=True, text=True, check=False, timeout=60
        )
        assert f"kept  container  {left[:12]}  (its process {os.getpid()} is alive)" in done.stdout
    finally:
        remove_container(client, left)

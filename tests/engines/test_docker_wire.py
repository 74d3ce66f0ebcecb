"""A socket of toolc's own in a container: who has one, who does without, and that nothing stays of it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from docker_cases import client, engine, output
from silent_daemon import SilentDaemon
from test_docker_body import DAEMON

from toolc.engines import docker_container, docker_wire
from toolc.engines.docker import DockerEngine
from toolc.engines.docker_daemon import Daemon
from toolc.engines.docker_http import Client
from toolc.engines.docker_sandbox import DockerSandbox
from toolc.engines.docker_stream import AttachedStream
from toolc.engines.docker_wire import WireSocket
from toolc.engines.owner import Owner
from toolc.errors import InfrastructureError
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.guest.frames import LENGTH
from toolc.guest.told import NETWORK_ARGUMENT
from toolc.plan import Profile

__all__ = ["client", "engine"]

CONNECTING = (*BOOTSTRAP_ARGUMENTS, NETWORK_ARGUMENT)
KERNEL = os.uname().release
WHERE = b"""
import os, stat
print("a socket" if stat.S_ISSOCK(os.fstat(0).st_mode) else "the daemon's", sorted(os.listdir("/wire"))
      if os.path.exists("/wire") else "nothing")
"""


def said(sandbox: DockerSandbox, program: bytes) -> str:
    """What comes of a program that is sent in the place of the guest's."""
    sandbox.write(LENGTH.pack(len(program)) + program)
    return output(sandbox)


def sockets() -> list[Path]:
    return list(Owner.current().directory().glob("wire-*"))


@pytest.fixture
def behind(client: Client, tmp_path: Path) -> Iterator[tuple[SilentDaemon, DockerEngine]]:
    """The machine's daemon, which understands some words otherwise, and an engine that talks to it."""
    with (
        SilentDaemon(tmp_path / "daemon.sock", client.socket_path) as daemon,
        closing(DockerEngine(daemon.path)) as engine,
    ):
        yield daemon, engine


def test_a_guest_that_may_connect_speaks_on_a_socket_of_its_own_and_nobody_finds_it(engine: DockerEngine) -> None:
    with closing(engine.start(Profile(), CONNECTING)) as sandbox:
        assert sockets() == []
        assert said(sandbox, WHERE) == "a socket []\n"


def test_every_other_guest_speaks_on_the_daemons_stream(engine: DockerEngine) -> None:
    with closing(engine.start(Profile(), BOOTSTRAP_ARGUMENTS)) as sandbox:
        assert said(sandbox, WHERE) == "the daemon's nothing\n"


def test_each_of_many_that_start_at_once_has_its_own(engine: DockerEngine) -> None:
    def tell(number: int) -> str:
        with closing(engine.start(Profile(), CONNECTING)) as sandbox:
            return said(sandbox, b"print(%d)" % number)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(tell, range(12))] == [f"{number}\n" for number in range(12)]
    assert sockets() == []


def test_what_it_said_of_its_death_is_heard(engine: DockerEngine) -> None:
    sandbox = engine.start(Profile(), CONNECTING)
    assert said(sandbox, b"raise SystemExit('that is ' + 'why ' * 2000)") == ""
    sandbox.close()
    assert sandbox.complaint() == ("that is " + "why " * 2000)[:4096]


@pytest.mark.parametrize("exists", [False, True], ids=["no such folder there", "another folder there"])
def test_a_daemon_that_has_other_files_does_without(
    behind: tuple[SilentDaemon, DockerEngine], exists: bool
) -> None:
    daemon, engine = behind
    shown = []

    def elsewhere(request: bytes) -> bytes:
        found = re.search(rb'([^/"]+)/wire-\d+"', request)
        if found is None:
            return request
        reworded = request[: found.start()] + b"x" * len(found[1]) + request[found.end(1) :]
        shown.append(Path(os.fsdecode(reworded[: found.end() - 1].rpartition(b'"')[2])))
        if exists:
            shown[-1].mkdir(parents=True)
        return reworded

    daemon.reword = elsewhere
    try:
        for _ in range(2):
            with closing(engine.start(Profile(), CONNECTING)) as sandbox:
                assert said(sandbox, WHERE) == ("the daemon's []\n" if exists else "the daemon's nothing\n")
    finally:
        if exists:
            shutil.rmtree(shown[0].parent)
    # What it has once refused it is not asked again.
    assert len(shown) == (2 if exists else 1)
    assert sockets() == []


def test_without_room_for_a_socket_a_guest_does_without(
    engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Owner.current().directory() / "wire-1000000"
    taken.mkdir()
    monkeypatch.setattr(docker_wire, "_NUMBERS", iter([1000000]))
    with closing(engine.start(Profile(), CONNECTING)) as sandbox:
        assert said(sandbox, WHERE) == "the daemon's nothing\n"
    taken.rmdir()


def test_a_start_that_fails_leaves_nothing(
    behind: tuple[SilentDaemon, DockerEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon, engine = behind
    monkeypatch.setattr(docker_container, "START_SECONDS", 0.3)
    daemon.swallow = r"POST \S*/start"
    with pytest.raises(InfrastructureError, match="did not answer in time"):
        engine.start(Profile(), CONNECTING)
    assert sockets() == []


def test_what_a_dead_owner_had_just_made_is_removed(engine: DockerEngine) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    dead = replace(Owner.current(), pid=process.pid).directory()
    (dead / "wire-1").mkdir()
    (dead / "wire-1" / "wire").touch()
    (dead / "other").mkdir()
    alive = Owner.current().directory() / "wire-x"
    alive.mkdir()
    docker_wire.remove_left()
    assert [each.name for each in dead.iterdir()] == ["other"]
    assert alive.exists()
    alive.rmdir()
    (dead / "other").rmdir()
    dead.rmdir()


@pytest.mark.parametrize(
    ("profile", "arguments", "daemon"),
    [
        pytest.param(Profile(), BOOTSTRAP_ARGUMENTS, DAEMON, id="nothing to connect to"),
        pytest.param(Profile(min_isolation="gvisor"), CONNECTING, DAEMON, id="a kernel of its own"),
        pytest.param(Profile(), CONNECTING, replace(DAEMON, kernel="5.10.0"), id="another machine's daemon"),
        pytest.param(Profile(), CONNECTING, replace(DAEMON, kernel=KERNEL, podman=True), id="Podman"),
        pytest.param(Profile(), CONNECTING, replace(DAEMON, kernel=KERNEL, remaps_users=True), id="userns-remap"),
        pytest.param(Profile(), CONNECTING, replace(DAEMON, kernel=KERNEL, has_selinux=True), id="SELinux"),
    ],
)
def test_who_does_without(profile: Profile, arguments: tuple[str, ...], daemon: Daemon) -> None:
    assert not docker_wire.is_of_use(profile, arguments, daemon)
    assert docker_wire.is_of_use(Profile(), CONNECTING, replace(DAEMON, kernel=KERNEL))


class Attached:
    """A socket and a stream to wait at, with nobody there yet."""

    def __init__(self) -> None:
        self.wire = WireSocket()
        ours, self.theirs = socket.socketpair()
        self.stream = AttachedStream(ours)

    def close(self) -> None:
        self.wire.close()
        self.stream.close()
        self.theirs.close()

    def connect(self) -> socket.socket:
        with ExitStack() as undo:
            connection = undo.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(self.wire.folder / "wire"))
            undo.pop_all()
        return connection


def test_the_first_to_come_is_the_only_one() -> None:
    with closing(Attached()) as attached:
        guest = attached.connect()
        # What a runtime warns of is no answer.
        attached.theirs.sendall(b"\2\0\0\0\0\0\0\4warn")
        accepted = attached.wire.accept(attached.stream)
        assert accepted is not None
        guest.sendall(b"ready")
        assert accepted.recv(10) == b"ready"
        attached.wire.close()
        assert not attached.wire.folder.exists()
        with pytest.raises(FileNotFoundError):
            attached.connect()
        guest.close()
        accepted.close()


def test_warnings_come_before_the_guest() -> None:
    with closing(Attached()) as attached:
        attached.theirs.sendall(b"\2\0\0\0\0\0\0\4warn")
        guests: list[socket.socket] = []
        timer = threading.Timer(0.2, lambda: guests.append(attached.connect()))
        timer.start()
        accepted = attached.wire.accept(attached.stream)
        timer.join()
        assert accepted is not None
        assert attached.stream.complaint() == "warn"
        for each in (accepted, *guests):
            each.close()


@pytest.mark.parametrize("last", [b"\1\0\0\0\0\0\0\1-", b"", None], ids=["cannot", "dead", "silent"])
def test_a_guest_that_does_not_come(last: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Attached()) as attached:
        if last:
            attached.theirs.sendall(last)
        elif last is None:
            monkeypatch.setattr(docker_wire, "CONNECT_SECONDS", 0.1)
        else:
            attached.theirs.close()
        assert attached.wire.accept(attached.stream) is None


def test_its_folder_may_have_any_length(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(Owner, "directory", lambda _: deep)
    with closing(WireSocket()) as wire:
        assert (wire.folder / "wire").is_socket()

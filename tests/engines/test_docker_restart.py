"""A daemon that stops, hangs or loses its image in mid-call: the cause is told, and the next call works."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from docker.api.client import APIClient
from docker_cases import run
from own_daemon import OwnDaemon, missing, own_daemon
from transaction_cases import call, tool

from toolc.engines import docker_container, docker_events
from toolc.engines.docker import DockerEngine
from toolc.engines.docker_sandbox import KILLED_BY_DAEMON
from toolc.engines.images import base_tag
from toolc.errors import InfrastructureError
from toolc.plan import Profile

ENDED = f"the sandbox ended before its call did; it said:\n{KILLED_BY_DAEMON}"

pytestmark = pytest.mark.skipif(missing() != "", reason=missing())


@pytest.fixture(scope="module")
def daemon() -> Iterator[OwnDaemon]:
    with own_daemon() as daemon:
        yield daemon


@pytest.fixture
def engine(daemon: OwnDaemon) -> Iterator[DockerEngine]:
    engine = DockerEngine(daemon.socket)
    yield engine
    engine.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    os.chown(tmp_path, 1234, 1234)
    return tmp_path


def failure_of_a_call_while(engine: DockerEngine, workspace: Path, happens: Callable[[], None]) -> str:
    """What a call raises in whose middle something ``happens``."""
    raised: list[BaseException] = []
    (workspace / "go").touch()

    def one() -> None:
        try:
            call(engine, tool("sleep 60"), workspace)
        except BaseException as error:  # noqa: BLE001  whatever it is, the test looks at it
            raised.append(error)

    caller = threading.Thread(target=one)
    caller.start()
    deadline = time.monotonic() + 20
    while not running(engine) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    happens()
    caller.join(40)
    assert not caller.is_alive()
    (error,) = raised
    assert isinstance(error, InfrastructureError)
    return str(error)


def running(engine: DockerEngine) -> list[str]:
    listed = engine._connect().client.call("GET", "/containers/json", timeout=20)
    return [str(each["Id"]) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def works(engine: DockerEngine) -> bool:
    return run(engine, Profile(), "print('fine')") == "fine\n"


def nothing_left(engine: DockerEngine) -> bool:
    deadline = time.monotonic() + 20
    while left := engine.leftovers():
        assert time.monotonic() < deadline, left
        assert works(engine)
    return True


def test_a_daemon_that_is_stopped_and_started_again(
    daemon: OwnDaemon, engine: DockerEngine, workspace: Path
) -> None:
    assert failure_of_a_call_while(engine, workspace, daemon.stop) == ENDED
    try:
        with pytest.raises(InfrastructureError, match=r"no Docker daemon|cannot connect"):
            engine.start(Profile(), ["-c", "pass"])
        with pytest.raises(InfrastructureError, match=r"there is no Docker daemon at|no Docker daemon listens at"):
            engine.start(Profile(), ["-c", "pass"])
    finally:
        daemon.start()
    assert works(engine)
    assert nothing_left(engine)


def test_a_daemon_that_hangs(
    daemon: OwnDaemon, engine: DockerEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert works(engine)
    with monkeypatch.context() as patch:
        patch.setattr(docker_container, "REMOVE_SECONDS", 0.5)
        patch.setattr(docker_container, "CREATE_SECONDS", 0.5)
        patch.setattr(docker_events, "OPEN_SECONDS", 0.5)
        daemon.hold()
        try:
            with pytest.raises(InfrastructureError, match="the daemon did not answer in time"):
                engine.start(Profile(), ["-c", "pass"])
        finally:
            daemon.release()
    assert works(engine)
    assert nothing_left(engine)


def test_a_guest_that_is_killed_from_outside(engine: DockerEngine, workspace: Path) -> None:
    def kill() -> None:
        for container in running(engine):
            engine._connect().client.call("POST", f"/containers/{container}/kill", timeout=20)

    assert failure_of_a_call_while(engine, workspace, kill) == ENDED
    assert works(engine)
    assert nothing_left(engine)


def test_an_image_that_vanished(daemon: OwnDaemon, engine: DockerEngine) -> None:
    assert works(engine)
    api = APIClient(f"unix://{daemon.socket}", version="auto")
    try:
        api.tag(base_tag(), "toolc-test/aside", "1")
        saved = b"".join(api.get_image("toolc-test/aside:1"))
        api.remove_image("toolc-test/aside:1", force=True)
        api.remove_image(base_tag(), force=True)
        with pytest.raises(InfrastructureError, match="is not built; build it with: toolc image build base"):
            engine.start(Profile(), ["-c", "pass"])
        list(api.load_image(saved))  # type: ignore[no-untyped-call]
        repository, _, version = base_tag().partition(":")
        api.tag("toolc-test/aside:1", repository, version)
    finally:
        api.close()
    assert works(engine)

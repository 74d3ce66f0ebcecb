"""A daemon that stops, hangs or loses its image during a call: the error has the cause, and the next call works."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from docker.api.client import APIClient
from docker_cases import run
from own_daemon import OwnDaemon, missing, own_daemon
from transaction_cases import call, tool

from toolc.model.errors import InfrastructureError
from toolc.model.events import Event, ToolUpdate
from toolc.model.plan import Profile
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.docker import container as docker_container
from toolc.sandbox.docker import engine as docker_engine
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.docker.image_builder import base_tag
from toolc.sandbox.docker.sandbox import KILLED_BY_DAEMON
from toolc.sandbox.host import kernel
from toolc.sandbox.host.kernel import KILLED_FROM_OUTSIDE

ENDED = f"the sandbox ended before its call did; its error output:\n{KILLED_BY_DAEMON}"
NOT_REMOVED = r"the Docker daemon did not remove the sandbox \w{12}"
REMEDY = r"remove it with: docker rm -f \w{12}"

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


def failure_of_a_call_while(
    engine: DockerEngine, workspace: Path, happens: Callable[[], None], cancellation: Cancellation | None = None
) -> str:
    """Return what a call raises if something ``happens`` during it."""
    error = result_of_a_call_while(engine, workspace, happens, cancellation)
    assert isinstance(error, InfrastructureError)
    return str(error)


def result_of_a_call_while(
    engine: DockerEngine, workspace: Path, happens: Callable[[], None], cancellation: Cancellation | None = None
) -> ToolResult | BaseException:
    """Return the outcome of a call if something ``happens`` during it."""
    found: list[ToolResult | BaseException] = []
    begun = threading.Event()
    spec = tool("echo begun; exec sleep 1000")
    limits = replace(spec.sandbox.limits, timeout_ms=1_000_000)
    spec = replace(spec, sandbox=replace(spec.sandbox, limits=limits))

    def hear(event: Event) -> None:
        if isinstance(event, ToolUpdate):
            begun.set()

    def one() -> None:
        try:
            found.append(call(engine, spec, workspace, on_event=hear, cancellation=cancellation))
        except BaseException as error:  # noqa: BLE001  whatever it is, the test looks at it
            found.append(error)

    caller = threading.Thread(target=one)
    caller.start()
    assert begun.wait(60)
    happens()
    caller.join(100)
    assert not caller.is_alive()
    (become,) = found
    return become


def running(engine: DockerEngine) -> list[str]:
    listed = engine._connect().client.call("GET", "/containers/json", timeout=60)
    return [str(each["Id"]) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def works(engine: DockerEngine) -> bool:
    return run(engine, Profile(), "print('fine')") == "fine\n"


def nothing_left(engine: DockerEngine) -> bool:
    deadline = time.monotonic() + 60
    while left := engine.leftovers():
        assert time.monotonic() < deadline, left
        assert works(engine)
    return True


def test_a_daemon_restart(daemon: OwnDaemon, engine: DockerEngine, workspace: Path) -> None:
    try:
        told = failure_of_a_call_while(engine, workspace, daemon.stop)
        # A busy daemon may be gone before it has removed what it killed.
        assert told == ENDED or re.fullmatch(rf"{NOT_REMOVED}: cannot connect to .*; {REMEDY}", told), told
        with pytest.raises(InfrastructureError, match=r"no Docker daemon|cannot connect"):
            engine.start(Profile(), ["-c", "pass"])
        with pytest.raises(InfrastructureError, match=r"there is no Docker daemon at|no Docker daemon is listening at"):
            engine.start(Profile(), ["-c", "pass"])
    finally:
        daemon.start()
    assert works(engine)
    assert nothing_left(engine)


@pytest.mark.slow
def test_a_daemon_that_hangs(
    daemon: OwnDaemon, engine: DockerEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert works(engine)
    with monkeypatch.context() as patch:
        patch.setattr(docker_container, "REMOVE_SECONDS", 0.5)
        patch.setattr(docker_container, "CREATE_SECONDS", 0.5)
        patch.setattr(docker_container, "OPEN_SECONDS", 0.5)
        daemon.hold()
        try:
            with pytest.raises(InfrastructureError, match="the daemon did not answer in time"):
                engine.start(Profile(), ["-c", "pass"])
        finally:
            daemon.release()
    assert works(engine)
    assert nothing_left(engine)


@pytest.mark.parametrize("moment", ["create", "attach", "start"])
def test_a_daemon_that_hangs_after_a_request(
    daemon: OwnDaemon, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    assert works(engine)
    really = getattr(docker_engine, f"{moment}_container")

    def held(*arguments: object) -> object:
        daemon.hold()
        return really(*arguments)

    with monkeypatch.context() as patch:
        for name in ("CREATE", "ATTACH", "START", "REMOVE"):
            patch.setattr(docker_container, f"{name}_SECONDS", 0.3)
        patch.setattr(docker_engine, f"{moment}_container", held)
        try:
            with pytest.raises(InfrastructureError, match="the daemon did not answer in time"):
                engine.start(Profile(), ["-c", "pass"])
        finally:
            daemon.release()
    assert works(engine)
    assert nothing_left(engine)


def test_a_daemon_that_hangs_during_a_call(
    daemon: OwnDaemon, engine: DockerEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call can be cancelled, and the error names what was not removed."""

    def hold() -> None:
        daemon.hold()
        cancellation.cancel()

    with monkeypatch.context() as patch, Cancellation() as cancellation:
        patch.setattr(docker_container, "REMOVE_SECONDS", 0.3)
        try:
            told = failure_of_a_call_while(engine, workspace, hold, cancellation)
        finally:
            daemon.release()
    assert re.fullmatch(f"{NOT_REMOVED}: the daemon did not answer in time; {REMEDY}", told)
    assert works(engine)
    assert nothing_left(engine)


@pytest.mark.slow
def test_a_daemon_that_hangs_during_removal(
    daemon: OwnDaemon, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = engine.start(Profile(), ["-c", "import time; time.sleep(600)"])
    with monkeypatch.context() as patch:
        patch.setattr(docker_container, "REMOVE_SECONDS", 0.3)
        daemon.hold()
        try:
            with pytest.raises(InfrastructureError, match="did not answer in time; remove it with: docker rm -f"):
                sandbox.close()
        finally:
            daemon.release()
    sandbox.close()
    assert works(engine)
    assert nothing_left(engine)


def test_process_1_is_killed_from_outside(
    engine: DockerEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (docker_engine, kernel):
        # As on a machine where nobody else runs out of memory.
        monkeypatch.setattr(module, "kernel_kills", lambda: 7)

    def kill() -> None:
        for container in running(engine):
            about = engine._connect().client.call("GET", f"/containers/{container}/json", timeout=60)
            assert isinstance(about, dict)
            assert isinstance(about["State"], dict)
            os.kill(int(str(about["State"]["Pid"])), signal.SIGKILL)

    told = failure_of_a_call_while(engine, workspace, kill)
    assert told == f"the sandbox ended before its call did; its error output:\n{KILLED_FROM_OUTSIDE}"
    assert works(engine)
    assert nothing_left(engine)


def test_a_guest_that_is_killed_by_the_daemon(engine: DockerEngine, workspace: Path) -> None:
    def kill() -> None:
        for container in running(engine):
            engine._connect().client.call("POST", f"/containers/{container}/kill", timeout=60)

    assert failure_of_a_call_while(engine, workspace, kill) == ENDED
    assert works(engine)
    assert nothing_left(engine)


def test_a_removed_image(daemon: OwnDaemon, engine: DockerEngine) -> None:
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

"""A daemon that stops, hangs or loses its image during a call: the error has the cause, and the next call works."""

import io
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from calls.fake_tools import registry
from docker.api.client import APIClient
from engines.docker_cases import run
from engines.own_daemon import OwnDaemon, missing, own_daemon
from engines.waiting_sandboxes import until
from workspaces.transaction_cases import call, tool

from toolc.client.executor import Executor
from toolc.model.errors import InfrastructureError
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import SandboxSpec
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.docker import container as docker_container
from toolc.sandbox.docker import engine as docker_engine
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.docker_sandbox import KILLED_BY_DAEMON
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host import kernel
from toolc.sandbox.host.kernel import KILLED_FROM_OUTSIDE
from toolc.sandbox.images.stored import base_tag

ENDED = f"the sandbox ended before its call did; its error output:\n{KILLED_BY_DAEMON}"
NOT_REMOVED = r"the Docker daemon did not remove the sandbox \w{12}"
GONE = r"the daemon at \S+ cannot be reached \(.*\): it was stopped or killed"
RESTART = "start the daemon again, then "
REMEDY = r"remove it with: docker rm -f \w{12}"

pytestmark = pytest.mark.skipif(missing() != "", reason=missing())


@pytest.fixture(scope="module")
def daemon() -> Iterator[OwnDaemon]:
    with own_daemon(megabytes=600) as daemon:
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
    engine: DockerEngine,
    workspace: Path,
    happens: Callable[[], None],
    cancellation: Cancellation | None = None,
    seconds: int = 1000,
) -> str:
    """Return what a call of so many ``seconds`` raises if something ``happens`` during it."""
    begun = threading.Event()
    spec = tool(f"echo begun; echo changed > file; exec sleep {seconds}")
    limits = replace(spec.sandbox.limits, timeout_ms=1_000_000)
    spec = replace(spec, sandbox=replace(spec.sandbox, limits=limits))

    def on_event(event: Event) -> None:
        if isinstance(event, ToolUpdate):
            begun.set()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, engine, spec, workspace, on_event=on_event, cancellation=cancellation)
        assert begun.wait(60)
        happens()
        error = future.exception(100)
    assert isinstance(error, InfrastructureError)
    return str(error)


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


def end_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a daemon that stops wait a second for process 1, which ignores SIGTERM, instead of ten."""
    really = docker_container.create_container

    def create(client: Client, name: str, body: JsonObject) -> str:
        return really(client, name, {**body, "StopTimeout": 1})

    monkeypatch.setattr(docker_engine, "create_container", create)


def test_calls_survive_a_daemon_restart(
    daemon: OwnDaemon, engine: DockerEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_quickly(monkeypatch)
    try:
        message = failure_of_a_call_while(engine, workspace, daemon.stop)
        # A busy daemon may be gone before it has removed what it killed.
        assert message == ENDED or re.fullmatch(rf"{NOT_REMOVED}: {GONE}; {RESTART}{REMEDY}", message), message
        with pytest.raises(InfrastructureError, match=rf"no Docker daemon|{GONE}"):
            engine.start(Profile(), ["-c", "pass"])
        with pytest.raises(InfrastructureError, match=r"there is no Docker daemon at|no Docker daemon is listening at"):
            engine.start(Profile(), ["-c", "pass"])
    finally:
        daemon.start()
    assert works(engine)
    assert nothing_left(engine)


def test_a_warm_sandbox_does_not_survive_a_daemon_restart(
    daemon: OwnDaemon, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_quickly(monkeypatch)
    spec = replace(tool("echo hello"), sandbox=SandboxSpec())
    with Executor(registry(spec), engine=engine) as executor:
        pool = executor._options.pool
        assert pool is not None
        for _ in range(2):
            assert executor.run(spec.name, {}).text == "hello\n"
            until(lambda: pool.counts() == (1, 0))
            daemon.stop()
            daemon.start()
        assert executor.run(spec.name, {}).text == "hello\n"
    assert nothing_left(engine)


@pytest.mark.slow
def test_a_call_whose_daemon_is_killed_says_that_it_is_gone(
    daemon: OwnDaemon, engine: DockerEngine, workspace: Path
) -> None:
    try:
        # The call continues without the daemon, but its changes are not committed before its removal.
        message = failure_of_a_call_while(engine, workspace, daemon.kill, seconds=20)
        assert [*workspace.iterdir()] == []
        assert re.fullmatch(rf"{NOT_REMOVED}: {GONE}; {RESTART}{REMEDY}", message), message
        for _ in range(2):
            with pytest.raises(InfrastructureError, match=rf"{GONE}|no Docker daemon is listening at"):
                engine.start(Profile(), ["-c", "pass"])
    finally:
        daemon.start()
    assert works(engine)
    assert nothing_left(engine)


@contextmanager
def short_timeouts(
    daemon: OwnDaemon, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch, *names: str
) -> Iterator[None]:
    """Shorten these timeouts in the block; release the daemon after it, and check that it works."""
    assert works(engine)
    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(docker_container, f"{name}_SECONDS", 0.3)
        try:
            yield
        finally:
            daemon.release()
    assert works(engine)
    assert nothing_left(engine)


@pytest.mark.slow
def test_a_hanging_daemon_is_reported(daemon: OwnDaemon, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with short_timeouts(daemon, engine, monkeypatch, "CREATE", "REMOVE", "OPEN"):
        daemon.hold()
        with pytest.raises(InfrastructureError, match="the daemon did not answer in time"):
            engine.start(Profile(), ["-c", "pass"])


@pytest.mark.parametrize("moment", ["create", "attach", "start"])
def test_a_daemon_that_hangs_after_a_request_is_reported(
    daemon: OwnDaemon, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    really = getattr(docker_engine, f"{moment}_container")

    def held(*arguments: object) -> object:
        daemon.hold()
        return really(*arguments)

    names = ("CREATE", "ATTACH", "START", "REMOVE")
    with short_timeouts(daemon, engine, monkeypatch, *names), monkeypatch.context() as patch:
        patch.setattr(docker_engine, f"{moment}_container", held)
        with pytest.raises(InfrastructureError, match="the daemon did not answer in time"):
            engine.start(Profile(), ["-c", "pass"])


def test_a_daemon_that_hangs_during_a_call_is_reported(
    daemon: OwnDaemon, engine: DockerEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call can be cancelled, and the error names what was not removed."""

    def hold() -> None:
        daemon.hold()
        cancellation.cancel()

    with short_timeouts(daemon, engine, monkeypatch, "REMOVE"), Cancellation() as cancellation:
        message = failure_of_a_call_while(engine, workspace, hold, cancellation)
    assert re.fullmatch(f"{NOT_REMOVED}: the daemon did not answer in time; {REMEDY}", message)


@pytest.mark.slow
def test_a_daemon_that_hangs_during_removal_is_reported(
    daemon: OwnDaemon, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = engine.start(Profile(), ["-c", "import time; time.sleep(600)"])
    with short_timeouts(daemon, engine, monkeypatch, "REMOVE"):
        daemon.hold()
        with pytest.raises(InfrastructureError, match="did not answer in time; remove it with: docker rm -f"):
            sandbox.close()
        daemon.release()
        sandbox.close()


def test_a_sandbox_that_was_not_removed_is_removed_by_the_next_start(engine: DockerEngine) -> None:
    sandbox = engine.start(Profile(), ["-c", "import time; time.sleep(600)"])
    sandbox.client = Client("/nowhere/docker.sock")
    with pytest.raises(InfrastructureError, match=NOT_REMOVED):
        sandbox.close()
    assert sandbox.container in running(engine)
    assert works(engine)
    assert sandbox.container not in running(engine)


def test_process_1_is_killed_from_outside(
    engine: DockerEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (docker_engine, kernel):
        # As on a machine where no other process runs out of memory.
        monkeypatch.setattr(module, "kernel_kills", lambda: 7)

    def kill() -> None:
        for container in running(engine):
            about = engine._connect().client.call("GET", f"/containers/{container}/json", timeout=60)
            assert isinstance(about, dict)
            assert isinstance(about["State"], dict)
            os.kill(int(str(about["State"]["Pid"])), signal.SIGKILL)

    message = failure_of_a_call_while(engine, workspace, kill)
    assert message == f"the sandbox ended before its call did; its error output:\n{KILLED_FROM_OUTSIDE}"
    assert works(engine)
    assert nothing_left(engine)


def test_a_guest_that_is_killed_by_the_daemon(engine: DockerEngine, workspace: Path) -> None:
    def kill() -> None:
        for container in running(engine):
            engine._connect().client.call("POST", f"/containers/{container}/kill", timeout=60)

    assert failure_of_a_call_while(engine, workspace, kill) == ENDED
    assert works(engine)
    assert nothing_left(engine)


def test_a_removed_image_is_reported(daemon: OwnDaemon, engine: DockerEngine) -> None:
    name = "toolc-test/removed:1"
    profile = Profile(image=name)
    recipe = f"FROM {base_tag()}\nLABEL removed=soon\n".encode()
    with closing(APIClient(f"unix://{daemon.socket}", version="auto")) as api:
        list(api.build(fileobj=io.BytesIO(recipe), tag=name, rm=True))
        assert run(engine, profile, "print('fine')") == "fine\n"
        api.remove_image(name, force=True)
        with pytest.raises(InfrastructureError, match="is not on this host; get it with: docker pull toolc-test/rem"):
            engine.start(profile, ["-c", "pass"])
        list(api.build(fileobj=io.BytesIO(recipe), tag=name, rm=True))
    assert run(engine, profile, "print('fine')") == "fine\n"


def test_a_removed_base_image_is_loaded_again(daemon: OwnDaemon, engine: DockerEngine) -> None:
    assert works(engine)
    with closing(APIClient(f"unix://{daemon.socket}", version="auto")) as api:
        api.remove_image(base_tag(), force=True)
    assert works(engine)

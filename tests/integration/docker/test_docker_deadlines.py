"""A daemon that never responds: the request times out, the error has the cause, and the next call works."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from engines.docker_cases import client, containers, engine, python, run
from engines.waiting_sandboxes import until
from silent_daemon import SilentDaemon
from test_docker_sweep import with_label

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.docker import container, sweep
from toolc.sandbox.docker import daemon as docker_daemon
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host.owner import Owner

__all__ = ["client", "engine"]

SHORT = 0.3
DOCKER = Path(container.__file__).parent
REQUESTS = {"call", "upgrade", "follow"}


@pytest.fixture
def silent(client: Client, tmp_path: Path) -> Iterator[SilentDaemon]:
    """The machine's daemon behind a proxy that can drop responses."""
    with SilentDaemon(tmp_path / "silent.sock", client.socket_path) as daemon:
        yield daemon


@pytest.fixture
def behind(silent: SilentDaemon) -> Iterator[DockerEngine]:
    engine = DockerEngine(silent.path)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("request_line", "module", "deadline"),
    [
        pytest.param(r"GET /version", docker_daemon, "QUERY_SECONDS", id="version"),
        pytest.param(r"GET \S*/info", docker_daemon, "QUERY_SECONDS", id="info"),
        pytest.param(r"GET \S*/images/", container, "INSPECT_SECONDS", id="image"),
        pytest.param(r"GET \S*/events", container, "OPEN_SECONDS", id="events"),
        pytest.param(r"POST \S*/containers/create", container, "CREATE_SECONDS", id="create"),
        pytest.param(r"POST \S*/attach", container, "ATTACH_SECONDS", id="attach"),
        pytest.param(r"POST \S*/start", container, "START_SECONDS", id="start"),
    ],
)
def test_a_start_without_a_response(
    client: Client, silent: SilentDaemon, behind: DockerEngine, monkeypatch: pytest.MonkeyPatch, request_line: str,
    module: ModuleType, deadline: str,
) -> None:  # fmt: skip
    for each in (docker_daemon, container):
        for name in vars(each):
            if name.endswith("_SECONDS") and not name.startswith("_"):
                # Other timeouts must not end the wait.
                monkeypatch.setattr(each, name, 1000.0)
    monkeypatch.setattr(module, deadline, SHORT)
    silent.swallow = request_line
    while not silent.swallowed:  # an earlier request may be late too, on a machine that stalls
        with pytest.raises(InfrastructureError, match="did not answer in time"):
            behind.start(Profile(), python("pass"))
    monkeypatch.undo()
    silent.swallow = None
    assert run(behind, Profile(), "print('fine')") == "fine\n"
    until(lambda: with_label(client, Owner.current().label()) == [])


def test_a_sweep_without_a_response_does_not_stop_a_start(
    silent: SilentDaemon, behind: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "SECONDS", SHORT)
    silent.swallow = r"GET \S*/containers/json"
    assert run(behind, Profile(), "print('fine')") == "fine\n"
    assert silent.swallowed


def test_a_removal_without_a_response_names_the_remedy(
    client: Client, silent: SilentDaemon, behind: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = behind.start(Profile(), python("import signal, time; time.sleep(600)"))
    silent.swallow = r"DELETE "
    with monkeypatch.context() as patch:
        patch.setattr(container, "REMOVE_SECONDS", SHORT)
        with pytest.raises(InfrastructureError, match=r"did not answer in time; remove it with: docker rm -f \w{12}"):
            sandbox.close()
        # Unless the daemon has reported the removal before, this fails too.
        with suppress(InfrastructureError):
            behind.close()
    assert not sandbox.events.is_alive
    silent.swallow = None
    sandbox.close()
    # The daemon had received the request.
    until(lambda: sandbox.container not in containers(client))


def test_an_unresponsive_daemon_makes_the_engine_unsupported(
    silent: SilentDaemon, behind: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert behind.unsupported_reason(Profile()) is None
    monkeypatch.setattr(container, "OPEN_SECONDS", SHORT)
    monkeypatch.setattr(docker_daemon, "QUERY_SECONDS", SHORT)
    monkeypatch.setattr(container, "REMOVE_SECONDS", SHORT)
    silent.swallow = "."
    with pytest.raises(InfrastructureError):
        behind.start(Profile(), python("pass"))
    reason = behind.unsupported_reason(Profile())
    assert reason is not None
    assert "did not answer in time" in reason


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))


def test_every_request_has_a_timeout() -> None:
    found = [each for path in DOCKER.glob("*.py") if path.name != "api_client.py" for each in calls(path)]
    requests = [each for each in found if isinstance(each.func, ast.Attribute) and each.func.attr in REQUESTS]
    assert len(requests) > 10
    for each in requests:
        given = {word.arg: ast.unparse(word.value) for word in each.keywords}
        assert given.get("timeout", "").endswith("SECONDS") or given.get("timeout") == "left", ast.unparse(each)


def test_every_subprocess_has_a_timeout() -> None:
    found = [each for path in DOCKER.parent.rglob("*.py") for each in calls(path)]
    runs = [each for each in found if ast.unparse(each.func) == "subprocess.run"]
    assert runs
    for each in runs:
        assert "timeout" in {word.arg for word in each.keywords}, ast.unparse(each)

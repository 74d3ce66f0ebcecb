"""Options, fixtures and hooks of all tests."""

import collections
import functools
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from engines.shared_base import known_base, share_base
from hypothesis import HealthCheck, settings
from reviews.repositories import Repository

from toolc.model.errors import NoEngineError
from toolc.model.names import AUTO
from toolc.model.plan import Profile
from toolc.runtime.pool.keeper import KEEPER
from toolc.runtime.wire import readiness
from toolc.sandbox.host import mount_helper
from toolc.sandbox.interface import Engine
from toolc.sandbox.selection import select

# Shared machines stall, so a slow example is not a failure. Every run has the same examples, so that a change fails
# only because of itself. `make soak` tries others, with the profile "random".
settings.register_profile("random", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("toolc", settings.get_profile("random"), derandomize=True)
settings.load_profile("toolc")

INTEGRATIONS: Final = (
    "docker+gvisor", "oci user", ", warm", ", fork", "tests/soak/", "tests/integration/slow/", "[a fork bomb",
    "[a gigabyte on both streams",
)  # fmt: skip
"""Parts of the IDs of tests that get the marker ``integrations``: second configurations of an engine, folders, and two
calls that take 40 seconds."""

LATER: Final = frozenset({
    "test_answers_after_edits.py", "test_docker_deadlines.py", "test_docker_restart.py",
    "test_embeddings_template.py", "test_late_writers.py", "test_plugin_examples.py", "test_postgres_template.py",
    "test_schemas_on_wire.py", "test_sdk_acceptance.py", "test_spec_schema.py", "test_tools_of_frameworks.py",
})  # fmt: skip
"""Files whose tests get this marker too, because they take long."""

DOCKER_LATER: Final = frozenset({
    "test_builtin_specs.py", "test_concurrent_runs.py", "test_conformance_hostile.py", "test_conformance_limits.py",
    "test_egress_clients.py", "test_egress_programs.py", "test_explain_network.py", "test_forged_guest.py",
    "test_http_specs.py", "test_import.py", "test_interrupted.py", "test_live_output.py", "test_schedule.py",
    "test_secrets.py", "test_shell_command.py", "test_store_specs.py", "test_test.py", "test_too_many_open_files.py",
    "test_workspace_views.py",
})  # fmt: skip
"""Files whose tests with Docker get this marker: they take long there, and with oci they run the same code."""

LONG: Final = frozenset({"conformance", "docs", "integration", "soak"})
"""Folders whose tests mostly wait for sandboxes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden files instead of comparing")
    parser.addoption("--benchmarks", action="store_true", help="run the benchmarks of tests/bench too")
    parser.addoption("--calls", type=int, default=200, help="the calls of each subject of a benchmark")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a temporary cache and configuration instead of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_store() -> Iterator[None]:
    """Use a temporary store of unpacked images instead of the user's, which other users can enter.

    It has the base image of the user's store.
    """
    known_base()
    with tempfile.TemporaryDirectory(prefix="toolc-test-store-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLC_STORE", folder)
        Path(folder).chmod(0o711)
        share_base(Path(folder))
        yield


@pytest.fixture(scope="session", autouse=True)
def _time_to_answer() -> Iterator[None]:
    """Give a waiting sandbox and the mount helper a minute: where a machine stalls, calls would not use them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readiness, "CONFIRM_SECONDS", 60.0)
        patch.setattr(mount_helper, "SECONDS", 60.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _default_signals() -> None:
    """Reset signals that a shell or nohup ignores: the programs that tests start would ignore them too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(scope="module", autouse=True)
def _no_waiting_sandboxes() -> Iterator[None]:
    """Check that the module closed its executors: tests of other modules would find their sandboxes."""
    yield
    waiting = KEEPER.report()["waiting"]
    KEEPER.close()
    assert not waiting, f"{waiting} sandboxes wait for calls: close each Executor, for example with a with statement"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """An empty Git repository, which is the current folder."""
    made = Repository.make(tmp_path / "repository")
    monkeypatch.chdir(made.top)
    return made


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written instead of compared."""
    return bool(request.config.getoption("--golden"))


@pytest.fixture
def calls(request: pytest.FixtureRequest) -> int:
    """The calls of each subject of a benchmark."""
    return int(request.config.getoption("--calls"))


@functools.cache
def _no_engine() -> str:
    """Return why no engine works here; empty if one does."""
    try:
        select(AUTO, Profile())
    except NoEngineError as error:
        return str(error)
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("needs_engine") and (reason := _no_engine()):
        pytest.skip(reason)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of ``make test-integrations``, and run files with sandboxes first.

    These take minutes, and the others fill the remaining time. Within each part, the files with most tests come first,
    which is the order of ``--dist loadfile`` itself. With ``--golden``, only the tests that write golden files run.
    """
    if config.getoption("--golden"):
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]
    for item in items:
        if any(each in item.nodeid for each in INTEGRATIONS) or _is_later(item):
            item.add_marker("integrations")
    tests = collections.Counter(item.path for item in items)

    def order(item: pytest.Item) -> tuple[bool, int, Path]:
        folders = item.path.relative_to(config.rootpath).parts[1:-1]
        return LONG.isdisjoint(folders), -tests[item.path], item.path

    items.sort(key=order)


def _is_later(item: pytest.Item) -> bool:
    if item.path.name in LATER:
        return True
    if item.path.name not in DOCKER_LATER:
        return False
    callspec = getattr(item, "callspec", None)
    # The agreement of engines is tested with the results of Docker too.
    needs_docker = callspec is not None and "docker" in callspec.params.values()
    return needs_docker or "::test_engines_agree" in item.nodeid


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_bench = collection_path.is_relative_to(config.rootpath / "tests" / "bench")
    if is_bench and not config.getoption("--benchmarks"):
        return True
    return None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail on CI if any test was skipped, because there every engine must be available."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one and the top of a repository for the search of project files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the tests marked ``anyio``."""
    return "asyncio"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Yield the OCI engine of root, or skip the test with the reason."""
    from engines.configurations import CONFIGURATIONS

    configuration = CONFIGURATIONS["oci root"]
    if reason := configuration.lacks():
        pytest.skip(reason)
    made = configuration.make()
    yield made
    made.close()

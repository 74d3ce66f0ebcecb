"""The four configurations in which toolc must behave the same, each ready to start sandboxes.

``CONFIGURATIONS`` has them by name::

    configuration = available("docker+gvisor")          # or the test is skipped
    answer = configuration.run(lambda engine: ...)      # JSON comes back, from another process for "oci user"
    sandbox = {...} | configuration.sandbox             # {"min_isolation": "gvisor"} for gVisor
"""

import functools
import json
import os
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from engines.delegated_groups import delegated, join
from engines.exposed import expose_python
from engines.gvisor_daemon import gvisor_socket, newer_docker_socket
from engines.podman_service import podman_socket
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import MinIsolation
from toolc.runtime.pool.pool import Pool
from toolc.sandbox.docker.api_client import NoDaemonError
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.interface import Engine, PoolEngine
from toolc.sandbox.oci.engine import OciEngine

USER: Final = 1234
"""The uid and gid of the ordinary user."""

Work = Callable[[Engine], JsonValue]
"""A function of an engine. Its result is JSON, because it may come from another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """An engine, the isolation that it must provide, and the user that runs it.

    ``like`` is the configuration whose differences it has too. ``pool`` makes calls use warm sandboxes.
    """

    name: str
    make: Callable[[], Engine]
    min_isolation: MinIsolation = "namespace"
    uid: int = 0
    like: str = ""
    sandbox: JsonObject = field(default_factory=dict)
    pool: Pool | None = None

    def lacks(self) -> str | None:
        """Return why this configuration is not available on this host, or None if it is."""
        if os.geteuid() != 0:
            return f"{self.name}: these tests need root"
        try:
            found = self.run(self._lacks)
        except NoDaemonError as error:
            return f"{self.name}: {error}"
        return f"{self.name}: {found}" if found else None

    def _lacks(self, engine: Engine) -> str | None:
        if self.pool is not None and not isinstance(engine, PoolEngine):
            return "the engine starts no sandboxes ahead"
        found = engine.probe()
        if not found.available:
            return f"{found.reason} {found.remedy}"
        return engine.unsupported_reason(Profile(min_isolation=self.min_isolation))

    def run(self, work: Work) -> JsonValue:
        """Call ``work`` with a new engine as this configuration's user, close the engine, and return the result.

        An exception is raised here too; from another process as an ``AssertionError`` with the traceback.
        """
        return as_user(lambda: _with_engine(self.make, work)) if self.uid else _with_engine(self.make, work)


def as_user(work: Callable[[], JsonValue], *, groups: bool = True) -> JsonValue:
    """Return the result of ``work`` in a child process of an ordinary user, by default with separate control groups."""
    if not groups:
        return _in_child(work, ())
    with delegated(USER) as made:
        return _in_child(work, made)


def _in_child(work: Callable[[], JsonValue], groups: tuple[Path, ...]) -> JsonValue:
    with tempfile.TemporaryDirectory(prefix="toolc-user-", ignore_cleanup_errors=True) as home:
        os.chown(home, USER, USER)
        read, write = os.pipe()
        with warnings.catch_warnings():
            # Other engines of this process have threads; the child does not use their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _be_child(work, groups, home, write)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = json.loads(pipe.read() or b'{"failed": "the child died"}')
        os.waitpid(child, 0)
    if "failed" in answer:
        raise AssertionError(answer["failed"])
    found: JsonValue = answer["answer"]
    return found


def _be_child(work: Callable[[], JsonValue], groups: tuple[Path, ...], home: str, write: int) -> None:
    try:
        expose_python()
        join(groups)
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        os.chdir("/")
        for name in [name for name in os.environ if name.startswith(("XDG_", "DOCKER_", "TOOLC_STORE"))]:
            del os.environ[name]
        os.environ["HOME"] = os.environ["TMPDIR"] = home
        tempfile.tempdir = None
        answer: JsonObject = {"answer": work()}
    except BaseException:  # noqa: BLE001  reported to the parent process
        answer = {"failed": traceback.format_exc()}
    try:
        with os.fdopen(write, "wb") as pipe:
            pipe.write(json.dumps(answer).encode())
    finally:
        os._exit(0)


def _with_engine(make: Callable[[], Engine], work: Work) -> JsonValue:
    engine = make()
    try:
        return work(engine)
    finally:
        engine.close()


CONFIGURATIONS: Final = {
    each.name: each
    for each in (
        Configuration(name="docker", make=DockerEngine),
        Configuration(
            name="docker+gvisor",
            make=lambda: DockerEngine(gvisor_socket()),
            min_isolation="gvisor",
            sandbox={"min_isolation": "gvisor"},
        ),
        Configuration(name="oci root", make=OciEngine),
        Configuration(name="oci user", make=OciEngine, uid=USER),
    )
}
"""By name, in the order of the tables in the documentation."""

PODMAN: Final = Configuration(name="podman", make=lambda: DockerEngine(podman_socket()))
"""Podman in place of Docker. Its tests have the marker ``integrations``, like those of the next one."""

NEWER_DOCKER: Final = Configuration(name="docker 26", make=lambda: DockerEngine(newer_docker_socket()), like="docker")

WARM: Final = tuple(
    replace(each, name=f"{each.name}, warm", like=each.name, pool=Pool(sandboxes=16, memory_bytes=4 << 30))
    for each in CONFIGURATIONS.values()
)
"""The configurations with a warm sandbox for each call."""

FORKED: Final = tuple(
    replace(CONFIGURATIONS[name], name=f"{name}, fork", like=name, sandbox={"lifetime": "fork"})
    for name in ("oci root", "oci user")
)
"""The configurations whose calls are processes of a fork server, if their tools can have one."""

ALL_CONFIGURATIONS: Final = {**CONFIGURATIONS, **{each.name: each for each in (PODMAN, NEWER_DOCKER, *WARM, *FORKED)}}
"""The configurations in which the conformance suite runs."""


def available(name: str) -> Configuration:
    """Return a configuration, or skip the test with the reason why this host does not have it."""
    if reason := _reason(name):
        pytest.skip(reason)
    return ALL_CONFIGURATIONS[name]


def configured(name: str) -> Engine:
    """Return a new engine of a configuration, or skip the test with the reason why there is none. Close it."""
    return available(name).make()


@functools.cache
def _reason(name: str) -> str | None:
    return ALL_CONFIGURATIONS[name].lacks()

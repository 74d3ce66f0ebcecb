"""Fixtures and helpers of the tests of the Docker engine. A test is skipped if there is no daemon."""

import json
import select
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from toolc.model.json_schema import JsonValue
from toolc.model.plan import Mount, Profile
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.daemon import OWNER_LABEL
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.docker.sandbox import DockerSandbox
from toolc.sandbox.host.owner import Owner

TIMEOUT = 60.0
"""The maximum number of seconds that a step may take on a loaded machine."""


@pytest.fixture(scope="module")
def engine() -> Iterator[DockerEngine]:
    """Yield an engine whose daemon responds and has the base image."""
    engine = DockerEngine()
    found = engine.probe()
    if not found.available:
        pytest.skip(f"{found.reason}. {found.remedy}")
    if reason := engine.unsupported_reason(Profile()):
        pytest.skip(reason)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def client(engine: DockerEngine) -> Client:
    return engine._connect().client


def python(program: str) -> list[str]:
    return ["-I", "-S", "-c", program]


def output(sandbox: DockerSandbox) -> str:
    """Return all output of the guest, until its end."""
    collected = b""
    deadline = time.monotonic() + TIMEOUT
    while (data := sandbox.read()) != b"":
        collected += data or b""
        if data is None:
            assert select.select([sandbox], [], [], deadline - time.monotonic())[0], collected
    return collected.decode()


def line(sandbox: DockerSandbox, timeout: float = TIMEOUT) -> str:
    collected = b""
    deadline = time.monotonic() + timeout
    while not collected.endswith(b"\n"):
        data = sandbox.read()
        assert data != b"", collected + sandbox.error_output().encode()
        collected += data or b""
        if data is None:
            assert select.select([sandbox], [], [], deadline - time.monotonic())[0], collected
    return collected.decode()


def run(engine: DockerEngine, profile: Profile, program: str) -> str:
    """Return the output of a program that is process 1 of a new sandbox."""
    sandbox = engine.start(profile, python(program))
    try:
        return output(sandbox)
    finally:
        sandbox.close()


def workspace(folder: Path, mode: str = "rw") -> Mount:
    found = folder.stat()
    assert mode in {"ro", "rw"}
    return Mount(source=str(folder), mode="ro" if mode == "ro" else "rw", owner=found.st_uid, group=found.st_gid)


def containers(client: Client) -> list[JsonValue]:
    listed = client.call("GET", "/containers/json?all=1", timeout=TIMEOUT)
    assert isinstance(listed, list)
    return [each["Id"] for each in listed if isinstance(each, dict)]


def own_containers(client: Client) -> list[JsonValue]:
    """Return the containers of this process: other processes use the same daemon concurrently."""
    filters = quote(json.dumps({"label": [f"{OWNER_LABEL}={Owner.current().label()}"]}))
    listed = client.call("GET", f"/containers/json?all=1&filters={filters}", timeout=TIMEOUT)
    assert isinstance(listed, list)
    return [each["Id"] for each in listed if isinstance(each, dict)]

"""Fixtures and helpers of the tests of the Docker engine. A test is skipped if there is no daemon."""

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from engines.sandbox_output import TIMEOUT, output
from toolc.model.json_schema import JsonValue
from toolc.model.plan import Profile
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.daemon import OWNER_LABEL
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host.owner import Owner


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


def run(engine: DockerEngine, profile: Profile, program: str) -> str:
    """Return the output of a program that is process 1 of a new sandbox."""
    sandbox = engine.start(profile, python(program))
    try:
        return output(sandbox)
    finally:
        sandbox.close()


def containers(client: Client, query: str = "") -> list[JsonValue]:
    listed = client.call("GET", f"/containers/json?all=1{query}", timeout=TIMEOUT)
    assert isinstance(listed, list)
    return [each["Id"] for each in listed if isinstance(each, dict)]


def own_containers(client: Client) -> list[JsonValue]:
    """Return the containers of this process: other processes use the same daemon concurrently."""
    filters = quote(json.dumps({"label": [f"{OWNER_LABEL}={Owner.current().label()}"]}))
    return containers(client, f"&filters={filters}")

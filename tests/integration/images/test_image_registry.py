"""The base image from a registry: the public Debian of a mirror that the daemon knows, or an image of a given name.

The registry is a program of this host. It runs in the network namespace of a daemon that the test starts.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker.api.client import APIClient
from engines.own_daemon import SECONDS, TOOLS, OwnDaemon, missing, own_daemon

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import list_under
from toolc.model.result import ToolResult
from toolc.sandbox.docker import base_image
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.docker.image_builder import PUBLIC_BASE
from toolc.sandbox.docker.sdk import has_image
from toolc.sandbox.images.stored import base_note, base_tag
from toolc.sandbox.oci.engine import OciEngine

pytestmark = [pytest.mark.integrations, pytest.mark.timeout(600)]

ADDRESS = "127.0.0.1:5000"
NAME = f"{ADDRESS}/library/{PUBLIC_BASE}"

SETTINGS = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: "{folder}"}}}}
http: {{addr: "{address}"}}
"""

SPEC = """\
toolc: 1
name: show
description: Print the release of the base image. Use it in this test only.
parameters: {}
backend: {shell: {argv: [cat, /etc/os-release]}}
"""


@contextlib.contextmanager
def registry_beside(daemon: OwnDaemon, folder: Path) -> Iterator[None]:
    """Run a registry in the network namespace of the daemon."""
    (folder / "registry.yml").write_text(SETTINGS.format(folder=folder / "images", address=ADDRESS), encoding="utf-8")
    serve = f"ip link set lo up; exec docker-registry serve {folder / 'registry.yml'}"
    command = ["nsenter", f"--net=/proc/{daemon.pid}/ns/net", "sh", "-ec", serve]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command], stdout=log, stderr=log, env=os.environ | {"PATH": TOOLS}
        ) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnDaemon]:
    """A daemon without images, whose mirror of the public registry has the base image as Debian."""
    lacking = [program for program in ("docker-registry", "nsenter", "ip") if not shutil.which(program, path=TOOLS)]
    if reason := missing() or (lacking and f"needs {' and '.join(lacking)}"):
        pytest.skip(str(reason))
    folder = tmp_path_factory.mktemp("registry")
    with (
        own_daemon(configuration={"registry-mirrors": [f"http://{ADDRESS}"]}) as made,
        registry_beside(made, folder),
        contextlib.closing(APIClient(f"unix://{made.socket}", version="auto", timeout=300)) as api,
    ):
        repository, _, tag = NAME.rpartition(":")
        api.tag(base_tag(), repository, tag)
        _push(api, repository, tag)
        for each in (NAME, base_tag()):
            api.remove_image(each, force=True)
        yield made


def _push(api: APIClient, repository: str, tag: str) -> None:
    """Push an image as soon as the registry responds."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = [*api.push(repository, tag=tag, stream=True, decode=True)]
        errors = [each["error"] for each in found if "error" in each]
        if not errors:
            return
        assert time.monotonic() < deadline, errors
        time.sleep(0.2)


@pytest.fixture(autouse=True)
def store(daemon: OwnDaemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{daemon.socket}")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # The user that sets up a sandbox of root must be able to enter the store.
        monkeypatch.setenv("TOOLC_STORE", folder)
        yield


def call(kind: type[DockerEngine | OciEngine], folder: Path, configuration: Configuration) -> ToolResult:
    """Return the result of a call in a new engine: one that earlier tests used may know another daemon."""
    (folder / "show.yaml").write_text(SPEC, encoding="utf-8")
    registry = Registry.load(folder / "show.yaml")
    with (
        contextlib.closing(kind()) as engine,
        Executor(registry, engine=engine, configuration=configuration, pool=None) as executor,
    ):
        return executor.run("show", {})


def test_the_base_is_built_from_the_public_debian_of_a_mirror(tmp_path: Path) -> None:
    progress: list[str] = []
    assert base_image.build_base(None, progress.append) == base_tag()
    assert progress[0] == f"pulling {PUBLIC_BASE}"
    assert f"building {base_tag()} from {PUBLIC_BASE}" in progress
    assert base_note(base_tag())["origin"] == PUBLIC_BASE
    progress.clear()
    base_image.build_base(None, progress.append)
    assert progress == [f"{base_tag()} is up to date (from {PUBLIC_BASE})"]
    results = [call(kind, tmp_path, Configuration()) for kind in (DockerEngine, OciEngine)]
    images = [result.details["image"] for result in results]
    assert [result.is_error for result in results] == [False, False]
    assert images[0] == images[1]


def test_a_configured_base_image_is_pulled_by_its_name(tmp_path: Path) -> None:
    configuration = Configuration(base_image=NAME)
    results = [call(kind, tmp_path, configuration) for kind in (DockerEngine, OciEngine)]
    assert ["Debian" in result.text for result in results] == [True, True]
    images = [result.details["image"] for result in results]
    assert images[0] == images[1]
    assert isinstance(images[0], dict)
    assert images[0]["name"] == NAME
    assert base_note(NAME)["origin"] == NAME


def test_a_base_can_be_built_from_a_name_of_the_registry() -> None:
    progress: list[str] = []
    assert base_image.build_base(NAME, progress.append) == base_tag()
    assert base_note(base_tag())["origin"] == NAME


def test_an_image_is_pulled_by_its_tag_and_by_its_digest(daemon: OwnDaemon) -> None:
    with contextlib.closing(APIClient(f"unix://{daemon.socket}", version="auto", timeout=300)) as api:
        client = connect(daemon.socket).client
        base_image.pull_missing(NAME, client)
        digests = client.call("GET", f"/images/{NAME}/json", timeout=60)
        assert isinstance(digests, dict)
        pinned = next(str(each) for each in list_under(digests, "RepoDigests") if str(each).startswith(ADDRESS))
        api.remove_image(NAME, force=True)
        base_image.pull_missing(pinned, client)
        assert has_image(client, pinned)
        with pytest.raises(InfrastructureError, match=f"Docker cannot pull {ADDRESS}/absent:1: "):
            base_image.pull_missing(f"{ADDRESS}/absent:1", client)

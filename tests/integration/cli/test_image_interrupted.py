"""An interrupted ``toolc image build``: its exit code, no leftovers, and the next build works."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from engines.base_cases import NO_DAEMON, fake_mmdebstrap, layer
from engines.waiting_sandboxes import until

from toolc.model.errors import InfrastructureError
from toolc.sandbox.docker.api_client import NoDaemonError, find_socket
from toolc.sandbox.images.stored import base_tag

TIMEOUT = 60.0

BUILD = """
import sys
from pathlib import Path
from toolc.cli.main import main
from toolc.sandbox.docker import base_image, image_builder
from toolc.sandbox.images import stored
folder, version, public = sys.argv[1:4]
image_builder.packaged_path = lambda name: Path(folder) / name
stored.__version__ = version
base_image.PUBLIC_BASE = public
main(["image", "build", "base"])
"""

CODES = {signal.SIGINT: {130}, signal.SIGTERM: {-signal.SIGTERM, 143}, signal.SIGKILL: {-signal.SIGKILL}}


@pytest.fixture
def api() -> Iterator[docker.APIClient]:
    try:
        api = docker.APIClient(base_url=f"unix://{find_socket(os.environ)}", version="auto")
        if not api.images(base_tag()):
            pytest.skip("needs the base image")
    except (NoDaemonError, InfrastructureError, docker.errors.DockerException) as error:
        pytest.skip(f"needs a Docker daemon: {error}")
    yield api
    api.close()


@pytest.fixture
def version(api: docker.APIClient) -> Iterator[str]:
    version = f"test-{os.getpid()}-{time.monotonic_ns()}"
    yield version
    if api.images(f"toolc/base:{version}"):
        api.remove_image(f"toolc/base:{version}", force=True)


def write(folder: Path, step: str) -> None:
    (folder / "sandbox-images" / "base").mkdir(parents=True, exist_ok=True)
    (folder / "sandbox-images" / "base" / "Dockerfile").write_text(f"ARG BASE\nFROM ${{BASE}}\nRUN {step}\n")


def build(folder: Path, version: str, public: str, path: str = "") -> subprocess.Popen[str]:
    environment = os.environ | {"TOOLC_STORE": str(folder / "store"), "PATH": f"{path}:{os.environ['PATH']}"}
    argv = [sys.executable, "-c", BUILD, str(folder), version, public]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def ended(builder: subprocess.Popen[str], how: signal.Signals) -> None:
    with builder:
        builder.send_signal(how)
        _, output = builder.communicate(timeout=TIMEOUT)
    assert builder.returncode in CODES[how], output
    assert "Traceback" not in output


@pytest.mark.needs_engine
@pytest.mark.parametrize("how", CODES)
def test_an_interrupted_build_step_leaves_nothing(
    api: docker.APIClient, version: str, tmp_path: Path, how: signal.Signals
) -> None:
    def steps() -> list[str]:
        return [each["Id"] for each in api.containers(all=True) if f"sleep 1000; : {version}" in each["Command"]]

    write(tmp_path, f"sleep 1000; : {version}")
    builder = build(tmp_path, version, base_tag())
    until(steps)
    ended(builder, how)
    until(lambda: not steps())
    assert api.images(f"toolc/base:{version}") == []
    # An image without the files of its base is copied to the store in no time.
    (tmp_path / "sandbox-images/base/Dockerfile").write_text("ARG BASE\nFROM scratch\nCOPY Dockerfile /\n")
    with build(tmp_path, version, base_tag()) as builder:
        assert builder.communicate(timeout=TIMEOUT)[0] == f"toolc/base:{version}\n"


@pytest.mark.needs_engine
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("how", CODES)
def test_an_interrupted_base_image_leaves_nothing(
    tmp_path: Path, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace a program by one that runs for a minute, starts children and fills a folder."""
    monkeypatch.setenv("DOCKER_HOST", NO_DAEMON)
    version = f"test-{os.getpid()}"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "mmdebstrap"
    program.write_text('#!/bin/sh\necho half > "$TMPDIR/half"\nsleep 1000 & sleep 1001\n')
    program.chmod(0o755)
    write(tmp_path, "true")
    scratch = tmp_path / "store" / "scratch"
    builder = build(tmp_path, version, "127.0.0.1:1/none:none", str(tmp_path / "bin"))
    until(lambda: list(scratch.glob("*/half")))
    ended(builder, how)
    until(lambda: list(scratch.iterdir()) == [] and not working_in(scratch))
    fake_mmdebstrap(tmp_path / "next", layer(etc__os="Debian"))
    with build(tmp_path, version, "127.0.0.1:1/none:none", str(tmp_path / "next")) as builder:
        assert builder.communicate(timeout=TIMEOUT)[0] == f"toolc/base:{version}\n"


def working_in(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "cwd").readlink()).startswith(str(folder)):
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found

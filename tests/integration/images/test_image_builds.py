"""Builds with a real daemon: concurrent ones, and killed ones."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engines.docker_cases import client, engine
from engines.sandbox_output import TIMEOUT
from engines.waiting_sandboxes import until

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonValue
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Build
from toolc.sandbox.docker import base_image, image_builder, sdk
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host.kernel import TRIES
from toolc.sandbox.images.stored import base_tag

__all__ = ["client", "engine"]


def folder(*lines: str, **files: str) -> Build:
    """Return a build folder with a Dockerfile of these lines, based on toolc's base."""
    text = "\n".join(("ARG BASE", "FROM ${BASE}", f"LABEL test={os.getpid()}", *lines, ""))
    found = [File(path="image/Dockerfile", text=text)]
    return Build(folder="image", files=(*found, *(File(path=f"image/{name}", text=files[name]) for name in files)))


@pytest.fixture
def build(engine: DockerEngine, client: Client) -> Iterator[Build]:
    """Yield a folder that takes a moment to build; remove its image afterwards."""
    build = folder("COPY file /file", "RUN sleep 0.5", file="content")
    yield build
    client.call("DELETE", f"/images/{image_builder.build_tag(build)}?force=1", timeout=TIMEOUT)


def test_concurrent_builds_build_once(client: Client, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    really = sdk._follow

    def counting(steps: Iterable[JsonValue], on_progress: sdk.OnProgress) -> None:
        really(steps, on_progress)
        built.append("once")

    monkeypatch.setattr(sdk, "_follow", counting)
    with ThreadPoolExecutor(4) as pool:
        tags = set(pool.map(lambda _: base_image.built_image(client, build), range(4)))
    assert tags == {image_builder.build_tag(build)}
    assert built == ["once"]


@pytest.mark.parametrize("from_disk", [False, True])
def test_a_transient_build_failure_is_retried(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_disk: bool
) -> None:
    """This happens to containers of steps on busy machines with cgroup v1."""
    really, tries = sdk._follow, iter(range(100))
    tag, words = f"toolc-tests/passing-{os.getpid()}:{from_disk:d}", "FROM scratch\nLABEL a=b\n"

    def follow(steps: Iterable[JsonValue], on_progress: sdk.OnProgress) -> None:
        really(steps, on_progress)
        if next(tries) < TRIES - 1:
            raise ApiError("OCI runtime create failed: write /sys/fs/cgroup/cpu/x/cgroup.procs: invalid argument")

    monkeypatch.setattr(sdk, "_follow", follow)
    if from_disk:
        (tmp_path / "Dockerfile").write_text(words, encoding="utf-8")
        sdk.build_folder(client, folder=tmp_path, tag=tag, base="", labels={}, on_progress=lambda _: None)
    else:
        files = {"Dockerfile": words.encode()}
        sdk.build_files(client, files=files, tag=tag, base="", labels={}, on_progress=lambda _: None)
    assert sdk.has_image(client, tag)
    assert next(tries) == TRIES
    client.call("DELETE", f"/images/{tag}?force=1", timeout=TIMEOUT)


def test_a_build_without_a_network_says_so(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    if "bridge" in str(client.call("GET", "/networks", timeout=TIMEOUT)):
        pytest.skip("this daemon has a bridge")
    build = folder("RUN echo fetching; exit 7")
    with pytest.raises(
        InfrastructureError, match=r"code: 7 \(the build has no network: this Docker daemon has no bridge"
    ):
        image_builder.ensure_built(client, build)
    (record,) = caplog.records
    assert record.message.startswith(f"the image {image_builder.build_tag(build)} is built without a network: ")


def test_the_tag_depends_on_the_content_of_the_folder() -> None:
    one, two = folder("COPY a /a", a="1"), folder("COPY a /a", a="2")
    assert image_builder.build_tag(one) != image_builder.build_tag(two)
    assert image_builder.build_tag(one) == image_builder.build_tag(Build(folder="image", files=one.files[::-1]))
    moved = tuple(File(path=file.path.replace("image/", "other/"), text=file.text) for file in one.files)
    assert image_builder.build_tag(one) == image_builder.build_tag(Build(folder="other", files=moved))


def test_onbuild_downloads_are_refused_and_other_instructions_run(client: Client) -> None:
    tag = f"toolc-tests/triggers-{os.getpid()}:"
    made: list[str] = []
    try:
        for name, step in (("runs", "RUN echo made >/made"), ("fetches", "ADD http://127.0.0.1:9/key /key")):
            files = {"Dockerfile": f"ARG BASE\nFROM ${{BASE}}\nONBUILD {step}\n".encode()}
            base = base_tag()
            sdk.build_files(client, files=files, tag=tag + name, base=base, labels={}, on_progress=lambda _: None)
            made.append(tag + name)
        child = Build(folder="image", files=(File(path="image/Dockerfile", text=f"FROM {tag}fetches\n"),))
        with pytest.raises(InfrastructureError) as caught:
            image_builder.ensure_built(client, child)
        assert str(caught.value) == (
            f"image/Dockerfile starts from {tag}fetches, whose ONBUILD makes Docker download "
            "'http://127.0.0.1:9/key /key' with the host's network; start from another image"
        )
        child = Build(folder="image", files=(File(path="image/Dockerfile", text=f"FROM {tag}runs\n"),))
        image_builder.ensure_built(client, child)
        made.insert(0, image_builder.build_tag(child))
        history = client.call("GET", f"/images/{made[0]}/history", timeout=TIMEOUT)
        assert "echo made >/made" in str(history)
    finally:
        for each in made:
            client.call("DELETE", f"/images/{each}?force=1", timeout=TIMEOUT)


SLOW = """
import os, sys
from toolc.sandbox.docker import sdk, image_builder as images
from toolc.sandbox.docker.api_client import Client
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Build
text = "ARG BASE\\nFROM ${BASE}\\nRUN sleep 1000.%s\\n" % sys.argv[1]
build = Build(folder="image", files=(File(path="image/Dockerfile", text=text),))
images.ensure_built(Client(sys.argv[2], sys.argv[3]), build)
"""


def running(client: Client, word: str) -> list[str]:
    """Return the containers, in any state, whose command contains this word."""
    listed = client.call("GET", "/containers/json?all=1", timeout=TIMEOUT)
    assert isinstance(listed, list)
    entries = [each for each in listed if isinstance(each, dict)]
    return [str(each["Id"]) for each in entries if word in str(each["Command"])]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_build_that_is_killed_leaves_no_container(client: Client, engine: DockerEngine, how: signal.Signals) -> None:
    mark = f"{os.getpid()}{how}"
    argv = [sys.executable, "-c", SLOW, mark, client.socket_path, client.version_prefix]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as builder:
        until(lambda: bool(running(client, f"sleep 1000.{mark}")))
        builder.send_signal(how)
        builder.wait(TIMEOUT)
    until(lambda: not running(client, f"sleep 1000.{mark}"))

"""Building toolc's own images: when they are built, and messages if that fails."""

import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import docker
import pytest
from docker_cases import client, engine
from test_image_builds import running

from toolc.data.paths import packaged_path
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.model.version import __version__
from toolc.sandbox.docker import image_builder
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.docker.image_builder import build_command
from toolc.sandbox.docker.sdk import RECIPE_LABEL
from toolc.sandbox.images import debian

__all__ = ["client", "engine"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the folder of images, with a version that only this test uses."""
    folder = tmp_path / "sandbox-images" / "base"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("ARG BASE=debian\nFROM ${BASE}\nCOPY file /file\n", encoding="utf-8")
    (folder / "file").write_text("1", encoding="utf-8")
    monkeypatch.setattr(image_builder, "packaged_path", lambda name: tmp_path / name)
    monkeypatch.setattr(image_builder, "_version", lambda: f"test-{os.getpid()}")
    return folder


@pytest.fixture
def base(engine: DockerEngine, client: Client) -> Iterator[str]:
    """Return a base image that exists; remove the images that were built from it afterwards."""
    api = docker.APIClient(base_url=f"unix://{client.socket_path}", version="auto")
    tag = f"toolc/base:test-{os.getpid()}"
    yield image_builder.base_tag()
    if api.images(tag):
        api.remove_image(tag, force=True)
    api.close()


def ids(client: Client, label: str = "") -> set[str]:
    filters = quote(json.dumps({"label": [label]} if label else {}))
    listed = client.call("GET", f"/images/json?filters={filters}", timeout=60)
    assert isinstance(listed, list)
    return {str(each["Id"]) for each in listed if isinstance(each, dict)}


def test_an_image_is_rebuilt_if_its_folder_changes(
    client: Client, base: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_builder, "PUBLIC_BASE", base)
    progress: list[str] = []
    first = image_builder.build_image("base", base=None, on_progress=progress.append)
    tag = f"toolc/base:test-{os.getpid()}"
    assert (first.name, first.tag, first.base) == ("base", tag, base)
    assert progress[0] == f"building {tag} from {base}"
    assert first in image_builder.list_images()

    progress.clear()
    assert image_builder.build_image("base", base=None, on_progress=progress.append) == first
    assert progress == [f"{tag} is up to date (from {base})"]

    (checkout / "file").write_text("2", encoding="utf-8")
    second = image_builder.build_image("base", base=None, on_progress=progress.append)
    assert second.recipe != first.recipe
    assert first.id not in ids(client), "the image that lost its tag is removed"


def test_a_failed_build_reports_the_cause_and_leaves_nothing(client: Client, base: str, checkout: Path) -> None:
    # Others build with the same daemon at the same time: a word and a label tell what is this build's own.
    word = f"test-{os.getpid()}-{checkout.parent.parent.name}"
    (checkout / "Dockerfile").write_text(f"ARG BASE\nFROM ${{BASE}}\nRUN : {word}; exit 3\n", encoding="utf-8")
    with pytest.raises(InfrastructureError) as caught:
        image_builder.build_image("base", base=base, on_progress=lambda _: None)
    assert str(caught.value) == (
        f"Docker could not build toolc/base:test-{os.getpid()}: "
        f"The command '/bin/sh -c : {word}; exit 3' returned a non-zero code: 3"
    )
    assert running(client, word) == []
    assert ids(client, f"{RECIPE_LABEL}={image_builder.recipe('base').digest}") == set()


def test_a_named_base_is_never_replaced(base: str, checkout: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"cannot pull 127\.0\.0\.1:1/none:x: .*; name a base that is on"):
        image_builder.build_image("base", base="127.0.0.1:1/none:x", on_progress=lambda _: None)


def test_without_a_registry_a_base_is_created_here(
    client: Client, base: str, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def archive(_say: Callable[[str], None]) -> Iterator[Path]:
        made = tmp_path / "base.tar"
        made.write_bytes(bytes(10240))
        yield made

    own = f"toolc-test/made:{os.getpid()}"
    monkeypatch.setattr(image_builder, "PUBLIC_BASE", "127.0.0.1:1/none:x")
    monkeypatch.setattr(debian, "archive", archive)
    monkeypatch.setattr(debian, "tag", lambda: own)
    monkeypatch.setattr("shutil.which", lambda _name: "/usr/bin/mmdebstrap")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    try:
        assert image_builder.build_image("base", base=None, on_progress=lambda _: None).base == own
    finally:
        client.call("DELETE", f"/images/toolc/base:test-{os.getpid()}?force=1", timeout=60)
        client.call("DELETE", f"/images/{own}?force=1", timeout=60)


def test_without_any_base_the_message_lists_the_remedies(
    base: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_builder, "PUBLIC_BASE", "127.0.0.1:1/none:x")
    monkeypatch.setattr(debian, "tag", lambda: None)
    progress: list[str] = []
    with pytest.raises(InfrastructureError) as caught:
        image_builder.build_image("base", base=None, on_progress=progress.append)
    assert str(caught.value) == (
        "there is no base for the image: 127.0.0.1:1/none:x could not be pulled, and a base can be created here only "
        "on Debian or Ubuntu, as root, with mmdebstrap (sudo apt-get install mmdebstrap). If a registry is "
        "reachable, run: docker pull 127.0.0.1:1/none:x. To use another base that has apt or python3, run: "
        "toolc image build base --from IMAGE"
    )
    assert progress[0] == "pulling 127.0.0.1:1/none:x"


def test_the_message_has_the_command_that_gets_the_image() -> None:
    assert build_command(image_builder.base_tag()) == "toolc image build base"
    assert build_command(image_builder.recipe("node").tag) == "toolc image build node"
    assert build_command("toolc/node:0.0.1") == (f"toolc image build node, and write image: toolc/node:{__version__}")


def test_an_unknown_image_is_reported() -> None:
    with pytest.raises(
        UsageError, match=r"^there is no image 'bas' to build; choose one of: base, node, python, shell-tools$"
    ):
        image_builder.recipe("bas")


def test_a_missing_daemon_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(NoEngineError, match=r"^images are built with Docker: there is no Docker daemon at"):
        image_builder.list_images()


def test_the_digest_of_a_recipe_depends_on_its_files(checkout: Path) -> None:
    first = image_builder.recipe("base").digest
    (checkout / "file").touch()
    assert image_builder.recipe("base").digest == first
    (checkout / "other").write_text("", encoding="utf-8")
    assert image_builder.recipe("base").digest != first


@pytest.mark.parametrize(
    ("release", "tag"),
    [
        ({"ID": "debian", "VERSION_CODENAME": "bookworm"}, "toolc/debian:bookworm"),
        ({"ID": "ubuntu", "VERSION_CODENAME": "noble"}, "toolc/ubuntu:noble"),
        ({"ID": "debian"}, None),
        ({"ID": "fedora", "VERSION_CODENAME": ""}, None),
    ],
)
def test_the_base_that_this_host_can_create(
    release: dict[str, str], tag: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert debian.tag() == tag


def test_a_failed_mmdebstrap_reports_its_last_line(tmp_path: Path) -> None:
    argv = ["/bin/sh", "-c", "echo I: hello >&2; echo E: no mirror >&2; exit 1"]
    progress: list[str] = []
    with pytest.raises(InfrastructureError, match=r"^mmdebstrap failed: E: no mirror; to see why, run:"):
        debian._run(argv, tmp_path, progress.append)
    assert progress == ["I: hello"]


def test_toolcs_dockerfiles_do_not_pin_their_base() -> None:
    for file in packaged_path("sandbox-images").glob("*/Dockerfile"):
        text = file.read_text(encoding="utf-8")
        assert "\nARG BASE=" in text
        assert "\nFROM ${BASE}\n" in text

"""Building toolc's own images: when they are built, and messages if that fails."""

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import docker
import pytest
from engines.base_cases import fake_mmdebstrap, layer
from engines.docker_cases import client, engine
from test_image_builds import running

from toolc.data.paths import packaged_path
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.sandbox.docker import base_image, image_builder
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.docker.image_builder import build_command
from toolc.sandbox.docker.sdk import RECIPE_LABEL, find_built
from toolc.sandbox.images import debian
from toolc.sandbox.images import stored as stored_images
from toolc.sandbox.images.stored import base_note, base_tag, find_base
from toolc.version import __version__

__all__ = ["client", "engine"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the folder of images, with a version and a store that only this test uses."""
    folder = tmp_path / "sandbox-images" / "base"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("ARG BASE=debian\nFROM ${BASE}\nCOPY file /file\n", encoding="utf-8")
    (folder / "file").write_text("1", encoding="utf-8")
    monkeypatch.setattr(image_builder, "packaged_path", lambda name: tmp_path / name)
    monkeypatch.setattr(stored_images, "__version__", f"test-{os.getpid()}")
    monkeypatch.setenv("TOOLC_STORE", str(tmp_path / "store"))
    return folder


@pytest.fixture
def base(engine: DockerEngine, client: Client) -> Iterator[str]:
    """Return a base image that exists; remove the images that were built from it afterwards."""
    api = docker.APIClient(base_url=f"unix://{client.socket_path}", version="auto")
    tag = f"toolc/base:test-{os.getpid()}"
    yield base_tag()
    if api.images(tag):
        api.remove_image(tag, force=True)
    api.close()


def ids(client: Client, label: str = "") -> set[str]:
    filters = quote(json.dumps({"label": [label]} if label else {}))
    listed = client.call("GET", f"/images/json?filters={filters}", timeout=60)
    assert isinstance(listed, list)
    return {str(each["Id"]) for each in listed if isinstance(each, dict)}


def test_an_image_is_rebuilt_if_its_folder_changes(client: Client, base: str, checkout: Path) -> None:
    progress: list[str] = []
    first = image_builder.build_image("base", base=base, on_progress=progress.append)
    tag = f"toolc/base:test-{os.getpid()}"
    assert (first.name, first.tag, first.base) == ("base", tag, base)
    assert progress[0] == f"building {tag} from {base}"
    assert first in image_builder.list_images()

    progress.clear()
    assert image_builder.build_image("base", base=base, on_progress=progress.append) == first
    assert progress == [f"{tag} is up to date (from {base})"]

    (checkout / "file").write_text("2", encoding="utf-8")
    second = image_builder.build_image("base", base=base, on_progress=progress.append)
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
    with pytest.raises(InfrastructureError, match=r"cannot pull 127\.0\.0\.1:1/none:x: .*; use a base that is on"):
        image_builder.build_image("base", base="127.0.0.1:1/none:x", on_progress=lambda _: None)


def test_where_a_registry_responds_the_base_is_built_from_a_public_image(
    client: Client, base: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An image that need not be pulled, and whose files need not be copied.
    monkeypatch.setattr(base_image, "PUBLIC_BASE", base)
    (checkout / "Dockerfile").write_text("ARG BASE\nFROM scratch\nCOPY file /file\n", encoding="utf-8")
    image = base_image.obtain_base(f"toolc/base:test-{os.getpid()}", client)
    assert base_note(image.name)["origin"] == base
    local, loaded = base_image.load_base(client, image.name)
    assert (local.id, loaded) == (image.digest, image)


def test_without_a_registry_the_daemon_loads_the_base_that_is_created_here(
    client: Client, base: str, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_image, "PUBLIC_BASE", "127.0.0.1:1/none:x")
    monkeypatch.setattr(debian, "codename", lambda: "bookworm")
    programs = fake_mmdebstrap(tmp_path / "programs", layer(etc__os=f"test {os.getpid()}"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    tag = f"toolc/base:test-{os.getpid()}"
    progress: list[str] = []
    assert base_image.build_base(None, progress.append) == tag
    assert progress[0] == "pulling 127.0.0.1:1/none:x"
    assert progress[1].startswith("Docker cannot pull 127.0.0.1:1/none:x: ")
    image = find_base(tag)
    assert image is not None
    assert find_built(client, tag) is not None, "toolc image list shows it"
    client.call("DELETE", f"/images/{tag}?force=1", timeout=60)
    assert base_image.load_base(client, tag)[0].id == image.digest, "a removed image is loaded again"


def test_without_any_base_the_message_lists_the_remedies(
    base: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_image, "PUBLIC_BASE", "127.0.0.1:1/none:x")
    monkeypatch.setattr(debian, "codename", lambda: None)
    with pytest.raises(InfrastructureError) as caught:
        base_image.build_base(None, lambda _: None)
    text = str(caught.value)
    assert "Docker cannot pull 127.0.0.1:1/none:x: " in text
    assert "and a base image can be created only on Debian and Ubuntu" in text
    assert text.endswith("and toolc image import base.tar here")


def test_the_message_has_the_command_that_gets_the_image() -> None:
    assert build_command(base_tag()) == "toolc image build base"
    assert build_command(image_builder.recipe("node").tag) == "toolc image build node"
    assert build_command("toolc/node:0.0.1") == f"toolc image build node, then use image: toolc/node:{__version__}"


def test_an_unknown_image_is_reported() -> None:
    with pytest.raises(
        UsageError, match=r"^there is no image 'bas' to build; choose one of: base, node, python, shell-tools$"
    ):
        image_builder.recipe("bas")


def test_a_missing_daemon_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(NoEngineError, match=r"^Docker is needed to build images: there is no Docker daemon at"):
        image_builder.list_images()


def test_the_digest_of_a_recipe_depends_on_its_files(checkout: Path) -> None:
    first = image_builder.recipe("base").digest
    (checkout / "file").touch()
    assert image_builder.recipe("base").digest == first
    (checkout / "other").write_text("", encoding="utf-8")
    assert image_builder.recipe("base").digest != first


@pytest.mark.parametrize(
    ("release", "codename"),
    [
        ({"ID": "debian", "VERSION_CODENAME": "bookworm"}, "bookworm"),
        ({"ID": "ubuntu", "VERSION_CODENAME": "noble"}, "noble"),
        ({"ID": "debian"}, None),
        ({"ID": "fedora", "VERSION_CODENAME": ""}, None),
    ],
)
def test_the_base_that_this_host_can_create(
    release: dict[str, str], codename: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert debian.codename() == codename


def test_a_failed_mmdebstrap_reports_its_last_line(tmp_path: Path) -> None:
    argv = ["/bin/sh", "-c", "echo I: hello... >&2; echo E: no mirror >&2; exit 1"]
    progress: list[str] = []
    with pytest.raises(InfrastructureError, match=r"^mmdebstrap failed: E: no mirror; to see why, run:"):
        debian._run(argv, tmp_path, tmp_path, progress.append)
    assert progress == ["hello..."]


def test_toolcs_dockerfiles_do_not_pin_their_base() -> None:
    for file in packaged_path("sandbox-images").glob("*/Dockerfile"):
        text = file.read_text(encoding="utf-8")
        assert "\nARG BASE=" in text
        assert "\nFROM ${BASE}\n" in text

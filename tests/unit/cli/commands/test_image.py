"""``toolc image``: results on stdout, progress on stderr."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolc.cli.commands.image import command
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.sandbox.docker import base_image, image_builder
from toolc.sandbox.docker.sdk import BuiltImage, OnProgress
from toolc.sandbox.images import stored
from toolc.sandbox.images.metadata import Unpacked
from toolc.sandbox.images.stored import StoredImage
from toolc.sandbox.oci import images as oci_images
from toolc.sandbox.python import packages
from toolc.sandbox.python.packages import Packages

BASE = BuiltImage(
    name="base", tag="toolc/base:1.0", id="sha256:a", recipe="sha256:b", base="debian:12", size_bytes=200 * 1024**2
)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Build nothing; return the names and bases that were requested."""
    requested: list[tuple[str, str | None]] = []

    def build_base(source: str | None, on_progress: OnProgress) -> str:
        requested.append(("base", source))
        on_progress("Step 1/2")
        return BASE.tag

    def build_image(name: str, *, base: str, on_progress: OnProgress) -> BuiltImage:
        requested.append((name, base))
        return replace(BASE, tag=f"toolc/{name}:1.0")

    monkeypatch.setattr(base_image, "build_base", build_base)
    monkeypatch.setattr(image_builder, "build_image", build_image)
    return requested


def test_build_prints_progress_on_stderr(built: list[tuple[str, str | None]]) -> None:
    result = CliRunner().invoke(command, ["build"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "toolc/base:1.0\n", "Step 1/2\n")
    assert built == [("base", None)]


def test_other_images_are_built_from_the_base_image_or_another_one(built: list[tuple[str, str | None]]) -> None:
    CliRunner().invoke(command, ["build", "node"])
    CliRunner().invoke(command, ["build", "python", "base", "--from", "debian:13"])
    assert built == [("base", None), ("node", "toolc/base:1.0"), ("python", "debian:13"), ("base", "debian:13")]


def test_unknown_name_is_refused_before_the_first_build(built: list[tuple[str, str | None]]) -> None:
    result = CliRunner().invoke(command, ["build", "base", "nodejs"])
    assert built == []
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == (
        "there is no image 'nodejs' to build; choose one of: base, node, python, shell-tools"
    )


NODE = Unpacked(name="toolc/node:1.0", digest="sha256:ab", root=Path("/store/root"), search_path=None, volumes=())


def test_export_prints_the_unpacked_image(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[str] = []

    def export_image(name: str) -> Unpacked:
        requested.append(name)
        return NODE

    monkeypatch.setattr(oci_images, "export_image", export_image)
    result = CliRunner().invoke(command, ["export", "node"])
    assert (result.exit_code, result.stdout) == (0, "toolc/node:1.0  sha256:ab  /store/root\n")
    assert requested == ["node"]


def test_export_writes_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oci_images, "save_image", lambda name, _output: f"{name}:1.0")
    result = CliRunner().invoke(command, ["export", "node", "--output", "node.tar"])
    assert (result.exit_code, result.stdout) == (0, "node:1.0  node.tar\n")


def test_import_prints_the_digest_and_the_tree_of_a_base_image(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[tuple[Path, str, str | None]] = []

    def import_image(archive: Path, name: str, base_image: str | None) -> Unpacked:
        requested.append((archive, name, base_image))
        return NODE if name == "mine:1" else replace(NODE, name="toolc/base:1.0", tree="sha256:cd")

    monkeypatch.setattr(oci_images, "import_image", import_image)
    result = CliRunner().invoke(command, ["import", "base.tar"])
    assert (result.exit_code, result.stdout) == (0, "toolc/base:1.0  sha256:ab  tree sha256:cd\n")
    result = CliRunner().invoke(command, ["import", "a.tar", "mine:1"])
    assert (result.exit_code, result.stdout) == (0, "toolc/node:1.0  sha256:ab\n")
    assert requested == [(Path("base.tar"), "base", None), (Path("a.tar"), "mine:1", None)]


NAMED = StoredImage(digest="sha256:a", names=("a:1", "b:1"), folder=Path("/store/sha256-a"))
STALE = StoredImage(digest="sha256:c", names=(), folder=Path("/store/sha256-c"))


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[StoredImage]:
    """The unpacked images, from which ``prune`` removes."""
    found: list[StoredImage] = []
    monkeypatch.setattr(StoredImage, "size_bytes", lambda _: 3 * 1024**2)
    monkeypatch.setattr(stored, "stored_images", lambda: tuple(found))
    monkeypatch.setattr(stored, "remove_image", found.remove)
    monkeypatch.setattr(packages, "installed_packages", lambda: ())
    return found


def test_list_shows_each_image(monkeypatch: pytest.MonkeyPatch, unpacked: list[StoredImage]) -> None:
    monkeypatch.setattr(image_builder, "list_images", lambda: (BASE,))
    unpacked += [NAMED, STALE]
    result = CliRunner().invoke(command, ["list"])
    assert result.stderr == ""
    assert result.stdout == (
        "toolc/base:1.0  200MiB  from debian:12\n"
        "a:1, b:1  3MiB  unpacked in /store/sha256-a\n"
        "sha256:c  3MiB  unpacked in /store/sha256-c; no longer used, remove it with: toolc image prune\n"
    )


def test_list_works_without_a_daemon(monkeypatch: pytest.MonkeyPatch, unpacked: list[StoredImage]) -> None:
    def no_images() -> tuple[BuiltImage, ...]:
        raise NoEngineError("Docker is needed to build images: it does not answer")

    monkeypatch.setattr(image_builder, "list_images", no_images)
    unpacked.append(NAMED)
    result = CliRunner().invoke(command, ["list"])
    assert (result.exit_code, result.stdout) == (0, "a:1, b:1  3MiB  unpacked in /store/sha256-a\n")
    assert result.stderr == "toolc: Docker is needed to build images: it does not answer\n"


def test_list_without_images(monkeypatch: pytest.MonkeyPatch, unpacked: list[StoredImage]) -> None:
    monkeypatch.setattr(image_builder, "list_images", lambda: ())
    result = CliRunner().invoke(command, ["list"])
    assert not unpacked
    assert (result.stdout, result.stderr) == ("", "toolc: there are no images yet; build one with: toolc image build\n")


def test_prune_removes_unnamed_images(unpacked: list[StoredImage]) -> None:
    unpacked += [NAMED, STALE]
    result = CliRunner().invoke(command, ["prune", "--dry-run"])
    assert (result.stdout, len(unpacked)) == ("would remove  sha256:c  3MiB\n", 2)
    result = CliRunner().invoke(command, ["prune"])
    assert (result.stdout, unpacked) == ("removed  sha256:c  3MiB\n", [NAMED])
    result = CliRunner().invoke(command, ["prune"])
    assert (result.stdout, result.stderr) == ("", "toolc: nothing to remove\n")


def test_prune_goes_on_after_an_image_in_use(monkeypatch: pytest.MonkeyPatch, unpacked: list[StoredImage]) -> None:
    def remove(image: StoredImage) -> None:
        if image == STALE:
            raise InfrastructureError("a call of process 7 uses it; try again later")
        unpacked.remove(image)

    unpacked += [STALE, replace(STALE, digest="sha256:d")]
    monkeypatch.setattr(stored, "remove_image", remove)
    result = CliRunner().invoke(command, ["prune"])
    assert (result.stdout, unpacked) == ("removed  sha256:d  3MiB\n", [STALE])
    assert str(result.exception) == "sha256:c  3MiB is kept: a call of process 7 uses it; try again later"


def test_prune_removes_unused_packages(monkeypatch: pytest.MonkeyPatch, unpacked: list[StoredImage]) -> None:
    assert not unpacked
    unused = [Packages(key="k", names=("a-1.0", "b-2.0"), folder=Path("/store/site/k"), last_used=0.0)]
    monkeypatch.setattr(packages, "installed_packages", lambda: tuple(unused))
    monkeypatch.setattr(packages, "remove_packages", unused.remove)
    result = CliRunner().invoke(command, ["prune", "--dry-run"])
    assert (result.stdout, len(unused)) == ("would remove  packages  a-1.0, b-2.0\n", 1)
    result = CliRunner().invoke(command, ["prune"])
    assert (result.stdout, result.stderr, unused) == ("removed  packages  a-1.0, b-2.0\n", "", [])

"""``toolc image``: results on stdout, progress on stderr."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from toolc.cli.image import command
from toolc.engines import images
from toolc.engines.docker_build import Built, Say
from toolc.errors import UsageError

BASE = Built(
    name="base", tag="toolc/base:1.0", id="sha256:a", recipe="sha256:b", base="debian:12", size_bytes=200 * 1024**2
)


def test_build_prints_the_tag_and_tells_progress_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def build_image(name: str, *, base: str | None, say: Say) -> Built:
        asked.append((name, base))
        say("Step 1/2")
        return BASE

    monkeypatch.setattr(images, "build_image", build_image)
    result = CliRunner().invoke(command, ["build"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "toolc/base:1.0\n", "Step 1/2\n")
    CliRunner().invoke(command, ["build", "python", "node", "--from", "debian:13"])
    assert asked == [("base", None), ("python", "debian:13"), ("node", "debian:13")]


def test_build_knows_every_name_before_the_first_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "build_image", lambda *_, **__: pytest.fail("nothing may be built"))
    result = CliRunner().invoke(command, ["build", "base", "nodejs"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == (
        "there is no image 'nodejs' to build; there is: base, node, python, shell-tools"
    )


def test_export_says_what_was_unpacked_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Path | None]] = []

    def export_image(name: str, archive: Path | None) -> images.Exported:
        asked.append((name, archive))
        return images.Exported("toolc/node:1.0", "sha256:ab", Path("/store/root"))

    monkeypatch.setattr(images, "export_image", export_image)
    result = CliRunner().invoke(command, ["export", "node"])
    assert (result.exit_code, result.stdout) == (0, "toolc/node:1.0  sha256:ab  /store/root\n")
    CliRunner().invoke(command, ["export", "mine:1", "--from", "a.tar"])
    assert asked == [("node", None), ("mine:1", Path("a.tar"))]


def test_export_writes_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "save_image", lambda name, _output: f"{name}:1.0")
    result = CliRunner().invoke(command, ["export", "node", "--output", "node.tar"])
    assert (result.exit_code, result.stdout) == (0, "node:1.0  node.tar\n")


def test_export_goes_one_way_only() -> None:
    result = CliRunner().invoke(command, ["export", "node", "--output", "a", "--from", "b"])
    assert (result.exit_code, "give one of them" in result.stderr) == (2, True)


def test_list_shows_each_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "list_images", lambda: (BASE,))
    result = CliRunner().invoke(command, ["list"])
    assert (result.stdout, result.stderr) == ("toolc/base:1.0  200MiB  from debian:12\n", "")


def test_list_of_none_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "list_images", lambda: ())
    result = CliRunner().invoke(command, ["list"])
    assert (result.stdout, result.stderr) == ("", "there are no images yet; build one with: toolc image build\n")

"""``toolc image``: results on stdout, progress on stderr."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from toolc.cli.image import command
from toolc.engines import images
from toolc.engines.docker_build import Built

BASE = Built(
    name="base", tag="toolc/base:1.0", id="sha256:a", recipe="sha256:b", base="debian:12", size_bytes=200 * 1024**2
)


def test_build_prints_the_tag_and_tells_progress_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def build_image(name: str, *, base: str | None, say: images.Say) -> Built:
        asked.append((name, base))
        say("Step 1/2")
        return BASE

    monkeypatch.setattr(images, "build_image", build_image)
    result = CliRunner().invoke(command, ["build"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "toolc/base:1.0\n", "Step 1/2\n")
    CliRunner().invoke(command, ["build", "other", "--from", "debian:13"])
    assert asked == [("base", None), ("other", "debian:13")]


def test_list_shows_each_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "list_images", lambda: (BASE,))
    result = CliRunner().invoke(command, ["list"])
    assert (result.stdout, result.stderr) == ("toolc/base:1.0  200MiB  from debian:12\n", "")


def test_list_of_none_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "list_images", lambda: ())
    result = CliRunner().invoke(command, ["list"])
    assert (result.stdout, result.stderr) == ("", "there are no images yet; build one with: toolc image build\n")

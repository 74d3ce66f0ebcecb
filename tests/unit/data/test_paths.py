"""Tests for the paths of packaged folders."""

from pathlib import Path

import pytest

from toolc.data import paths
from toolc.model.errors import UsageError


def test_folders_of_a_checkout_are_next_to_the_package() -> None:
    assert (paths.packaged_path("sandbox-images") / "base" / "Dockerfile").is_file()


def test_folders_of_a_wheel_are_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "toolc" / "data" / "paths.py"))
    own = tmp_path / "toolc" / "_assets" / "specs"
    own.mkdir(parents=True)
    (tmp_path / "specs").mkdir()
    assert paths.packaged_path("specs") == own


def test_a_missing_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "toolc" / "data" / "paths.py"))
    with pytest.raises(UsageError, match=r"^this installation of toolc has no folder 'specs'; install toolc again$"):
        paths.packaged_path("specs")

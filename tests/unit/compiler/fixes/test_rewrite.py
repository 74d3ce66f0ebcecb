"""Files written anew: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolc.compiler.fixes.apply import rewrite
from toolc.model.errors import UsageError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_new_text_and_the_old_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")
    path.chmod(0o640)
    rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert names(tmp_path) == ["a.yaml"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    target, link = tmp_path / "inner" / "a.yaml", tmp_path / "link.yaml"
    target.write_bytes(b"old")
    link.symlink_to("inner/a.yaml")
    rewrite(link, b"old", b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_somebody_else_wrote_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"theirs")
    with pytest.raises(UsageError, match="changed while it was being fixed and was left as it is; try again"):
        rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.yaml"]


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        rewrite(tmp_path / "a.yaml", b"old", b"new")
    assert names(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
def test_an_interrupted_write_loses_nothing(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.yaml"]


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"cannot write .*a\.yaml: no space left on device"):
        rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.yaml"]


def test_a_read_only_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever a mode says
    with pytest.raises(UsageError, match="it is read-only"):
        rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"old"

"""Files are replaced completely or not at all."""

import os
from pathlib import Path

import pytest

from toolc.compiler.fixes.apply import rewrite
from toolc.model.errors import UsageError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def old_file(folder: Path) -> Path:
    path = folder / "a.yaml"
    path.write_bytes(b"old")
    return path


def test_mode_is_kept(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    path.chmod(0o640)
    rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert names(tmp_path) == ["a.yaml"]


def test_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    target, link = tmp_path / "inner" / "a.yaml", tmp_path / "link.yaml"
    target.write_bytes(b"old")
    link.symlink_to("inner/a.yaml")
    rewrite(link, b"old", b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_concurrent_change_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"theirs")
    with pytest.raises(UsageError, match="changed while it was being fixed, so the fixes were not written; try again"):
        rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.yaml"]


def test_removed_file_is_not_created_again(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        rewrite(tmp_path / "a.yaml", b"old", b"new")
    assert names(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt, None),
        (OSError(28, "No space left on device"), UsageError, r"cannot write .*a\.yaml: no space left on device"),
    ],
)
def test_failed_write_changes_nothing(
    tmp_path: Path,
    step: str,
    error: BaseException,
    raised: type[BaseException],
    message: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = old_file(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(raised, match=message):
        rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.yaml"]


def test_read_only_file_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old_file(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root ignores modes
    with pytest.raises(UsageError, match="it is read-only"):
        rewrite(path, b"old", b"new")
    assert path.read_bytes() == b"old"

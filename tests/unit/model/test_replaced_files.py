"""Replacement of a file."""

from pathlib import Path

import pytest

from toolc.model.atomic_files import replace_file


def test_readers_find_the_old_content_until_the_end_of_the_block(tmp_path: Path) -> None:
    (path := tmp_path / "a").write_text("old")
    with replace_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [*tmp_path.iterdir()] == [path]


def test_an_exception_keeps_the_old_file_and_removes_the_new_one(tmp_path: Path) -> None:
    (path := tmp_path / "a").write_text("old")
    with pytest.raises(ValueError, match="wrong"), replace_file(path, draft=tmp_path / "draft"):
        raise ValueError("wrong")
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_in_the_place_of_the_draft_is_not_followed(tmp_path: Path) -> None:
    (victim := tmp_path / "victim").write_text("kept")
    (draft := tmp_path / "draft").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"), replace_file(tmp_path / "a", draft=draft):
        raise AssertionError
    assert victim.read_text() == "kept"


def test_a_long_name_is_cut_in_the_name_of_the_draft(tmp_path: Path) -> None:
    with replace_file(tmp_path / ("a" * 255), mode=0o600):
        pass
    assert [(each.name, each.stat().st_mode & 0o777) for each in tmp_path.iterdir()] == [("a" * 255, 0o600)]


@pytest.mark.parametrize("path", ["/", "."])
def test_a_path_without_a_name_is_a_directory(path: str) -> None:
    with pytest.raises(IsADirectoryError), replace_file(Path(path)):
        raise AssertionError

"""A file is replaced as a whole, or not at all."""

from pathlib import Path

import pytest

from toolc.model.atomic_files import replace_file


def write(path: Path, data: bytes) -> None:
    with replace_file(path) as file:
        file.write(data)


def test_the_new_content_replaces_the_old(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert [*tmp_path.iterdir()] == [path]


def test_an_exception_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), replace_file(path):
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("path", ["/", "."])
def test_a_path_without_a_name_is_a_directory(path: str) -> None:
    with pytest.raises(IsADirectoryError):
        write(Path(path), b"")

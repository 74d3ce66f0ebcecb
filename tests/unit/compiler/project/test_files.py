"""Files next to a spec that can be part of a tool."""

import os
from pathlib import Path

import pytest

from toolc.compiler.project.files import MAX_FILE_BYTES, FileError, SpecFolder, relative_path
from toolc.model.spec.code_backends import File


@pytest.fixture
def folder(tmp_path: Path) -> SpecFolder:
    inner = tmp_path / "specs"
    inner.mkdir()
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return SpecFolder(inner, "specs")


def test_text_files_are_kept_byte_for_byte(folder: SpecFolder) -> None:
    (folder.path / "a.py").write_bytes("\ufeffx = 'é'\r\n".encode())

    assert folder.read("./a.py") == File(path="a.py", text="\ufeffx = 'é'\r\n")


def test_files_that_are_not_utf8_are_stored_as_base64(folder: SpecFolder) -> None:
    (folder.path / "a.bin").write_bytes(b"\xff\x00")

    assert folder.read("a.bin") == File(path="a.bin", base64="/wA=")


@pytest.mark.parametrize(
    "name", ["../secret.txt", "a/../../secret.txt", "/etc/passwd", "a\\b", "C:x", "", ".", "\0", "a\nb"]
)
def test_names_cannot_leave_the_folder(name: str) -> None:
    with pytest.raises(FileError):
        relative_path(name)


def test_links_cannot_leave_the_folder(folder: SpecFolder) -> None:
    (folder.path / "out").symlink_to("../secret.txt")
    (folder.path / "up").symlink_to("..")
    (folder.path / "a.txt").write_text("a", encoding="utf-8")
    (folder.path / "in").symlink_to("a.txt")
    (folder.path / "loop").symlink_to("loop")

    for name in ("out", "up/secret.txt"):
        with pytest.raises(FileError, match="leads outside the spec's folder"):
            folder.read(name)
    with pytest.raises(FileError, match=r"specs/loop cannot be read|does not exist"):
        folder.read("loop")
    assert folder.read("in").text == "a"


def test_only_regular_files_are_accepted(folder: SpecFolder) -> None:
    os.mkfifo(folder.path / "pipe")

    with pytest.raises(FileError, match="specs/pipe is not a regular file"):
        folder.read("pipe")
    with pytest.raises(FileError, match="specs/none does not exist"):
        folder.read("none")
    (folder.path / "folder").mkdir()
    with pytest.raises(FileError, match="specs/folder "):
        folder.read("folder")


def test_the_file_size_is_limited(folder: SpecFolder) -> None:
    (folder.path / "big").write_bytes(bytes(MAX_FILE_BYTES + 1))

    with pytest.raises(FileError, match="specs/big is larger than 4MiB"):
        folder.read("big")


def test_patterns_match_sorted_files_and_skip_hidden_ones(folder: SpecFolder) -> None:
    for name in ("b.py", "a.py", "x/c.py", "x/y/d.py", "x/__pycache__/c.py", ".git/e.py", "x/.f.py", "x/g.txt"):
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    (folder.path / "up").symlink_to("..")

    assert folder.match("**/*.py") == ("a.py", "b.py", "x/c.py", "x/y/d.py")
    assert folder.match("*/*.py") == ("x/c.py",)
    assert folder.match("x/.f.py") == ("x/.f.py",)
    with pytest.raises(FileError, match=r"no file matches '\*\.md' in specs"):
        folder.match("*.md")

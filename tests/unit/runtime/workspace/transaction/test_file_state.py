import hashlib
import os
from pathlib import Path

import pytest
from workspaces.edited_workspace import workspace
from workspaces.real_views import VIEWS, Engines
from workspaces.transaction_cases import call, tool

from toolc.runtime.workspace.dir_handle import DirHandle
from toolc.runtime.workspace.transaction.file_state import FileState, copy_content, read_state

__all__ = ["workspace"]

MIB = 1 << 20


def make_sparse(path: Path) -> bytes:
    """Create a file with data in the middle and at the end of holes; return its content."""
    with path.open("wb") as file:
        file.truncate(40 * MIB)
        file.seek(10 * MIB)
        file.write(b"middle")
        file.seek(30 * MIB)
        file.write(b"end")
    if path.stat().st_blocks * 512 > MIB:
        pytest.skip("this file system does not keep holes")
    return path.read_bytes()


def state(path: Path, max_bytes: int = MIB * 100) -> FileState | None:
    with DirHandle.open(str(path.parent)) as folder:
        return read_state(folder, os.fsencode(path.name), max_bytes)


def test_the_digest_of_a_sparse_file_is_that_of_its_content(tmp_path: Path) -> None:
    found = state(tmp_path / "sparse") if (content := make_sparse(tmp_path / "sparse")) else None
    assert found
    assert found.content == f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.mark.parametrize("size", [0, 5, 10 * MIB + 3, 20 * MIB, 40 * MIB, 50 * MIB])
def test_a_copy_has_the_same_content_and_holes(tmp_path: Path, size: int) -> None:
    content = make_sparse(tmp_path / "sparse")
    with (tmp_path / "sparse").open("rb") as source, (tmp_path / "copy").open("wb") as target:
        digest = copy_content(source.fileno(), target.fileno(), size)
    assert (tmp_path / "copy").read_bytes() == content[:size]
    assert digest == f"sha256:{hashlib.sha256(content[:size]).hexdigest()}"
    assert (tmp_path / "copy").stat().st_blocks * 512 < MIB


@VIEWS
def test_sparse_files_stay_sparse(workspace: Path, engine: Engines) -> None:
    def act(view: Path) -> None:
        assert (view / "old").stat().st_blocks * 512 < MIB
        with (view / "old").open("r+b") as file:
            file.seek(20 * MIB)
            file.write(b"more")
        make_sparse(view / "new")

    content = make_sparse(workspace / "old")
    assert not call(engine(act), tool(), workspace).is_error
    assert (workspace / "old").read_bytes() == content[: 20 * MIB] + b"more" + content[20 * MIB + 4 :]
    assert (workspace / "new").read_bytes() == content
    # The kernel copies a file into the upper directory in pieces of 1 MiB.
    assert [(workspace / name).stat().st_blocks * 512 < 4 * MIB for name in ("old", "new")] == [True, True]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    found, large = state(tmp_path / "a", 5), state(tmp_path / "a", 4)
    assert found
    assert large
    assert (found.is_known, large.is_known) == (True, False)
    assert found != large


def test_a_folder_that_was_replaced_has_another_state(tmp_path: Path) -> None:
    """Also if the file system gives the new one the same inode."""
    folder = tmp_path / "folder"
    folder.mkdir()
    before = state(folder)
    (folder / "file").touch()
    assert state(folder) == before
    (folder / "file").unlink()
    folder.rmdir()
    folder.mkdir()
    assert state(folder) != before


@pytest.mark.parametrize("act", ["touch", "link"])
def test_times_and_links_are_not_part_of_a_state(tmp_path: Path, act: str) -> None:
    path = tmp_path / "a"
    path.write_text("a")
    before = state(path)
    if act == "touch":
        os.utime(path, (1, 1))
    else:
        (tmp_path / "b").hardlink_to(path)
    assert state(path) == before

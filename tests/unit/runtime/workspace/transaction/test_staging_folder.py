"""Where a commit keeps new and old files: outside the workspace, on its file system."""

import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from workspaces.edited_workspace import AFTER, BEFORE, edit, scratches, workspace
from workspaces.transaction_cases import call, changes_of, doing, tool, tree

from toolc.model.errors import UsageError
from toolc.runtime.workspace.dir_handle import rename as real_rename
from toolc.runtime.workspace.mount import mount
from toolc.runtime.workspace.transaction import commit
from toolc.runtime.workspace.transaction.journal import STAGED

__all__ = ["workspace"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_DETACH: Final = 2


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the staging folders of commits, one for each rename."""

    def rename(*arguments: object) -> None:
        for descriptor in (arguments[0], arguments[2]):
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            if path.name == STAGED or path.name.startswith(commit.PREFIX):
                found.append(path)
        real_rename(*arguments)  # type: ignore[arg-type]

    found: list[Path] = []
    monkeypatch.setattr(commit, "rename", rename)
    return found


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder where another file system is mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    assert _LIBC.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=4m") == 0
    yield folder
    _LIBC.umount2(os.fsencode(folder), _DETACH)


def make(folder: Path) -> None:
    for name, text in BEFORE.items():
        if text == "folder":
            (folder / name).mkdir(parents=True)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


def test_files_are_staged_in_the_scratch_folder(workspace: Path, staged: list[Path]) -> None:
    assert not call(doing(edit), tool(), workspace).is_error
    assert {path.name for path in staged} == {STAGED}
    assert scratches() == []


@needs_root
def test_on_another_file_system_files_are_staged_at_its_top(disk: Path, staged: list[Path]) -> None:
    folder = disk / "deep" / "work"
    make(folder)
    assert not call(doing(edit), tool(), folder).is_error
    assert {path.parent for path in staged} == {disk}
    assert (tree(folder), [path.name for path in disk.iterdir()]) == (AFTER, ["deep"])


@needs_root
def test_a_workspace_that_is_a_file_system_has_no_other_place(disk: Path, staged: list[Path]) -> None:
    make(disk)
    assert not call(doing(edit), tool(), disk).is_error
    assert {path.parent for path in staged} == {disk}
    assert tree(disk) == AFTER


def test_if_files_cannot_be_moved_from_one_place_the_next_is_used(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project quota, for example, forbids it."""

    def rename(from_folder: int, old: bytes, to_folder: int, new: bytes, flags: int) -> None:
        places = [Path(f"/proc/self/fd/{descriptor}").readlink() for descriptor in (from_folder, to_folder)]
        if any(path.name == STAGED for path in places):
            refused.append(old)
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real_rename(from_folder, old, to_folder, new, flags)

    refused: list[bytes] = []
    monkeypatch.setattr(commit, "rename", rename)
    assert changes_of(call(doing(edit), tool(), workspace))["committed"]
    assert (len(refused), tree(workspace), scratches()) == (1, AFTER, [])


@pytest.mark.parametrize("path", ["state/toolc/scratch", "state/toolc", "state", "."])
def test_a_folder_with_the_files_of_other_calls_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state" / "toolc" / "scratch").mkdir(parents=True)
    with pytest.raises(UsageError, match="a folder with the views of other calls, which a tool may not access"):
        mount(tmp_path / path, "ro")
    (tmp_path / "work").mkdir()
    assert mount(tmp_path / "work", "ro").source == str(tmp_path / "work")

"""A file of a client is written as a whole, at its path, or not at all."""

import os
from pathlib import Path

import pytest

from toolc.model.errors import UsageError
from toolc.runtime.workspace.mount import mount
from toolc.runtime.workspace.transaction.commit import commit
from toolc.runtime.workspace.transaction.lock import locked_workspace
from toolc.runtime.workspace.transaction.upload import write_upload


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work" / "data").mkdir(parents=True)
    return tmp_path / "work"


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize(
    "path", ["", "..", "../x", "/etc/x", "data/../../x", "./x", "data//x", "data/", "a\0b", "é" * 200]
)
def test_no_path_leads_out_of_the_workspace(folder: Path, path: str) -> None:
    with pytest.raises((UsageError, ValueError)):
        write_upload(mount(folder, "rw"), path, b"x", replaces=True)
    assert sorted(each.name for each in folder.parent.rglob("*")) == ["data", "work"]


def test_a_file_with_another_name_for_its_content_is_replaced_and_not_changed(folder: Path) -> None:
    (folder / "a").write_text("old")
    os.link(folder / "a", folder.parent / "b")
    assert write_upload(mount(folder, "rw"), "a", b"new", replaces=True) is False
    assert ((folder / "a").read_text(), (folder.parent / "b").read_text()) == ("new", "old")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write as another user")
def test_a_file_belongs_to_the_owner_of_the_workspace(folder: Path) -> None:
    for each in (folder, folder / "data"):
        os.chown(each, 1234, 1235)
    assert write_upload(mount(folder, "rw"), "data/a", b"x", replaces=False) is True
    status = (folder / "data" / "a").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (1234, 1235, 0o644)


def test_a_file_that_appears_in_between_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*arguments: object) -> None:
        (folder / "a").write_text("theirs")
        commit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("toolc.runtime.workspace.transaction.upload.commit", late)
    with pytest.raises(UsageError, match="another process changed it too"):
        write_upload(mount(folder, "rw"), "a", b"x", replaces=False)
    assert (folder / "a").read_text() == "theirs"
    assert names(folder) == ["a", "data"]


def test_a_commit_that_takes_long_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolc.runtime.workspace.transaction.lock.WAIT_SECONDS", 0.1)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with locked_workspace(descriptor), pytest.raises(UsageError, match="another process still holds the lock"):
            write_upload(mount(folder, "rw"), "a", b"x", replaces=False)
    finally:
        os.close(descriptor)
    assert names(folder) == ["data"]

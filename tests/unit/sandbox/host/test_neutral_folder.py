"""A folder whose path says nothing about toolc, and its removal with its owner."""

import errno
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host import neutral_folder, store
from toolc.sandbox.host.janitor_process import neutral_folders, remove_owned
from toolc.sandbox.host.neutral_folder import NeutralFolder, NeutralFolderError
from toolc.sandbox.host.owner import Owner


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use this folder for temporary files, and its subfolder ``owner`` as the runtime folder."""
    owner = tmp_path / "owner"
    owner.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Owner, "directory", lambda _: owner)
    monkeypatch.setattr(neutral_folder, "directories", lambda: iter([(Owner.current(), owner)]))
    return tmp_path


def test_its_name_is_random_and_only_its_user_can_enter_it(place: Path) -> None:
    folder = NeutralFolder.create()
    (path,) = neutral_folders(place / "owner")
    assert path.parent == place
    assert re.fullmatch("[0-9a-f]{16}", path.name)
    assert path.stat().st_mode & 0o777 == 0o700
    names = [folder.link("/proc/1/fd/3"), folder.folder(), folder.file("text")]
    assert names == [f"{path}/{number}" for number in (1, 2, 3)]
    assert Path(names[0]).readlink() == Path("/proc/1/fd/3")
    assert Path(names[2]).read_text(encoding="utf-8") == "text"


def test_closing_it_removes_it_with_its_record_but_not_what_it_links_to(place: Path) -> None:
    (place / "kept").mkdir()
    folder = NeutralFolder.create()
    folder.link(str(place / "kept"))
    for _ in range(2):
        folder.close()
        assert sorted(each.name for each in place.iterdir()) == ["kept", "owner"]
        assert not [*(place / "owner").iterdir()]


def _too_many_open_files(*_: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def test_it_is_removed_without_opening_a_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = NeutralFolder.create()
    folder.link("/"), folder.folder(), folder.file("text")
    monkeypatch.setattr(Path, "read_bytes", _too_many_open_files)
    folder.close()
    assert [each.name for each in place.iterdir()] == ["owner"]
    assert not [*(place / "owner").iterdir()]


@pytest.mark.parametrize(
    ("owner", "name", "fails"),
    [(Path, "read_bytes", _too_many_open_files), (shutil, "rmtree", lambda *_, **__: None)],
    ids=["too many open files", "a file that cannot be removed"],
)
def test_the_record_stays_if_the_folder_cannot_be_removed(
    owner: object, name: str, fails: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = NeutralFolder.create()
    (folder.path / "more").touch()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        folder.close()
    assert neutral_folders(place / "owner") == [folder.path]
    assert remove_owned(place / "owner")
    assert not [*place.iterdir()]


def test_the_folder_for_temporary_files_may_be_relative(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr(tempfile, "tempdir", ".")
    assert NeutralFolder.create().path.parent == place
    monkeypatch.chdir("/")
    assert remove_owned(place / "owner")
    assert not [*place.iterdir()]


def test_without_a_folder_for_temporary_files_the_error_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_folder() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", no_folder)
    with pytest.raises(NeutralFolderError, match="no folder for temporary files can be written to; set TMPDIR to one"):
        NeutralFolder.create()


def test_it_is_removed_with_the_runtime_folder_of_its_owner(place: Path) -> None:
    NeutralFolder.create()
    (place / "owner/neutral-0123456789abcdef").symlink_to(place / "0123456789abcdef")  # killed before it existed
    assert remove_owned(place / "owner")
    assert not [*place.iterdir()]


def test_a_record_of_another_folder_removes_only_the_record(place: Path) -> None:
    (place / "other").mkdir()
    (place / "owner/neutral-0123456789abcdef").symlink_to(place / "other")
    assert remove_owned(place / "owner")
    assert [each.name for each in place.iterdir()] == ["other"]


def test_packages_that_it_links_to_are_in_use(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.VARIABLE, str(place / "store"))
    made = store.make("site", "aa11", lambda _: None)
    folder = NeutralFolder.create()
    folder.link(str(made))
    with pytest.raises(InfrastructureError, match=r"^a call uses it; try again later$"):
        store.remove("site", "aa11", made)
    folder.close()
    store.remove("site", "aa11", made)
    assert not made.exists()


def test_a_folder_that_cannot_be_created_is_reported_and_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = place / "missing"
    monkeypatch.setattr(tempfile, "tempdir", str(missing))
    remedy = f"make {missing} a folder you can write to, or set TMPDIR to another folder"
    with pytest.raises(InfrastructureError, match=rf"^cannot write to .*: No such file or directory; {remedy}$"):
        NeutralFolder.create()
    assert not [*(place / "owner").iterdir()]


def test_a_full_file_system_is_reported(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = NeutralFolder.create()

    def fail(path: Path, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "mkdir", fail)
    message = (
        f"cannot write to {folder.path}: No space left on device; free space there, or set TMPDIR to another folder"
    )
    with pytest.raises(InfrastructureError, match=rf"^{message}$"):
        folder.folder()
    folder.close()

"""The folder of a start: links and files, and its removal with its owner."""

import errno
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host import start_folder, store
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolder, StartFolderError


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use this folder as the runtime folder of this process, which is the only owner."""
    monkeypatch.setattr(Owner, "directory", lambda _: tmp_path)
    monkeypatch.setattr(start_folder, "directories", lambda: iter([(Owner.current(), tmp_path)]))
    return tmp_path


def test_it_exists_from_its_first_entry_on_and_only_its_user_can_enter_it(place: Path) -> None:
    folder = StartFolder()
    assert not [*place.iterdir()]
    link, file = Path(folder.link("/proc/1/fd/3")), Path(folder.file("text"))
    assert [*place.iterdir()] == [folder.path] == [link.parent]
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert (link.readlink(), file.read_text(encoding="utf-8")) == (Path("/proc/1/fd/3"), "text")
    assert file.stat().st_mode & 0o777 == 0o644


def test_closing_it_removes_it_but_not_what_it_links_to(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_many_open_files(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    folder, kept = StartFolder(), place / "kept"
    kept.mkdir()
    folder.link(str(kept))
    folder.file("text")
    with folder.new() as empty:
        empty.mkdir()
    monkeypatch.setattr(Path, "iterdir", too_many_open_files)
    for _ in range(2):
        folder.close()
        assert not folder.path.exists()
    assert kept.is_dir()


def test_the_folders_of_dead_owners_are_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StartFolder().file("text")
    (place / "other").mkdir()
    monkeypatch.setattr(start_folder, "dead_directories", lambda: iter([(Owner.current(), place)]))
    start_folder.remove_stale()
    assert [each.name for each in place.iterdir()] == ["other"]


def test_packages_that_it_links_to_are_in_use(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.VARIABLE, str(place / "store"))
    made = store.make("site", "aa11", lambda _: None)
    folder = StartFolder()
    folder.link(str(made))
    with pytest.raises(InfrastructureError, match=r"^a call uses it; try again later$"):
        store.remove("site", "aa11", made)
    folder.close()
    store.remove("site", "aa11", made)
    assert not made.exists()


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "free space there"), (errno.EACCES, "give this user write permission for .*")]
)
def test_what_cannot_be_created_is_reported(number: int, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, *_: object, **__: object) -> None:
        raise OSError(number, "No such luck", str(path))

    folder = StartFolder()
    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(StartFolderError, match=rf"^cannot write to {folder.path}: No such luck; {remedy}$"):
        folder.file("text")


def test_too_many_open_files_are_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(InfrastructureError, match="too many open files"):
        StartFolder().file("text")

import errno
import itertools
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolc.runtime.workspace.dir_handle import RENAME_EXCHANGE, RENAME_NOREPLACE, DirHandle, rename


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in (("in/deep/file", "mine"), ("secret/file", "secret")):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    return tmp_path / "in"


@pytest.fixture
def root(folder: Path) -> Iterator[DirHandle]:
    with DirHandle.open(str(folder)) as opened:
        yield opened


def test_files_in_the_folder_can_be_read(root: DirHandle) -> None:
    status = root.status_of(b"deep/file")
    assert status is not None
    assert status.st_size == 4
    assert [name for name, _ in root.entries(b"deep", 9)] == [b"file"]
    with root.file(b"deep/file") as descriptor:
        assert os.read(descriptor, 10) == b"mine"
    assert root.status_of(b"nothing/at/all") is None


def test_links_are_not_followed(root: DirHandle, folder: Path) -> None:
    (folder / "link").symlink_to("../secret")
    (folder / "deep" / "leak").symlink_to("../../secret/file")
    assert root.status_of(b"link/file") is None
    with pytest.raises(OSError), root.file(b"link/file"):  # noqa: PT011  ENOTDIR or ELOOP, depending on the kernel
        pass
    with pytest.raises(OSError, match="symbolic"), root.file(b"deep/leak"):
        pass
    assert root.read_link(b"deep/leak") == b"../../secret/file"


def test_opening_a_fifo_fails_and_does_not_block(root: DirHandle, folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    with pytest.raises(OSError, match="not a regular file"), root.file(b"fifo"):
        pass


def test_a_moved_folder_stays_open(root: DirHandle, folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("secret")
    with root.file(b"deep/file") as descriptor:
        assert os.read(descriptor, 10) == b"mine"


def test_a_parent_that_is_swapped_for_a_link_is_not_followed(root: DirHandle, folder: Path) -> None:
    (folder / "bait").symlink_to("../secret")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            # The threads may take turns: without a random number, the reader might always see the same state.
            for _ in range(random.randrange(100)):
                rename(root.descriptor, b"deep", root.descriptor, b"bait", RENAME_EXCHANGE)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes] = set()
    tries, deadline = itertools.count(), time.monotonic() + 60
    try:
        while next(tries) < 3000 or (b"mine" not in seen and time.monotonic() < deadline):
            try:
                with root.file(b"deep/file") as descriptor:
                    seen.add(os.read(descriptor, 10))
            except OSError as error:
                seen.add(errno.errorcode[error.errno or 0].encode())
    finally:
        stop.set()
        swapper.join()
    assert b"secret" not in seen
    assert b"mine" in seen


@pytest.mark.parametrize("by_kernel", [True, False], ids=["renameat2", "in steps"])
def test_a_rename_replaces_no_file_or_exchanges_two(
    root: DirHandle, folder: Path, monkeypatch: pytest.MonkeyPatch, by_kernel: bool
) -> None:
    if not by_kernel:
        monkeypatch.setattr("toolc.runtime.workspace.dir_handle._LIBC", object())
    (folder / "a").write_text("a")
    (folder / "b").write_text("b")
    with pytest.raises(FileExistsError):
        rename(root.descriptor, b"a", root.descriptor, b"b", RENAME_NOREPLACE)
    rename(root.descriptor, b"a", root.descriptor, b"b", RENAME_EXCHANGE)
    assert (folder / "a").read_text() == "b"
    rename(root.descriptor, b"a", root.descriptor, b"c", RENAME_NOREPLACE)
    assert sorted(path.name for path in folder.iterdir()) == ["b", "c", "deep"]


def test_the_number_of_entries_is_limited(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / str(number)).touch()
    with DirHandle.open(str(tmp_path)) as root:
        assert len(root.entries(b"", 4)) == 4
        assert [name for name, _ in root.entries(b"", 100)] == [b"%d" % number for number in range(9)]

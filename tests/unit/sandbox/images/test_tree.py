"""The tree of an image: a digest of its files that does not depend on layers, times, or who unpacks them."""

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from engines.tar_files import packed as layer

from toolc.sandbox.images.tree import Tree
from toolc.sandbox.images.unpack import LayerReader, UnpackBudget, unpack


def entry(name: str, content: str = "", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(content), 1_000_000
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content.encode()


FOLDER = entry("d", type=tarfile.DIRTYPE, mode=0o755)
FILE = entry("d/file", "text", mode=0o644, uid=1, gid=2)
LINK = entry("d/link", type=tarfile.SYMTYPE, linkname="file")


def tree_of(root: Path, *layers: bytes) -> Tree:
    tree = Tree()
    root.mkdir()
    for each in layers:
        unpack(LayerReader(io.BytesIO(each), len(each)), str(root), UnpackBudget(), tree)
    return tree


def digest(tmp_path: Path, *layers: bytes) -> str:
    return tree_of(tmp_path / str(len(list(tmp_path.iterdir()))), *layers).digest()


def test_the_digest_can_be_computed_from_the_files(tmp_path: Path) -> None:
    content = hashlib.sha256(b"text").hexdigest()
    records = [
        ("d", "d", "755", "0", "0", "", ""),
        ("d/file", "f", "644", "1", "2", "", content),
        ("d/link", "l", "777", "0", "0", "file", ""),
    ]
    written = "".join("".join(f"{field}\0" for field in record) + "\n" for record in records)
    expected = hashlib.sha256(written.encode()).hexdigest()
    assert digest(tmp_path, layer(LINK, FOLDER, FILE)) == f"sha256:{expected}"


def test_layers_and_times_do_not_matter(tmp_path: Path) -> None:
    newer = entry("d/file", "text", mode=0o644, uid=1, gid=2, mtime=2_000_000)
    older = entry("d/file", "old", mode=0o600)
    one = digest(tmp_path, layer(FOLDER, FILE, LINK))
    assert digest(tmp_path, layer(FOLDER, older), layer(newer), layer(LINK)) == one


@pytest.mark.parametrize(
    "other",
    [
        entry("d/other", "text", mode=0o644, uid=1, gid=2),
        entry("d/file", "next", mode=0o644, uid=1, gid=2),
        entry("d/file", "text", mode=0o600, uid=1, gid=2),
        entry("d/file", "text", mode=0o644, uid=3, gid=2),
        entry("d/file", "text", mode=0o644, uid=1, gid=3),
        entry("d/file", type=tarfile.SYMTYPE, linkname="text", uid=1, gid=2),
        entry("d/file", type=tarfile.FIFOTYPE, mode=0o644, uid=1, gid=2),
    ],
    ids=["path", "content", "mode", "uid", "gid", "type", "fifo"],
)
def test_each_part_of_an_entry_matters(tmp_path: Path, other: tuple[tarfile.TarInfo, bytes]) -> None:
    assert digest(tmp_path, layer(FOLDER, FILE)) != digest(tmp_path, layer(FOLDER, other))


def test_the_target_of_a_link_matters(tmp_path: Path) -> None:
    other = entry("d/link", type=tarfile.SYMTYPE, linkname="other")
    assert digest(tmp_path, layer(FOLDER, LINK)) != digest(tmp_path, layer(FOLDER, other))


def test_set_id_bits_and_devices_count_although_they_are_not_unpacked(tmp_path: Path) -> None:
    plain = digest(tmp_path, layer(FOLDER, entry("d/su", "x", mode=0o755)))
    with_bit = layer(FOLDER, entry("d/su", "x", mode=0o4755))
    assert digest(tmp_path, with_bit) != plain
    device = layer(FOLDER, entry("d/disk", type=tarfile.BLKTYPE, devmajor=8, devminor=1))
    other = layer(FOLDER, entry("d/disk", type=tarfile.BLKTYPE, devmajor=8, devminor=2))
    assert len({digest(tmp_path, layer(FOLDER)), digest(tmp_path, device), digest(tmp_path, other)}) == 3


@pytest.mark.parametrize(
    "deleting",
    [
        (entry("d/.wh.file"), entry("d/.wh.disk")),
        (entry("d/.wh..wh..opq"),),
        (entry(".wh.d"), FOLDER),
        (entry("d", "a file"), FOLDER),
    ],
    ids=["file", "opaque", "folder", "replaced"],
)
def test_what_a_layer_deletes_is_not_counted(
    tmp_path: Path, deleting: tuple[tuple[tarfile.TarInfo, bytes], ...]
) -> None:
    first = layer(FOLDER, FILE, entry("d/disk", type=tarfile.CHRTYPE, devmajor=1, devminor=1))
    assert digest(tmp_path, first, layer(*deleting)) == digest(tmp_path, layer(FOLDER))


def test_what_a_layer_adds_to_a_folder_that_it_clears_is_kept(tmp_path: Path) -> None:
    added = (entry("d/new", "new"), entry("d/pipe", type=tarfile.FIFOTYPE))
    cleared = layer(*added, entry("d/.wh..wh..opq"))
    assert digest(tmp_path, layer(FOLDER, FILE), cleared) == digest(tmp_path, layer(FOLDER, *added))


def test_a_hard_link_is_a_file(tmp_path: Path) -> None:
    hard = entry("d/same", type=tarfile.LNKTYPE, linkname="d/file")
    copy = entry("d/same", "text", mode=0o644, uid=1, gid=2)
    assert digest(tmp_path, layer(FOLDER, FILE, hard)) == digest(tmp_path, layer(FOLDER, FILE, copy))


def test_entries_below_a_link_are_counted_where_they_are(tmp_path: Path) -> None:
    link = entry("lib", type=tarfile.SYMTYPE, linkname="d")
    through = entry("lib/file", "text", mode=0o644, uid=1, gid=2)
    assert digest(tmp_path, layer(FOLDER, link, FILE)) == digest(tmp_path, layer(FOLDER, link), layer(through))


def test_a_folder_that_no_layer_lists_is_counted_as_it_is_created(tmp_path: Path) -> None:
    assert digest(tmp_path, layer(FILE)) == digest(tmp_path, layer(FOLDER, FILE))


def test_names_that_are_not_utf_8_are_counted(tmp_path: Path) -> None:
    name = os.fsdecode(b"d/\xff")
    assert list(tree_of(tmp_path / "root", layer(FOLDER, entry(name))).records) == ["d", name]

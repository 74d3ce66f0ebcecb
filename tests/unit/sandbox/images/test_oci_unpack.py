"""Unpacking layers of an image, also malicious ones, which must not write outside of the root."""

import io
import stat
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from engines.tar_files import packed

from toolc.model.errors import InfrastructureError
from toolc.sandbox.images.unpack import MAX_BYTES, MAX_METADATA, LayerReader, UnpackBudget, resolve, unpack

Entry = tuple[tarfile.TarInfo, bytes]


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", *, link: str = "", mode: int = 0o644
) -> Entry:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size, info.mtime = kind, link, mode, len(content), 1_000_000
    return info, content


def file(name: str, content: str = "", mode: int = 0o644) -> Entry:
    return entry(name, content=content.encode(), mode=mode)


def folder(name: str, mode: int = 0o755) -> Entry:
    return entry(name, tarfile.DIRTYPE, mode=mode)


def link(name: str, target: str) -> Entry:
    return entry(name, tarfile.SYMTYPE, link=target)


def hard(name: str, target: str) -> Entry:
    return entry(name, tarfile.LNKTYPE, link=target)


Apply = Callable[..., None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside", encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def apply(root: Path) -> Apply:
    budget = UnpackBudget()

    def layer(*entries: Entry) -> None:
        data = packed(*entries)
        unpack(LayerReader(io.BytesIO(data), len(data)), str(root), budget)

    return layer


def tree(root: Path) -> dict[str, str]:
    """Return each path with a file's content or a link's target."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = "/" if path.is_dir() else path.read_text(encoding="utf-8")
    return found


def test_files_folders_and_links_are_unpacked(root: Path, apply: Apply) -> None:
    apply(folder("./a"), file("a/b", "text"), link("c", "/a/b"), hard("d", "a/b"), file("/e/f", "made above it"))
    assert tree(root) == {"a": "/", "a/b": "text", "c": "-> /a/b", "d": "text", "e": "/", "e/f": "made above it"}
    assert (root / "d").stat().st_ino == (root / "a/b").stat().st_ino
    assert (root / "a/b").stat().st_mtime == 1_000_000


def test_modes_are_kept_without_set_id_bits(root: Path, apply: Apply) -> None:
    apply(file("a", mode=0o6755), file("b", mode=0o000), folder("c", 0o2000), folder("d", 0o1777))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()}
    assert modes == {"a": 0o755, "b": 0o400, "c": 0o700, "d": 0o1777}


def test_devices_and_fifos_are_dropped(root: Path, apply: Apply) -> None:
    apply(entry("a", tarfile.CHRTYPE), entry("b", tarfile.BLKTYPE), entry("c", tarfile.FIFOTYPE), file("d"))
    assert tree(root) == {"d": ""}


def test_a_later_layer_replaces_and_deletes(root: Path, apply: Apply) -> None:
    apply(file("a", "1"), file("b", "1"), folder("c"), file("c/d", "1"), file("e", "1"))
    apply(file("a", "2"), file(".wh.b"), file("c", "now a file"), folder("e"), file("e/f"))
    assert tree(root) == {"a": "2", "c": "now a file", "e": "/", "e/f": ""}


def test_a_layer_deletes_only_files_of_lower_layers(root: Path, apply: Apply) -> None:
    apply(folder("a"), file("a/old"), folder("a/b"), file("a/b/old"), file("c"))
    apply(file("a/b/new"), file("a/.wh..wh..opq"), file("c", "new"), file(".wh.c"), file(".wh..wh.plnk"))
    assert tree(root) == {"a": "/", "a/b": "/", "a/b/new": "", "c": "new"}


def test_links_are_followed_inside_the_root(root: Path, apply: Apply) -> None:
    apply(folder("usr"), folder("usr/lib"), link("lib", "usr/lib"), link("etc", "/usr/../../../conf"))
    apply(file("lib/a", "1"), file("etc/b", "2"), link("usr/abs", "/conf"), link("usr/rel", "lib"))
    apply(file("usr/abs/c", "3"), file("usr/rel/d", "4"))
    assert tree(root) == {
        "conf": "/", "conf/b": "2", "conf/c": "3", "etc": "-> /usr/../../../conf", "lib": "-> usr/lib", "usr": "/",
        "usr/abs": "-> /conf", "usr/lib": "/", "usr/lib/a": "1", "usr/lib/d": "4", "usr/rel": "-> lib",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([file("../secret", "x")], "the path '../secret' leads out of its root"),
        ([file("a/../../secret", "x")], "leads out of its root"),
        ([folder("a"), hard("a/b", "../../secret")], "leads out of its root"),
        ([hard("a", "/secret")], "hard link to '/secret', which is not one of its files"),
        ([link("a", ".."), hard("b", "a/secret")], "hard link to 'a/secret', which is not one of its files"),
        ([folder("a"), hard("b", "a")], "hard link to 'a', which is not one of its files"),
        ([hard("b", "")], "hard link to '', which is not one of its files"),
        ([link("a", "b"), link("b", "a"), file("a/c")], "links form a cycle"),
        ([link("a", "a/a"), file("a/c")], "links form a cycle"),
        ([file("a"), file("a/b")], "has a file at '/a', where a folder is needed"),
        ([file(".wh..")], "deletes '.', which is not a file name"),
        ([file("a/.wh...")], "deletes '..', which is not a file name"),
        ([file("/".join("a" * 200))], "more than 128 folders"),
        ([file("a" * (MAX_METADATA + 1))], "a header of more than a megabyte"),
    ],
)
def test_malicious_layers_are_refused(root: Path, apply: Apply, entries: list[Entry], words: str) -> None:
    with pytest.raises(InfrastructureError) as caught:
        apply(*entries)
    assert words in str(caught.value)
    assert (root.parent / "secret").read_text(encoding="utf-8") == "outside"
    assert sorted(path.name for path in root.parent.iterdir()) == ["root", "secret"]


@pytest.mark.parametrize("target", ["..", "/..", "../..", "/../../etc", "."])
def test_links_out_of_the_root_stay_inside(root: Path, apply: Apply, target: str) -> None:
    apply(link("out", target))
    apply(file("out/secret", "inside"), file("out/.wh.nothing"))
    assert (root.parent / "secret").read_text(encoding="utf-8") == "outside"
    assert sorted(path.name for path in root.parent.iterdir()) == ["root", "secret"]
    assert [path.read_text(encoding="utf-8") for path in root.rglob("secret")] == ["inside"]


def test_a_file_replaces_a_link(root: Path, apply: Apply) -> None:
    apply(link("a", "../secret"), link("b", "../secret"))
    apply(file("a", "inside"), file(".wh.b"))
    assert tree(root) == {"a": "inside"}
    assert (root.parent / "secret").read_text(encoding="utf-8") == "outside"


def test_bytes_and_files_are_limited(root: Path) -> None:
    data = packed(*(file(str(number), "x" * 100) for number in range(10)))
    for budget in (UnpackBudget(bytes_left=999), UnpackBudget(entries_left=9)):
        with pytest.raises(InfrastructureError, match="the image is larger than 16GiB or has more than 1000000 files"):
            unpack(LayerReader(io.BytesIO(data), len(data)), str(root), budget)


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.REGTYPE])
def test_a_negative_size_does_not_increase_the_budget(root: Path, kind: bytes) -> None:
    info, _ = entry("a", kind, link="b")
    info.size = -(2**60)
    data = info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)
    budget = UnpackBudget()
    with pytest.raises(InfrastructureError, match=r"a file of negative size|is damaged"):
        unpack(LayerReader(io.BytesIO(data), len(data)), str(root), budget)
    assert budget.bytes_left == MAX_BYTES


@pytest.mark.slow
def test_headers_do_not_accumulate_in_memory(root: Path) -> None:
    """Each header has a copy of the global one before it."""
    pax_headers = {f"key{number}": "value" for number in range(10_000)}
    data = packed(*(entry(str(number)) for number in range(200)), pax_headers=pax_headers)
    tracemalloc.start()
    try:
        unpack(LayerReader(io.BytesIO(data), len(data)), str(root), UnpackBudget())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(list(root.iterdir())) == 200
    assert peak < 16 * 1024 * 1024


def test_the_decompressed_size_is_limited(root: Path) -> None:
    with pytest.raises(InfrastructureError, match="more than 20000 bytes"):
        LayerReader(io.BytesIO(bytes(30_000)), 20_000).digest()


@pytest.mark.parametrize("data", [b"x" * 2000, packed(file("a", "x" * 5000))[:1024]])
def test_damaged_layers_are_refused(root: Path, data: bytes) -> None:
    with pytest.raises(InfrastructureError, match="a layer of the image is damaged: "):
        unpack(LayerReader(io.BytesIO(data), 10**6), str(root), UnpackBudget())


def test_resolve_creates_missing_folders(root: Path) -> None:
    (root / "a").symlink_to("/b")
    assert resolve(str(root), ["a", "c"]) == f"{root}/b/c"
    assert (root / "b/c").is_dir()

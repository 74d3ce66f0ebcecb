"""Image archives in the forms that other programs write, and messages about invalid ones."""

import gzip
import hashlib
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest
from engines.tar_files import packed_files

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.sandbox.images import archive as images_archive
from toolc.sandbox.images.archive import ZSTD, open_archive

MACHINE = images_archive._machine()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def configuration(*layers: bytes, **more: str) -> bytes:
    ids = [digest(each) for each in layers]
    return json.dumps({"os": "linux", "architecture": MACHINE, "rootfs": {"diff_ids": ids}} | more).encode()


def saved(*images: tuple[str, bytes, list[bytes]]) -> dict[str, bytes]:
    """Return the files that ``docker save`` writes for images: name, configuration and layers."""
    files: dict[str, bytes] = {}
    manifest: list[JsonObject] = []
    for name, config, layers in images:
        names = [f"{digest(each)[7:19]}/layer.tar" for each in layers]
        files |= dict(zip(names, layers, strict=True)) | {f"{digest(config)[7:]}.json": config}
        manifest.append({"Config": f"{digest(config)[7:]}.json", "RepoTags": [name], "Layers": [*names]})
    return files | {"manifest.json": json.dumps(manifest).encode()}


def layout(*entries: tuple[str | None, str, bytes, list[bytes]]) -> dict[str, bytes]:
    """Return an OCI image layout: each image's name, machine, configuration and compressed layers."""
    blobs: list[bytes] = []
    index: list[JsonObject] = []
    for name, machine, config, layers in entries:
        manifest = json.dumps(
            {"config": {"digest": digest(config)}, "layers": [{"digest": digest(each)} for each in layers]}
        ).encode()
        blobs += [config, manifest, *layers]
        entry: JsonObject = {"digest": digest(manifest), "platform": {"os": "linux", "architecture": machine}}
        index.append(entry | ({"annotations": {"org.opencontainers.image.ref.name": name}} if name else {}))
    files = {f"blobs/sha256/{digest(blob)[7:]}": blob for blob in blobs}
    return files | {"index.json": json.dumps({"manifests": [*index]}).encode()}


def as_tar(path: Path, files: dict[str, bytes]) -> Path:
    path.write_bytes(packed_files(files))
    return path


def as_folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def unpacked(archive: Path, root: Path, name: str | None = None) -> tuple[str, list[str]]:
    root.mkdir()
    with open_archive(archive) as opened:
        image = opened.image(name)
        opened.unpack(image, root)
    return image.digest, sorted(path.name for path in root.iterdir())


def refusal(archive: Path, root: Path) -> str:
    with pytest.raises(InfrastructureError) as caught:
        unpacked(archive, root)
    return str(caught.value)


ONE, TWO = packed_files({"one": b"text"}), packed_files({"two": b"text"})
CONFIG = configuration(ONE, TWO)


def test_the_output_of_docker_save_is_read(tmp_path: Path) -> None:
    archive = as_tar(tmp_path / "image.tar", saved(("a:1", CONFIG, [ONE, TWO])))
    assert unpacked(archive, tmp_path / "root") == (digest(CONFIG), ["one", "two"])


def test_compressed_archives_are_read(tmp_path: Path) -> None:
    plain = as_tar(tmp_path / "image.tar", saved(("a:1", CONFIG, [ONE, TWO])))
    archive = tmp_path / "image.tar.gz"
    archive.write_bytes(gzip.compress(plain.read_bytes()))
    assert unpacked(archive, tmp_path / "root")[1] == ["one", "two"]


@pytest.mark.parametrize("write", [as_tar, as_folder])
def test_an_image_layout_with_compressed_layers(tmp_path: Path, write: object) -> None:
    assert write in {as_tar, as_folder}
    files = layout((None, MACHINE, CONFIG, [gzip.compress(ONE), TWO]))
    archive = (as_tar if write is as_tar else as_folder)(tmp_path / "layout", files)
    assert unpacked(archive, tmp_path / "root") == (digest(CONFIG), ["one", "two"])


def test_only_the_image_for_this_machine_counts(tmp_path: Path) -> None:
    files = layout((None, "s390x", configuration(TWO), [TWO]), (None, MACHINE, CONFIG, [ONE, TWO]))
    assert unpacked(as_folder(tmp_path / "layout", files), tmp_path / "root")[0] == digest(CONFIG)


def test_several_images_need_a_name(tmp_path: Path) -> None:
    archive = as_tar(tmp_path / "two.tar", saved(("a:1", CONFIG, [ONE, TWO]), ("b:1", configuration(TWO), [TWO])))
    assert unpacked(archive, tmp_path / "root", "b:1")[1] == ["two"]
    with open_archive(archive) as opened, pytest.raises(InfrastructureError) as caught:
        opened.image("c:1")
    assert str(caught.value) == f"{archive} contains 2 images; choose one by its name: a:1, b:1"


def test_an_image_for_another_machine_is_refused(tmp_path: Path) -> None:
    archive = as_tar(tmp_path / "image.tar", saved(("a:1", configuration(ONE, architecture="s390x"), [ONE])))
    assert refusal(archive, tmp_path / "root") == (
        f"the image in {archive} is for linux/s390x, but this machine is linux/{MACHINE}; "
        "use an image for this platform"
    )


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (saved(("a:1", CONFIG, [ONE, ONE])), "is damaged: the digest of layer"),
        (saved(("a:1", CONFIG, [ONE])), "is damaged: it has 1 of 2 layers"),
        (saved(("a:1", CONFIG, [ONE, b"\x1f\x8b" + TWO])), "is not an image archive: "),
        (
            layout((None, MACHINE, CONFIG, [ONE])) | {"blobs/sha256/" + digest(CONFIG)[7:]: b"{}"},
            "the digest of a blob is not",
        ),
        ({"manifest.json": b"[1]"}, "is not an image archive: its JSON does not follow the specification"),
        ({"manifest.json": b"{"}, "is not an image archive: "),
        ({"manifest.json": b"[" * 100_000}, "is not an image archive: "),
        ({"index.json": b'{"manifests": [{"digest": "sha256:../../x"}]}'}, "is not a digest"),
        ({}, "is not an image archive: "),
        ({"manifest.json": b" " * (8 * 1024 * 1024 + 1)}, "manifest.json is too large"),
    ],
)
def test_damaged_archives_are_refused(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    archive = as_tar(tmp_path / "image.tar", files)
    message = refusal(archive, tmp_path / "root")
    assert words in message
    assert "\n" not in message


class Packed(io.BytesIO):
    """A file as ``compression.zstd`` opens it; its only compression is the mark at its beginning."""

    def __init__(self, file: IO[bytes]) -> None:
        data = file.read().removeprefix(ZSTD)
        if data == b"broken":
            raise ArithmeticError("it is broken")
        super().__init__(data)


def test_zstd_layers_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstd = SimpleNamespace(ZstdFile=Packed, ZstdError=ArithmeticError)
    monkeypatch.setitem(sys.modules, "compression", SimpleNamespace(zstd=zstd, __path__=[]))
    monkeypatch.setitem(sys.modules, "compression.zstd", zstd)
    archive = as_tar(tmp_path / "image.tar", saved(("a:1", CONFIG, [ZSTD + ONE, TWO])))
    assert unpacked(archive, tmp_path / "root")[1] == ["one", "two"]
    broken = as_tar(tmp_path / "broken.tar", saved(("a:1", CONFIG, [ZSTD + b"broken", TWO])))
    with pytest.raises(InfrastructureError, match="is not an image archive: it is broken"):
        unpacked(broken, tmp_path / "broken")


def test_zstd_layers_without_support_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    archive = as_tar(tmp_path / "image.tar", saved(("a:1", CONFIG, [ONE, ZSTD + TWO])))
    assert refusal(archive, tmp_path / "root") == (
        f"a layer of the image is compressed with zstd, which Python {sys.version_info[0]}.{sys.version_info[1]} "
        "cannot decompress; run toolc with Python 3.14 or later, or use gzip: skopeo copy "
        "--dest-compress-format gzip --dest-force-compress-format SOURCE oci-archive:FILE"
    )


def test_paths_outside_of_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_bytes(CONFIG)
    files = {"manifest.json": json.dumps([{"Config": "../outside.json", "RepoTags": [], "Layers": []}]).encode()}
    with pytest.raises(InfrastructureError, match="refers to a file outside of it"):
        unpacked(as_folder(tmp_path / "folder", files), tmp_path / "root")


def test_a_file_that_is_not_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "file"
    archive.write_text("hello", encoding="utf-8")
    assert refusal(archive, tmp_path / "root") == (
        f"{archive} is not an image archive: it is not a tar file; create one with: docker save --output FILE IMAGE"
    )

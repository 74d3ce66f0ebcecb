"""Preparing an unpacked image as the root of sandboxes."""

import tarfile
from pathlib import Path

import pytest
from engines.image_cases import archive
from engines.tar_files import packed

from toolc.sandbox.images import unpacked


def layer_of_links(links: dict[str, str]) -> bytes:
    """Return a layer with these links."""
    entries = [tarfile.TarInfo(name) for name in links]
    for info in entries:
        info.type, info.linkname = tarfile.SYMTYPE, links[info.name]
    return packed(*((info, b"") for info in entries))


@pytest.mark.parametrize("name", unpacked.MOUNT_POINTS)
def test_links_at_mount_points_are_replaced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLC_STORE", str(tmp_path / "store"))
    outside = tmp_path / "outside"
    outside.mkdir()
    first = name.split("/", maxsplit=1)[0]

    image = unpacked.import_archive(
        "links:1", archive(tmp_path / "image.tar", "links:1", layer_of_links({first: str(outside)}))
    )

    assert not (image.root / first).is_symlink()
    assert (image.root / name).is_dir()
    assert not any(outside.iterdir())

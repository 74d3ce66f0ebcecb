"""Preparing an unpacked image as the root of sandboxes."""

import io
import tarfile
from pathlib import Path

import pytest
from image_cases import archive

from toolc.sandbox.images import unpacked


def layer_of_links(links: dict[str, str]) -> bytes:
    """Return a layer with these links."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, target in links.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return data.getvalue()


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

"""Unpacked images without a name can be removed, unless a call uses them."""

from contextlib import closing
from pathlib import Path

import pytest
from image_cases import archive, busybox, needs_busybox
from oci_cases import needs_oci, own_store

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.host import store
from toolc.sandbox.images import metadata
from toolc.sandbox.oci import images
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.oci.root import Unpacked

__all__ = ["own_store"]

pytestmark = pytest.mark.usefixtures("own_store")


def take(tmp_path: Path, name: str, comment: str, layer: bytes = b"") -> Unpacked:
    return images.import_archive(name, archive(tmp_path / "image.tar", name, layer or bytes(1024), comment))


def test_a_replaced_image_is_stale_and_can_be_removed(tmp_path: Path) -> None:
    old, new = take(tmp_path, "own/tool:1", "old"), take(tmp_path, "own/tool:1", "new")
    take(tmp_path, "again:1", "new")

    named, stale = metadata.stored_images()
    assert (named.digest, named.names, named.folder) == (new.digest, ("again:1", "own/tool:1"), new.root.parent)
    assert (stale.digest, stale.is_stale) == (old.digest, True)
    assert 0 < named.size_bytes() < 10_000

    metadata.remove_image(stale)
    metadata.remove_image(stale)
    assert [each.digest for each in metadata.stored_images()] == [new.digest]
    assert not old.root.exists()
    assert list((store.directory() / "scratch").iterdir()) == []


def test_nothing_is_unpacked_in_a_new_store() -> None:
    assert metadata.stored_images() == ()


@needs_oci
@needs_busybox
def test_an_image_in_use_is_kept(tmp_path: Path) -> None:
    take(tmp_path, "mine:1", "old", busybox())
    with closing(OciEngine()) as engine:
        with closing(engine.start(Profile(image="mine:1"), BOOTSTRAP_ARGUMENTS)):
            take(tmp_path, "mine:1", "new", busybox())
            (stale,) = [each for each in metadata.stored_images() if each.is_stale]
            with pytest.raises(InfrastructureError, match=r"^a call of process \d+ uses it; try again later$"):
                metadata.remove_image(stale)
            assert stale.folder.is_dir()
        metadata.remove_image(stale)
    assert not stale.folder.exists()
